"""Conditions and order: where a read guards a write, and where one call must wait for another it uses nothing of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from data.labels.match_strength import Grade, grade
from data.labels.value_paths import Answer
from graph_handoff.plan import Effect, Guard, Step, step_id
from graph_handoff.reference import Reference
from graph_handoff.scalar import Scalar

MAX_STATUS = 40
"""Characters of a status; a longer text is no status."""


@dataclass
class StepDraft:
    """A step while it is made, with what was recorded."""

    made: Step
    recorded: dict[str, Any]
    """Arguments as they were."""
    answer: Answer
    writes: bool
    failed: bool
    guards: list[Guard] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    @cached_property
    def given(self) -> frozenset[Any]:
        """Ids among the arguments, as they were."""
        return frozenset(value for value in scalars(self.recorded) if is_id(value))

    @cached_property
    def records(self) -> frozenset[Any]:
        """The records that the call concerns: the ids it was given.

        Where the answer is a record that names some of them as its own, it is those: the order, and not the card it is paid with.
        """
        if not self.given or not isinstance(self.answer.value, dict):
            return self.given
        return self.given.intersection(v for v in self.answer.value.values() if isinstance(v, str)) or self.given

    def step(self) -> Step:
        """The finished step."""
        made = self.made
        return Step(made.name, made.arguments, tuple(self.guards), tuple(self.effects), tuple(self.after), made.is_action)


def scalars(value: Any) -> Iterator[Scalar]:
    """Every scalar in a value."""
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars(item)
    else:
        yield value


def is_id(value: Any) -> bool:
    """Whether a value can name a record."""
    return isinstance(value, str) and " " not in value and grade(value) is Grade.STRONG


def add_conditions(drafts: Sequence[StepDraft]) -> None:
    """Where a read guards a write.

    A write that answers with a record changes texts of it, such as `status`. Where the last answer that gave the same record
    was a read, each such text becomes a guard (as read) and an effect (as written); where it was another write, only an
    effect. Texts that the call itself names say nothing new; ids and long texts are no status.
    """
    for number, draft in enumerate(drafts):
        if not draft.writes or draft.failed or draft.made.is_action or not isinstance(draft.answer.value, dict):
            continue
        last = next((n for n in range(number - 1, -1, -1) if _same_record(drafts[n], draft)), None)
        if last is None:
            continue
        before, after = drafts[last].answer.value, draft.answer.value
        named = set(scalars(draft.recorded))
        for key, new in after.items():
            if key in before and _is_status(before[key]) and _is_status(new) and before[key] != new and new not in named:
                if not drafts[last].writes:
                    draft.guards.append(Guard(Reference(step_id(last), (key,)), before[key]))
                draft.effects.append(Effect((key,), new))


def _same_record(one: StepDraft, other: StepDraft) -> bool:
    """Whether two calls answer with one record: they were given an id that both answers hold, and no id in them differs."""
    given = one.given & other.given
    if one.failed or one.made.is_action or not given or not isinstance(one.answer.value, dict):
        return False
    left, right = one.answer.value, other.answer.value
    shared = [key for key, value in left.items() if is_id(value) and is_id(right.get(key))]
    return all(left[key] == right[key] for key in shared) and any(left[key] in given for key in shared)


def _is_status(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_STATUS and not is_id(value)


def add_order(drafts: Sequence[StepDraft]) -> None:
    """Order between calls on one record, where nothing else orders them.

    A write waits for the last write on each of its records. A read whose result is used waits for the last write on its
    record: before it, it would have read something else. The user's own calls keep their order, for they share one device.
    """
    sources = [draft.step().sources for draft in drafts]
    used = {source for own in sources for source in own}
    before: list[set[int]] = []
    last_write: dict[str, int] = {}
    last_action: int | None = None
    for number, draft in enumerate(drafts):
        waits = {int(source[1:]) - 1 for source in sources[number]}
        known = set().union(*(before[other] for other in waits)) | waits
        wanted: set[int] = set()
        if draft.made.is_action:
            if last_action is not None and draft.recorded.keys() != {"info"}:
                wanted.add(last_action)
            last_action = number
        elif last_write and (draft.writes or step_id(number) in used):
            wanted = {last_write[record] for record in draft.records if record in last_write}
        for other in sorted(wanted, reverse=True):
            if other not in known:
                draft.after.append(step_id(other))
                known |= before[other] | {other}
        draft.after.reverse()
        before.append(known)
        if draft.writes and not draft.made.is_action:
            last_write.update(dict.fromkeys(draft.records, number))
