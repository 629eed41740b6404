"""What refreshes cost, measured: `make bench`, or `python -m benchmarks.run` with the names of scenarios."""
