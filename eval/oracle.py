"""The Oracle: for each task and seed, the best of several formats. An upper bound on what any router between them can reach.

It is told the outcome, so it is no protocol: it has no trials of its own and is computed from those of the formats.
"""

from __future__ import annotations

from collections.abc import Mapping

from eval.trial import Trial
from training.statistics import Unit


def best_of(formats: Mapping[str, Mapping[Unit, Trial]]) -> dict[Unit, Trial]:
    """The chosen trial for every unit that all formats have: the highest reward, then whether a handoff was written, then the
    fewest tokens in all, then the order in which the formats are given. Its `protocol` says which format was chosen.
    """
    if not formats:
        return {}
    first, *others = formats.values()
    shared = [unit for unit in first if all(unit in other for other in others)]
    return {unit: min((trials[unit] for trials in formats.values()), key=_rank) for unit in shared}


def _rank(trial: Trial) -> tuple[float, bool, int]:
    return (-trial.reward, not trial.tokens.wire, trial.tokens.total)
