"""Judging protocols: benchmarks, executors, the suite, statistics, the report."""
