"""Worker processes end with the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARENT = """
import os, sys, time
from data.workers import process_pool

def work(seconds):
    print(os.getpid(), flush=True)
    time.sleep(seconds)

if __name__ == "__main__":
    pool = process_pool(2, sys.argv[1])
    list(pool.map(work, (1, 1)))
    pool.submit(work, 600)  # one worker is busy, the other one waits for work
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]


def all_ended(pids: list[int], within: float = 20) -> bool:
    limit = time.monotonic() + within
    while any(map(alive, pids)) and time.monotonic() < limit:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_no_worker_outlives_a_killed_parent(start: str, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    command = [sys.executable, str(tmp_path / "parent.py"), start]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert parent.stdout is not None
    started: list[int] = []
    try:
        for _ in range(3):
            assert int(parent.stdout.readline()) != parent.pid
        started = children(parent.pid)
        assert len(started) >= (3 if start == "spawn" else 2)  # spawn brings a resource tracker
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert all_ended(started)
    finally:
        for pid in (parent.pid, *filter(alive, started)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
