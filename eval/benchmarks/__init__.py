"""Benchmarks: one adapter a file. An adapter gives the tasks as delegations and the environment that scores them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eval.benchmarks.base import Benchmark, Part
from eval.benchmarks.tau2 import load_tau2
from graph_handoff.registry import known

BENCHMARKS: dict[str, Callable[[str, Path, Part], Benchmark]] = {"tau2-retail": load_tau2, "tau2-airline": load_tau2}
"""Name -> loader(name, graphs.jsonl, part)."""

__all__ = ["BENCHMARKS", "Benchmark", "Part", "load_benchmark"]


def load_benchmark(name: str, graphs: Path, part: Part) -> Benchmark:
    """The benchmark of that name with the delegations labelled in `graphs`. Raises ConfigError, InputError."""
    return BENCHMARKS[known("benchmark", BENCHMARKS, name)](name, graphs, part)
