"""Trace formats: a table of them, and detection of the format of a file by its content.

To add one: a module with `sniff` and `read` (`data.sources.base.Source`), and a line in SOURCES.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from data.sources import openai_chat, tau1, tau2
from data.sources.base import RecordError, Rejected, Sample, Source
from data.sources.stream import JsonStream, elements, json_lines, members
from graph_handoff.errors import InputError

SOURCES: dict[str, Source] = {"tau1": tau1, "tau2": tau2, "openai": openai_chat}
"""Every format that a file can have, by the name that `--format` takes."""

_LOOK = 20
"""Records that are looked at before a file counts as foreign: the first ones may be damaged."""


def detect(path: Path) -> str:
    """The name of the file's format. Raises InputError where the file is unreadable, empty, or of no known format."""
    keys: frozenset[str] = frozenset()
    for sample in _samples(path):
        for name, source in SOURCES.items():
            if source.sniff(sample):
                return name
        keys = sample.keys
    found = f"keys {', '.join(sorted(keys))}" if keys else "no JSON object at its start"
    raise InputError("not a trace format known here", file=path, found=found, allowed=SOURCES)


def check_format(path: Path, name: str) -> None:
    """Raises InputError where the file does not have the format that the user says it has."""
    if not any(SOURCES[name].sniff(sample) for sample in _samples(path)):
        others = [other for other, source in SOURCES.items() if any(source.sniff(s) for s in _samples(path))]
        hint = f"it looks like {others[0]}" if others else "nor does it look like another format known here"
        raise InputError(f"does not have the format {name}: {hint}", file=path, field="format", allowed=["auto", *SOURCES])


def _samples(path: Path) -> Iterator[Sample]:
    """First looks at the file, each a little longer than the one before."""
    stream = JsonStream(path)
    opening = stream.peek()
    if not opening:
        raise InputError("the file is empty" if not stream.damage else stream.damage, file=path)
    keys: set[str] = set()
    if opening == "{":
        try:
            for key in members(stream):
                keys.add(key)
                yield Sample(opening, frozenset(keys))
        except RecordError:
            pass  # a damaged first line; the others may tell
    items = elements(stream) if opening == "[" else json_lines(path) if opening == "{" else ()
    for item in islice(items, _LOOK):
        if not isinstance(item, Rejected) and isinstance(item[1], dict):
            keys |= item[1].keys()
            yield Sample(opening, frozenset(keys))
