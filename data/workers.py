"""Worker processes, as every stage that uses more than one core starts them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Literal


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def process_pool(
    workers: int, start: Literal["spawn", "fork"] = "spawn", prepare: Callable[..., object] | None = None, *given: Any
) -> ProcessPoolExecutor:
    """A pool whose processes leave Ctrl-C to the parent, and end with it. Each calls `prepare(*given)` before its first work.

    `fork` shares what the parent has loaded, and is for stages that have started no thread.
    """
    return ProcessPoolExecutor(workers, multiprocessing.get_context(start), _begin, (prepare, given))


def _begin(prepare: Callable[..., object] | None, given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    """A parent that was killed has told nobody: its workers would wait for work, or finish some, for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
