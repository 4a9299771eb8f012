"""One axis of a chart: values to pixels, and round numbers to write beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from eval.report.charts import Tick


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
