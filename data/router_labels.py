"""Labels for a router: a teacher's decisions, what happened in trials, or both, as soft targets; and the splits.

A target is the belief that the graph is the better format: 1, 0, or between. A teacher that cannot decide abstains: without a
trial such a delegation is left out and counted.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from data.delegations import RoutingTask
from handoff.config import Config
from handoff.errors import HandoffError, InputError
from handoff.files import as_record, read_jsonl, sha256_json
from handoff.routing.base import Router

Split = Literal["train", "validation", "calibration", "threshold", "test", "transfer"]
SHARES: tuple[tuple[Split, float], ...] = (
    ("train", 0.6),
    ("validation", 0.1),
    ("calibration", 0.1),
    ("threshold", 0.1),
    ("test", 0.1),
)
"""Of the domains that are learned from; a held-out domain is `transfer` as a whole."""


class LabelConfig(Config):
    """Where the targets come from."""

    outcomes: tuple[Path, ...] = ()
    """Runs of `handoff eval` whose trials tell which format won."""
    graph: str = "compact"
    """The protocol in them that stands for the graph ..."""
    prose: str = "nl"
    """... and for prose."""
    mix: float = Field(0.5, ge=0, le=1)
    """Weight of the trials where there are both; the teacher's decision has the rest."""
    ties: Literal["half", "nl"] = "nl"
    """A task on which no seed tells the formats apart: the conservative default, or a target of 0.5."""
    tie_weight: float = Field(0.25, gt=0, le=1)
    """Weight of such a task in training."""


@dataclass(frozen=True)
class Example:
    """A delegation with its target."""

    task: RoutingTask
    split: Split
    target: float
    weight: float
    source: Literal["teacher", "outcomes", "both"]


class Outcome(NamedTuple):
    """What the trials of one task say."""

    target: float
    weight: float


class _Trial(BaseModel):
    """What is read of a trial record; the rest is the evaluation's."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    benchmark: str
    task_id: str
    protocol: str
    seed: int
    task: str
    reward: float


def label(
    tasks: Sequence[RoutingTask], teacher: Router, config: LabelConfig, held_out: Iterable[str], seed: int
) -> tuple[list[Example], Counter[str]]:
    """Every delegation with its split and target; and counts of what is noteworthy. Raises InputError (a run without trials)."""
    outcomes, counts = read_outcomes(config)
    unseen = set(held_out)
    examples: list[Example] = []
    for task in tasks:
        try:
            decided: float | None = float(teacher.route(task.delegation).format == "graph")
        except HandoffError:
            counts["the teacher abstained"] += 1
            decided = None
        outcome = outcomes.get(_words(task.delegation.task))
        split: Split = "transfer" if task.domain in unseen else split_of(task, seed)
        if outcome is not None and decided is not None:
            target = config.mix * outcome.target + (1 - config.mix) * decided
            examples.append(Example(task, split, target, outcome.weight, "both"))
        elif outcome is not None:
            examples.append(Example(task, split, outcome.target, outcome.weight, "outcomes"))
        elif decided is not None:
            examples.append(Example(task, split, decided, 1.0, "teacher"))
    return balance(examples), counts


def split_of(task: RoutingTask, seed: int) -> Split:
    """By a hash of the group, so that variants of one task stay together."""
    digest = hashlib.sha256(f"{seed}/{task.domain}/{task.group}".encode()).digest()
    place = int.from_bytes(digest[:8]) / 2**64
    for split, share in SHARES:
        if place < share:
            return split
        place -= share
    return SHARES[-1][0]


def balance(examples: Sequence[Example]) -> list[Example]:
    """Training weights: both formats weigh the same in all, with a mean of 1. Other splits are judged as they are."""
    train = [example for example in examples if example.split == "train"]
    mass = {side: sum(e.weight for e in train if (e.target >= 0.5) is side) for side in (True, False)}
    half = sum(mass.values()) / 2
    factor = {side: (half / mass[side]) ** 0.5 if mass[side] else 1.0 for side in mass}
    return [replace(e, weight=e.weight * factor[e.target >= 0.5]) if e.split == "train" else e for e in examples]


def check_disjoint(examples: Iterable[Example]) -> None:
    """No task, none of its variants and no domain of `transfer` stands in two splits. Raises InputError naming the first."""
    seen: dict[tuple[str, ...], str] = {}
    for example in examples:
        task, split = example.task, example.split
        keys = [("group", task.domain, task.group), ("text", _words(task.delegation.task))]
        keys.append(("domain", task.domain, "") if split == "transfer" else ("domain learned from", task.domain))
        for key in keys:
            if seen.setdefault(key, split) != split and not key[0].startswith("domain"):
                raise InputError(f"one {key[0]} stands in {seen[key]} and in {split}", record=task.delegation.id)
    both = {key[1] for key in seen if key[0] == "domain"} & {key[1] for key in seen if key[0] == "domain learned from"}
    if both:
        raise InputError("a held-out domain is learned from", found=sorted(both))


def hashes(examples: Sequence[Example]) -> dict[str, dict[str, int | str]]:
    """Of each split: how many, and the SHA-256 of their ids and targets."""
    parts: dict[str, list[list[str | float]]] = defaultdict(list)
    for example in examples:
        parts[example.split].append([example.task.delegation.id, example.target])
    return {split: {"delegations": len(rows), "sha256": sha256_json(sorted(rows))} for split, rows in sorted(parts.items())}


def read_outcomes(config: LabelConfig) -> tuple[dict[str, Outcome], Counter[str]]:
    """Task text -> which format won, over the seeds that both were tried with. Raises InputError."""
    counts: Counter[str] = Counter()
    rewards: dict[str, dict[tuple[str, int], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for run in config.outcomes:
        path = run / "trials.jsonl"
        for number, value in read_jsonl(path):
            trial = as_record(value, _Trial, path, number)
            rewards[_words(trial.task)][(str(run), trial.seed)][trial.protocol] = trial.reward
    result: dict[str, Outcome] = {}
    for text, units in rewards.items():
        outcome = _outcome(list(units.values()), config)
        if outcome is None:
            counts["tasks without trials of both formats"] += 1
        else:
            counts["tasks with trials of both formats"] += 1
            result[text] = outcome
    return result, counts


def _outcome(units: Sequence[Mapping[str, float]], config: LabelConfig) -> Outcome | None:
    pairs = [(unit[config.graph], unit[config.prose]) for unit in units if config.graph in unit and config.prose in unit]
    won, lost = sum(graph > prose for graph, prose in pairs), sum(graph < prose for graph, prose in pairs)
    if not pairs:
        return None
    if won == lost:
        return Outcome(0.5 if config.ties == "half" else 0.0, config.tie_weight)
    return Outcome(won / (won + lost), (won + lost) / len(pairs))


def _words(text: str) -> str:
    return " ".join(text.split())
