"""Training and writing on one GPU: bfloat16, resuming, adapters, the T5. Minutes, without a network."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import orjson
import pytest
from gpu_checks import Checks

from benchmarks import gpu
from training.graph_writer import grpo, sft

pytestmark = pytest.mark.gpu


def test_sft_learns(checks: Checks) -> None:
    checks.sft_learns()


def test_grpo_runs(checks: Checks) -> None:
    checks.grpo_runs()


def test_sft_that_broke_off_ends_like_one_that_did_not(checks: Checks, monkeypatch: pytest.MonkeyPatch) -> None:
    checks.resumes(sft, checks.sft_config("sft-whole"), monkeypatch)


def test_grpo_that_broke_off_ends_like_one_that_did_not(checks: Checks, monkeypatch: pytest.MonkeyPatch) -> None:
    checks.resumes(grpo, checks.grpo_config("grpo-whole"), monkeypatch)


def test_an_adapter_is_trained(checks: Checks) -> None:
    checks.lora_steps()


def test_the_t5_learns(checks: Checks) -> None:
    checks.t5_learns()


def test_a_writer_writes_as_on_a_cpu(checks: Checks) -> None:
    checks.writes_as_a_cpu_does()


def test_the_benchmark_runs(tmp_path: Path) -> None:
    assert gpu.main(["--small", "--out", str(tmp_path / "gpu.json")]) == 0
    rows = orjson.loads((tmp_path / "gpu.json").read_bytes())
    assert [(row["loop"], row["kind"]) for row in rows] == list(product(("plain", "ours"), ("sft", "grpo")))
    assert all(row["peak_gib"] > 0 and row["device"] != "CPU" for row in rows)
