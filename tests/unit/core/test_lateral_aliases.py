"""A select list is written with aliases for what is in other expressions, and only where that means the same."""

from __future__ import annotations

import pytest

from dbt_trickle.tree.lateral_aliases import by_aliases

B = "`__pgt_alias_b`"
CASES = {
    "in parentheses": ({"b": "`a` + 1", "c": "(`a` + 1) * 2"}, {"b": "`a` + 1", "c": f"({B}) * 2"}),
    "a call": ({"b": "upper(`a`)", "c": "length(upper(`a`))"}, {"b": "upper(`a`)", "c": f"length({B})"}),
    "more than once": ({"b": "f(`a`)", "c": "f(`a`) + f(`a`)"}, {"b": "f(`a`)", "c": f"{B} + {B}"}),
    "the longest one": (
        {"b": "`a` + 1", "c": "(`a` + 1) * 2", "d": "((`a` + 1) * 2) + (`a` + 1)"},
        {"b": "`a` + 1", "c": f"({B}) * 2", "d": f"(`__pgt_alias_c`) + ({B})"},
    ),
    "the parentheses are a call's": ({"b": "(`a` + 1)", "c": "f(`a` + 1)"}, {"b": "(`a` + 1)", "c": f"f({B})"}),
    "not of another binding": ({"b": "`a` + 1", "c": "`a` + 1 * 2"}, {"b": "`a` + 1", "c": "`a` + 1 * 2"}),
    "not of two calls": ({"b": "f(`a`) + f(`x`)", "c": "2 * f(`a`) + f(`x`)"}, None),
    "not of a column": ({"b": "`t`.`a`", "c": "`t`.`a` + 1"}, None),
    "not further left": ({"c": "(`a` + 1) * 2", "b": "`a` + 1"}, None),
    "not in a text": ({"b": "f(`a`)", "c": "'f(`a`)'"}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_by_aliases(case: str) -> None:
    chosen, expected = CASES[case]
    called = {f"__pgt_alias_{name}": name for name in chosen}
    found = {called.get(label, label): text for label, text in by_aliases(chosen).items()}
    assert found == (expected or chosen)


def test_what_is_named_is_called_as_no_column_is() -> None:
    assert list(by_aliases({"b": "f(`a`)", "c": "g(f(`a`))", "d": "1"})) == ["__pgt_alias_b", "c", "d"]
