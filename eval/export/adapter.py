"""A LoRA adapter: its base pinned by revision, or merged into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from eval.export.proof import ADAPTER_FILE
from handoff.errors import InputError
from handoff.files import write_text


class Base(NamedTuple):
    """The model that a run started from."""

    id: str
    revision: str


def base_of(folder: Path, manifest: Mapping[str, Any]) -> Base | None:
    """From the adapter's own configuration, else the run's; None for a model from scratch.

    Raises InputError for a base on the Hub that is not pinned. A local folder as base of a whole model names nothing that
    others could look up: it counts as none.
    """
    file = folder / ADAPTER_FILE
    if file.exists():
        config = orjson.loads(file.read_bytes())
        named, revision = str(config.get("base_model_name_or_path") or ""), config.get("revision") or _pinned(manifest)[1]
        if not named or Path(named).is_dir():
            raise InputError("the base is a folder of this machine: --merge it", file=file, field="base_model_name_or_path")
    else:
        named, revision = _pinned(manifest)
        if not named or Path(named).is_dir():
            return None
    if not revision:
        raise InputError("the base is not pinned: train with its revision", file=file if file.exists() else None, found=named)
    return Base(named, str(revision))


def _pinned(manifest: Mapping[str, Any]) -> tuple[str, str | None]:
    """`base` and `revision` of the run's configuration, at its top or one level below."""
    config = manifest.get("config") or {}
    for part in (config, *(value for value in config.values() if isinstance(value, dict))):
        if part.get("base"):
            return str(part["base"]), part.get("revision")
    return "", None


def pin(folder: Path, base: Base) -> None:
    """Write the base's revision into the adapter's configuration, where peft looks for it."""
    config = orjson.loads((folder / ADAPTER_FILE).read_bytes())
    config.update(base_model_name_or_path=base.id, revision=base.revision)
    write_text(folder / ADAPTER_FILE, orjson.dumps(config, option=orjson.OPT_INDENT_2).decode() + "\n")


def merge(folder: Path) -> None:
    """Replace the adapter in `folder` by the whole model. Raises InputError where the base cannot be loaded."""
    from peft import AutoPeftModelForCausalLM

    try:
        whole = AutoPeftModelForCausalLM.from_pretrained(folder).merge_and_unload()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"the adapter's base cannot be loaded: {str(error).splitlines()[0]}", file=folder) from error
    for file in folder.glob("adapter_*"):
        file.unlink()
    whole.save_pretrained(folder)
