"""Whose decisions a router learns: a router that is asked, or recorded decisions.

Answers that cost tokens are written down as they come, so that a run that was stopped pays for nothing twice, and learns from the
same answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from data.runs.journal import Journal
from graph_handoff.delegation import Delegation
from graph_handoff.errors import InputError
from graph_handoff.files import read_jsonl
from graph_handoff.routing import Router
from training.router.near_duplicates import fingerprint

DECISIONS_FILE = "decisions.jsonl"
_SHARES: Mapping[str | None, float | None] = {"graph": 1.0, "nl": 0.0, None: None}


class Lesson(NamedTuple):
    """What a teacher says of a delegation."""

    target: float | None
    """The share in which the graph is right; None where the teacher abstains, or nothing that decides came back."""
    signals: tuple[str, ...] = ()
    """What it saw, where it says so."""
    tokens: int = 0
    """What the answer cost."""


ABSTAINS = Lesson(None)


class Teacher:
    """Decisions on record, and a router that is asked where there is none."""

    def __init__(self, known: dict[str, Lesson] | None = None, router: Router | None = None, journal: Path | None = None) -> None:
        """`known` by fingerprint. What `router` answers for tokens is added to the file `journal`, and not asked again."""
        self.known, self.router, self.journal = known or {}, router, None if journal is None else Journal(journal)
        self.failed = 0
        """Calls that failed."""
        if journal is not None and journal.exists():
            self.known |= read_decisions(journal)

    def __call__(self, delegation: Delegation) -> Lesson:
        key = fingerprint(delegation.task)
        if key in self.known or self.router is None:
            return self.known.get(key, ABSTAINS)
        decision = self.router.route(delegation)
        self.failed += decision.failed
        abstains = decision.failed or decision.unreadable
        if self.journal is not None and decision.tokens and not decision.failed:
            record = {
                "task": delegation.task,
                "format": None if abstains else decision.format,
                "reason": decision.reason,
                "signals": decision.signals,
                "tokens": decision.tokens,
            }
            self.journal.append(orjson.dumps(record) + b"\n")
        target = None if abstains else _SHARES[decision.format]
        self.known[key] = Lesson(target, decision.signals, decision.tokens)
        return self.known[key]

    def spent(self) -> dict[str, int]:
        """How many tasks it was asked about, on how many it abstained, how many calls failed, and the tokens of its answers."""
        lessons = self.known.values()
        return {
            "tasks": len(lessons),
            "abstained": sum(lesson.target is None for lesson in lessons),
            "failed": self.failed,
            "tokens": sum(lesson.tokens for lesson in lessons),
        }


def read_decisions(path: Path) -> dict[str, Lesson]:
    """Recorded decisions, one JSON object a line: `task` and `format`, which is null where the teacher abstained; as `handoff
    route --out` writes them, where those that `failed` or are `unreadable` abstain, too. A task with several has their mean.

    By the fingerprint of the task. Raises InputError.
    """
    found: dict[str, list[Lesson]] = {}
    for number, record in read_jsonl(path):
        lesson = _lesson(record)
        if lesson is None:
            raise InputError("not a decision", file=path, record=number, found=record, allowed="task; format graph, nl or null")
        found.setdefault(fingerprint(record["task"]), []).append(lesson)
    return {task: _mean(lessons) for task, lessons in found.items()}


def _lesson(record: Any) -> Lesson | None:
    if not isinstance(record, dict) or not isinstance(record.get("task"), str):
        return None
    format, signals, tokens = record.get("format"), record.get("signals", []), record.get("tokens", 0)
    if format is not None and (not isinstance(format, str) or format not in _SHARES):
        return None
    if not isinstance(signals, list) or not isinstance(tokens, int):
        return None
    abstains = record.get("failed") or record.get("unreadable")
    return Lesson(None if abstains else _SHARES[format], tuple(map(str, signals)), tokens)


def _mean(lessons: list[Lesson]) -> Lesson:
    targets = [lesson.target for lesson in lessons if lesson.target is not None]
    signals = tuple(dict.fromkeys(signal for lesson in lessons for signal in lesson.signals))
    return Lesson(sum(targets) / len(targets) if targets else None, signals, sum(lesson.tokens for lesson in lessons))
