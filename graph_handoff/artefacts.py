"""Find a model: a run's folder, its name among the checkpoints, an exported folder, or a pinned revision on the Hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph_handoff.errors import ConfigError, HandoffError, InputError
from graph_handoff.extras import Extra
from graph_handoff.files import read_object

CHECKPOINTS = Path("checkpoints")
EXPORT_FILE = "handoff.json"
"""What marks a folder as an export: the model's files lie in it directly."""
MANIFEST_FILE, COMPLETE_FILE = "manifest.json", "COMPLETE"
"""Of a run; the second is written last."""
MODEL_FOLDER, METRICS_FILE = "model", "metrics.json"
"""What a training run made, and what it measured on held-out plans."""
NO_MANIFEST = "no manifest"
HUB = "hf:"
_ON_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[0-9a-f]{40})")
SAFE_FILES = ("*.safetensors", "*.json", "*.txt", "*.onnx", "*.md", "*.jinja")
"""What is downloaded of a repository, whatever else it holds."""


class DownloadError(HandoffError):
    """The Hub did not give the model."""


def places_of(run: str | Path) -> tuple[Path, Path]:
    """Where a run may lie: a folder comes before a name among the checkpoints."""
    return Path(run), CHECKPOINTS / run


def folder_with(name: str, run: str | Path) -> Path:
    """The place of a run that has a file or folder of this name, the first there is; where none has, `run` as it was given."""
    return next((place for place in places_of(run) if (place / name).exists()), Path(run))


def find_run(run: str | Path, stages: Sequence[str] = (), field: str | None = None) -> Path:
    """The folder of a run with a trained model, or of an export; `hf:ORG/NAME@COMMIT` is downloaded, and kept by huggingface_hub.

    Raises ConfigError, which names `field` and the runs that there are of `stages` (`train t5`; of all where none is given),
    InputError, DownloadError or MissingDependencyError.
    """
    on_hub = str(run).startswith(HUB)
    extra = "router" if tuple(stages) == ("train router",) else "models"
    places = (_download(str(run), extra),) if on_hub else places_of(run)
    problem = f"no trained model there: run `handoff {' or '.join(stages) or 'train'}` first"
    for folder in places:
        if (folder / MODEL_FOLDER).is_dir() or (folder / EXPORT_FILE).is_file():
            stage = _stage(folder)
            if stages and stage not in (*stages, NO_MANIFEST):
                problem = f"a run of `handoff {stage}`: a run of `handoff {' or '.join(stages)}` is needed"
            elif (folder / MANIFEST_FILE).exists() and not is_complete(folder):
                problem = f"the run is not finished: give its command, `handoff {stage}`, again"
            else:
                return folder
            break
    trained = {path.parent.name: _stage(path.parent) for path in sorted(CHECKPOINTS.glob(f"*/{MODEL_FOLDER}"))}
    known = [f"{name} ({stage})" for name, stage in trained.items() if not stages or stage in stages]
    raise ConfigError(problem, field=field, found=str(run), allowed=known or "none is trained yet")


def _stage(folder: Path) -> str:
    """The command that made a run, as its manifest says, or as its export does."""
    try:
        exported = (folder / EXPORT_FILE).is_file()
        told = read_object(folder / EXPORT_FILE) if exported else read_manifest(folder)
        return str(told["stage"])
    except (InputError, LookupError):
        return NO_MANIFEST


def is_complete(folder: Path) -> bool:
    """Whether a run has come to its end."""
    return (folder / COMPLETE_FILE).exists()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Of a run: `stage`, `config`, `inputs_sha256`, `parents`, `versions`, `revision`, `identity_sha256`. Raises InputError."""
    return read_object(folder / MANIFEST_FILE)


def read_metrics(folder: Path) -> dict[str, Any]:
    """What a run measured; nothing where it has not yet. Raises InputError."""
    path = folder / METRICS_FILE
    return read_object(path) if path.exists() else {}


def run_info(folder: Path, parameters: int | None = None) -> dict[str, Any]:
    """What a report says of the model in a run's folder: its name, its size (as counted, else as its training recorded it), and
    what its training measured, if that is there."""
    metrics = read_metrics(folder)
    recorded = metrics.pop("parameters", 0)
    return {"run": folder.name, "parameters": recorded if parameters is None else parameters, "training": metrics}


def count_parameters(model: Any) -> int:
    """Of a torch module."""
    return sum(p.numel() for p in model.parameters())


def model_folder(run: Path) -> Path:
    """Where the model's files are: below `model/` in a run, beside each other in an export."""
    return run if (run / EXPORT_FILE).is_file() else run / MODEL_FOLDER


def _download(name: str, extra: str) -> Path:
    """Of a model that needs this extra of the distribution."""
    place = _ON_HUB.fullmatch(name.removeprefix(HUB))
    if place is None:
        problem = "a model on the Hub needs its revision, the full commit: a branch or a tag can move"
        raise InputError(problem, found=name, allowed=f"{HUB}ORG/NAME@COMMIT")
    with Extra(extra, f"a model of the Hub ({name})"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # of its HTTP library
    try:
        found = snapshot_download(place["repo"], revision=place["revision"], allow_patterns=list(SAFE_FILES))
    except (HTTPError, OSError, ValueError) as error:
        raise DownloadError(f"{name}: cannot be downloaded: {' '.join(str(error).split())[:300]}") from error
    folder = Path(found)
    if not (folder / EXPORT_FILE).is_file():
        raise InputError(f"holds no {EXPORT_FILE}: not an export of `handoff export`", file=name)
    return folder
