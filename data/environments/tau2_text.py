"""The task in its author's words, from a tau2 user scenario. Pure text: needs no benchmark package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph_handoff.errors import InputError

# What the user wants, what they know, how they act, what they do not know: the order a reader expects.
PARTS = ("reason_for_call", "known_info", "task_instructions", "unknown_info")


def task_text(user_scenario: Mapping[str, Any]) -> str:
    """The parts of a scenario that hold the task, one paragraph each, in the order of `PARTS`; empty parts are left out.

    `user_scenario` is tau2's record `{persona, instructions}`, where `instructions` is an object or plain text. The
    persona is left out: it colours how the user speaks and holds nothing a planner may use. Raises InputError where
    there is no text at all.
    """
    instructions = user_scenario.get("instructions")
    if isinstance(instructions, str):
        parts = [instructions]
    elif isinstance(instructions, Mapping):
        parts = [value for part in PARTS if isinstance(value := instructions.get(part), str)]
    else:
        parts = []
    text = "\n\n".join(part.strip() for part in parts if part.strip())
    if not text:
        allowed = f"text, or an object with {', '.join(PARTS)}"
        raise InputError("no task text", field="user_scenario.instructions", found=instructions, allowed=allowed)
    return text
