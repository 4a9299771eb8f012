"""What one line of a linearization says: a goal, a rule, or a step taken apart into its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graph_handoff.errors import CodecError
from graph_handoff.plan import Effect, Guard, Plan, Step
from graph_handoff.scalar import Scalar


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One line: its words, without the closing <line>, and the values of its <new> slots in order."""

    words: tuple[str, ...]
    values: tuple[Scalar, ...]


class GoalLine(NamedTuple):
    """The plan's goal."""

    text: str


class RuleLine(NamedTuple):
    """One of the plan's rules."""

    text: str


class Argument(NamedTuple):
    """One argument of a step."""

    name: str
    value: Any
    """A JSON value that may hold a Reference at any depth."""


class After(NamedTuple):
    """An order: the step of this id must run before."""

    node: str


Part = Argument | Guard | Effect | After
"""What follows the name of a step on its line."""


class ToolLine(NamedTuple):
    """A call of a tool."""

    name: str
    parts: Sequence[Part]


class ActionLine(NamedTuple):
    """An action of the executor's own."""

    name: str
    parts: Sequence[Part]


Entry = Step | GoalLine | RuleLine
"""What one line holds."""


def entries(plan: Plan) -> list[Entry]:
    """The entries of a plan, in the order of its lines."""
    goal = [GoalLine(plan.goal)] if plan.goal is not None else []
    return [*goal, *map(RuleLine, plan.rules), *plan.steps]


def plan_of(found: Iterable[Entry]) -> Plan:
    """The inverse of `entries`; where there are several goals the first counts."""
    found = list(found)
    goals = [entry.text for entry in found if isinstance(entry, GoalLine)]
    rules = tuple(entry.text for entry in found if isinstance(entry, RuleLine))
    return Plan(tuple(e for e in found if isinstance(e, Step)), goals[0] if goals else None, rules)


def take_apart(step: Step) -> ToolLine | ActionLine:
    """A step as its name and its parts."""
    arguments = [Argument(name, value) for name, value in step.arguments.items()]
    kind = ActionLine if step.is_action else ToolLine
    return kind(step.name, [*arguments, *step.guards, *step.effects, *map(After, step.after)])


def put_together(line: ToolLine | ActionLine) -> Step:
    """The inverse of `take_apart`."""
    arguments: dict[str, Any] = {}
    guards: list[Guard] = []
    effects: list[Effect] = []
    after: list[str] = []
    for part in line.parts:
        if isinstance(part, Argument):
            arguments[part.name] = part.value
        elif isinstance(part, Guard):
            guards.append(part)
        elif isinstance(part, Effect):
            effects.append(part)
        else:
            after.append(part.node)
    return Step(line.name, arguments, tuple(guards), tuple(effects), tuple(after), isinstance(line, ActionLine))


def text_of(value: Scalar) -> str:
    """The text of a goal or rule. Raises CodecError for any other scalar."""
    if not isinstance(value, str):
        raise CodecError("a goal or constraint is a text", found=value)
    return value
