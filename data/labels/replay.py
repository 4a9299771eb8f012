"""Checks of a label: execute it in the real environment, also in other orders and with a step left out."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from data.environments.base import HasGold, ReplayableEnvironment, Score, StatefulEnvironment
from data.trajectory import Trajectory
from graph_handoff.errors import HandoffError
from graph_handoff.execution import Call, Execution, Result, execute
from graph_handoff.plan import Guard, Plan, Step, step_id
from graph_handoff.reference import rename
from graph_handoff.scalar import dumps

_GONE = "gone"  # no step has this id


class TooSlowError(HandoffError):
    """A plan took longer than it may."""


class End(NamedTuple):
    """What a plan leaves behind."""

    state: str
    execution: Execution
    is_changed: bool
    """The state differs from the one in which the plan began."""


class Replay(NamedTuple):
    """The same, with the benchmark's own score."""

    state: str
    score: Score
    execution: Execution


def run_plan(environment: ReplayableEnvironment, task_id: str, plan: Plan) -> Replay:
    """Execute a plan from the state in which its task begins, and score it by the benchmark's own rules."""
    environment.reset(task_id)
    execution = execute(plan, environment.call)
    return Replay(environment.state_hash(), environment.score(task_id, execution.report), execution)


class ReachesGold:
    """Whether a plan reaches what its gold plan reaches: the same state, and the user told all that the gold plan tells.

    A gold plan is executed once for each task, from the state in which the task begins; a task that the environment does not
    know (a synthetic one) begins as its first task does. A gold plan that only looks things up is reached by any other that
    changes nothing, as the benchmark's own scorer has it. With `exact`, the user must be told nothing more, and where the gold
    plan changes nothing the calls must be the gold plan's.
    """

    def __init__(self, environment: StatefulEnvironment, exact: bool = False, seconds: float | None = None) -> None:
        self.environment, self.exact, self.seconds = environment, exact, seconds
        self._first = environment.tasks()[0].id if isinstance(environment, HasGold) else None
        self._known = {task.id for task in environment.tasks()} if isinstance(environment, HasGold) else set()
        self._gold: dict[str, End] = {}

    def __call__(self, plan: Plan, task_id: str, gold: Plan) -> bool:
        """Raises EnvironmentCallError, and TooSlowError where a plan takes longer than `seconds`."""
        if task_id not in self._gold:
            self._gold[task_id] = self._run(task_id, gold)
        wanted, found = self._gold[task_id], self._run(task_id, plan)
        if found.state != wanted.state:
            return False
        told, due = Counter(found.execution.report), Counter(wanted.execution.report)
        if not self.exact:
            return due.keys() <= told.keys()
        return told == due and (wanted.is_changed or _calls(found.execution) == _calls(wanted.execution))

    def _run(self, task_id: str, plan: Plan) -> End:
        self.environment.reset(task_id if self._first is None or task_id in self._known else self._first)
        start = self.environment.state_hash()
        execution = execute(plan, self._timed() if self.seconds is not None else self.environment.call)
        state = self.environment.state_hash()
        return End(state, execution, state != start)

    def _timed(self) -> Call:
        deadline = time.monotonic() + (self.seconds or 0.0)

        def call(name: str, arguments: Mapping[str, Any]) -> Result:
            if time.monotonic() > deadline:
                raise TooSlowError(f"more than {self.seconds:g} seconds")
            return self.environment.call(name, arguments)

        return call


def _calls(done: Execution) -> Counter[str]:
    return Counter(f"{step.name} {dumps(step.arguments)} {step.status}" for step in done.steps if not step.is_action)


def run_recorded(environment: StatefulEnvironment, trajectory: Trajectory) -> tuple[str, bool]:
    """Repeat the recorded calls with their recorded arguments: the final state, and whether every answer was the recorded one."""
    environment.reset(trajectory.task.id)
    is_same = True
    for call, result in trajectory.calls():
        is_same &= environment.call(call.name, call.arguments, call.requestor).content == (result.content or "")
    return environment.state_hash(), is_same


def with_steps(plan: Plan, order: Sequence[int]) -> Plan:
    """The plan with these of its steps (places from 0), in this order. References to the others lead nowhere."""
    names = dict.fromkeys(map(step_id, range(len(plan.steps))), _GONE)
    names |= {step_id(old): step_id(new) for new, old in enumerate(order)}
    return replace(plan, steps=tuple(_renamed(plan.steps[old], names) for old in order))


def _renamed(step: Step, names: dict[str, str]) -> Step:
    return replace(
        step,
        arguments={key: rename(value, names) for key, value in step.arguments.items()},
        guards=tuple(Guard(rename(guard.that, names), guard.equals) for guard in step.guards),
        after=tuple(names[other] for other in step.after),
    )


def some_order(plan: Plan, generator: random.Random, with_after: bool = True) -> list[int]:
    """A random order in which each step comes after those it uses and, `with_after`, those it waits for."""
    needs = [_places((*s.sources, *(s.after if with_after else ()))) for s in plan.steps]
    done: list[int] = []
    left = list(range(len(plan.steps)))
    while left:
        ready = [number for number in left if needs[number] <= set(done)]
        chosen = generator.choice(ready)
        done.append(chosen)
        left.remove(chosen)
    return done


def feeding(plan: Plan, wanted: Iterable[int]) -> set[int]:
    """Places of the steps whose results the wanted ones use, directly or through others."""
    found: set[int] = set()
    waiting = set(wanted)
    while waiting:
        waiting = set().union(*(_places(plan.steps[number].sources) for number in waiting)) - found
        found |= waiting
    return found


def _places(ids: Iterable[str]) -> set[int]:
    return {int(step[1:]) - 1 for step in ids}
