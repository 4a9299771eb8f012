"""OpenAI chat with tools: JSON Lines, one conversation a line ({messages, tools?}), or a JSON array of such objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from data.sources.base import BAD_FIELD, CHUNK, NO_TASK, Accepted, RecordError, Rejected, Sample, build_each, record_id
from data.sources.coerce import Notes, conversation, strings, tool_schemas
from data.sources.stream import JsonStream, elements, json_lines, leftover
from data.trajectory import Message, RecordedOutcome, TaskInfo, Trajectory
from graph_handoff.errors import shorten


def sniff(sample: Sample) -> bool:
    """Objects with `messages`, in lines or in an array."""
    return "messages" in sample.keys


def read(path: Path, chunk: int = CHUNK) -> Iterator[Accepted | Rejected]:
    """Every conversation, as `data.sources.base.Source` says."""
    stream = JsonStream(path, chunk)
    build = partial(_build, path)
    if stream.peek() == "[":
        yield from build_each(elements(stream), build)
        yield from leftover(stream)
    else:
        yield from build_each(json_lines(path, chunk), build)


def _build(path: Path, number: int, value: Any) -> Accepted:
    if not isinstance(value, dict):
        raise RecordError(BAD_FIELD, f"must be an object; found {shorten(value)}")
    notes = Notes()
    messages = conversation(value.get("messages"), notes)
    tools = tool_schemas(value.get("tools", value.get("functions")), notes)
    own = next((value[key] for key in ("id", "conversation_id") if isinstance(value.get(key), (str, int))), None)
    trajectory = Trajectory(
        id=record_id(path, number if own is None else own),
        source="openai",
        task=TaskInfo(
            id=_text(value, "task_id") or (str(number) if own is None else str(own)),
            text=_asked(messages),
            domain=_text(value, "domain") or "unknown",
            communicate=strings(value.get("communicate"), "communicate"),
        ),
        messages=messages,
        outcome=RecordedOutcome(reward=value.get("reward")),
        notes=notes.done(),
    )
    return Accepted(number, trajectory, tools)


def _asked(messages: tuple[Message, ...]) -> str:
    """The format has no field for the task: it is what the user says, all turns of it, as values may come in any."""
    said = [m.content.strip() for m in messages if m.role == "user" and m.content and m.content.strip()]
    if not said:
        raise RecordError(NO_TASK, "no user message has text, so nothing says what was asked")
    return "\n\n".join(said)


def _text(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    return str(found) if isinstance(found, (str, int)) and not isinstance(found, bool) else None
