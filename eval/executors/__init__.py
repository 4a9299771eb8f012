"""Executors: one a file. The scripted one executes plans without a model; others ask models."""

from __future__ import annotations

from typing import Any

from eval.executors.base import Executor, ExecutorError, ModelRole, Outcome, Received, Stop
from graph_handoff.registry import make

EXECUTORS: dict[str, str] = {"scripted": "eval.executors.scripted:Scripted"}
"""Name -> module:class."""

__all__ = ["EXECUTORS", "Executor", "ExecutorError", "ModelRole", "Outcome", "Received", "Stop", "load_executor"]


def load_executor(name: str, **options: Any) -> Executor:
    """Make the executor of that name, or of a dotted `module:Class`. `options` are its own. Raises ConfigError."""
    table = EXECUTORS | ({name: name} if ":" in name else {})
    executor: Executor = make("executor", table, name, options, ("executor", "executor_options"))
    return executor
