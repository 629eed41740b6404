"""One event in a source's life each: which capture reads the window across it, or why none does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from engine_world import embedded_sessions

pytest.register_assert_rewrite("capture_history")

from capture_history import net, rows_of, told  # noqa: E402 (its assertions are rewritten as it is imported)

from dbt_trickle.capture.base import Appended, Capture, LogFacts, Window  # noqa: E402
from dbt_trickle.capture.choose import Chosen, Mode, choose  # noqa: E402
from dbt_trickle.capture.commits import commit_facts, nothing_changed  # noqa: E402
from dbt_trickle.capture.difference import Difference  # noqa: E402
from dbt_trickle.capture.feed import Feed  # noqa: E402
from dbt_trickle.capture.log import Log  # noqa: E402
from dbt_trickle.errors import WarehouseError  # noqa: E402
from dbt_trickle.formats import delta  # noqa: E402
from dbt_trickle.names import Relation  # noqa: E402
from dbt_trickle.run.session import Session  # noqa: E402
from dbt_trickle.run.windows import gather  # noqa: E402

pytestmark = pytest.mark.spark

FEED = "delta.enableChangeDataFeed = true"
MAPPED = f"{FEED}, delta.columnMapping.mode = 'name'"
_numbers = itertools.count(1)


@dataclass
class Source:
    session: Session
    relation: Relation

    @property
    def name(self) -> str:
        return self.relation.sql

    def run(self, *statements: str) -> Source:
        for statement in statements:
            self.session.execute(statement.format(t=self.name))
        return self

    def state(self) -> tuple[int, str]:
        """What a frontier keeps of it."""
        newest = commit_facts(self.session.query(delta.history(self.relation, 1))[0])
        return newest.version, newest.committed_at

    def window(self, since: tuple[int, str], **columns: str) -> Window:
        return Window(
            self.relation, since[0], self.state()[0], tuple((columns or {"id": "int", "v": "string"}).items())
        )

    def outcome(self, since: tuple[int, str], mode: Mode = "auto", **columns: str) -> tuple[str, str]:
        """What was chosen and why. What was chosen is read, and is what the two versions say."""
        window = self.window(since, **columns)
        facts = gather(self.session, window, since[1], mode)
        choice = choose(mode, facts)
        if not isinstance(choice, Chosen):
            return choice.why.name, choice.reason
        assert self.read(window, choice.capture, facts) == self.expected(window)
        return choice.capture, choice.reason

    def read(self, window: Window, name: str, facts: LogFacts | None = None) -> dict[Any, int]:
        captures: dict[str, Capture] = {"feed": Feed(), "difference": Difference()}
        if facts is not None and isinstance(facts.log, Appended):
            captures["log"] = Log(facts.log)
        return dict(told(self.session, window, {name: captures[name]}))[name]

    def expected(self, window: Window) -> dict[Any, int]:
        old, new = (
            self.session.query(f"SELECT * FROM {delta.at_version(self.name, version)}")
            for version in (window.old, window.new)
        )
        return net(rows_of(old, window.names), rows_of(new, window.names))


class TestEvents:
    @pytest.fixture
    def session(self, dbt_profile_target: dict[str, Any]) -> Session:
        found = embedded_sessions(dbt_profile_target)()
        found.execute("CREATE SCHEMA IF NOT EXISTS capture_events")
        return found

    @pytest.fixture
    def source(self, session: Session) -> Callable[..., Source]:
        def make(properties: str = FEED, columns: str = "id int, v string", name: str | None = None) -> Source:
            made = Source(session, Relation.of("capture_events", name or f"t{next(_numbers)}"))
            made.run(f"CREATE TABLE {{t}} ({columns}) USING delta TBLPROPERTIES ({properties})")
            return made.run("INSERT INTO {t} (id, v) VALUES (1, 'a'), (1, 'a'), (2, NULL)")

        return make

    def test_hostile_columns(self, source: Callable[..., Source]) -> None:
        """All but a backtick, with which Delta's own UPDATE fails."""
        made = source(f"{MAPPED}", "id int, v string, `a.b'$ ,;{{}}()=` double, `select` int")
        since = made.state()
        made.run("UPDATE {t} SET `a.b'$ ,;{{}}()=` = double('-0.0'), `select` = 1 WHERE id = 2")
        columns = {"a.b'$ ,;{}()=": "double", "select": "int"}
        assert made.outcome(since, **columns) == ("feed", "its change feed is on")
        assert made.outcome(since, "log", **columns)[0] == "difference"

    def test_a_table_that_has_only_a_path(self, session: Session, tmp_path: Path) -> None:
        made = Source(session, Relation(("delta", str(tmp_path / "it's a table"))))
        made.run(f"CREATE TABLE {{t}} (id int, v string) USING delta TBLPROPERTIES ({FEED})")
        since = made.state()
        made.run("INSERT INTO {t} VALUES (3, 'c')")
        assert made.outcome(since) == ("feed", "its change feed is on")
        assert made.outcome(since, "log") == (
            "difference",
            "cdc_mode is log; the path of the table has signs that are not plain",
        )

    def test_append_without_the_feed(self, source: Callable[..., Source]) -> None:
        made = source("x = 1")
        since = made.state()
        made.run("INSERT INTO {t} VALUES (3, 'c')", "OPTIMIZE {t}", "INSERT INTO {t} VALUES (3, 'c')")
        assert made.outcome(since) == ("log", "its change feed is off; files were only added")
        made.run("DELETE FROM {t} WHERE id = 2")
        assert made.outcome(since) == ("difference", "its change feed is off; DELETE at version 5")
        assert made.outcome(since, "feed") == ("MODE", "cdc_mode is feed; its change feed is off")

    def test_a_merge_that_only_inserts_is_an_append(self, source: Callable[..., Source]) -> None:
        made = source("delta.enableDeletionVectors = true")
        since = made.state()
        made.run(
            "MERGE INTO {t} t USING (SELECT 7 AS id, 'g' AS v) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        assert made.outcome(since) == ("log", "its change feed is off; files were only added")

    def test_no_row_moved(self, source: Callable[..., Source]) -> None:
        made = source()
        since = made.state()
        made.run(
            "OPTIMIZE {t}",
            "ALTER TABLE {t} SET TBLPROPERTIES (x = 1)",
            "ALTER TABLE {t} UNSET TBLPROPERTIES (x)",
            "COMMENT ON TABLE {t} IS 'c'",
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)",
            "ALTER TABLE {t} DROP CONSTRAINT positive",
            "VACUUM {t}",
        )
        window = made.window(since)
        facts = gather(made.session, window, since[1], "auto")
        assert nothing_changed(facts.commits)
        assert made.expected(window) == {}

    def test_add_column(self, source: Callable[..., Source]) -> None:
        made = source()
        since = made.state()
        made.run("ALTER TABLE {t} ADD COLUMN n int", "INSERT INTO {t} VALUES (3, 'c', 1)")
        assert made.outcome(since) == ("feed", "its change feed is on")
        assert made.outcome(since, n="int") == ("SCHEMA", f"column n was not there at version {since[0]}")

    def test_a_write_that_evolves_the_schema(self, source: Callable[..., Source]) -> None:
        made = source("x = 1")
        since = made.state()
        made.run(
            "SET spark.databricks.delta.schema.autoMerge.enabled = true",
            "INSERT INTO {t} SELECT 3 AS id, 'c' AS v, 1 AS n",
            "RESET spark.databricks.delta.schema.autoMerge.enabled",
        )
        assert made.outcome(since) == (
            "difference",
            "its change feed is off; its schema, properties or protocol changed",
        )
        assert made.outcome(since, n="int")[0] == "SCHEMA"

    def test_rename_column(self, source: Callable[..., Source]) -> None:
        made = source(MAPPED)
        since = made.state()
        made.run("UPDATE {t} SET v = 'b' WHERE id = 1")
        before = made.window(since)
        made.run("ALTER TABLE {t} RENAME COLUMN v TO w")
        assert made.outcome(since, id="int") == ("difference", "RENAME COLUMN at version 3; UPDATE at version 2")
        assert made.outcome(since, w="string") == ("SCHEMA", f"column w was not there at version {since[0]}")
        with pytest.raises(WarehouseError):
            made.read(made.window(since, id="int"), "feed")
        # The source was pinned before the rename, and is read after it.
        assert choose("auto", gather(made.session, before, since[1], "auto")) == Chosen(
            "difference", "RENAME COLUMN at version 3; UPDATE at version 2"
        )
        assert made.read(before, "difference") == made.expected(before)

    def test_columns_that_swap_their_names(self, source: Callable[..., Source]) -> None:
        made = source(MAPPED, "id int, v string, w string")
        since = made.state()
        made.run(
            "ALTER TABLE {t} RENAME COLUMN v TO x",
            "ALTER TABLE {t} RENAME COLUMN w TO v",
            "ALTER TABLE {t} RENAME COLUMN x TO w",
        )
        assert made.outcome(since)[0] == "difference"

    def test_drop_column_and_add_it_again(self, source: Callable[..., Source]) -> None:
        made = source(MAPPED)
        since = made.state()
        made.run("ALTER TABLE {t} DROP COLUMN v")
        assert made.outcome(since, id="int")[0] == "difference"
        made.run("ALTER TABLE {t} ADD COLUMN v string")
        assert made.outcome(since) == ("difference", "DROP COLUMNS at version 2; DROP COLUMNS at version 2")

    def test_widened_column(self, source: Callable[..., Source]) -> None:
        made = source(f"{FEED}, delta.enableTypeWidening = true")
        since = made.state()
        made.run("ALTER TABLE {t} ALTER COLUMN id TYPE bigint", "INSERT INTO {t} VALUES (3, 'c')")
        assert made.outcome(since, id="bigint") == (
            "SCHEMA",
            f"column id was int at version {since[0]} and is bigint",
        )
        assert made.outcome(since, v="string")[0] in ("feed", "difference")

    def test_create_or_replace(self, source: Callable[..., Source]) -> None:
        made = source()
        since = made.state()
        made.run(f"CREATE OR REPLACE TABLE {{t}} USING delta TBLPROPERTIES ({FEED}) AS SELECT 2 AS id, 'b' AS v")
        assert made.outcome(since) == ("difference", "replaced at version 2; replaced at version 2")
        assert made.outcome(since, "feed") == ("MODE", "cdc_mode is feed; replaced at version 2")
        made.run("CREATE OR REPLACE TABLE {t} USING delta AS SELECT '2' AS id, 'b' AS v")
        assert made.outcome(since, id="string")[0] == "SCHEMA"

    def test_drop_and_create_again(self, source: Callable[..., Source]) -> None:
        made = source(name="again")
        since = made.state()
        made.run("DROP TABLE {t}")
        source(name="again").run("INSERT INTO {t} VALUES (3, 'c')", "INSERT INTO {t} VALUES (4, 'd')")
        assert made.outcome(since) == ("GONE", "dropped and re-created")

    def test_drop_and_create_again_with_fewer_commits(self, source: Callable[..., Source]) -> None:
        made = source(name="fewer").run("INSERT INTO {t} VALUES (3, 'c')", "INSERT INTO {t} VALUES (4, 'd')")
        since = made.state()
        made.run("DROP TABLE {t}")
        source(name="fewer")
        window = Window(made.relation, since[0], since[0] + 1, (("id", "int"),))
        assert choose("auto", gather(made.session, window, since[1], "auto")).reason == "dropped and re-created"

    def test_the_feed_off_and_on(self, source: Callable[..., Source]) -> None:
        made = source("x = 1")
        since = made.state()
        made.run(f"ALTER TABLE {{t}} SET TBLPROPERTIES ({FEED})")
        on = made.state()
        made.run("UPDATE {t} SET v = 'b' WHERE id = 1")
        assert made.outcome(since) == ("feed", "its change feed is on")
        assert made.outcome(on) == ("feed", "its change feed is on")
        made.run("ALTER TABLE {t} UNSET TBLPROPERTIES (delta.enableChangeDataFeed)")
        off = made.state()
        assert made.outcome(on)[0] == "difference"
        made.run("UPDATE {t} SET v = 'c' WHERE id = 1", f"ALTER TABLE {{t}} SET TBLPROPERTIES ({FEED})")
        assert made.outcome(on)[0] == "difference"
        assert made.outcome(off) == ("difference", "its change feed was switched at version 6; UPDATE at version 5")
        with pytest.raises(WarehouseError):
            made.read(made.window(off), "feed")

    def test_vacuumed(self, source: Callable[..., Source]) -> None:
        made = source()
        since = made.state()
        made.run("UPDATE {t} SET v = 'b' WHERE id = 1")
        quiet = made.state()
        made.run(
            "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
            "VACUUM {t} RETAIN 0 HOURS",
            "INSERT INTO {t} VALUES (3, 'c')",
        )
        assert made.outcome(since) == ("GONE", f"vacuumed past version {since[0]}")
        for capture in ("feed", "difference"):
            with pytest.raises(WarehouseError):
                made.read(made.window(since), capture)
        assert made.outcome(quiet) == ("feed", "its change feed is on")

    def test_restored(self, source: Callable[..., Source]) -> None:
        made = source().run("DELETE FROM {t} WHERE id = 1")
        since = made.state()
        made.run("RESTORE TABLE {t} TO VERSION AS OF 1")
        assert made.outcome(since) == ("difference", "restored at version 3; restored at version 3")

    def test_a_shallow_clone_is_a_source(self, source: Callable[..., Source]) -> None:
        origin, made = source(), Source(source().session, Relation.of("capture_events", f"clone{next(_numbers)}"))
        made.run(f"CREATE TABLE {{t}} SHALLOW CLONE {origin.name}")
        since = made.state()
        made.run("UPDATE {t} SET v = 'b' WHERE id = 1")
        assert made.outcome(since) == ("feed", "its change feed is on")
        made.run("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
        since = made.state()
        made.run("INSERT INTO {t} VALUES (3, 'c')")
        assert made.outcome(since) == ("log", "its change feed is off; files were only added")
        # Only an empty table can be replaced by one.
        made.run("TRUNCATE TABLE {t}", f"CREATE OR REPLACE TABLE {{t}} SHALLOW CLONE {origin.name}")
        assert made.outcome(since)[0] == "difference"

    def test_columns_of_all_types_by_every_capture(self, source: Callable[..., Source]) -> None:
        columns = {
            "by": "tinyint", "sh": "smallint", "bi": "bigint", "fl": "float", "bo": "boolean", "bin": "binary",
            "da": "date", "ntz": "timestamp_ntz", "ch": "char(3)", "vc": "varchar(3)",
            "st": "struct<a:struct<b:array<float>>,c:timestamp>",
        }  # fmt: skip
        values = (
            "1, 2, 3, float('-0.0'), true, X'00FF', DATE'1500-01-01', TIMESTAMP_NTZ'1500-01-01 00:00:00.000001', "
            "'x', 'y', named_struct('a', named_struct('b', array(float('-0.0'), NULL)), "
            "'c', TIMESTAMP'2020-01-01')"
        )
        typed = ", ".join(f"{name} {text.replace(':', ': ')}" for name, text in columns.items())
        made = source(FEED, f"id int, v string, {typed}")
        columns |= {"ch": "string", "vc": "string"}  # as a query has them
        since = made.state()
        made.run(f"INSERT INTO {{t}} VALUES (3, 'c', {values})")
        assert made.outcome(since, **columns)[0] == "feed"
        assert made.outcome(since, "log", **columns)[0] == "log"
        turned = made.state()
        made.run(
            "UPDATE {t} SET fl = -fl, st = named_struct('a', named_struct('b', array(0F, NULL)), "
            "'c', st.c) WHERE id = 3"
        )
        for name in ("fl", "st"):
            assert made.outcome(turned, **{name: columns[name]})[0] == "feed"
            assert len(made.expected(made.window(turned, **{name: columns[name]}))) == 2
            assert made.outcome(turned, "log", **{name: columns[name]})[0] == "difference"

    def test_a_char_that_was_not_padded_when_it_was_written(self, source: Callable[..., Source]) -> None:
        made = source("x = 1", "id int, v string, ch char(3)")
        since = made.state()
        made.run(
            "SET spark.sql.legacy.charVarcharAsString = true",
            "INSERT INTO {t} VALUES (3, 'c', 'x')",
            "RESET spark.sql.legacy.charVarcharAsString",
        )
        assert made.outcome(since, ch="string")[0] in ("log", "difference")

    def test_types_that_cannot_be_compared(self, source: Callable[..., Source]) -> None:
        made = source(FEED, "id int, v string, m map<string, int>, j variant, a array<struct<m: map<int, int>>>")
        since = made.state()
        made.run("UPDATE {t} SET m = map('a', 1) WHERE id = 1")
        for name, text in (("j", "variant"), ("a", "array<struct<m:map<int,int>>>")):
            assert made.outcome(since, **{name: text})[0] == "COLUMNS"
        assert made.outcome(since, m="map<string,int>")[0] == "feed", "by its entries"
        assert made.outcome(since) == ("feed", "its change feed is on")
