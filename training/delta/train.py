"""`handoff train predictor`: the library of plan prototypes that both sides of a predictive delta share. No network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from data.corpus import CorpusRow, read_corpus
from graph_handoff.artefacts import MODEL_FOLDER
from graph_handoff.console import say, table, track
from graph_handoff.linearization.line_text import Words
from graph_handoff.linearization.vocabulary import build_vocabulary
from graph_handoff.protocols.delta.edit_script import EditScripts
from graph_handoff.protocols.delta.plan_library import PlanLibrary, fit
from graph_handoff.protocols.delta.protocol import in_compact_form, shortest
from graph_handoff.protocols.delta.sequence_diff import Costs, diff
from graph_handoff.tokens import count_tokens
from training.run_loop import FitConfig, chosen, finish, open_run


class PredictorConfig(FitConfig):
    """What becomes a constant of a prototype; every other value is lifted out and sent with the message."""

    run: Path = Path("checkpoints/predictor")
    min_plans: int = Field(5, ge=1)
    """A key is a word of a prototype when the tools, or so many training plans, have it."""
    min_share: float = Field(0.01, gt=0, lt=1)
    """A value is one when this share of the training plans has it."""
    max_categories: int = Field(8, ge=1)
    """... and its role has at most so many different values."""


CONFIG = PredictorConfig


def run(config: PredictorConfig) -> int:
    """Collect the prototypes of the training split, then measure on the held-out one."""
    with open_run(config, "train predictor", [config.corpus]) as unfinished:
        if unfinished:
            _fit(config)
    return 0


def _fit(config: PredictorConfig) -> None:
    rows = read_corpus(config.corpus, ["train"])
    plans = [(row.plan, row.tools) for row in chosen(rows["train"], config)]
    words = build_vocabulary(
        plans, min_plans=config.min_plans, min_share=config.min_share, max_categories=config.max_categories
    ).words
    library = fit(plans, words)
    library.save(config.run / MODEL_FOLDER)
    say(f"{len(library.plans)} plan prototypes of {len(library.steps)} step prototypes, from {len(plans)} plans")
    metrics = {"training_plans": len(plans), "plan_prototypes": len(library.plans), "step_prototypes": len(library.steps)}
    metrics["part_prototypes"] = len(library.parts)
    metrics |= measure(library, rows["test"])
    finish(config, metrics)
    table(["held out", ""], [[key, f"{value:.3f}" if isinstance(value, float) else value] for key, value in metrics.items()])
    say(f"predictor: {config.run}")


def measure(library: PlanLibrary, rows: Sequence[CorpusRow]) -> dict[str, Any]:
    """Means over held-out plans: o200k tokens of a message (in compact form where that is shorter), of all and of each
    domain; edits of a plan, and the shares of steps that were predicted right and of those known as a step."""
    scripts = EditScripts(library)
    tokens: dict[str, list[int]] = {}
    compact = edits = steps = right = known = 0
    for row in track(rows, "measuring"):
        draft = shortest(row.plan, row.tools, scripts)
        plain, script = count_tokens(in_compact_form(row.delegation.graph, row.tools)), count_tokens(draft.text)
        changes = diff(draft.predicted, draft.lines, _ONE_EACH)
        tokens.setdefault(row.domain, []).append(min(plain, script))
        compact += plain < script
        edits += len(changes)
        steps += len(draft.lines)
        right += len(draft.predicted) - sum(edit.kind != "+" for edit in changes)
        known += sum(words in library.step_names for words in draft.lines)
    every = [count for counts in tokens.values() for count in counts]
    return {
        "held_out_plans": len(rows),
        "tokens_a_message": _mean(every),
        **{f"tokens_a_message_{domain}": _mean(counts) for domain, counts in sorted(tokens.items())},
        "in_compact_form": compact / max(1, len(rows)),
        "edits_a_plan": edits / max(1, len(rows)),
        "steps_predicted": right / max(1, steps),
        "steps_known": known / max(1, steps),
    }


_ONE_EACH: Costs[Words] = Costs(1, lambda words: 1, lambda place, words: 1)


def _mean(counts: Sequence[int]) -> float:
    return sum(counts) / max(1, len(counts))
