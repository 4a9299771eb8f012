"""How the work of a function grows with its text: a ratio within one run, so that a slow machine cannot fail it."""

from __future__ import annotations

import time
from collections.abc import Callable


def growth(work: Callable[[str], object], text: Callable[[int], str], characters: int = 100_000) -> float:
    """Processor time for `characters` over that for a quarter of them: 4 if linear, 16 if quadratic. The best of three each."""

    def seconds(n: int) -> float:
        given, times = text(n), []
        for _ in range(3):
            start = time.process_time()
            work(given)
            times.append(time.process_time() - start)
        return min(times)

    return seconds(characters) / max(seconds(characters // 4), 1e-4)
