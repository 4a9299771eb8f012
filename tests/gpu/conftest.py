"""Every test of this folder needs a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu_checks import Checks


@pytest.fixture(scope="session", autouse=True)
def needs_gpu() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU here")


@pytest.fixture(scope="module")
def checks(needs_gpu: None, tmp_path_factory: pytest.TempPathFactory) -> Checks:
    return Checks("cuda", Path(tmp_path_factory.mktemp("gpu")))
