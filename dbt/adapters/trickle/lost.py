"""Whether a statement failed because its connection did: nothing is known then of what the server has done."""

from __future__ import annotations

from collections.abc import Iterator

from dbt.adapters.exceptions import FailedToConnectError

# A server that was started anew, or has closed an idle session, does not know the one that we name.
_NO_SESSION = "Invalid SessionHandle"
_CONNECTION_CLASS = "08"  # SQLSTATE of what goes wrong with a connection, as ODBC drivers tell it


def is_lost(problem: BaseException) -> bool:
    return any(map(_breaks, _causes(problem)))


def _breaks(problem: BaseException) -> bool:
    # Of OSErrors, a statement that was sent over the network only meets the network's.
    if isinstance(problem, (OSError, EOFError, FailedToConnectError)):
        return True
    if type(problem).__name__ == "TTransportException":  # thrift's: it need not be installed
        return True
    state = problem.args[0] if problem.args else ""
    if type(problem).__module__ == "pyodbc":
        return str(state).startswith(_CONNECTION_CLASS)
    return _NO_SESSION in str(problem)


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__
