"""Where a trained model is."""

from __future__ import annotations

from pathlib import Path

from handoff.errors import InputError

CHECKPOINTS = Path("checkpoints")
MODEL_FOLDER = "model"
COMPLETE_FILE = "COMPLETE"


def find_run(name_or_path: str | Path) -> Path:
    """The folder of a finished run: the path itself, or `checkpoints/NAME`. Raises InputError."""
    places = [Path(name_or_path), CHECKPOINTS / name_or_path]
    for place in dict.fromkeys(places):
        if (place / MODEL_FOLDER).is_dir():
            if not (place / COMPLETE_FILE).exists():
                raise InputError("this run is not finished: train it to the end first", file=place)
            return place
    looked = ", ".join(map(str, dict.fromkeys(places)))
    raise InputError(
        "no trained model here: run `handoff train t5` first", found=str(name_or_path), allowed=f"looked at {looked}"
    )
