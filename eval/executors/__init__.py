"""Executors: who carries a handoff out. All write the same record (eval/trial.py)."""
