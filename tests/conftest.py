"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with public trajectories, beside the checkout. Tests that ask for it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no public trajectories: {SHARED_DATA} does not exist")
    return SHARED_DATA
