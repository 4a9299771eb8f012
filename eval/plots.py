"""Line and point charts, drawn by matplotlib: what training runs logged, and a router's calibration.

A picture has no background and its text is grey, so that a light and a dark page can show it; equal data give equal bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from graph_handoff.config import checked
from graph_handoff.errors import MissingDependencyError
from graph_handoff.routing.distilled import ROUTER_FILE, read_settings
from training.router.artefact import LEAST_THRESHOLD
from training.router.calibration import Bin, CurvePoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#3b82d6", "#e0701b", "#2f9e57", "#9b59d0", "#b58900", "#1f9bb3", "#d6478a", "#808a96")
"""One a run; with more runs they begin again, dashed. All are readable on white and on black."""
GREY = "#77808a"
COLUMNS = 3
_SIZE = (3.8, 2.5)  # of one chart, in inches
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "handoff",
    "text.parse_math": False,  # a run may be called $x$
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@dataclass(frozen=True)
class Line:
    """One series of one run."""

    run: int
    part: str
    """`train`, `validation` or `held out`."""
    points: tuple[tuple[int, float], ...]
    """(step, value)."""
    best: int | None
    """The step of the best checkpoint, which is marked on the validation line."""


@dataclass(frozen=True)
class Chart:
    title: str
    lines: tuple[Line, ...]


class CalibrationErrors(BaseModel):
    """Expected calibration error, before and after temperature scaling."""

    ece_before: float
    ece: float


class Calibration(BaseModel):
    """The tables of `router.json` that are drawn, on tasks that nothing was chosen from (`training.router.artefact`)."""

    reliability_before: list[Bin] = Field(min_length=1)
    """Without a temperature."""
    reliability: list[Bin] = Field(min_length=1)
    curve: list[CurvePoint] = Field(min_length=1)
    test_split: CurvePoint
    """What the router's own threshold does on the same tasks."""
    metrics: CalibrationErrors


def to_svg(figure: Figure, title: str) -> str:
    """The SVG document; it needs nothing from outside."""
    stream = io.StringIO()
    with _style():
        figure.savefig(stream, format="svg", metadata={"Title": title, "Date": None, "Creator": None})
    return stream.getvalue()


def _style() -> AbstractContextManager[None]:
    """How everything here looks. Raises MissingDependencyError."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependencyError("charts are drawn by matplotlib: pip install 'graph-handoff[eval]'") from error
    return matplotlib.rc_context(_STYLE)


def _figure(width: float, height: float, rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def draw_curves(charts: Sequence[Chart], runs: Sequence[str], across: str = "step", parts_shown: bool = True) -> Figure:
    """A chart a metric, a colour a run; training thin, validation thick with the best checkpoint ringed. `parts_shown` explains
    how these look. Raises MissingDependencyError."""
    columns = min(COLUMNS, len(charts))
    rows = math.ceil(len(charts) / columns)
    with _style():
        keys = [_line_of(number, "validation") | {"label": name} for number, name in enumerate(runs)]
        keys += _part_keys(charts) if parts_shown else []
        figure, axes = _figure(max(2, columns) * _SIZE[0], rows * _SIZE[1] + 0.22 * math.ceil(len(keys) / 4), rows, columns)
        for chart, axis in zip(charts, axes, strict=False):
            _draw_chart(chart, axis, across)
        for axis in axes[len(charts) :]:
            axis.remove()
        _legend(figure, keys)
    return figure


def _line_of(run: int, part: str) -> dict[str, Any]:
    """How the lines of a run look."""
    style: Any = "-" if run < len(COLOURS) else (0, (4 + 2 * (run // len(COLOURS)), 2))
    width = {"train": 0.8, "validation": 1.8}.get(part, 0)
    marker = {"train": "", "validation": "."}.get(part, "D")
    return {"color": COLOURS[run % len(COLOURS)], "linestyle": style, "linewidth": width, "marker": marker}


_RING: dict[str, Any] = {"marker": "o", "markersize": 9, "fillstyle": "none", "linestyle": "none"}


def _part_keys(charts: Sequence[Chart]) -> list[dict[str, Any]]:
    shown = {line.part for chart in charts for line in chart.lines}
    keys = [_line_of(0, "train") | {"label": "training"}, _line_of(0, "validation") | {"label": "validation"}]
    keys.append(_RING | {"label": "the best checkpoint"})
    if "held out" in shown:
        keys.append(_line_of(0, "held out") | {"label": "held out, at the end"})
    return [key | {"color": GREY} for key in keys]


def _legend(figure: Figure, keys: Sequence[dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **{**key, "label": f"\u2060{key['label']}"}) for key in keys]  # one that begins with _ is left out
    figure.legend(handles=handles, loc="outside upper left", ncols=4)


def _draw_chart(chart: Chart, axis: Axes, across: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_title(chart.title)
    for line in chart.lines:
        steps, values = zip(*line.points, strict=True)
        look = _line_of(line.run, line.part)
        if line.part == "train" and len(line.points) == 1:
            look["marker"] = "."
        axis.plot(steps, values, label=line.part, **look)
        best = [point for point in line.points if point[0] == line.best and line.part == "validation"]
        if best:
            axis.plot(*zip(*best, strict=True), label="best", color=look["color"], **_RING)
    axis.set_xlim(left=0)
    axis.set_xlabel(across)
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(5))


def read_calibration(model: Path) -> Calibration | None:
    """Of the router whose settings lie in a folder; None where it has no tables. Raises InputError where they are damaged."""
    file = model / ROUTER_FILE
    told = read_settings(file).achieved
    return checked(Calibration, told, file, "achieved") if "reliability" in told else None


def calibration_svg(model: Path, name: str) -> str | None:
    """The calibration of the router in a folder; None where it has no tables. Raises InputError, MissingDependencyError."""
    found = read_calibration(model)
    return None if found is None else to_svg(draw_calibration(found), f"Calibration of {name}")


def draw_calibration(found: Calibration) -> Figure:
    """Two charts: what a router's scores are worth, and what its thresholds cost."""
    with _style():
        figure, axes = _figure(2 * 4.2, 3.4, 1, 2)
        _reliability(found, axes[0])
        _thresholds(found, axes[1])
        for axis in axes:
            axis.legend(loc="upper left", bbox_to_anchor=(0, -0.2), borderpad=0)
    return figure


def _reliability(found: Calibration, axis: Axes) -> None:
    """Confidence against accuracy; on the diagonal a score is worth what it says."""
    axis.set_title(f"Reliability, {sum(bin_.count for bin_ in found.reliability)} tasks")
    axis.set_xlabel("confidence")
    axis.set_ylabel("accuracy")
    axis.plot([0.5, 1], [0.5, 1], color=GREY, linestyle="--", linewidth=1)
    for bins, look, label in (
        (found.reliability_before, {"facecolor": "none", "edgecolor": COLOURS[1]}, "before temperature scaling, ECE "),
        (found.reliability, {"color": COLOURS[0], "alpha": 0.75}, "after it, ECE "),
    ):
        total = sum(bin_.count for bin_ in bins)
        ece = found.metrics.ece if bins is found.reliability else found.metrics.ece_before
        axis.scatter(
            [max(bin_.confidence, 0.5) for bin_ in bins],
            [bin_.accuracy for bin_ in bins],
            s=[max(10.0, 250 * bin_.count / total) for bin_ in bins],  # a dot's area: its share of the tasks
            label=f"{label}{ece:.3f}",
            clip_on=False,
            **look,
        )


def _thresholds(found: Calibration, axis: Axes) -> None:
    """The share of graphs, which are what saves tokens, against the share that prose would not have served better, for every
    threshold that may be chosen. A router that guesses lies on the straight line from all prose to all graphs."""
    points = sorted((p for p in found.curve if p.threshold >= LEAST_THRESHOLD), key=lambda p: (p.graph_share, -p.regressions))
    everything = max(found.curve, key=lambda point: point.graph_share)
    most = max(0.05, *(point.graph_share for point in (*points, found.test_split)))
    by_lot = most * everything.regressions / max(everything.graph_share, 1e-9)
    own = found.test_split
    axis.set_title("Cost against quality")
    axis.set_xlabel("share sent as graphs")
    axis.set_ylabel("no regression")
    axis.plot([0, most], [1, 1 - by_lot], color=GREY, linestyle="--", linewidth=1, label="graphs chosen by lot")
    across, down = [point.graph_share for point in points], [1 - point.regressions for point in points]
    axis.plot(across, down, color=COLOURS[0], marker=".", label="the thresholds", clip_on=False)
    told = f"{own.threshold:.2f}: {100 * own.graph_share:.0f} % graphs, {100 * own.regressions:.1f} % regressions"
    label = f"its threshold, {told}"
    axis.plot([own.graph_share], [1 - own.regressions], color=COLOURS[1], label=label, clip_on=False, **_RING)
