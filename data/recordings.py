"""The recordings in a corpus: trajectories that no environment can execute. Their calls are answered from the recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.environments.recorded import RecordedEnvironment, Recording
from data.environments.writes import which_write
from data.toolsets import ToolsetStore
from data.trajectory import read_trajectories
from graph_handoff.files import write_jsonl

if TYPE_CHECKING:
    from data.corpus import CorpusRow

RECORDINGS_FILE = "recordings.jsonl"
ADVICE = "give `handoff corpus` the trajectories of its graphs (--trajectories)"


def write_recordings(folder: Path, trajectories: Iterable[Path], wanted: Iterable[str]) -> int:
    """Copy the wanted trajectories into a corpus; returns how many of them were not found."""
    left = set(wanted)

    def found() -> Iterator[dict[str, Any]]:
        for path in trajectories:
            for trajectory in read_trajectories(path):
                if trajectory.id in left:
                    left.remove(trajectory.id)
                    yield trajectory.model_dump()

    write_jsonl(folder / RECORDINGS_FILE, found())
    return len(left)


def read_recordings(folder: Path, rows: Iterable[CorpusRow]) -> RecordedEnvironment:
    """What answers the calls of those rows of a corpus that name no environment, as far as they were recorded."""
    wanted = {row.id: row for row in rows if row.environment is None}
    path = folder / RECORDINGS_FILE
    found = {t.id: t for t in read_trajectories(path) if t.id in wanted} if wanted and path.exists() else {}
    store = ToolsetStore(folder)
    schemas = {key: store.schemas(t.toolset) for key, t in found.items() if t.toolset is not None}
    verdicts = which_write([schema for tools in schemas.values() for schema in tools], found.values())
    writing = frozenset(verdict.tool for verdict in verdicts.values() if verdict.writes)
    recordings = {
        key: Recording(trajectory, schemas.get(key, ()), wanted[key].delegation.graph, writing)
        for key, trajectory in found.items()
    }
    return RecordedEnvironment(recordings)
