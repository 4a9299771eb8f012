"""The values of a plan, verbatim, as the one line of text in which T5 and delta send them."""

from __future__ import annotations

from collections.abc import Iterable

from graph_handoff.errors import CodecError
from graph_handoff.scalar import WORD_STOPS, Scalar, format_scalar, scan_scalar

MAX_VALUES = 500


def write_values(values: Iterable[Scalar]) -> str:
    """The line: bare texts, quoted ones, and numbers behind a quote (`'3`), as in the compact form."""
    return " ".join(format_scalar(value, WORD_STOPS, "string") for value in values)


def read_values(text: str) -> list[Scalar]:
    """The inverse of `write_values`. Raises CodecError."""
    values: list[Scalar] = []
    at = 0
    while at < len(text):
        value, at = scan_scalar(text, at, WORD_STOPS, "string")
        values.append(value)
        if len(values) > MAX_VALUES:
            raise CodecError(f"more than {MAX_VALUES} values")
        if at < len(text):
            if text[at] != " ":
                raise CodecError("values are separated by a space", found=text[at : at + 20])
            at += 1
    return values
