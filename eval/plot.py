"""What small charts share: an SVG document in colours for day and night, values to pixels, axes with round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from eval.report.charts import Box, Tick

WIDTH, HEIGHT = 380, 236
"""Of a chart, with its title and the numbers of its axes."""
FRAME = Box(56, 34, WIDTH - 16, HEIGHT - 34)
"""Where its values are drawn."""

_DAY = (
    ".paper{fill:#fff}text{font:12px system-ui,sans-serif;fill:#1c2127}.title{font-weight:600}.soft{fill:#59636e}"
    ".grid{stroke:#dde2e7}.ring{fill:none;stroke-width:2}"
)
_NIGHT = ".paper{fill:#14181d}text{fill:#e4e8ec}.soft{fill:#9aa5b1}.grid{stroke:#2d343c}"


def svg_document(width: int, height: int, title: str, style: tuple[str, str], parts: Iterable[str]) -> str:
    """A document that needs nothing from outside. `style`: rules for day, and those that night changes."""
    day, night = style
    rules = f"{_DAY}{day}@media(prefers-color-scheme:dark){{{_NIGHT}{night}}}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
    title = f"<title>{escape(title)}</title><style>{rules}</style>"
    return "\n".join([head, title, '<rect class="paper" width="100%" height="100%"/>', *parts, "</svg>"])


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` along one side of a chart."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self, most: int) -> list[Tick]:
        """About `most` round numbers."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        first = math.ceil(self.low / step)
        found = [number * step for number in range(first, math.floor(self.high / step) + 1)]
        return [Tick(self.at(value), _figure(value, step)) for value in found]


def _figure(value: float, step: float) -> str:
    if value == 0:
        return "0"
    if step < 1e-4 or abs(value) >= 1e6:
        return f"{value:.1e}"
    return f"{value:.{max(0, -math.floor(math.log10(step)))}f}"


def draw_axes(title: str, across: Scale, down: Scale, most_across: int) -> Iterator[str]:
    """The chart's title, lines across it, and the numbers of both axes as SVG; about `most_across` on the lower one."""
    yield f'<text class="title" x="{FRAME.left}" y="20">{escape(title)}</text>'
    for tick in down.ticks(5):
        yield f'<path class="grid" d="M{FRAME.left} {tick.at}H{FRAME.right}"/>'
        yield f'<text class="soft" x="{FRAME.left - 6}" y="{tick.at + 4}" text-anchor="end">{tick.label}</text>'
    for tick in across.ticks(most_across):
        yield f'<text class="soft" x="{tick.at}" y="{FRAME.bottom + 17}" text-anchor="middle">{tick.label}</text>'
