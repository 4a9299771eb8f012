"""Trajectories of a small library, built in code: loans are looked up, extended and returned."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from data.trajectory import Message, TaskInfo, ToolCall, Trajectory

PARAMETERS = {
    "get_loan": {"loan_id": "string"},
    "extend_loan": {"loan_id": "string", "days": "integer"},
    "return_loan": {"loan_id": "string"},
    "get_member": {"member_id": "string"},
}


def _schema(name: str, parameters: dict[str, str]) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS: tuple[dict[str, Any], ...] = tuple(_schema(name, parameters) for name, parameters in PARAMETERS.items())
WRITING = frozenset({"extend_loan", "return_loan"})

Call = tuple[str, dict[str, Any], Any]
"""Name, arguments, answer; an answer that is text beginning with `Error` is a refusal."""


def loan(loan_id: str, days: int = 14, status: str = "out") -> dict[str, Any]:
    return {"loan_id": loan_id, "days": days, "status": status}


def look(loan_id: str, **fields: Any) -> Call:
    return ("get_loan", {"loan_id": loan_id}, loan(loan_id, **fields))


def extend(loan_id: str, days: int) -> Call:
    return ("extend_loan", {"loan_id": loan_id, "days": days}, loan(loan_id, days=days))


def give_back(loan_id: str, **fields: Any) -> Call:
    return ("return_loan", {"loan_id": loan_id}, loan(loan_id, status="returned", **fields))


def recorded(calls: Iterable[Call], name: str = "t1", communicate: tuple[str, ...] = ()) -> Trajectory:
    messages = [Message(role="user", content="Extend LN4471, return LN8812.")]
    for number, (tool, arguments, answer) in enumerate(calls):
        call = ToolCall(id=f"c{number}", name=tool, arguments=arguments)
        content = answer if isinstance(answer, str) else json.dumps(answer)
        is_error = isinstance(answer, str) and answer.startswith("Error")
        messages += [
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=content, tool_call_id=call.id, error=is_error),
        ]
    task = TaskInfo(id=name, text="Extend LN4471, return LN8812.", domain="library", communicate=communicate)
    return Trajectory(id=name, source="openai", task=task, messages=tuple(messages))
