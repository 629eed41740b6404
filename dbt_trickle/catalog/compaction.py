"""Which entries of the journal nobody reads any more, and the statement that takes them out.

It deletes those that it names and touches no others. To write the journal anew without them would be one statement
as well, but what another run appends between its reading and its commit would be lost. So it may be run at any time
by anybody: an entry that has a newer one of its key stays without use, whatever is appended.
"""

from __future__ import annotations

from dbt_trickle.catalog import tables
from dbt_trickle.names import literal

_STATES = (
    tables.STREAM_TABLE,
    tables.DEPENDENCIES,
    tables.DIAMOND,
    tables.INVOCATION,
    tables.META,
    tables.MAINTENANCE,
)


def compact(catalog_schema: str, retention_days: int) -> str:
    """A MERGE, because Delta's DELETE takes no subquery."""
    journal = tables.journal(catalog_schema).sql
    # In whole days: big files of old history are rewritten once a day, not each time.
    oldest = f"date_trunc('DAY', current_timestamp()) - INTERVAL {retention_days} DAYS"
    return (
        f"MERGE INTO {journal} AS j USING (\n{superseded(journal, oldest)}\n) AS s\n"
        "ON j.kind = s.kind AND j.key = s.key AND j.at = s.at AND j.seq = s.seq\n"
        "WHEN MATCHED THEN DELETE"
    )


def superseded(journal: str, oldest: str) -> str:
    """The entries to go, each once. `oldest`: history and events from before it are not kept.

    Payloads of the history are most of the journal, and only read where they are old. Two entries of one key and one
    instant both stay: which of them the views show is not for us to say.
    """
    newest_first = f"ORDER BY {', '.join(f'{by} DESC' for by in tables.ORDER)}"
    states = ", ".join(map(literal, _STATES))
    history, event = literal(tables.HISTORY), literal(tables.EVENT)
    over = f"payload = '' OR (kind = {literal(tables.INVOCATION)} AND get_json_object(payload, '$.state') = 'CLOSED')"
    return (
        # What is said again, and what is over: a dropped stream table, an invocation that has ended.
        "SELECT kind, key, at, seq FROM ("
        f"SELECT kind, key, at, seq, payload, rank() OVER (PARTITION BY kind, key {newest_first}) AS age "
        f"FROM {journal} WHERE kind IN ({states})) WHERE age > 1 OR {over}\n"
        # That a refresh was running, once it is known how it ended.
        "UNION SELECT kind, key, at, seq FROM ("
        f"SELECT kind, key, at, seq, rank() OVER (PARTITION BY key {newest_first}) AS age "
        f"FROM {journal} WHERE kind = {history}) WHERE age > 1\n"
        # What is old; but of each stream table its last refresh stays, and one that nobody has closed yet.
        "UNION SELECT kind, key, at, seq FROM ("
        "SELECT kind, key, at, seq, payload, "
        f"rank() OVER (PARTITION BY kind, get_json_object(payload, '$.pgt_id') {newest_first}) AS age "
        f"FROM {journal} WHERE kind IN ({history}, {event}) AND at < {oldest}) "
        f"WHERE kind = {event} OR (age > 1 AND get_json_object(payload, '$.status') <> 'RUNNING')"
    )
