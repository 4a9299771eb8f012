"""Why a trial failed: what the executor did, set against what the delegation's own plan does in the same environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from data.environments.base import COMMUNICATE, Score
from eval.trial import FailureKind
from graph_handoff.execution import Execution, StepOutcome
from graph_handoff.scalar import dumps


@dataclass(frozen=True)
class Findings:
    """The first reason that explains the failure, and one sentence on it."""

    kind: FailureKind
    detail: str


_STOPPED: dict[str, FailureKind] = {
    "unresolved_reference": "unresolved_reference",
    "guard_failed": "guard_failed",
    "tool_error": "tool_error",
    "not_recorded": "not_recorded",
}


def explain(expected: Execution, done: Execution, score: Score) -> Findings:
    """Name the failure: the first step that could not run or was refused though the plan's own was accepted (its reference, its
    guard, the tool); else a call never made, one made with another value, a wrong report, another order, or none of these.
    """
    wanted, made = _calls(expected.steps), _calls(done.steps)
    refused_before = {_key(o) for o in expected.steps if o.status in ("tool_error", "not_recorded")}
    for outcome in done.steps:
        kind = _STOPPED.get(outcome.status)
        if kind is not None and _key(outcome) not in refused_before:
            return Findings(kind, f"{outcome.id} {outcome.name}: {outcome.value}")
    missing = Counter(o.name for o in wanted) - Counter(o.name for o in made)
    if missing:
        return Findings("missing_call", f"never called: {', '.join(sorted(missing.elements()))}")
    different = Counter(map(_key, wanted)) - Counter(map(_key, made))
    if different:
        name, arguments = min(different)
        return Findings("wrong_argument", f"{name} was not called with {arguments}")
    if all(part == 1.0 for name, part in score.parts.items() if name != COMMUNICATE) and score.parts.get(COMMUNICATE, 1.0) < 1.0:
        return Findings("wrong_report", score.detail or "the user was not told what the task asks for")
    if [_key(o) for o in wanted] != [_key(o) for o in made if _key(o) in {_key(w) for w in wanted}]:
        return Findings("wrong_order", score.detail or "the same calls in another order")
    return Findings("wrong_state", score.detail or "the final state differs")


def _calls(steps: Iterable[StepOutcome]) -> list[StepOutcome]:
    return [step for step in steps if step.arguments is not None and not step.is_action]


def _key(outcome: StepOutcome) -> tuple[str, str]:
    return outcome.name, dumps(dict(sorted((outcome.arguments or {}).items())))
