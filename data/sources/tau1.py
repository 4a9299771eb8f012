"""tau-bench v1 results: a JSON array of {task_id, reward, info{task{instruction, actions}}, traj[OpenAI messages], trial}.

tau2 has taken over the tools, the databases and the numbers of the test tasks, so its environments execute these runs, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from data.environments.tau2 import environment_name
from data.sources.base import BAD_FIELD, CHUNK, RUN_FAILED, Accepted, RecordError, Rejected, Sample, build_each, record_id
from data.sources.coerce import Notes, arguments, conversation, strings
from data.sources.stream import JsonStream, elements, leftover
from data.trajectory import Message, RecordedOutcome, TaskInfo, ToolCall, Trajectory
from graph_handoff.errors import shorten

# The results do not name the domain; the policy that opens each run does, in its title.
_POLICY_TITLE = re.compile(r"\s*#\s*(\w+)\s+agent\s+policy", re.IGNORECASE)


def sniff(sample: Sample) -> bool:
    """An array whose elements have `traj`."""
    return sample.opening == "[" and "traj" in sample.keys


def read(path: Path, chunk: int = CHUNK) -> Iterator[Accepted | Rejected]:
    """Every run, as `data.sources.base.Source` says."""
    stream = JsonStream(path, chunk)
    yield from build_each(elements(stream), partial(_build, path))
    yield from leftover(stream)


def _build(path: Path, number: int, value: Any) -> Accepted:
    if not isinstance(value, dict):
        raise RecordError(BAD_FIELD, f"must be an object; found {shorten(value)}")
    info = value.get("info")
    if not isinstance(info, dict) or not isinstance(info.get("task"), dict):
        if isinstance(info, dict) and "error" in info:
            raise RecordError(RUN_FAILED, f"info.error: {shorten(info['error'])}")
        raise RecordError(BAD_FIELD, f"info.task must be an object; found {shorten(info)}")
    notes = Notes()
    messages = tuple(map(_mark_error, conversation(value.get("traj"), notes)))
    task_id = value.get("task_id", number - 1)
    domain = _domain(messages)
    text = info["task"].get("instruction")
    if not isinstance(text, str) or not text.strip():
        raise RecordError(BAD_FIELD, f"info.task.instruction must be text; found {shorten(text)}")
    trajectory = Trajectory(
        id=record_id(path, task_id, value.get("trial")),
        source="tau1",
        task=TaskInfo(
            id=str(task_id),
            text=text,
            domain=domain,
            gold=_gold(info["task"], notes),
            communicate=strings(info["task"].get("outputs"), "info.task.outputs"),
        ),
        messages=messages,
        outcome=RecordedOutcome(reward=value.get("reward")),
        environment=environment_name(domain),
        notes=notes.done(),
    )
    return Accepted(number, trajectory)


def _mark_error(message: Message) -> Message:
    """tau-bench v1 has no error flag: its tools answer with text that begins with "Error"."""
    if message.role == "tool" and (message.content or "").startswith("Error"):
        return message.model_copy(update={"error": True})
    return message


def _domain(messages: tuple[Message, ...]) -> str:
    title = _POLICY_TITLE.match(messages[0].content or "") if messages[0].role == "system" else None
    return title[1].lower() if title else "unknown"


def _gold(task: Mapping[str, Any], notes: Notes) -> tuple[ToolCall, ...]:
    actions = task.get("actions") or []
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise RecordError(BAD_FIELD, f"info.task.actions must be a list of objects; found {shorten(actions)}")
    return tuple(
        ToolCall(id=f"gold_{number}", name=action.get("name"), arguments=arguments(action.get("kwargs"), notes)[0])
        for number, action in enumerate(actions, 1)
    )
