"""Calibration of a classifier of two: temperature, expected calibration error, the threshold for a goal, the cost-quality curve.

Scores are probabilities of the graph, targets are 1 (graph), 0 (prose) or between, both of shape (delegations,).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handoff.config import Config

Array = NDArray[np.float64]
BINS = 15
RESAMPLES = 2000
SMALL = 1e-12


class Goal(Config):
    """What the threshold is chosen for, on its own split."""

    max_regressions: float = 0.02
    """At most this share of all delegations is sent as a graph although prose is the target."""
    min_graph: float = 0.0
    """At least this share of the delegations is sent as a graph: what is compressed at all."""


def sigmoid(margins: Array, temperature: float = 1.0) -> Array:
    """Scores of the margins (graph logit minus prose logit), divided by the temperature."""
    return 1 / (1 + np.exp(-np.clip(margins / temperature, -500, 500)))


def log_loss(margins: Array, targets: Array, temperature: float) -> float:
    """Mean cross-entropy in nats."""
    scores = np.clip(sigmoid(margins, temperature), SMALL, 1 - SMALL)
    return float(-(targets * np.log(scores) + (1 - targets) * np.log(1 - scores)).mean())


def fit_temperature(margins: Array, targets: Array, low: float = 0.05, high: float = 20.0) -> float:
    """The temperature with the least log loss (Guo et al. 2017, arXiv 1706.04599), by golden-section search over its logarithm."""
    ratio = (np.sqrt(5) - 1) / 2
    a, b = np.log(low), np.log(high)
    for _ in range(60):
        left, right = b - ratio * (b - a), a + ratio * (b - a)
        if log_loss(margins, targets, float(np.exp(left))) < log_loss(margins, targets, float(np.exp(right))):
            b = right
        else:
            a = left
    return float(np.exp((a + b) / 2))


def reliability(scores: Array, targets: Array) -> list[dict[str, float]]:
    """Of each bin of equal width that holds any: its ends, how many, the mean score and the mean target (data of the plot)."""
    places = np.minimum((scores * BINS).astype(int), BINS - 1)
    return [
        {
            "from": place / BINS,
            "to": (place + 1) / BINS,
            "count": int((places == place).sum()),
            "score": float(scores[places == place].mean()),
            "target": float(targets[places == place].mean()),
        }
        for place in range(BINS)
        if (places == place).any()
    ]


def expected_calibration_error(scores: Array, targets: Array) -> float:
    """Mean over delegations of |mean score - mean target| of their bin (15 bins)."""
    return sum(row["count"] * abs(row["score"] - row["target"]) for row in reliability(scores, targets)) / len(scores)


def curve(scores: Array, targets: Array, thresholds: Sequence[float] | None = None) -> list[dict[str, float]]:
    """Cost against quality: of each threshold the share sent as a graph, regressions, and agreement with the targets."""
    points = thresholds if thresholds is not None else [round(0.05 * step, 2) for step in range(21)]
    return [rates(scores, targets, threshold) for threshold in points]


def rates(scores: Array, targets: Array, threshold: float) -> dict[str, float]:
    """What a threshold does: shares of all delegations."""
    graph, wanted = scores >= threshold, targets >= 0.5
    return {
        "threshold": float(threshold),
        "graph": float(graph.mean()),
        "regressions": float((graph & ~wanted).mean()),
        "missed": float((~graph & wanted).mean()),
        "agreement": float((graph == wanted).mean()),
    }


def choose_threshold(scores: Array, targets: Array, goal: Goal) -> tuple[float, bool]:
    """The lowest threshold, never below 0.5, with at most so many regressions; and whether the goal is met with it.

    Below the threshold is prose, the conservative default; where no threshold meets the goal, 1 sends next to nothing as a graph.
    """
    for threshold in sorted({0.5, *(float(score) for score in scores if score > 0.5)}):
        found = rates(scores, targets, threshold)
        if found["regressions"] <= goal.max_regressions:
            return threshold, found["graph"] >= goal.min_graph
    return 1.0, False


def agreement(scores: Array, targets: Array, groups: Sequence[str], threshold: float) -> dict[str, Any]:
    """Share decided as the target says, with a 95 % percentile bootstrap over groups (2,000 resamples, seeded)."""
    right = (scores >= threshold) == (targets >= 0.5)
    _, places = np.unique(np.asarray(groups), return_inverse=True)
    sums, counts = np.bincount(places, weights=right), np.bincount(places)
    drawn = np.random.default_rng(0).integers(0, len(counts), (RESAMPLES, len(counts)))
    low, high = np.percentile(sums[drawn].sum(1) / counts[drawn].sum(1), [2.5, 97.5])
    return {
        "delegations": len(right),
        "groups": len(counts),
        "agreement": float(right.mean()),
        "low": float(low),
        "high": float(high),
    }
