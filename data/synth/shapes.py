"""The shapes of the benchmark's own plans: what is done to how many records, after which lookups, without saying to which.

Only the train split is looked at. New plans take their shapes from here, so that they are as long and as mixed as real ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from data.environments.base import BenchmarkEnvironment, EnvTask


@dataclass(frozen=True)
class Shape:
    """The outline of one plan."""

    bundles: tuple[tuple[str, ...], ...] = ()
    """For each record that is changed: the write tools, in order, each once."""
    alone: tuple[str, ...] = ()
    """Writes that are about no such record: a user's address, a booking, a certificate."""
    lookups: frozenset[str] = frozenset()
    """The tools called that write nothing."""
    asks: bool = False
    """The user wants to be told something."""


def gold_shapes(environment: BenchmarkEnvironment, record_key: str) -> tuple[Shape, ...]:
    """One shape for each task of the train split that has calls; `record_key` is the argument that names a record."""
    train = [task for task in environment.tasks() if task.split == "train" and task.gold]
    return tuple(_shape(environment, task, record_key) for task in train)


def _shape(environment: BenchmarkEnvironment, task: EnvTask, record_key: str) -> Shape:
    bundles: dict[str, dict[str, None]] = {}
    alone: list[str] = []
    for call in task.gold:
        if environment.is_write(call.name):
            record = call.arguments.get(record_key)
            if record is None:
                alone.append(call.name)
            else:
                bundles.setdefault(record, {})[call.name] = None
    lookups = frozenset(call.name for call in task.gold if not environment.is_write(call.name))
    return Shape(tuple(map(tuple, bundles.values())), tuple(alone), lookups, bool(task.communicate))
