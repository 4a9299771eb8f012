"""Small line charts in one SVG: a chart a metric, a colour a run; training thin, validation thick, the best checkpoint ringed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from eval.plot import FRAME, HEIGHT, WIDTH, Scale, draw_axes, svg_document

COLOURS = (("#0b5cad", "#7ab7f5"), ("#c2410c", "#fb923c"), ("#15803d", "#4ade80"), ("#7e22ce", "#c084fc"))
COLOURS += (("#a16207", "#facc15"), ("#0e7490", "#22d3ee"), ("#be185d", "#f472b6"), ("#4b5563", "#9ca3af"))
"""One a run, for a light and for a dark page; with more runs they begin again, dashed."""
COLUMNS = 3
LEGEND_ROW = 22


@dataclass(frozen=True)
class Line:
    """One series of one run."""

    run: int
    part: str
    points: tuple[tuple[int, float], ...]
    """(step, value)."""
    best: int | None
    """The step of the best checkpoint."""


@dataclass(frozen=True)
class Chart:
    title: str
    lines: tuple[Line, ...]


def draw(charts: Sequence[Chart], runs: Sequence[str], parts_shown: bool = True) -> str:
    """The SVG document; it needs nothing from outside. `parts_shown` explains how training and validation look."""
    columns = min(COLUMNS, len(charts))
    width = max(columns * WIDTH, 620)
    top = 12 + LEGEND_ROW * (len(runs) + parts_shown)
    height = top + math.ceil(len(charts) / columns) * HEIGHT
    held_out = any(line.part == "held out" for chart in charts for line in chart.lines)
    parts = [*_legend(runs), *(_part_legend(18 + LEGEND_ROW * len(runs), held_out) if parts_shown else ())]
    for number, chart in enumerate(charts):
        x, y = number % columns * WIDTH, top + number // columns * HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_draw_chart(chart), "</g>"]
    return svg_document(width, height, f"Training curves of {', '.join(runs)}", _style(len(runs)), parts)


def _style(runs: int) -> tuple[str, str]:
    light = [".line{fill:none;stroke-linejoin:round}.train{stroke-width:1;opacity:.65}.val{stroke-width:2.2}.dot{stroke:none}"]
    dark = []
    for run in range(runs):
        day, night = COLOURS[run % len(COLOURS)]
        dash = f";stroke-dasharray:{6 + 2 * (run // len(COLOURS))} 3" if run >= len(COLOURS) else ""
        light.append(f".r{run}{{stroke:{day}{dash}}}.dot.r{run}{{fill:{day}}}")
        dark.append(f".r{run}{{stroke:{night}}}.dot.r{run}{{fill:{night}}}")
    return "".join(light), "".join(dark)


def _legend(runs: Sequence[str]) -> Iterator[str]:
    for number, name in enumerate(runs):
        y = 18 + LEGEND_ROW * number
        yield f'<path class="line val r{number}" d="M16 {y}h28"/><text x="52" y="{y + 4}">{escape(name)}</text>'


def _part_legend(y: int, held_out: bool) -> Iterator[str]:
    yield f'<g stroke="#7d8894"><path class="line train" d="M16 {y}h28"/><path class="line val" d="M112 {y}h28"/>'
    yield f'<circle class="ring" cx="248" cy="{y}" r="5"/>'
    shown = [(52, "training"), (148, "validation"), (260, "the best checkpoint")]
    if held_out:
        yield f'<path class="line val" d="M396 {y - 4}l4 4l-4 4l-4 -4z"/>'
        shown.append((408, "held out, at the end"))
    yield "</g>"
    for x, words in shown:
        yield f'<text class="soft" x="{x}" y="{y + 4}">{words}</text>'


def _draw_chart(chart: Chart) -> Iterator[str]:
    steps = [step for line in chart.lines for step, _ in line.points]
    values = [value for line in chart.lines for _, value in line.points]
    scale_x = Scale(0, max(*steps, 1), FRAME.left, FRAME.right)
    scale_y = Scale(*_padded(min(values), max(values)), FRAME.bottom, FRAME.top)
    yield from draw_axes(chart.title, scale_x, scale_y, 4)
    for line in chart.lines:
        yield from _draw_line(line, scale_x, scale_y)


def _draw_line(line: Line, scale_x: Scale, scale_y: Scale) -> Iterator[str]:
    spots = [(scale_x.at(step), scale_y.at(value)) for step, value in line.points]
    colour = f"r{line.run}"
    if line.part == "held out":
        for x, y in spots:
            yield f'<path class="line val {colour}" d="M{x} {y - 5}l5 5l-5 5l-5 -5z"/>'
        return
    kind = "train" if line.part == "train" else "val"
    yield f'<path class="line {kind} {colour}" d="M{"L".join(f"{x} {y}" for x, y in spots)}"/>'
    if kind == "train" and len(spots) > 1:
        return
    for (x, y), (step, value) in zip(spots, line.points, strict=True):
        yield f'<circle class="dot {colour}" cx="{x}" cy="{y}" r="2.6"><title>step {step}: {value:.4g}</title></circle>'
        if step == line.best and kind == "val":
            yield f'<circle class="ring {colour}" cx="{x}" cy="{y}" r="5.5"/>'


def _padded(low: float, high: float) -> tuple[float, float]:
    """A little more than what is shown, and more than nothing."""
    room = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - room, high + room
