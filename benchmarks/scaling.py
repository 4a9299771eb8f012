"""What more training plans bring: `python -m benchmarks.scaling [--model t5] [--sizes 200 400 800 1600] [--steps N]`.

Trains one run a size and seed, all with the same number of steps, on plans that the run loop's `train_plans` chooses (a smaller
choice is a part of a larger one), and prints the held-out figures that each run wrote into its metrics.json. Draws them to
`docs/scaling.svg`. A finished run is not trained again, so a broken-off call goes on. A size above the corpus's is refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from eval.plots import Chart, Line, draw_curves, to_svg
from graph_handoff.artefacts import read_metrics
from graph_handoff.cli import load_stage
from graph_handoff.config import load_config
from graph_handoff.console import say, table
from graph_handoff.errors import ConfigError
from graph_handoff.files import write_text


class Model(NamedTuple):
    """A training stage, its configuration, and the keys of its metrics.json to show."""

    stage: str
    config: Path
    metrics: tuple[str, ...]
    start: str | None = None
    """The model that it begins with, trained first on the same plans."""


MODELS = {
    "t5": Model("train t5", Path("configs/t5/tiny.yaml"), ("corrections_a_plan", "alone_node_f1", "alone_argument_value_f1")),
    "t5-text": Model("train t5", Path("configs/t5/tiny-text.yaml"), ("corrections_a_plan", "corrected_node_f1", "alone_node_f1")),
    "sft": Model("train sft", Path("configs/sft/tiny.yaml"), ("whole", "validity", "fidelity_part")),
    "grpo": Model("train grpo", Path("configs/grpo/tiny.yaml"), ("whole", "validity", "fidelity_part"), "sft"),
}


class Point(NamedTuple):
    """The held-out figures of one run."""

    size: int
    seed: int
    metrics: dict[str, float]


def train(model: str, size: int, seed: int, arguments: argparse.Namespace) -> Point:
    """Train one run, or take the one that is there. Raises HandoffError."""
    spec = MODELS[model]
    module = load_stage(spec.stage)
    run = run_of(model, size, seed, arguments)
    overrides: dict[str, object] = {"run": str(run), "train_plans": size, "seed": seed}
    if spec.start is not None:
        train(spec.start, size, seed, arguments)
        overrides["init"] = str(run_of(spec.start, size, seed, arguments))
    if arguments.corpus is not None:
        overrides["corpus"] = str(arguments.corpus)
    if arguments.steps is not None and spec.start is None:
        overrides |= {"steps": arguments.steps, "eval_steps": min(arguments.steps, 200)}
    say(f"{model}: {size} plans, seed {seed}")
    config: Any = load_config(module.CONFIG, spec.config, overrides)  # of a stage that has a corpus
    available = training_plans(config.corpus)
    if size > available:
        raise ConfigError(
            "the corpus has fewer training plans", file=config.corpus, field="--sizes", found=size, allowed=str(available)
        )
    module.run(config)
    metrics = read_metrics(run)
    missing = [key for key in spec.metrics if key not in metrics]
    if missing:
        raise ConfigError("the run did not write this metric", file=run, found=missing, allowed=sorted(metrics))
    return Point(size, seed, {key: float(metrics[key]) for key in spec.metrics})


def run_of(model: str, size: int, seed: int, arguments: argparse.Namespace) -> Path:
    """The folder of a run."""
    return Path(arguments.runs) / f"scaling-{model}-{size}-{seed}"


def training_plans(corpus: Path) -> int:
    """How many the corpus has."""
    from datasets import load_from_disk

    return len(load_from_disk(str(corpus))["train"])


def show(found: dict[str, list[Point]], out: Path) -> None:
    """The table and the picture: means over the seeds."""
    charts: dict[str, list[Line]] = {}
    for number, (model, points) in enumerate(found.items()):
        sizes = sorted({point.size for point in points})
        keys = MODELS[model].metrics
        means = {
            key: [(size, fmean(point.metrics[key] for point in points if point.size == size)) for size in sizes] for key in keys
        }
        rows = [[size, *(f"{dict(means[key])[size]:.3f}" for key in keys)] for size in sizes]
        table(["training plans", *keys], rows, title=f"{model}, held out, mean over {len({p.seed for p in points})} seeds")
        for key in keys:
            charts.setdefault(key, []).append(Line(number, "validation", tuple(means[key]), None))
    drawn = [Chart(key.replace("_", " "), tuple(lines)) for key, lines in charts.items()]
    figure = draw_curves(drawn, list(found), "training plans", parts_shown=False)
    write_text(out, to_svg(figure, f"Held-out figures of {', '.join(found)} against training plans"))
    say(f"picture: {out}")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", choices=MODELS, default=["t5"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 400, 800, 1500])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument(
        "--steps", type=int, help="the same for every size, but for GRPO; those of the configuration where none is given"
    )
    parser.add_argument("--corpus", type=Path, help="a larger one, where `handoff synth` has sampled more")
    parser.add_argument("--runs", type=Path, default=Path("checkpoints"))
    parser.add_argument("--out", type=Path, default=Path("docs/scaling.svg"))
    arguments = parser.parse_args(words)
    found = {
        model: [train(model, size, seed, arguments) for size in arguments.sizes for seed in arguments.seeds]
        for model in arguments.model
    }
    show(found, arguments.out)


if __name__ == "__main__":
    main()
