"""An environment of recordings alone: it answers the calls that were recorded, and scores by the recorded writes.

A recording's id is the id of its task. What was never recorded nobody knows: such a call is answered `not_recorded`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from data.environments.base import COMMUNICATE, CallResult, Score, result_value
from data.environments.tau2_score import report_findings, sentence
from data.environments.writes import ids_in, key_of
from data.trajectory import Requestor, Trajectory
from graph_handoff.errors import InputError, did_you_mean, shorten
from graph_handoff.execution import execute
from graph_handoff.files import sha256_json
from graph_handoff.graph import Graph, step_needs
from graph_handoff.plan import Plan

NAME = "recorded"
MAX_STATUS = 40
"""Characters of a status; a longer text is none."""
WRITES, ORDER = "WRITES", "ORDER"


@dataclass(frozen=True)
class RecordedCall:
    """One call of the assistant's, with its answer."""

    name: str
    key: str
    """Name and arguments: equal for equal calls."""
    arguments: Mapping[str, Any]
    answer: CallResult
    is_write: bool
    """It changed the state: its tool writes, and did not refuse."""
    before: frozenset[int]
    """Places of the writes before it."""

    @cached_property
    def ids(self) -> frozenset[str]:
        """What it was given that may name a record."""
        return frozenset(value for value, _ in ids_in(self.arguments))

    @cached_property
    def subjects(self) -> Mapping[str, str]:
        """Argument -> the id that it was given and that the answer repeats under the same name: the record it is about."""
        answer = self.answer.value if isinstance(self.answer.value, dict) else {}
        return {name: value for value, name in ids_in(self.arguments) if answer.get(name) == value}


@dataclass
class Recording:
    """A trajectory, the schemas of its tools, and its labelled graph, where it has one."""

    trajectory: Trajectory
    tools: tuple[dict[str, Any], ...] = ()
    graph: Graph | None = None
    """It says in which orders the writes may be made; without it, only as they were recorded."""
    writing: frozenset[str] = field(default_factory=frozenset)
    """Names of the tools that write."""

    @cached_property
    def calls(self) -> tuple[RecordedCall, ...]:
        """In order. A user's own calls are left out: no plan makes them."""
        made: list[RecordedCall] = []
        writes: list[int] = []
        for call, result in self.trajectory.calls():
            if call.requestor == "user":
                continue
            content = result.content or ""
            answer = CallResult(result_value(content), result.error, content=content)
            is_write = call.name in self.writing and not result.error
            key = _key(call.name, call.arguments)
            made.append(RecordedCall(call.name, key, call.arguments, answer, is_write, frozenset(writes)))
            if is_write:
                writes.append(len(made) - 1)
        return tuple(made)

    @cached_property
    def places(self) -> Mapping[str, tuple[int, ...]]:
        """Key -> places of the calls that have it."""
        found: dict[str, tuple[int, ...]] = {}
        for place, call in enumerate(self.calls):
            found[call.key] = (*found.get(call.key, ()), place)
        return found

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """Places of the writes, in order."""
        return tuple(place for place, call in enumerate(self.calls) if call.is_write)

    @cached_property
    def required(self) -> Mapping[str, tuple[str, ...]]:
        """Tool -> the arguments without which it refuses, by its schema."""
        inner = [schema.get("function", schema) for schema in self.tools]
        return {tool["name"]: tuple((tool.get("parameters") or {}).get("required") or ()) for tool in inner}

    def refusal(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Why the schemas alone rule a call out, where they do."""
        if name not in self.required:
            return f"no such tool: {name}" if self.required else None
        missing = [argument for argument in self.required[name] if argument not in arguments]
        return f"{name}: missing {', '.join(missing)}" if missing else None

    @cached_property
    def order(self) -> frozenset[tuple[int, int]]:
        """Pairs of writes of which the first must be made first, as the graph says; as recorded where there is no graph."""
        if self.graph is None:
            return frozenset((one, other) for other in self.writes for one in self.calls[other].before)
        tape = Tape(self)
        places: list[int | None] = []

        def call(name: str, arguments: Mapping[str, Any]) -> CallResult:
            count = len(tape.made)
            answer = tape.call(name, arguments)
            places.append(tape.made[-1] if len(tape.made) > count else None)
            return answer

        plan, names = Plan.read(self.graph)
        called = [o for o in execute(plan, call).steps if o.arguments is not None and not o.is_action]
        place_of = {names[o.id]: place for o, place in zip(called, places, strict=True) if place is not None}
        return frozenset((one, other) for one, other in _pairs(self.graph, place_of) if not self._is_free(one, other))

    def _is_free(self, one: int, other: int) -> bool:
        """Whether the order of two writes says nothing: they concern records of their own, or different fields of one.

        Records of their own: each was given an id that its answer repeats under the same name, and these differ. What else both
        were given (the card that two orders are paid with) was given under the same name: a sum that goes from A to B and on to
        C is no such pair.
        """
        left, right = self.calls[one], self.calls[other]
        own = left.subjects.keys() & right.subjects.keys()
        if any(left.subjects[name] != right.subjects[name] for name in own):
            given, also = dict(ids_in(left.arguments)), dict(ids_in(right.arguments))
            return all(given[value] == also[value] for value in given.keys() & also.keys())
        changed, later = self._changed(one), self._changed(other)
        return bool(own) and changed is not None and later is not None and not changed & later

    def _changed(self, place: int) -> frozenset[str] | None:
        """The fields of its record that a write changed, by the last answer before it that gave the same record.

        None where that is not known, and where one of them is a status: a short text that the call does not name. What may be
        done next can depend on it.
        """
        call = self.calls[place]
        after = call.answer.value
        for earlier in reversed(self.calls[:place]):
            before = earlier.answer.value
            if isinstance(before, dict) and all(before.get(name) == value for name, value in call.subjects.items()):
                fields = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
                named = call.arguments.values()
                is_status = any(_is_status(after.get(name)) and after.get(name) not in named for name in fields)
                return None if is_status else frozenset(fields)
        return None


def _pairs(graph: Graph, place_of: Mapping[str, int]) -> Iterable[tuple[int, int]]:
    """Pairs of places whose steps the graph orders, other steps between them or not."""
    needs = step_needs(graph)
    for step, place in place_of.items():
        waiting, known = [step], set[str]()
        while waiting:
            for other in needs[waiting.pop()] - known:
                known.add(other)
                waiting.append(other)
        yield from ((place_of[other], place) for other in known & place_of.keys())


class Tape:
    """One run over a recording: which of its writes have been made, in which order, and what was never recorded."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.made: list[int] = []
        """Places of recorded writes."""
        self.unknown: list[str] = []
        """Keys of the calls of writing tools that the recording does not hold, or not so often."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallResult:
        """The recorded answer.

        Where the same call was recorded several times, a look-up gets the latest answer before which no write was recorded that
        has not been made now: after a write it gets what was found after that write. A write is made once for each time that it
        was recorded. A call that the schemas do not allow is refused.
        """
        key = _key(name, arguments)
        calls, made = self.recording.calls, {*self.made}
        found = [place for place in self.recording.places.get(key, ()) if place not in made]
        ready = [place for place in found if calls[place].before <= made]
        writes = [place for place in ready or found if calls[place].is_write]
        if writes:
            self.made.append(writes[0])
            return calls[writes[0]].answer
        if found:
            return calls[self._latest(found, ready[-1] if ready else found[0])].answer
        if refusal := self.recording.refusal(name, arguments):
            return CallResult(refusal, error=True, content=refusal)
        if name in self.recording.writing:
            self.unknown.append(key)
        text = f"not recorded: {name} {shorten(dict(arguments))}"
        return CallResult(text, not_recorded=True, content=text)

    def _latest(self, found: Sequence[int], place: int) -> int:
        """The place of the answer to a look-up, `place` unless that misses a write of its own record (one that shares an id).

        Writes on other records may have been put off: then it is the latest answer before which no write of its own is missing.
        """
        calls, made = self.recording.calls, {*self.made}
        own = {write for write in self.recording.writes if calls[write].ids & calls[place].ids}
        if own & made <= calls[place].before:
            return place
        return max((other for other in found if calls[other].before & own <= made), default=place)

    def disorder(self) -> list[tuple[int, int]]:
        """Pairs of writes that were made the wrong way round."""
        at = {place: number for number, place in enumerate(self.made)}
        return sorted(pair for pair in self.recording.order if pair[0] in at and pair[1] in at and at[pair[0]] > at[pair[1]])


class RecordedEnvironment:
    """An `Environment` with a score and a state. `fork` gives another that shares the recordings."""

    def __init__(self, recordings: Mapping[str, Recording]) -> None:
        self.name = NAME
        self.recordings = recordings
        self._tape: Tape | None = None

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        """Those of the recording at hand; before the first reset, those of all, each name once."""
        shown = self.recordings.values() if self._tape is None else (self._tape.recording,)
        by_name = {schema.get("function", schema)["name"]: schema for recording in shown for schema in recording.tools}
        return tuple(by_name[name] for name in sorted(by_name))

    def fork(self) -> RecordedEnvironment:
        return RecordedEnvironment(self.recordings)

    def reset(self, task_id: str) -> None:
        if task_id not in self.recordings:
            hint = did_you_mean(task_id, self.recordings)
            raise InputError(f"no such recording{hint}", field="task_id", found=task_id)
        self._tape = Tape(self.recordings[task_id])

    def call(self, name: str, arguments: Mapping[str, Any], requestor: Requestor = "assistant") -> CallResult:
        return self._at_hand().call(name, arguments)

    def is_write(self, tool_name: str) -> bool:
        return any(tool_name in recording.writing for recording in self.recordings.values())

    def state_hash(self) -> str:
        """Equal where the same writes were made, in orders that break the graph's in the same places."""
        tape = self._at_hand()
        return sha256_json([sorted(tape.made), sorted(tape.unknown), tape.disorder()])

    def score(self, task_id: str, reported: Sequence[str]) -> Score:
        """WRITES: the recorded writes with the recorded arguments, and no others. ORDER: in an order that the graph allows.

        COMMUNICATE: what the record says that the user must be told; left out where it says nothing.
        """
        tape = self._at_hand()
        findings = {WRITES: _write_findings(tape), ORDER: _order_findings(tape)}
        if wanted := tape.recording.trajectory.task.communicate:
            findings[COMMUNICATE] = report_findings(wanted, reported)
        parts = {name: 0.0 if found else 1.0 for name, found in findings.items()}
        return Score(prod(parts.values()), parts, sentence([finding for found in findings.values() for finding in found]))

    def _at_hand(self) -> Tape:
        if self._tape is None:
            raise InputError("no task has been begun: call reset first", field="task_id")
        return self._tape


def _is_status(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_STATUS and not any(c.isdigit() for c in value)


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} {key_of(arguments)}"


def _write_findings(tape: Tape) -> list[str]:
    made = set(tape.made)
    missing = [f"never made: {shorten(tape.recording.calls[p].key)}" for p in tape.recording.writes if p not in made]
    return missing + [f"not recorded: {shorten(key)}" for key in tape.unknown]


def _order_findings(tape: Tape) -> list[str]:
    calls = tape.recording.calls
    return [f"{shorten(calls[late].key)} came before {shorten(calls[early].key)}" for early, late in tape.disorder()]
