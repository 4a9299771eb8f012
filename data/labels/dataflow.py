"""Trajectory -> plan, by data flow: each argument is a literal, or a reference to the earlier result that it came from.

No model takes part. The rules, in the order in which they are tried for each scalar of each argument:

1. It is in the task's own words: a literal.
2. An earlier result holds an equal value, and such a match says enough (`match_strength`): a reference to the earliest
   result that held it, by the best path (`data.labels.value_paths`). Where that path has a step that only the result tells (a key
   or an index), a later result that has a better path is taken instead.
3. The tool's schema names it: a literal.
4. It is a weak match, but stands beside better ones in the same record: a reference.
5. A literal that the agent made up or worked out. It is counted.

A result is known from the turn after it on: calls of one turn cannot use each other's results. What a write was told and
gives back in its answer does not come from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from data.labelled import LabelStats, LiteralCounts, StepCounts, WordsOf
from data.labels.domain_facts import DomainFacts
from data.labels.match_strength import Grade, grade
from data.labels.order import StepDraft, add_conditions, add_order, scalars
from data.labels.value_paths import Answer, PathKind, Place, field_of, identical
from data.labels.words import Words
from data.trajectory import Message, ToolCall, Trajectory
from graph_handoff.errors import HandoffError
from graph_handoff.plan import REPORT, Plan, Step, step_id
from graph_handoff.reference import Reference, resolve
from graph_handoff.scalar import dumps, loads

MIN_AGREEING = 3
"""Arguments of one object that a record must agree with before a weak match in it counts."""
_BAD = PathKind.DATA_KEY  # from here on a path step tells what only the result can tell


class LabelError(HandoffError):
    """A trajectory that cannot be labelled."""


class Labelled(NamedTuple):
    """What labelling makes of a trajectory."""

    plan: Plan
    stats: LabelStats
    notes: tuple[str, ...]


class _Source(NamedTuple):
    """A result that later steps may use."""

    step: str
    answer: Answer
    given: frozenset[Any]
    """What a write was told, and gives back: it is not where those values come from."""


class _Anchor(NamedTuple):
    """A record in which an argument of the object at hand was found."""

    source: _Source
    record: Place


class _Open(NamedTuple):
    """A scalar that no match of its own has settled."""

    value: Any
    level: Grade


@dataclass
class _Tally:
    """Counts for the statistics."""

    literals: Counter[str] = field(default_factory=Counter)
    places: list[Place] = field(default_factory=list)
    supported: int = 0
    calls: int = 0
    dropped: int = 0


def label(trajectory: Trajectory, facts: DomainFacts, words: WordsOf = "task+user", drop_errors: bool = True) -> Labelled:
    """The plan that does what the trajectory did.

    A call that the tool refused is left out with `drop_errors`; nothing refers to its result in any case. A call of the user's
    becomes an action of the same name: nobody but the user can make it, and what it answered reaches the plan only in the
    user's words. Raises LabelError where a reference that was found does not lead to the recorded value.
    """
    return _Labeller(trajectory, facts, words, drop_errors).run()


class _Labeller:
    def __init__(self, trajectory: Trajectory, facts: DomainFacts, words: WordsOf, drop_errors: bool) -> None:
        self.trajectory, self.facts, self.drop_errors = trajectory, facts, drop_errors
        self.words = Words(trajectory.task.text)
        self.words_of = words
        self.sources: list[_Source] = []
        self.drafts: list[StepDraft] = []
        self.tally = _Tally()

    def run(self) -> Labelled:
        self.read_messages()
        self.report()
        add_conditions(self.drafts)
        add_order(self.drafts)
        steps = tuple(draft.step() for draft in self.drafts)
        notes = [self.facts.note] if self.facts.note else []
        return Labelled(Plan(steps), self.stats(steps), tuple(notes))

    def read_messages(self) -> None:
        """Calls in order. A result becomes a source when its message has been read."""
        results = {m.tool_call_id: m for m in self.trajectory.messages if m.role == "tool"}
        waiting: dict[str, _Source] = {}
        for message in self.trajectory.messages:
            if message.role == "user" and message.content and self.words_of == "task+user":
                self.words.add(message.content)
            for call in message.tool_calls:
                self.call(call, results[call.id], waiting)
            if message.tool_call_id in waiting and message.role == "tool":
                self.sources.append(waiting.pop(message.tool_call_id))

    def call(self, call: ToolCall, result: Message, waiting: dict[str, _Source]) -> None:
        self.tally.calls += 1
        if result.error and self.drop_errors:
            self.tally.dropped += 1
            return
        arguments = self.facts.in_order(call.name, call.arguments)
        fixed = self.facts.fixed_words.get(call.name, frozenset())
        answer = Answer(result.content or "")
        step = Step(call.name, self.object(arguments, fixed), is_action=call.requestor == "user")
        self.drafts.append(StepDraft(step, arguments, answer, self.facts.writes(call.name), result.error))
        if not step.is_action and not result.error:
            given = frozenset(scalars(arguments)) if self.drafts[-1].writes else frozenset()
            waiting[call.id] = _Source(step_id(len(self.drafts) - 1), answer, given)

    def object(self, values: Mapping[str, Any], fixed: frozenset[str | float]) -> dict[str, Any]:
        """An argument object. Its values are settled from the surest to the weakest, since one may support another."""
        anchors: list[_Anchor] = []
        found = {key: self.value(value, key, fixed, anchors) for key, value in values.items()}
        for level in (Grade.FIELD, Grade.NONE):
            for key, value in found.items():
                if isinstance(value, _Open) and value.level >= level:
                    found[key] = self.settle(value, key, fixed, anchors, values)
        return found

    def value(self, value: Any, name: str, fixed: frozenset[str | float], anchors: list[_Anchor] | None) -> Any:
        """A value with its references; `_Open` where it is a scalar that another one of its object may support."""
        if isinstance(value, dict):
            return self.object(value, fixed)
        if isinstance(value, list):
            return [self.value(item, name, fixed, None) for item in value]
        if value in self.words:
            return self.literal(value, "task")
        level = grade(value)
        found = self.find(value, None) if level is Grade.STRONG else None
        if found is not None:
            return self.refer(*found, value, anchors)
        scalar = _Open(value, level)
        return self.settle(scalar, name, fixed, [], {}) if anchors is None else scalar

    def find(self, value: str | float, name: str | None) -> tuple[_Source, Place] | None:
        """The earliest result that holds the value (in a field of this name), unless its path is bad and a later one's is not."""
        first: tuple[_Source, Place] | None = None
        for source in self.sources:
            places = source.answer.find(value) if value not in source.given else []
            if name is not None:
                places = [raw for raw in places if field_of(raw) == name]
            if places:
                place = source.answer.best(value, places, self.words)
                if place.worst < _BAD:
                    return source, place
                first = first or (source, place)
        return first

    def settle(
        self, scalar: _Open, name: str, fixed: frozenset[str | float], anchors: list[_Anchor], values: Mapping[str, Any]
    ) -> Any:
        """A scalar that is not in the task's words and for which an equal value somewhere is not enough."""
        value, level = scalar
        if level is Grade.FIELD:
            found = _beside(value, name, anchors, {}, 0) or self.find(value, name)
            if found is not None:
                return self.refer(*found, value, anchors)
        if level is Grade.NONE or value in fixed:
            return self.literal(value, "schema_word")
        found = _beside(value, name, anchors, values, MIN_AGREEING)
        if found is not None:
            self.tally.supported += 1
            return self.refer(*found, value, None)
        return self.literal(value, "weak" if self.is_known(value) else "nowhere")

    def is_known(self, value: str | float) -> bool:
        """Whether an earlier result holds an equal value at all."""
        return any(value not in source.given and source.answer.find(value) for source in self.sources)

    def literal(self, value: Any, origin: str) -> Any:
        self.tally.literals[origin] += 1
        return value

    def refer(self, source: _Source, place: Place, value: Any, anchors: list[_Anchor] | None) -> Reference:
        """A reference, checked against the recorded result; the record it points into supports what is settled after it."""
        reference = Reference(source.step, place.path)
        found = resolve(source.answer.value, place.path)
        if not identical(found, value):
            raise LabelError(f"the reference {reference} leads to {found!r}, and not to {value!r}, from which it was made")
        self.tally.places.append(place)
        if anchors is not None and place.raw and isinstance(place.raw[-1], str):
            anchors.append(_Anchor(source, Place(place.path[:-1], place.kinds[:-1], place.raw[:-1])))
        return reference

    def report(self) -> None:
        """What the user had to be told and was told, as a last step."""
        spoken = [m.content for m in self.trajectory.messages if m.role == "assistant" and m.content and not m.tool_calls]
        wanted = self.trajectory.task.communicate
        if not wanted and self.trajectory.source == "gold" and spoken:
            wanted = tuple(spoken[-1].splitlines())
        heard = "\n".join(spoken).lower().replace(",", "")
        info = [self.told(text) for text in wanted if text.lower() in heard]
        if info:
            self.drafts.append(StepDraft(Step(REPORT, {"info": info}, is_action=True), {"info": info}, Answer(""), False, False))

    def told(self, text: str) -> Any:
        """One value of the report: as an argument, but a number in a result counts where it prints as this text."""
        if text in self.words:
            return self.literal(text, "task")
        number = _as_number(text)
        for value in (text, number):
            if value is None or grade(value) is not Grade.STRONG:
                continue
            found = self.find(value, None)
            if found is not None:
                source, place = found
                return self.refer(source, place, source.answer.at(place.raw), None)
        is_known = self.is_known(text) or (number is not None and self.is_known(number))
        return self.literal(text, "weak" if is_known else "nowhere")

    def stats(self, steps: Iterable[Step]) -> LabelStats:
        tally = self.tally
        return LabelStats(
            words=self.words_of,
            calls=tally.calls,
            dropped=tally.dropped,
            literals=LiteralCounts(**tally.literals),
            path_steps=_counts(kind for place in tally.places for kind in place.kinds),
            references=_counts(place.worst for place in tally.places),
            supported=tally.supported,
            guards=sum(len(step.guards) for step in steps),
            orders=sum(len(step.after) for step in steps),
        )


def _beside(
    value: Any, name: str, anchors: Iterable[_Anchor], values: Mapping[str, Any], agreeing: int
) -> tuple[_Source, Place] | None:
    """The field of this name and value in a record that an anchor points into, where enough of `values` agree with the record."""
    for source, record in anchors:
        fields = source.answer.at(record.raw)
        if not _agrees(fields, name, value):
            continue
        if sum(_agrees(fields, other, given) for other, given in values.items()) >= agreeing:
            return source, Place((*record.path, name), (*record.kinds, PathKind.PLAIN), (*record.raw, name))
    return None


def _agrees(fields: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in fields and identical(fields[name], value)


def _counts(kinds: Iterable[PathKind]) -> StepCounts:
    return StepCounts(**{kind.name.lower(): number for kind, number in Counter(kinds).items()})


def _as_number(text: str) -> float | None:
    """The number that prints as this text, if one does."""
    try:
        value = loads(text)
    except ValueError:
        return None
    return value if type(value) in (int, float) and dumps(value) == text else None
