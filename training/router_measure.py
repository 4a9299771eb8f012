"""What a trained router is worth: its temperature and threshold, each from its own split, and the rates on the held-out ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from data.router_labels import Example
from handoff.config import Config
from training.calibration import (
    at_threshold,
    choose_threshold,
    curve,
    expected_calibration_error,
    fit_temperature,
    log_loss,
    reliability,
    to_scores,
)

RESAMPLES = 2000


class Goal(Config):
    """What the threshold is chosen for, on its own split."""

    max_regressions: float = 0.02
    """At most this share of all delegations is sent as a graph although prose is the target."""
    min_graph: float = 0.0
    """At least this share of the delegations is to be sent as a graph; the run says whether it is."""


def calibrate(
    parts: Mapping[str, Sequence[Example]], margins: Mapping[str, Sequence[float]], goal: Goal, held_out: Sequence[str]
) -> dict[str, Any]:
    """Temperature, threshold, and what they give. `margins` are graph logit minus prose logit, in the order of the part."""
    targets = {split: [example.target for example in parts[split]] for split in margins}
    temperature = fit_temperature(margins["calibration"], targets["calibration"])
    scores = {split: to_scores(found, temperature) for split, found in margins.items()}
    point = choose_threshold(scores["threshold"], targets["threshold"], goal.max_regressions)
    test, wanted = scores["test"], targets["test"]
    agreements = {"in domain": agreement(parts["test"], test, point.threshold)}
    for domain in held_out:
        places = [i for i, example in enumerate(parts.get("transfer", ())) if example.task.domain == domain]
        if places:
            agreements[domain] = agreement(
                [parts["transfer"][i] for i in places], [scores["transfer"][i] for i in places], point.threshold
            )
    return {
        "temperature": temperature,
        "threshold": point.threshold,
        "goal": {**goal.model_dump(), "met": point.graph_share >= goal.min_graph},
        "threshold_split": point._asdict(),
        "test_split": at_threshold(test, wanted, point.threshold)._asdict(),
        "agreement": agreements,
        "ece_before": expected_calibration_error(to_scores(margins["test"], 1.0), wanted),
        "ece": expected_calibration_error(test, wanted),
        "log_loss_before": log_loss(margins["test"], wanted, 1.0),
        "log_loss": log_loss(margins["test"], wanted, temperature),
        "reliability": [row._asdict() for row in reliability(test, wanted)],
        "curve": [row._asdict() for row in curve(test, wanted)],
    }


def agreement(examples: Sequence[Example], scores: Sequence[float], threshold: float) -> dict[str, float]:
    """Share decided as the target says, with a 95 % percentile bootstrap over groups (2,000 resamples, seeded)."""
    import numpy as np

    right = np.array([(score > threshold) == (e.target >= 0.5) for e, score in zip(examples, scores, strict=True)])
    _, places = np.unique([f"{e.task.domain}/{e.task.group}" for e in examples], return_inverse=True)
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
