"""What a router learns from: delegations with targets, in splits that share no text.

A target is a share in [0, 1] in which the graph is right: a teacher's decisions are 0 or 1, the outcomes of trials the share of
seeds that the graph won, and where a delegation has both, a mixture of the two.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from data.routing_tasks import RoutingTask
from data.runs.folder import TRIALS_FILE
from graph_handoff.delegation import Delegation
from graph_handoff.errors import InputError
from graph_handoff.files import read_jsonl
from training.router.near_duplicates import fingerprint, together
from training.router.teacher import Lesson

PARTS: dict[str, int] = {"train": 60, "validation": 10, "calibration": 10, "threshold": 10, "test": 10}
"""Split -> per cent of the groups of the domains that are trained on."""
NO_OUTCOME = frozenset({"environment_error", "protocol_error"})
"""Failures that say nothing of the format."""


class RoutingExample(NamedTuple):
    """A delegation and the share in which the graph is right."""

    delegation: Delegation
    domain: str
    target: float
    signals: tuple[str, ...] = ()
    """What the teacher saw, where it says so."""


class _TrialRecord(BaseModel):
    """The fields of a trial that decide which format won."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    benchmark: str
    task_id: str
    protocol: str
    seed: int
    task: str
    reward: float
    tokens: dict[str, int]
    failure: str | None = None

    @property
    def written(self) -> bool:
        """A handoff crossed: what broke before that has no length."""
        return self.tokens.get("wire", 0) > 0

    @property
    def total(self) -> int:
        return self.tokens.get("read", 0) + self.tokens.get("instructions", 0) + self.tokens.get("overhead", 0)


def read_outcomes(
    runs: Iterable[Path], graph: str, prose: str, ties: Literal["tokens", "half"]
) -> tuple[dict[str, float], Counter[str]]:
    """Fingerprint of a task -> the share of its seeds, in all runs, that the protocol `graph` won against `prose`; and counts of
    what was seen.

    The higher reward wins. Where both have the same, `tokens` gives the seed to the one that the executor pays less for, and
    `half` to each by half. A seed in which both failed, or in which the environment or the protocol broke, abstains: it says
    nothing of the format. Raises InputError for a run without trials, and where no task has an outcome.
    """
    pairs: dict[tuple[Path, str, str, int], dict[str, _TrialRecord]] = {}
    for run in runs:
        for trial in _read_trials(run):
            if trial.protocol in (graph, prose):
                pairs.setdefault((run, trial.benchmark, trial.task_id, trial.seed), {})[trial.protocol] = trial
    won: dict[str, list[float]] = {}
    seen: Counter[str] = Counter()
    for found in pairs.values():
        verdict, share = _judge(found.get(graph), found.get(prose), ties)
        seen[verdict] += 1
        if share is not None:
            won.setdefault(fingerprint(next(iter(found.values())).task), []).append(share)
    if not won:
        raise InputError("no task has an outcome of both formats", field="outcomes", found=dict(seen), allowed=(graph, prose))
    return {task: sum(shares) / len(shares) for task, shares in won.items()}, seen


def mean_tokens(run: Path, protocol: str) -> float:
    """What the executor reads of a delegation, on average over a run's trials in which a handoff was written. Raises InputError
    where there are none."""
    trials = [trial for trial in _read_trials(run) if trial.written]
    found = [trial.total for trial in trials if trial.protocol == protocol]
    if not found:
        known = sorted({trial.protocol for trial in trials})
        raise InputError("no trial of this protocol", file=run / TRIALS_FILE, field="protocol", found=protocol, allowed=known)
    return sum(found) / len(found)


def _read_trials(run: Path) -> Iterator[_TrialRecord]:
    file = run / TRIALS_FILE
    for number, value in read_jsonl(file):
        try:
            yield _TrialRecord.model_validate(value)
        except ValidationError as error:
            raise InputError(f"not a trial: {error.errors()[0]['msg']}", file=file, record=number) from error


def _judge(graph: _TrialRecord | None, prose: _TrialRecord | None, ties: str) -> tuple[str, float | None]:
    if graph is None or prose is None:
        return "abstained: one format only", None
    if graph.failure in NO_OUTCOME or prose.failure in NO_OUTCOME:
        return "abstained: broken trial", None
    if graph.reward != prose.reward:
        return ("graph", 1.0) if graph.reward > prose.reward else ("prose", 0.0)
    if graph.reward == 0:
        return "abstained: both failed", None
    if ties == "tokens" and graph.total != prose.total:
        return ("tie: graph is cheaper", 1.0) if graph.total < prose.total else ("tie: prose is cheaper", 0.0)
    return "tie", 0.5


def to_examples(
    tasks: Iterable[RoutingTask],
    teach: Callable[[Delegation], Lesson],
    outcomes: Mapping[str, float],
    outcome_weight: float,
) -> list[RoutingExample]:
    """Tasks with a target: the teacher's decision, the outcome, or `outcome_weight` of the one and the rest of the other where a
    task has both. Tasks with neither are left out."""
    found = []
    for task in tasks:
        lesson = teach(task.delegation)
        taught, known = lesson.target, outcomes.get(fingerprint(task.delegation.task))
        if taught is not None and known is not None:
            target = outcome_weight * known + (1 - outcome_weight) * taught
        elif (only := known if taught is None else taught) is not None:
            target = only
        else:
            continue
        found.append(RoutingExample(task.delegation, task.domain, target, lesson.signals))
    return found


def split_tasks(tasks: Sequence[RoutingTask], held_out: Sequence[str], seed: int) -> dict[str, list[RoutingTask]]:
    """By a hash, PARTS of the domains that are trained on, and `domain:NAME` for each held-out domain.

    Tasks of a group, and tasks of a domain with nearly the same words, stay together (`near_duplicates`). What a benchmark
    holds out itself is in `test`, with what is near it, so a router may be judged on those tasks.

    Of tasks with the same fingerprint one is kept: a held-out one, if there is one.
    """
    splits: dict[str, list[RoutingTask]] = {part: [] for part in PARTS}
    kept: dict[str, RoutingTask] = {}
    for task in sorted(tasks, key=lambda task: (task.domain not in held_out, not task.held_out)):
        kept.setdefault(fingerprint(task.delegation.task), task)
    domains: dict[str, list[RoutingTask]] = {name: [] for name in held_out}
    for task in kept.values():
        domains.setdefault(task.domain, []).append(task)
    grouped: dict[str, list[list[RoutingTask]]] = {part: [] for part in PARTS}
    for domain, members in domains.items():
        if domain in held_out:
            splits[f"domain:{domain}"] = members
            continue
        for places in together([task.delegation.task for task in members], [task.group for task in members]):
            part = [members[place] for place in places]
            own = any(task.held_out for task in part)
            name = "test" if own else _part(f"{seed}/{domain}/{min(task.group for task in part)}")
            grouped[name].append(part)
    fill(grouped)
    splits |= {name: [task for part in parts for task in part] for name, parts in grouped.items()}
    check_disjoint({name: [task.delegation.task for task in part] for name, part in splits.items()})
    return splits


def fill(grouped: dict[str, list[list[RoutingTask]]]) -> None:
    """With few tasks a split can be empty; it then takes the smallest group of the training tasks, if they have another."""
    for parts in grouped.values():
        if not parts and len(grouped["train"]) > 1:
            smallest = min(grouped["train"], key=len)
            grouped["train"].remove(smallest)
            parts.append(smallest)


def _part(key: str) -> str:
    place = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % sum(PARTS.values())
    for name, share in PARTS.items():
        if place < share:
            return name
        place -= share
    raise AssertionError("the shares cover every place")


def check_disjoint(splits: Mapping[str, Iterable[str]]) -> None:
    """Raises InputError where a text is in two splits."""
    home: dict[str, str] = {}
    for name, texts in splits.items():
        for text in texts:
            other = home.setdefault(fingerprint(text), name)
            if other != name:
                raise InputError(f"a task is in two splits, {other} and {name}", found=text)


def split_hash(examples: Iterable[RoutingExample]) -> str:
    """SHA-256 over the sorted fingerprints: which tasks a figure was measured on."""
    keys = sorted(fingerprint(example.delegation.task) for example in examples)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()


def counted(splits: Mapping[str, Sequence[RoutingExample]]) -> dict[str, Any]:
    """What each split holds, for the run's metrics and the router's settings."""
    return {
        name: {
            "tasks": len(part),
            "graph": sum(example.target > 0.5 for example in part),
            "undecided": sum(example.target == 0.5 for example in part),
            "sha256": split_hash(part),
        }
        for name, part in splits.items()
    }
