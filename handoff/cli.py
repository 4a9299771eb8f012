"""The command `handoff`: one command a stage, each a configuration class and a function that takes it.

A stage lives in the package that does the work and is imported only when its command runs, so `handoff --help` stays
quick and the wheel stands alone. To add one: a module with `CONFIG` and `run(config)`, and a line in STAGES.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import App, Group, Parameter

from handoff.console import set_quiet, warn
from handoff.errors import HandoffError, MissingDependencyError


class Stage(NamedTuple):
    """A command: where its code is, what it does, and which configuration key the positional arguments fill."""

    module: str
    help: str
    positional: str | None = None
    many: bool = False


STAGES: dict[str, Stage] = {
    "import": Stage("data.importing", "Read traces of any known format into trajectories.jsonl.", "inputs", True),
    "synth": Stage("data.synth.run", "Sample new valid plans by executing them in the real environment."),
    "label": Stage("data.labels.run", "Label trajectories with typed graphs, by data flow.", "input"),
    "show": Stage("data.show", "Show one trajectory or graph, in the terminal or as HTML.", "input"),
    "corpus": Stage("data.corpus", "Turn graphs into a Hugging Face dataset, split by task.", "input"),
    "train t5": Stage("training.t5", "Train the T5 graph autoencoder."),
    "eval": Stage("eval.suite", "Run protocols x tasks x seeds to trial records."),
    "report": Stage("eval.report.run", "Build the report (HTML, Markdown, JSON) from trials.", "run"),
}
"""Every command, in the order of the pipeline."""

app = App(name="handoff", help="Label trajectories, train compressors, judge every handoff format in one suite.")
train = App(name="train", help="Train a compressor.")


def run_stage(name: str, config: Path | None, quiet: bool, inputs: tuple[str, ...], options: dict[str, Any]) -> int:
    """Load the stage's configuration and run it. Errors a user can cause become one line and an exit code."""
    from handoff.config import load_config

    stage = STAGES[name]
    set_quiet(quiet)
    module = load_stage(name)
    if inputs and stage.positional is None:
        raise HandoffError(f"handoff {name} takes no positional argument; found {inputs[0]!r}")
    if inputs and stage.positional:
        if len(inputs) > 1 and not stage.many:
            raise HandoffError(f"handoff {name} takes one {stage.positional}; found {len(inputs)}")
        options[stage.positional] = list(inputs) if stage.many else inputs[0]
    return int(module.run(load_config(module.CONFIG, config, options)) or 0)


def load_stage(name: str) -> Any:
    """Import a stage's module; says what is missing where the checkout or an extra is not there."""
    module = STAGES[name].module
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = (error.name or "").split(".")[0]
        if top == module.split(".")[0]:
            where = "run it in a checkout of the project (pip install -e '.[train,eval]')"
        else:
            where = f"it needs the package {top!r}: `make setup`, or pip install -e '.[train,eval]'"
        raise MissingDependencyError(f"handoff {name} is not available here: {where}") from error


def _command(name: str) -> Any:
    def command(
        *inputs: str,
        config: Annotated[Path | None, Parameter(name=["--config", "-c"])] = None,
        quiet: Annotated[bool, Parameter(negative="")] = False,
        **options: str,
    ) -> int:
        return run_stage(name, config, quiet, inputs, dict(options))

    stage = STAGES[name]
    where = f" Positional arguments: `{stage.positional}`." if stage.positional else ""
    command.__doc__ = (
        f"{stage.help}\n\nAny key of the configuration is an option, nested ones with dots: --key.below value.{where}"
        f" `handoff config {name}` lists the keys.\n\nParameters\n----------\nconfig: Path\n    A YAML file.\n"
        "quiet: bool\n    Print errors only."
    )
    return command


@app.command
def config(*stage: str) -> int:
    """List the configuration keys of a stage, with defaults and meaning."""
    name = " ".join(stage)
    if name not in STAGES:
        raise HandoffError(f"no stage {name!r}; allowed: {', '.join(STAGES)}")
    for line in describe(load_stage(name).CONFIG):
        print(line)
    return 0


def describe(cls: Any, prefix: str = "") -> list[str]:
    """One line a key of a configuration class: name, type, default, meaning; nested classes below their key."""
    from pydantic import BaseModel

    lines: list[str] = []
    for name, field in cls.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            lines += describe(kind, f"{prefix}{name}.")
            continue
        shown = getattr(kind, "__name__", str(kind)) if isinstance(kind, type) else str(kind).replace("typing.", "")
        default = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
        lines.append(f"{prefix}{name}: {shown} = {default}  {' '.join((field.description or '').split())}")
    return lines


for _name in STAGES:
    if _name.startswith("train "):
        train.command(_command(_name), name=_name.removeprefix("train "))
    else:
        app.command(_command(_name), name=_name)
app.command(train)
app["--help"].group = app["--version"].group = Group("Options")


def main() -> None:
    """Entry point. Exit codes: 0 done, 1 failed, 2 bad input, 3 something is not installed, 4 cannot write, 130 Ctrl-C."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        result = app(sys.argv[1:], result_action="return_value", exit_on_error=False)
    except HandoffError as error:
        warn(f"handoff: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        warn("handoff: stopped; nothing half-written is left, and what was finished is kept")
        sys.exit(130)
    except OSError as error:
        warn(f"handoff: {error}")
        sys.exit(4)
    except Exception as error:
        from cyclopts import CycloptsError

        if isinstance(error, CycloptsError):
            sys.exit(2)  # cyclopts has printed what is wrong
        raise
    sys.exit(result if isinstance(result, int) else 0)


if __name__ == "__main__":
    main()
