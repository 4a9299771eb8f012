"""Synthetic plans: new valid plans, found by carrying them out in a benchmark's real environment."""
