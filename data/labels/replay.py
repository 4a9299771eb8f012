"""Does a label hold? Carry it out in the real environment, also in other orders and with a step left out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from data.environments.base import Environment, Score
from data.trajectory import Trajectory
from graph_handoff.execution import Execution, execute
from graph_handoff.plan import Guard, Plan, Step, step_id
from graph_handoff.reference import rename

_GONE = "gone"  # no step has this id


class Replay(NamedTuple):
    """What a plan leaves behind."""

    state: str
    score: Score
    execution: Execution


def run_plan(environment: Environment, task_id: str, plan: Plan) -> Replay:
    """Carry a plan out from the state in which its task begins, and score it by the benchmark's own rules."""
    environment.reset(task_id)
    execution = execute(plan, environment.call)
    return Replay(environment.state_hash(), environment.score(task_id, execution.report), execution)


def reaches_gold(environment: Environment, task_id: str, gold: Replay, plan: Plan) -> bool:
    """Executable fidelity: whether a plan leaves the state that the gold plan left, and tells all that it told.

    `gold` is what `run_plan` says of the gold plan in this environment. A plan that only looks things up is reached by any
    other that changes nothing, as the benchmark's own scorer has it.
    """
    done = run_plan(environment, task_id, plan)
    return done.state == gold.state and set(gold.execution.report) <= set(done.execution.report)


def run_recorded(environment: Environment, trajectory: Trajectory) -> tuple[str, bool]:
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
