"""What exporters disagree on, in one place: arguments, content, ids, and which result answers which call.

A value is never coerced: "00713" stays text and an integer keeps every digit. What is changed is the wrapping, and each
change leaves a note. Where two readings are possible, the record is set aside.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from data.sources.base import AMBIGUOUS, BAD_ARGUMENTS, BAD_FIELD, NO_MESSAGES, NOT_CLOSED, NOT_JSON, RecordError
from data.sources.stream import parse
from data.toolsets import as_function
from data.trajectory import Message, Requestor, Role, ToolCall, closure_problem
from graph_handoff.errors import shorten

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""The roles that chat formats use, and ours."""

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The content parts that are text, and the key that holds it."""

MAX_OPEN = 1000
"""Calls that may wait for a result at once: what pairing costs grows with them."""


class Notes:
    """What had to be coerced in one record: a sentence each, with how often."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, sentence: str) -> None:
        self._counts[sentence] += 1

    def done(self) -> tuple[str, ...]:
        """The sentences in the order of their first use."""
        return tuple(f"{text} ({n} times)" if n > 1 else text for text, n in self._counts.items())


def arguments(value: Any, notes: Notes) -> tuple[dict[str, Any], str | None]:
    """A call's arguments as an object, and as the source spelled them where that was text.

    Takes an object, its JSON text, that text encoded once more as a JSON string, or nothing. Raises RecordError for
    anything else, and for NaN or infinity inside.
    """
    if isinstance(value, dict):
        return value, None
    if value is None or (isinstance(value, str) and not value.strip()):
        notes.add("A call's arguments were empty and were read as an object with no members.")
        return {}, value
    if not isinstance(value, str):
        raise RecordError(BAD_ARGUMENTS, f"found {shorten(value)}")
    decoded = _parse_arguments(value)
    if isinstance(decoded, str):
        decoded = _parse_arguments(decoded)
        notes.add("A call's arguments were encoded twice and were decoded twice.")
    if not isinstance(decoded, dict):
        raise RecordError(BAD_ARGUMENTS, f"found {shorten(value)}")
    return decoded, value


def _parse_arguments(text: str) -> Any:
    try:
        return parse(text)
    except RecordError as problem:
        reason = BAD_ARGUMENTS if problem.reason == NOT_JSON else problem.reason
        raise RecordError(reason, f"arguments: {problem.detail}") from None


def text_content(value: Any, role: Role, notes: Notes) -> str | None:
    """A message's content as text. Text parts are joined by line breaks; a tool's object or list becomes its JSON text."""
    if value is None or isinstance(value, str):
        return value
    parts = [_part_text(part) for part in value] if isinstance(value, list) else []
    if role == "tool" and (not parts or None in parts):
        notes.add("A result was not text and was kept as its JSON text.")
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, list):
        raise RecordError(BAD_FIELD, f"content of a {role} message must be text, text parts or null; found {shorten(value)}")
    for _ in range(parts.count(None)):
        notes.add("A content part that is not text was left out.")
    return "\n".join(part for part in parts if part is not None)


def _part_text(part: Any) -> str | None:
    """The text of a content part, or None where it is of another type."""
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get(_TEXT_PARTS[kind]) if isinstance(kind, str) and kind in _TEXT_PARTS else None
    return text if isinstance(text, str) else None


def tool_schemas(value: Any, notes: Notes) -> tuple[dict[str, Any], ...]:
    """Tool schemas in OpenAI's function form, from every form that `data.toolsets.as_function` takes, or from their JSON text."""
    if isinstance(value, str):
        value = parse(value)
        notes.add("The tool schemas were text and were decoded.")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise RecordError(BAD_FIELD, f"tools must be a list; found {shorten(value)}")
    schemas: list[dict[str, Any]] = []
    for tool in value:
        function = as_function(tool)
        if function is None:
            notes.add(f"A tool that is not a function was left out: {shorten(tool, 60)}.")
        else:
            schemas.append(function)
    return tuple(schemas)


def strings(value: Any, field: str) -> tuple[str, ...]:
    """A list of text, or nothing. Raises RecordError."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise RecordError(BAD_FIELD, f"{field} must be a list of text; found {shorten(value)}")
    return tuple(value)


def conversation(rows: Any, notes: Notes, result_id: str = "tool_call_id") -> tuple[Message, ...]:
    """Chat messages in our shape, each call closed by exactly one result.

    `rows` is a list of OpenAI chat messages (or tau2's, where a call is flat and `result_id` is "id"). Raises RecordError.
    """
    if not isinstance(rows, list) or not rows:
        raise RecordError(NO_MESSAGES, f"messages: found {shorten(rows)}")
    reader = _Reader(rows, notes, result_id)
    messages = tuple(reader.message(index) for index in range(len(rows)))
    if problem := closure_problem(messages):
        raise RecordError(NOT_CLOSED, problem)
    return messages


class _Open(NamedTuple):
    """A call that waits for its result."""

    given: str
    """The id in the source; empty where it has none."""
    id: str
    name: str


class _Reader:
    """Reads one conversation from its first row to its last, and pairs results with calls on the way.

    A result belongs to the open call whose id it names. Where ids are missing or doubled it belongs to the first open
    call (of its name, where it gives one), if just as many results follow in a row as there are calls that it fits.
    """

    def __init__(self, rows: Sequence[Any], notes: Notes, result_id: str) -> None:
        for index, row in enumerate(rows):
            role = row.get("role") if isinstance(row, dict) else None
            if not isinstance(role, str) or role not in ROLES:
                found = row.get("role") if isinstance(row, dict) else row
                raise RecordError(BAD_FIELD, f"messages.{index}.role must be one of {', '.join(ROLES)}; found {shorten(found)}")
        self.rows: Sequence[dict[str, Any]] = rows
        self.calls = [_calls(row) for row in rows]
        self.notes, self.result_id = notes, result_id
        self.answered = {_given_id(row.get(result_id)) for row in self.rows if ROLES[row["role"]] == "tool"} - {""}
        self.given = {_given_id(call.get("id")) for calls in self.calls for call in calls} | self.answered
        self.used: set[str] = set()
        self.open: list[_Open] = []
        self.count = 0

    def message(self, index: int) -> Message:
        row = self.rows[index]
        role = ROLES[row["role"]]
        if row["role"] == "developer":
            self.notes.add("A developer message was read as a system message.")
        content = text_content(row.get("content"), role, self.notes)
        if role == "tool":
            return Message(role=role, content=content, tool_call_id=self._answer(index), error=row.get("error") is True)
        calls = self.calls[index]
        if calls and role == "system":
            raise RecordError(BAD_FIELD, f"messages.{index}: a system message calls tools")
        return Message(role=role, content=content, tool_calls=tuple(self._call(call, role) for call in calls))

    def _call(self, call: dict[str, Any], role: Role) -> ToolCall:
        function = call.get("function")
        body = function if isinstance(function, dict) else call
        name = body.get("name")
        if not isinstance(name, str) or not name:
            raise RecordError(BAD_FIELD, f"a call must name its function; found {shorten(call)}")
        self.count += 1
        given = _given_id(call.get("id"))
        opened = _Open(given, self._unique(given), name)
        self.open.append(opened)
        if len(self.open) > MAX_OPEN:
            raise RecordError(NOT_CLOSED, f"more than {MAX_OPEN} calls wait for a result")
        value, raw = arguments(body.get("arguments"), self.notes)
        requestor = call.get("requestor")
        if requestor not in ("assistant", "user"):
            requestor = "user" if role == "user" else "assistant"
        return ToolCall(id=opened.id, name=name, arguments=value, raw=raw, requestor=cast(Requestor, requestor))

    def _unique(self, given: str) -> str:
        """The source's id, or `call_N` for the conversation's Nth call where that is missing or already taken."""
        made = given
        if not given or given in self.used:
            what = "was empty or missing" if not given else "was used before"
            self.notes.add(f"A call's id {what} and was replaced.")
            made = f"call_{self.count}"
            while made in self.given or made in self.used:
                made += "_"
        self.used.add(made)
        return made

    def _answer(self, index: int) -> str:
        """The id of the call that the result at `index` answers; the call is then no longer open."""
        key = self._key(self.rows[index])
        fits = self._fitting(*key)
        if not fits:
            given, name = key
            state = "answers a call that already has one" if given in self.used else "answers no open call"
            raise RecordError(NOT_CLOSED, f"messages.{index}: a result {state}: id {given!r}, name {name!r}")
        if len(fits) > 1 and self._results_in_a_row(index) != len(fits):
            raise RecordError(AMBIGUOUS, f"messages.{index}: it fits the calls {', '.join(call.id for call in fits)}")
        if not key[0]:
            self.notes.add("A result named no call and was paired by its position.")
        elif len(fits) > 1:
            self.notes.add("A result named an id that several open calls share and was paired by its position.")
        elif key[0] != fits[0].given:
            self.notes.add("A result named an id that no call has and was paired by its position.")
        self.open.remove(fits[0])
        return fits[0].id

    def _key(self, row: dict[str, Any]) -> tuple[str, str]:
        name = row.get("name")
        return _given_id(row.get(self.result_id)), name if isinstance(name, str) else ""

    def _fitting(self, given: str, name: str) -> list[_Open]:
        """The open calls that a result with this id and name can answer."""
        if given and (named := [call for call in self.open if call.given == given]):
            same = [call for call in named if call.name == name]
            return same or named
        if given:  # ids were lost on the calls' side, or the result is a stranger
            free = [] if given in self.used else [call for call in self.open if not call.given]
        else:  # a call whose id some other result names is that one's
            free = [call for call in self.open if call.given not in self.answered] or self.open
        return [call for call in free if not name or call.name == name]

    def _results_in_a_row(self, index: int) -> int:
        """How many results, from this one on without another message between, could answer the same calls."""
        given, name = self._key(self.rows[index])
        count = 0
        for row in self.rows[index:]:
            if ROLES[row["role"]] != "tool":
                break
            other_given, other_name = self._key(row)
            same_id = other_given == given or (given not in self.used and other_given not in self.used)
            count += same_id and (not name or other_name == name)
        return count


def _given_id(value: Any) -> str:
    """An id as text, empty for none: some exporters number the calls."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise RecordError(BAD_FIELD, f"an id must be text; found {shorten(value)}")


def _calls(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of a message; the one of OpenAI's older `function_call` where there are no others."""
    calls = row.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise RecordError(BAD_FIELD, f"tool_calls must be a list of objects; found {shorten(calls)}")
    legacy = row.get("function_call")
    if not calls and legacy is not None:
        if not isinstance(legacy, dict):
            raise RecordError(BAD_FIELD, f"function_call must be an object; found {shorten(legacy)}")
        return [legacy]
    return calls
