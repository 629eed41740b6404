"""What a stream table reads where its branches were refreshed at other moments."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_worlds import Commit, Lake, Query, run, unheeding

from dbt_trickle.formats.base import SourceVersion
from dbt_trickle.plan.agree import Agreed, Apart, agree
from dbt_trickle.plan.points import State
from dbt_trickle.run import sources, together


def lake(**reads: str) -> Lake:
    """Each is the tuple of its inputs, but one that `counts`: that is how many of its inputs hold something."""
    made = {}
    for name, inputs in reads.items():
        counts = inputs.startswith("counts ")
        of = (lambda contents: sum(map(bool, contents))) if counts else tuple
        made[name] = Query(tuple(inputs.removeprefix("counts ").split()), of)
    return Lake(made)


def told(of: Lake, name: str) -> tuple[str, str]:
    """Its action in a run of its own, and the reason."""
    one = of.invocation()
    one.refresh(name)
    one.close()
    return one.actions[name], one.reasons[name]


def test_branches_of_two_runs() -> None:
    shop = lake(a="t", b="t", c="a b")
    run(shop, shop.queries)
    shop.written("t", 1)
    run(shop, ["a"])
    assert told(shop, "c") == (
        "SKIP",
        "w.t is at version 1 in w.a and at 0 in w.b; its branches agree on no newer state",
    )
    shop.written("t", 2)
    run(shop, ["b"])
    assert told(shop, "c")[0] == "SKIP"
    assert shop.content("c") == ((0,), (0,))
    assert run(shop, shop.queries)["c"] == "DIFFERENTIAL"
    assert shop.content("c") == ((2,), (2,))


def test_what_is_not_shared_goes_on_over_branches_that_do_not_agree() -> None:
    shop = lake(a="t", b="t", c="a b u")
    run(shop, shop.queries)
    shop.written("t", 1)
    shop.written("u", 7)
    run(shop, ["a"])
    action, reason = told(shop, "c")
    assert (action, shop.content("c")) == ("DIFFERENTIAL", ((0,), (0,), 7))
    assert reason == (
        "w.u moved from version 0 to 1; w.t is at version 1 in w.a and at 0 in w.b; "
        "what is read is an older state, on which its branches agree"
    )
    assert run(shop, ["b"])["b"] == "DIFFERENTIAL"
    assert (told(shop, "c")[0], shop.content("c")) == ("DIFFERENTIAL", ((1,), (1,), 7))


def test_a_branch_goes_back_to_where_the_other_one_is() -> None:
    """The newest state on which both agree is neither one's newest, nor what was read last."""
    shop = lake(a="t", b="t", c="a b")
    run(shop, shop.queries)
    for content in (1, 2, 3):
        shop.written("t", content)
        run(shop, ["a", "b"] if content == 2 else ["a"])
    assert (told(shop, "c")[0], shop.content("c")) == ("DIFFERENTIAL", ((2,), (2,)))
    assert shop.catalog[shop.number("c")].data_timestamp < shop.catalog[shop.number("a")].data_timestamp


def test_a_table_that_is_read_itself_is_read_as_the_branch_has_it() -> None:
    shop = lake(a="t", c="a t u")
    run(shop, shop.queries)
    shop.written("t", 1)
    reason = "w.t is at version 1 in the query itself and at 0 in w.a; its branches agree on no newer state"
    assert told(shop, "c") == ("SKIP", reason)
    shop.written("u", 5)
    assert (told(shop, "c")[0], shop.content("c")) == ("DIFFERENTIAL", ((0,), 0, 5))
    assert (run(shop, shop.queries)["c"], shop.content("c")) == ("DIFFERENTIAL", ((1,), 1, 5))


def test_a_stream_table_that_is_read_on_two_ways() -> None:
    shop = lake(a="t", b="a", c="a b")
    run(shop, shop.queries)
    shop.written("t", 1)
    run(shop, ["a"])
    assert told(shop, "c")[0] == "SKIP"
    run(shop, ["b"])
    assert (told(shop, "c")[0], shop.content("c")) == ("DIFFERENTIAL", ((1,), ((1,),)))


def test_nothing_is_asked_where_the_newest_agree() -> None:
    shop = lake(a="t", b="t", c="a b t")
    run(shop, shop.queries)
    for content in (1, 1):
        shop.written("t", content)
        shop.asked.clear()
        run(shop, shop.queries)
        assert len(shop.asked) == 2, "the history of the table, and which one it is"


def test_a_branch_that_was_checked_is_right_for_what_it_was_checked_at() -> None:
    """Without a commit only the catalog knows."""
    shop = lake(a="counts t", b="t", c="a b")
    shop.written("t", 1)
    run(shop, shop.queries)
    shop.written("t", 2)
    assert run(shop, shop.queries) == {"a": "NO_DATA", "b": "DIFFERENTIAL", "c": "DIFFERENTIAL"}
    assert shop.content("c") == (1, (2,))


def test_between_two_versions_it_may_have_been_otherwise() -> None:
    """A row went and came back while nobody looked: right at both ends is not right between."""
    shop = lake(a="counts t", b="t", c="a b")
    shop.written("t", 1)
    run(shop, shop.queries)
    shop.written("t", 0)
    run(shop, ["b"])
    shop.written("t", 2)
    assert run(shop, ["a"]) == {"a": "NO_DATA"}
    assert told(shop, "c")[0] == "SKIP", "(1, (0,)) has never been"


def test_what_stands_on_something_that_was_checked_need_not_be_refreshed_itself() -> None:
    shop = lake(s="counts t", a="s", b="s t", c="a b")
    shop.written("t", 1)
    run(shop, shop.queries)
    shop.written("t", 2)
    assert run(shop, ["s", "b"])["s"] == "NO_DATA"
    assert (told(shop, "c")[0], shop.content("c")) == ("DIFFERENTIAL", ((1,), (1, 2)))


def test_unless_it_reads_more_of_it() -> None:
    shop = lake(s="counts t", a="s t", b="t", c="a b")
    shop.written("t", 1)
    run(shop, shop.queries)
    shop.written("t", 2)
    assert run(shop, ["s", "b"])["s"] == "NO_DATA"
    assert told(shop, "c")[0] == "SKIP"


def test_a_check_says_nothing_of_older_content() -> None:
    """Another run has committed since, and the catalog has not heard of it; or the other way round."""
    shop = lake(a="t", b="t", c="a b")
    run(shop, shop.queries)
    shop.written("t", 1)
    run(shop, ["b"])
    shop.invocation().refresh("a")  # it dies before it closes
    late = shop.invocation()
    late.refresh("c")
    assert (late.actions["c"], shop.content("c")) == ("DIFFERENTIAL", ((1,), (1,)))


def test_versions_with_the_same_rows_are_one() -> None:
    shop = lake(a="t", b="t", d="t", c="a b d t")
    run(shop, ["a"])
    shop.optimized("t")
    run(shop, ["b"])
    shop.optimized("t")
    run(shop, ["d"])
    shop.optimized("t")
    assert (told(shop, "c")[0], shop.content("c")) == ("FULL", ((0,), (0,), (0,), 0))
    shop.written("t", 1)
    run(shop, ["b"])
    assert told(shop, "c")[0] == "SKIP"


def test_a_table_that_was_dropped_and_made_anew() -> None:
    shop = lake(a="t", c="a t")
    run(shop, ["a"])
    shop.made("t", 1)
    action, reason = told(shop, "c")
    why = "w.t is another one in the query itself than in w.a; version 0 of w.t is not there any more"
    assert (action, reason.endswith(why)) == ("TRK-216", True)
    assert run(shop, shop.queries)["c"] == "FULL"


def test_a_table_that_was_replaced_still_has_its_versions() -> None:
    shop = lake(a="t", c="a t")
    run(shop, ["a"])
    shop.replaced("t", 1)
    assert (told(shop, "c")[0], shop.content("c")) == ("FULL", ((0,), 0))


def test_branches_that_agree_on_nothing_cannot_be_loaded_together() -> None:
    shop = lake(a="t", b="t", c="a b")
    run(shop, ["a"])
    shop.written("t", 1)
    run(shop, ["b"])
    action, reason = told(shop, "c")
    assert action == "TRK-216"
    assert reason.endswith("agree on no state of what they share: w.t is at version 1 in w.b and at 0 in w.a")
    assert run(shop, shop.queries)["c"] == "FULL"


def test_a_branch_far_ahead() -> None:
    shop = lake(a="t", b="t", c="a b")
    run(shop, ["a", "b"])
    for content in range(1, 3 * sources.FIRST_LOOK):
        shop.written("t", content)
        run(shop, ["a"])
    assert (told(shop, "c")[0], shop.content("c")) == ("FULL", ((0,), (0,)))


def test_what_an_older_release_has_made_is_known_when_it_was_checked() -> None:
    shop = lake(s="t", a="s", b="t", c="a b")
    run(shop, shop.queries)
    for state in shop.catalog.values():
        shop.catalog[state.pgt_id] = replace(state, origins={}, storage_at="")
        for commit in shop.tables[str(state.storage)].commits:
            commit.marker = replace(commit.marker, origins={}) if commit.marker is not None else None
    run(shop, ["s"])
    shop.written("t", 1)
    run(shop, ["s"])
    assert told(shop, "c") == ("SKIP", "what w.a was computed from is not known; its branches agree on no newer state")
    assert (run(shop, shop.queries)["c"], shop.content("c")) == ("DIFFERENTIAL", (((1,),), (1,)))


@pytest.mark.parametrize("others", ["a b", "a t"])
def test_it_never_goes_back(others: str) -> None:
    """An older release has read what did not agree; what it showed is not taken back, but made good by what comes."""
    shop = lake(a="t", b="t", c=others)
    shop.agreeing = unheeding
    run(shop, shop.queries)
    shop.written("t", 1)
    run(shop, ["b", "c"] if others == "a t" else ["a", "c"])
    wrong = shop.content("c")
    shop.agreeing = together.agreeing
    assert (told(shop, "c")[0], shop.content("c")) == ("SKIP", wrong)
    assert (run(shop, shop.queries)["c"], shop.content("c")[0]) == ("DIFFERENTIAL", (1,))


def test_what_somebody_else_wrote_is_read_by_nobody() -> None:
    shop = lake(a="t", b="t", c="a b u")
    run(shop, shop.queries)
    storage = shop.storage("a")
    assert storage is not None
    shop.tables[storage].commits.append(Commit(shop.now(), "DELETE", ()))
    shop.written("u", 1)
    action, reason = told(shop, "c")
    assert (action, shop.content("c")) == ("DIFFERENTIAL", ((0,), (0,), 1))
    assert "what w.a was computed from is not known; what is read is an older state" in reason


def test_a_branch_whose_commit_a_cleaned_log_has_no_more() -> None:
    shop = lake(a="t", b="t u", c="a b")
    run(shop, shop.queries)
    storage = shop.storage("a")
    assert storage is not None
    shop.optimized("a")
    shop.tables[storage].forgotten = 1
    shop.written("u", 1)
    run(shop, ["b"])
    assert (told(shop, "c")[0], shop.content("c")) == ("DIFFERENTIAL", ((0,), (0, 1)))


def version(key: str, number: int) -> SourceVersion:
    return SourceVersion(key, "TABLE", key, "id", number, f"{number:03}")


@st.composite
def histories(draw: st.DrawFn) -> dict[str, list[State]]:
    """Versions of some tables in each of some branches, newest first."""
    found = {}
    for name in ("a", "b", "c", "d")[: draw(st.integers(1, 4))]:
        below = draw(st.frozensets(st.sampled_from("stu"), min_size=1))
        at, states = dict.fromkeys(sorted(below), 0), []
        for number in range(draw(st.integers(1, 5))):
            at = {key: number + draw(st.integers(0, 2)) for key, number in at.items()}
            states.append(State(version(name, number), {key: version(key, n) for key, n in at.items()}, f"{number}"))
        found[name] = states[::-1]
    return found


def fits(states: tuple[State, ...]) -> bool:
    seen: dict[str, SourceVersion] = {}
    return all(seen.setdefault(key, at) == at for state in states for key, at in state.point.items())


@given(histories())
def test_the_newest_agreement_is_found(branches: dict[str, list[State]]) -> None:
    possible = [states for states in product(*branches.values()) if fits(states)]
    found = agree(branches, {}, {})
    assert isinstance(found, Agreed) == bool(possible)
    if isinstance(found, Agreed):
        newest = [max(states[n].version.version for states in possible) for n in range(len(branches))]
        assert [state.version.version for state in found.states.values()] == newest


@pytest.mark.parametrize("kind", ["VIEW", "FUNCTION"])
def test_a_text_is_read_as_it_is_now_or_not_at_all(kind: str) -> None:
    """There is no older one to read: branches that were computed from another text agree with nothing."""
    now, was = (SourceVersion("shop.f()", kind, "shop.f()", text, 0, "") for text in ("new", "old"))
    branch = State(version("pgt_1", 3), {"pgt_1": version("pgt_1", 3), "shop.f()": was}, "then")
    found = agree({"pgt_1": [branch]}, {"shop.f()": now}, {})
    assert isinstance(found, Apart)
    same = State(version("pgt_1", 3), {"pgt_1": version("pgt_1", 3), "shop.f()": now}, "then")
    assert agree({"pgt_1": [same]}, {"shop.f()": now}, {}) == Agreed({"pgt_1": same}, {})
