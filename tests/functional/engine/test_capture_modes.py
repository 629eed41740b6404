"""How sources change over from their feed to their log, and what may come in between: the content is always right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_world import World

pytest.register_assert_rewrite("capture_shop")

from capture_shop import BIG, TOTALS, Shop, actions, log_of, remove  # noqa: E402 (its assertions are rewritten)

from dbt_trickle.capture.transition import FEED_WRONG, LOG_WRONG  # noqa: E402
from dbt_trickle.config import SourceSettings  # noqa: E402
from dbt_trickle.errors import ModelError  # noqa: E402
from dbt_trickle.names import Relation  # noqa: E402
from dbt_trickle.run import capture_health, leave  # noqa: E402
from dbt_trickle.run.capture_health import SourceHealth  # noqa: E402
from dbt_trickle.run.repair import read_catalog  # noqa: E402
from dbt_trickle.run.session import Session  # noqa: E402

pytestmark = pytest.mark.spark


class Answering:
    """A session that answers the question whether two captures agree by itself."""

    def __init__(self, inner: Session, *answers: Sequence[Mapping[str, Any]]) -> None:
        self.inner, self.answers, self.asked = inner, answers, 0

    def execute(self, sql: str) -> None:
        self.inner.execute(sql)

    def query(self, sql: str) -> Sequence[Mapping[str, Any]]:
        if "AS differs" not in sql:
            return self.inner.query(sql)
        self.asked += 1
        return self.answers[self.asked - 1]


class TestCaptureModes:
    def test_several_stream_tables_change_over(self, world: World) -> None:
        shop = Shop.of(world, "several").with_tables(TOTALS, BIG).transitioning()
        shop.insert()
        assert shop.run() == ["DIFFERENTIAL", "DIFFERENTIAL"]
        assert shop.states() == [("WAL", "its log told what its change feed told")] * 2
        assert [name for name, _ in shop.events()] == ["complete", "complete"]
        world.sql(
            f"UPDATE {shop.source} SET amount = amount + 1 WHERE id = 1", f"DELETE FROM {shop.source} WHERE id = 2"
        )
        assert shop.run() == ["DIFFERENTIAL", "DIFFERENTIAL"]
        assert shop.modes() == ["WAL", "WAL"]
        assert shop.tracked() == [("WAL", 5, sorted(r.pgt_id for r in shop.requests))]
        # A later one begins with the feed, which therefore must not be switched off yet.
        shop.with_tables(BIG).run()
        assert shop.modes() == ["WAL", "WAL", "TRIGGER"]
        assert shop.tracked()[0][0] == "TRIGGER"
        # One that lags behind is the slowest.
        shop.insert()
        world.run(shop.requests[0])
        assert shop.tracked() == [("TRIGGER", 5, sorted(r.pgt_id for r in shop.requests))]
        shop.run()

    def test_without_a_feed_there_is_nothing_to_move_from(self, world: World) -> None:
        shop = Shop.of(world, "no_feed", "").with_tables(TOTALS)
        shop.run()
        shop.insert()
        assert shop.run() == ["DIFFERENTIAL"]
        assert shop.states() == [("WAL", "its change feed is off")]
        assert shop.events() == []

    def test_the_source_is_altered_meanwhile(self, world: World) -> None:
        shop = Shop.of(world, "altered").with_tables(TOTALS, BIG).transitioning()
        world.sql(f"ALTER TABLE {shop.source} ADD COLUMN note STRING")
        shop.insert()
        assert shop.run() == ["DIFFERENTIAL", "DIFFERENTIAL"]
        assert shop.modes() == ["WAL", "WAL"]

        renamed = Shop.of(world, "renamed").with_tables(BIG).transitioning()
        world.sql(
            f"ALTER TABLE {renamed.source} SET TBLPROPERTIES (delta.columnMapping.mode = 'name', "
            "delta.minReaderVersion = 2, delta.minWriterVersion = 5)",
            f"ALTER TABLE {renamed.source} RENAME COLUMN region TO place",
            f"INSERT INTO {renamed.source} VALUES (77, 'x', 77)",
        )
        assert renamed.run() == ["DIFFERENTIAL"]
        assert renamed.states() == [("TRIGGER", "the source was altered while it was changing over")]
        world.sql(f"INSERT INTO {renamed.source} VALUES (78, 'x', 78)")
        renamed.run()
        assert renamed.modes() == ["TRANSITIONING"]
        world.sql(f"DELETE FROM {renamed.source} WHERE id = 77")
        renamed.run()
        assert renamed.modes() == ["WAL"]

    def test_a_stream_table_is_dropped_meanwhile(self, world: World) -> None:
        shop = Shop.of(world, "dropped").with_tables(TOTALS, BIG).transitioning()
        gone, stays = shop.requests
        leave.drop(world.connect(), world.settings, world.states()[gone.pgt_id], [], False, {})
        shop.requests = (stays,)
        assert shop.tracked() == [("TRANSITIONING", 2, [stays.pgt_id])]
        shop.insert()
        shop.run()
        assert shop.modes() == ["WAL"]
        # It comes back, and begins where every one begins.
        shop.requests = (stays, gone)
        shop.run()
        assert shop.modes() == ["WAL", "TRIGGER"]

    def test_time_runs_out(self, world: World) -> None:
        shop = Shop.of(world, "late").with_tables(TOTALS).transitioning()
        feed = f"ALTER TABLE {shop.source} SET TBLPROPERTIES (delta.enableChangeDataFeed = %s)"
        off, on = feed % "false", feed % "true"
        # Within this window the feed has a gap: there is nothing to compare the log with.
        world.sql(off)
        shop.insert()
        world.sql(on)
        assert shop.run(transition_timeout_seconds=3600) == ["DIFFERENTIAL"]
        assert shop.modes() == ["TRANSITIONING"]
        world.sql(off)
        shop.insert()
        world.sql(on)
        assert shop.run(transition_timeout_seconds=0) == ["DIFFERENTIAL"]
        assert shop.states() == [("TRIGGER", "its feed and its log could not be compared within 0 s")]
        assert shop.events() == [("failed", "its feed and its log could not be compared within 0 s")]
        shop.insert()
        shop.run()
        assert shop.modes() == ["TRIGGER"], "nothing has changed, so it is not tried again"
        world.sql(f"ALTER TABLE {shop.source} SET TBLPROPERTIES (team = 'shop')")
        shop.insert()
        shop.run()
        assert shop.modes() == ["TRANSITIONING"]

    def test_a_log_that_cannot_be_read(self, world: World, tmp_path: Path) -> None:
        """A file that an UPDATE replaced is gone, as after a VACUUM: the feed has files of its own."""
        shop = Shop.of(world, "unreadable", folder=tmp_path).with_tables(TOTALS).transitioning()
        world.sql(f"UPDATE {shop.source} SET amount = amount + 3 WHERE id = 1")
        replaced = actions(tmp_path, 3, "remove")
        assert replaced and actions(tmp_path, 3, "cdc")
        for file in replaced:
            remove(tmp_path / file["path"])
        assert shop.run() == ["DIFFERENTIAL"]
        reason = "its change feed and its log could not be compared: its files were removed"
        assert (shop.states(), shop.events()) == ([("TRIGGER", reason)], [("failed", reason)])
        shop.insert()
        assert shop.run() == ["DIFFERENTIAL"]
        assert (shop.modes(), len(shop.events())) == (["TRIGGER"], 1)

    def test_what_neither_capture_can_read(self, world: World, tmp_path: Path) -> None:
        """A file that was added and compacted away is gone: only the versions at both ends can be read."""
        shop = Shop.of(world, "compacted", folder=tmp_path).with_tables(TOTALS).transitioning()
        shop.insert()
        world.sql(f"OPTIMIZE {shop.source}")
        for file in actions(tmp_path, 3, "add"):
            remove(tmp_path / file["path"])
        (request,) = shop.requests
        shown = world.rows(f"SELECT * FROM {request.public.sql}")
        with pytest.raises(ModelError, match=r"TRK-203.*an old version cannot be read.*FILE_NOT_EXIST"):
            shop.run()
        assert world.rows(f"SELECT * FROM {request.public.sql}") == shown
        shop.requests = (replace(request, full_refresh=True),)
        assert shop.run() == ["FULL"], "what the message says to do"
        shop.requests = (request,)
        shop.insert()
        assert shop.run() == ["DIFFERENTIAL"]
        assert shop.modes() == ["WAL"], "the next window can be compared"

    def test_what_is_asked_for_by_name_and_cannot_work(self, world: World) -> None:
        shop = Shop.of(world, "asked", "").with_tables(TOTALS, cdc_mode="feed")
        with pytest.raises(ModelError, match=r"TRK-214.*the change feed of .*asked is off"):
            shop.run()
        sheet = f"{world.schema}.sheet"
        world.sql(f"CREATE TABLE {sheet} (region STRING, amount INT) USING parquet")
        for mode in ("feed", "log"):
            with pytest.raises(ModelError, match=r"TRK-214.*no Delta table"):
                world.run(world.request(f"by_{mode}", TOTALS.format(sheet), cdc_mode=mode))
        # The source's own word wins, and where nothing is ever captured nothing is wrong with it.
        own = {shop.source: SourceSettings("log")}
        shop.requests = (
            replace(shop.requests[0], sources=own),
            world.request("full", TOTALS.format(sheet), cdc_mode="feed", refresh_mode="full"),
        )
        shop.run()
        assert [state for state in shop.states() if state[0] != "NONE"] == [("WAL", "cdc_mode is log")]

    def test_a_feed_is_only_switched_on_where_that_is_allowed(self, world: World) -> None:
        shop = Shop.of(world, "allowed", "").with_tables(TOTALS, cdc_mode="feed")
        allowed = {shop.source: SourceSettings(enable_change_feed=True)}
        shop.requests = tuple(replace(request, sources=allowed) for request in shop.requests)
        shop.run()
        assert shop.states() == [("TRIGGER", "cdc_mode is feed")]
        shop.insert()
        world.sql(f"DELETE FROM {shop.source} WHERE region = 'south'")
        assert shop.run() == ["DIFFERENTIAL"]
        history = world.looking.query(f"DESCRIBE HISTORY {shop.source}")
        assert [row["operation"] for row in history].count("SET TBLPROPERTIES") == 1

    def test_the_views_and_the_command_agree(self, world: World) -> None:
        shop = Shop.of(world, "watched").with_tables(TOTALS, BIG)
        shop.run()
        shop.insert()
        world.run(shop.requests[0])
        names = [str(request.public) for request in shop.requests]
        view = Relation.of(world.settings.catalog_schema, "cdc_health").sql
        [row] = world.looking.query(f"SELECT * FROM {view} WHERE source = '{shop.source}'")
        assert (row["cdc_mode"], row["consumers"]) == ("TRIGGER", names), "the more demanding of two counts"
        assert (row["slowest_consumer"], row["lag_versions"]) == (names[1], 1)
        assert row["readable_until"] is not None
        assert row["lag_seconds"] >= 0
        now = "2026-01-01T00:00:00.000+00:00"
        found = self.look(world, shop, now)
        assert (found.slowest_consumer, found.lag_versions, found.level) == (names[1], 1, "ok")
        assert found.lag_bytes is not None and found.lag_bytes > 0
        # Years later, the version is past every retention.
        later = "2100-01-01T00:00:00.000+00:00"
        found = self.look(world, shop, later)
        assert (found.level, found.oldest_readable_version) == ("critical", 0)
        assert [event.name for event in capture_health.tell(world.connect(), world.settings, [found], later)] == [
            "capture_lag_critical"
        ]
        assert capture_health.tell(world.connect(), world.settings, [found], later) == ()
        world.run(*shop.requests, run=replace(world, settings=replace(world.settings, lag_warning_mb=0)).invocation())
        events = Relation.of(world.settings.catalog_schema, "pgt_events").sql
        rows = world.looking.query(
            f"SELECT event FROM {events} WHERE pgt_id = {shop.requests[1].pgt_id} AND event LIKE 'capture%' ORDER BY at"
        )
        assert sorted(row["event"] for row in rows) == ["capture_lag_critical", "capture_lag_warning"]

    def look(self, world: World, shop: Shop, now: str) -> SourceHealth:
        session = world.connect()
        found = capture_health.look(session, world.settings, read_catalog(session, world.settings), now)
        return next(each for each in found if each.source == shop.source)

    def test_a_feed_that_tells_other_changes(self, world: World, tmp_path: Path) -> None:
        """A commit names what an earlier one wrote for the feed. The versions tell which of the two is wrong."""
        shop = Shop.of(world, "mixed_up", folder=tmp_path).with_tables(TOTALS).transitioning()
        for amount in (100, 20):
            world.sql(f"UPDATE {shop.source} SET amount = amount + {amount} WHERE id = 1 AND region = 'north'")
        (first,), (second,) = (actions(tmp_path, version, "cdc") for version in (3, 4))
        text = log_of(tmp_path, 4).read_text()
        assert text.count(second["path"]) == 1
        remove(log_of(tmp_path, 4))
        log_of(tmp_path, 4).write_text(text.replace(second["path"], first["path"]))
        assert shop.run() == ["DIFFERENTIAL"]
        assert (shop.states(), shop.events()) == ([("WAL", FEED_WRONG)], [("failed", FEED_WRONG)])
        world.sql(f"UPDATE {shop.source} SET amount = amount + 3 WHERE id = 1")
        assert shop.run() == ["DIFFERENTIAL"], "by the versions, and they are not compared again"
        assert (shop.states(), len(shop.events())) == ([("WAL", FEED_WRONG)], 1)

    def test_a_log_that_tells_other_changes(self, world: World) -> None:
        """The window is read from the versions themselves, and they tell that it is the log that is wrong."""
        yes, no = [{"differs": 1}], list[dict[str, Any]]()
        shop = Shop.of(world, "log").with_tables(TOTALS).transitioning()
        shop.insert()
        session = Answering(world.connect(), yes, no)
        (outcome,) = world.run(*shop.requests, session=session)
        assert (outcome.refresh.action, session.asked) == ("DIFFERENTIAL", 2)
        assert f"{shop.source} by difference ({LOG_WRONG})" in outcome.refresh.reason
        assert (shop.states(), shop.events()) == ([("TRIGGER", LOG_WRONG)], [("failed", LOG_WRONG)])
        shop.insert()
        assert shop.run(session) == ["DIFFERENTIAL"], "they are not compared again"
        assert shop.modes() == ["TRIGGER"]
