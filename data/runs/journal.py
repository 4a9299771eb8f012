"""A journal: a file to which a job adds what it has finished, line by line, so that a killed job resumes where it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from graph_handoff.errors import OutputError

_BLOCK = 1 << 16


class Journal:
    """Lines, each of them whole. One that a kill cut off is dropped when the journal is opened.

    Only one job may have it open (`data.runs.lock`). The file is made by the first `append`.
    """

    def __init__(self, path: Path) -> None:
        """Raises OutputError where the file cannot be written."""
        self.path = path
        try:
            if path.exists():
                _cut_torn_line(path)
        except OSError as error:
            raise self._refused(error) from error

    def __iter__(self) -> Iterator[bytes]:
        """The lines, with their ends."""
        if self.path.exists():
            with self.path.open("rb") as stream:
                yield from stream

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def append(self, lines: bytes) -> None:
        """Add whole lines; they have been handed to the operating system on return. Raises OutputError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as stream:
                stream.write(lines)
        except OSError as error:
            raise self._refused(error) from error

    def remove(self) -> None:
        """Its job is done."""
        self.path.unlink(missing_ok=True)

    def _refused(self, error: OSError) -> OutputError:
        return OutputError(f"{self.path}: cannot write: {error.strerror or error}")


def _cut_torn_line(path: Path) -> None:
    """Drop what follows the last line's end. Reads from the end, so a long journal costs no more than a short one."""
    with path.open("r+b") as stream:
        size = end = stream.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            stream.seek(start)
            found = stream.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            stream.truncate(end)
