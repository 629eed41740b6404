"""Tests of what has been built but was not yet seen to hold as a whole, each with what is missing.

They are not run by `make test`; `pytest --pending` runs them. An issue is not done while one of its
tests stands here.
"""

_BUSY = "failed on a machine that was busy with four other Sparks; to be seen on a quiet one"

PENDING = {
    "functional/embedded/test_processes.py::test_one_writes_others_read": _BUSY,
    "functional/embedded/test_processes.py::test_ctrl_c_ends_the_query_dbt_and_spark": _BUSY,
    "faults/test_crash_matrix.py": "its cases passed in pieces; to be seen to pass in one run, and how long that takes",
    "faults/test_races.py": "passed in pieces; to be seen to pass in one run",
    "functional/engine/test_capture.py": "written, but never run on Spark",
    "functional/engine/test_capture_events.py": "written, but never run on Spark: what it expects was not seen",
}
