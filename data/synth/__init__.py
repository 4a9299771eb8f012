"""Synthetic plans: new valid plans, found by executing them in a benchmark's real environment."""
