"""A trained router in two charts of one SVG: what its scores are worth, and what its thresholds cost.

Both are drawn from the tables of `router.json` (`training.router.artefact`), on tasks that nothing was chosen from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from eval.curves_svg import COLOURS
from eval.plot import FRAME, HEIGHT, WIDTH, Scale, draw_axes, svg_document
from graph_handoff.config import checked
from graph_handoff.routing.distilled import ROUTER_FILE, read_settings
from training.router.artefact import LEAST_THRESHOLD
from training.router.calibration import Bin, Point

_TOP, _LEGEND, _KEYS = 8, 44, 20
_DOT = 9.0
"""Radius of a bin that holds every task, in pixels: a bin's area grows with its share."""


class Metrics(BaseModel):
    """What is said of calibration in words."""

    ece_before: float
    ece: float


class Calibration(BaseModel):
    """The tables of `router.json` that are drawn."""

    reliability_before: list[Bin] = Field(min_length=1)
    """Without a temperature."""
    reliability: list[Bin] = Field(min_length=1)
    curve: list[Point] = Field(min_length=1)
    test_split: Point
    """What the router's own threshold does on the same tasks."""
    metrics: Metrics


def read_calibration(model: Path) -> Calibration | None:
    """Of the router whose settings lie in a folder; None where it has no tables. Raises InputError where they are damaged."""
    file = model / ROUTER_FILE
    told = read_settings(file).achieved
    return checked(Calibration, told, file, "achieved") if "reliability" in told else None


def calibration_svg(model: Path, name: str) -> str | None:
    """The two charts of the router in a folder; None where it has no tables. Raises InputError."""
    found = read_calibration(model)
    return None if found is None else draw(found, name)


def draw(found: Calibration, name: str) -> str:
    """The SVG document; it needs nothing from outside."""
    width, height = 2 * WIDTH, _TOP + HEIGHT + _LEGEND + 20
    parts = [
        f'<g transform="translate(0 {_TOP})">',
        *_reliability(found),
        f'</g><g transform="translate({WIDTH} {_TOP})">',
        *_thresholds(found),
        "</g>",
    ]
    return svg_document(width, height, f"Calibration of {name}", _style(), parts)


def _style() -> tuple[str, str]:
    shapes = ".line{fill:none;stroke-width:2}.even{stroke-dasharray:4 4;fill:none;stroke:#7d8894}"
    shapes += ".after{fill-opacity:.75}.before{fill:none;stroke-width:1.5}"
    day, night = (
        f".line,.ring{{stroke:{after}}}.after{{fill:{after}}}.before{{stroke:{before}}}"
        for after, before in zip(COLOURS[0], COLOURS[1], strict=True)
    )
    return shapes + day, night


def _reliability(found: Calibration) -> Iterator[str]:
    """Confidence against accuracy; on the diagonal a score is worth what it says."""
    shown = [*found.reliability_before, *found.reliability]
    across, down = Scale(0.5, 1.0, FRAME.left, FRAME.right), _down([bin_.accuracy for bin_ in shown] + [0.5])
    tasks = sum(bin_.count for bin_ in found.reliability)
    yield from _axes(f"Reliability, {tasks} tasks", "confidence", "accuracy", across, down)
    yield f'<path class="even" d="M{across.at(0.5)} {down.at(0.5)}L{across.at(1)} {down.at(1)}"/>'
    for kind, bins in (("before", found.reliability_before), ("after", found.reliability)):
        total = sum(bin_.count for bin_ in bins)
        for bin_ in bins:
            radius = round(max(2.5, _DOT * (bin_.count / total) ** 0.5), 1)
            spot = f'cx="{across.at(max(bin_.confidence, 0.5))}" cy="{down.at(bin_.accuracy)}" r="{radius}"'
            tip = f"{kind}: {bin_.count} tasks, confidence {bin_.confidence:.3f}, accuracy {bin_.accuracy:.3f}"
            yield f'<circle class="{kind}" {spot}><title>{tip}</title></circle>'
    keys = (
        ("before", f"before temperature scaling, ECE {found.metrics.ece_before:.3f}"),
        ("after", f"after it, ECE {found.metrics.ece:.3f}; a dot's area: its share of the tasks"),
    )
    for row, (kind, words) in enumerate(keys):
        y = FRAME.bottom + 50 + 18 * row
        yield f'<circle class="{kind}" cx="{_KEYS}" cy="{y}" r="5"/><text x="{_KEYS + 16}" y="{y + 4}">{words}</text>'


def _thresholds(found: Calibration) -> Iterator[str]:
    """The share of graphs, which are what saves tokens, against the share that prose would not have served better, for every
    threshold that may be chosen. A router that guesses lies on the straight line from all prose to all graphs."""
    points = sorted((p for p in found.curve if p.threshold >= LEAST_THRESHOLD), key=lambda p: (p.graph_share, -p.regressions))
    everything = max(found.curve, key=lambda point: point.graph_share)
    most = max(0.05, *(point.graph_share for point in (*points, found.test_split)))
    by_lot = most * everything.regressions / max(everything.graph_share, 1e-9)
    across = Scale(0.0, most, FRAME.left, FRAME.right)
    down = _down([1 - by_lot, *(1 - point.regressions for point in (*points, found.test_split))])
    yield from _axes("Cost against quality", "share sent as graphs", "no regression", across, down)

    def spot(point: Point) -> tuple[float, float]:
        return across.at(point.graph_share), down.at(1 - point.regressions)

    yield f'<path class="even" d="M{across.at(0)} {down.at(1)}L{across.at(most)} {down.at(1 - by_lot)}"/>'
    if points:
        yield f'<path class="line" d="M{"L".join(f"{x} {y}" for x, y in map(spot, points))}"/>'
    for point in points:
        x, y = spot(point)
        yield f'<circle class="after" cx="{x}" cy="{y}" r="2.6"><title>{_told(point)}</title></circle>'
    x, y = spot(found.test_split)
    yield f'<circle class="ring" cx="{x}" cy="{y}" r="6"><title>{_told(found.test_split)}</title></circle>'
    top = FRAME.bottom + 50
    yield f'<circle class="ring" cx="{_KEYS}" cy="{top}" r="5"/>'
    yield f'<text x="{_KEYS + 16}" y="{top + 4}">{_told(found.test_split)}</text>'
    yield f'<path class="even" d="M{_KEYS - 8} {top + 18}h16"/><text x="{_KEYS + 16}" y="{top + 22}">graphs chosen by lot</text>'


def _told(point: Point) -> str:
    return f"threshold {point.threshold:.2f}: {100 * point.graph_share:.0f} % graphs, {100 * point.regressions:.1f} % regressions"


def _down(values: Sequence[float]) -> Scale:
    return Scale(min(0.9, *values), 1.0, FRAME.bottom, FRAME.top)


def _axes(title: str, x_label: str, y_label: str, across: Scale, down: Scale) -> Iterator[str]:
    yield from draw_axes(title, across, down, 5)
    middle = (FRAME.left + FRAME.right) / 2
    yield f'<text class="soft" x="{middle}" y="{FRAME.bottom + 33}" text-anchor="middle">{x_label}</text>'
    half = (FRAME.top + FRAME.bottom) / 2
    yield f'<text class="soft" x="14" y="{half}" text-anchor="middle" transform="rotate(-90 14 {half})">{y_label}</text>'
