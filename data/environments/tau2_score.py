"""The parts of tau2's reward, each as a list of findings: a part is 1 where its list is empty, else 0.

The rules are those of the package's evaluators (`tau2.evaluator`: environment, communicate, action).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from data.environments.snapshot import Changes, Place
from graph_handoff.errors import shorten

MAX_FINDINGS = 4  # shown for one part; the rest is counted


def state_findings(state: Changes, gold: Changes, fresh: Callable[[Place], str | None]) -> list[str]:
    """The records in which a state differs from the gold plan's, with the fields that do.

    `fresh` gives a record's canonical form before any call: a record that only one of the two holds was left as it was
    in the other.
    """
    findings = []
    for place in sorted(state.keys() | gold.keys()):
        got, wanted = (side[place] if place in side else fresh(place) for side in (state, gold))
        if got != wanted:
            findings.append(_difference("/".join(filter(None, place)), got, wanted))
    return findings


def _difference(name: str, got: str | None, wanted: str | None) -> str:
    if got is None or wanted is None:
        return f"{name} is {'missing' if got is None else 'one too many'}"
    left, right = json.loads(got), json.loads(wanted)
    if not isinstance(left, dict) or not isinstance(right, dict):
        return f"{name} differs"
    fields = sorted(k for k in left.keys() | right.keys() if json.dumps(left.get(k)) != json.dumps(right.get(k)))
    return f"{name} differs in {', '.join(fields)}"


def report_findings(wanted: Iterable[str], reported: Sequence[str]) -> list[str]:
    """What no message holds: case does not matter, and commas in a message are left out before it is searched."""
    texts = [text.lower().replace(",", "") for text in reported if text.strip()]
    return [f"not reported: {shorten(info)}" for info in wanted if not any(info.lower() in text for text in texts)]


def action_findings(actions: Iterable[Any], calls: Sequence[Any]) -> list[str]:
    """The gold actions that no call matches, by the package's own comparison."""
    missed = [action for action in actions if not any(action.compare_with_tool_call(call) for call in calls)]
    return [f"never called: {action.name} {shorten(action.arguments)}" for action in missed]


def assertion_findings(environment: Any, assertions: Iterable[Any]) -> list[str]:
    """The assertions on the package's environment that do not hold; one that cannot be evaluated does not hold."""
    findings = []
    for assertion in assertions:
        try:
            if not environment.run_env_assertion(assertion, raise_assertion_error=False):
                wanted = assertion.assert_value
                findings.append(f"{assertion.func_name} {shorten(assertion.arguments)} is not {wanted}")
        except ValueError as error:
            findings.append(f"{assertion.func_name} cannot be evaluated: {error}")
    return findings


def sentence(findings: Sequence[str]) -> str:
    """The first findings, and how many more there are."""
    more = len(findings) - MAX_FINDINGS
    return "; ".join(findings[:MAX_FINDINGS]) + (f"; and {more} more" if more > 0 else "")
