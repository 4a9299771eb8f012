"""Find a run: by its folder, or by its name among the checkpoints."""

from __future__ import annotations

from pathlib import Path

from handoff.errors import InputError

CHECKPOINTS = Path("checkpoints")


def find_run(run: str | Path) -> Path:
    """The folder of a run with a trained model. Raises InputError, which names the runs that there are."""
    for folder in (Path(run), CHECKPOINTS / run):
        if (folder / "model").is_dir():
            return folder
    known = sorted(path.parent.name for path in CHECKPOINTS.glob("*/model"))
    raise InputError("no trained model there: run `handoff train` first", file=run, allowed=known or "none is trained yet")
