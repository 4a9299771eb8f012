"""Spans of a text: what a compressor keeps or drops as a whole. A quoted value and an identifier are one span each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from graph_handoff.identifiers import find_identifiers

Span = tuple[int, int]
"""Start and end of a span in its text, in characters."""

_QUOTED = re.compile(r'"[^"\n]{0,2000}"|`[^`\n]{1,200}`|“[^”\n]{0,2000}”')
_WORD = re.compile(r"\w+(?:[’'-]\w+)*|[^\w\s]")
_LABEL = re.compile(r"(?m)^[ \t]*\d{1,3}[.):](?=[ \t])")


def split_spans(text: str) -> list[Span]:
    """Every span in order; together they are the text without its white space.

    The number of a line (`1.`) is one span with its mark, because the mark alone makes it a number of a line.
    """
    taken = bytearray(len(text))
    fixed = sorted(_free([*_spans(_LABEL, text), *_spans(_QUOTED, text), *_identifiers(text)], taken))
    spans: list[Span] = []
    at = 0
    for start, end in [*fixed, (len(text), len(text))]:
        spans += [match.span() for match in _WORD.finditer(text, at, start)]
        if end > start:
            spans.append((start, end))
        at = end
    return spans


def join_spans(text: str, kept: Iterable[Span]) -> str:
    """The kept spans verbatim: joined as they were where nothing was dropped between them, else by a line's end where
    the text had one there, or a space."""
    parts: list[str] = []
    last: int | None = None
    for start, end in kept:
        if last is not None:
            between = text[last:start]
            parts.append("" if not between else "\n" if "\n" in between else " ")
        parts.append(text[start:end])
        last = end
    return "".join(parts)


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        yield match.end() - len(match.group().lstrip()), match.end()


def _identifiers(text: str) -> Iterator[Span]:
    at = 0
    for identifier in find_identifiers(text):
        start = text.index(identifier, at)
        at = start + len(identifier)
        yield start, at


def _free(spans: Iterable[Span], taken: bytearray) -> Iterator[Span]:
    """Spans that overlap no earlier one. `taken` marks the characters of those that do not."""
    for start, end in spans:
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            yield start, end
