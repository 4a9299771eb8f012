"""Small made-up trajectories for the tests of labelling."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from data.environments.base import result_value
from data.labels.dataflow import Labelled, label
from data.labels.domain_facts import DomainFacts
from data.trajectory import Message, RecordedOutcome, TaskInfo, ToolCall, Trajectory
from graph_handoff.codec import compact
from graph_handoff.delegation import Toolset
from graph_handoff.execution import Result, execute


class Call(NamedTuple):
    """A call with its result; results that are no text are written as JSON."""

    name: str
    arguments: Mapping[str, Any]
    result: Any = ""
    error: bool = False
    requestor: str = "assistant"


class Together(NamedTuple):
    """Calls of one turn: their results come after all of them."""

    calls: tuple[Call, ...]


Turn = str | Call | Together
"""A text is what the user says; with `say:` before it, what the assistant says."""


def trajectory(*turns: Turn, task: str = "", **fields: Any) -> Trajectory:
    """A closed trajectory of these turns. `fields` go to the task (`communicate`) or to the trajectory (`source`, `tools`)."""
    messages: list[Message] = []
    for number, turn in enumerate(turns):
        messages += _messages(turn, number)
    info = {"id": "task-1", "text": task, "domain": "shop"}
    info |= {key: fields.pop(key) for key in ("communicate", "gold", "domain") if key in fields}
    values = {"id": "made-up", "source": "tau2", "outcome": RecordedOutcome(reward=1.0)} | fields
    return Trajectory(task=TaskInfo(**info), messages=tuple(messages), **values)


def _messages(turn: Turn, number: int) -> Iterator[Message]:
    if isinstance(turn, str):
        said = turn.removeprefix("say:")
        yield Message(role="user" if said == turn else "assistant", content=said)
        return
    calls = turn.calls if isinstance(turn, Together) else (turn,)
    made = [
        ToolCall(id=f"c{number}.{n}", name=c.name, arguments=dict(c.arguments), requestor=c.requestor)
        for n, c in enumerate(calls)
    ]
    yield Message(role="user" if calls[0].requestor == "user" else "assistant", tool_calls=tuple(made))
    for call, own in zip(calls, made, strict=True):
        content = call.result if isinstance(call.result, str) else json.dumps(call.result)
        yield Message(role="tool", content=content, tool_call_id=own.id, error=call.error)


def labelled(
    *turns: Turn, facts: DomainFacts | None = None, words: Any = "task+user", drop_errors: bool = True, **fields: Any
) -> Labelled:
    """The label of these turns."""
    return label(trajectory(*turns, **fields), facts or DomainFacts(), words, drop_errors)


def lines(*turns: Turn, facts: DomainFacts | None = None, **fields: Any) -> list[str]:
    """The label as the lines of the compact codec, without a toolset: every argument is named."""
    return compact.encode(labelled(*turns, facts=facts, **fields).plan.to_graph(), Toolset()).splitlines()


def replayed(source: Trajectory, found: Labelled) -> list[dict[str, Any]]:
    """The arguments that the labelled plan resolves to, where each step gets the result that was recorded."""
    kept = [(call, result) for call, result in source.calls() if not result.error and call.requestor == "assistant"]
    waiting = iter(kept)

    def call(name: str, arguments: Mapping[str, Any]) -> Result:
        recorded, result = next(waiting)
        assert name == recorded.name
        return Result(result_value(result.content or ""))

    outcomes = execute(found.plan, call).steps
    assert all(outcome.status == "ok" for outcome in outcomes), outcomes
    return [dict(outcome.arguments or {}) for outcome in outcomes if outcome.name != "report"]
