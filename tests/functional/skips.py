"""Every test of dbt's own suites that is not run, and why. Keys: file::class or file::class::test."""

SKIPS: dict[str, str] = {}
