"""Fixtures that all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from graph_handoff.console import set_quiet

# A busy machine is no failure: no property is judged by how long its examples take. Under CI every run tries the same examples,
# so a change is judged by itself; elsewhere each run looks for new ones.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("unhurried")

# A shell starts what it puts in the background without Ctrl-C; the tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A test that turned the console's voice off leaves it on."""
    yield
    set_quiet(False)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with public trajectories, beside the checkout. Tests that ask for it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no public trajectories: {SHARED_DATA} does not exist")
    return SHARED_DATA
