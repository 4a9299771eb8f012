"""A value of a plan or of a node as people read it."""

from __future__ import annotations

from typing import Any

from graph_handoff.reference import Reference
from graph_handoff.scalar import dumps


def value_text(value: Any) -> str:
    """JSON without quotes around keys; a reference, also in a graph's form `{"$ref": ...}`, as an arrow and its text."""
    if isinstance(value, Reference):
        return f"→{value}"
    if isinstance(value, dict) and set(value) == {"$ref"}:
        return f"→{value['$ref']}"
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {value_text(item)}' for key, item in value.items())}}}"
    return dumps(value)
