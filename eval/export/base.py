"""What can be exported: one kind of model per file, and the configuration that they share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from graph_handoff.config import Config
from graph_handoff.errors import ConfigError

REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class ExportKind:
    """One kind of model: where its files are in a run, what proves that they load, and what its card says."""

    name: str
    """`t5`: the second word of the command."""
    stage: str
    """The stage that trains it, as its manifest names it."""
    title: str
    auto: str
    """The class of transformers that loads it."""
    task: str
    """The Hub's name of the task (`pipeline_tag`)."""
    required: tuple[str, ...]
    """Files without which it is not exported."""
    about: str
    """What it is and what it is for: sentences of the card."""
    limits: str
    """What it is not for."""
    load: tuple[str, ...]
    """Lines with transformers alone; {repo} and {revision} are filled in."""
    load_here: tuple[str, ...]
    """The same with `handoff`."""
    load_note: str = ""
    """What the lines with transformers alone leave to their user."""
    tokenizer: str = "AutoTokenizer"
    """The class of transformers that loads its tokenizer as it was trained."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """What its training measures -> what the card calls it."""
    onnx: bool = False
    """Whether the run has ONNX files beside the model."""
    picture: Callable[[Path, str], str | None] | None = None
    """(folder of the model, its name) -> an SVG of the card, None where there is nothing to draw."""


class ExportConfig(Config):
    """What every export takes."""

    run: Path
    """The finished run, usually `checkpoints/NAME`."""
    out: Path | None = None
    """Where the export goes; `RUN/export` if not given. An earlier export there is replaced."""
    eval: Path | None = None
    """A run of `handoff eval` that judged this model: its trials become the results of the card."""
    protocols: tuple[str, ...] = ()
    """The protocols of that evaluation that are this model; found by the run's name if not given. `t5,t5-alone` on the
    command line."""
    push: str | None = None
    """ORG/NAME: send the export to that repository of the Hub, load it from there again, and compare."""
    private: bool = True
    """Whether a repository that the push creates is private."""
    overwrite: bool = False
    """Replace what the repository holds."""
    dry_run: bool = False
    """Print what would be written and sent; write nothing and send nothing."""
    license: str | None = Field(None, pattern=r"^[a-z0-9][a-z0-9.-]*$")
    """The Hub's name of the licence; Apache-2.0 if not given, for a model without a base or with a base that is known to be
    under it."""

    @model_validator(mode="after")
    def _used(self) -> ExportConfig:
        if self.protocols and self.eval is None:
            raise ConfigError("are those of an evaluation: name it with `eval`", field="protocols", found=self.protocols)
        if self.overwrite and self.push is None:
            raise ConfigError("is for a `push`", field="overwrite", found=self.overwrite)
        return self

    @field_validator("protocols", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value

    @field_validator("push")
    @classmethod
    def _repo(cls, value: str | None) -> str | None:
        if value is not None and not REPO.fullmatch(value):
            raise ValueError("a repository is ORG/NAME")
        return value
