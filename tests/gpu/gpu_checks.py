"""What must hold on a GPU, for any device, so that a CPU can prove the checks themselves."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import pytest
from safetensors.torch import load_file
from toy_corpus import CrashError, crash, stop_at, write_corpus

from graph_handoff.protocols.graph_writer.model import GraphWriter
from graph_handoff.protocols.t5.autoencoder import GraphAutoencoder
from training.graph_writer import grpo, sft
from training.t5 import train as t5

SIZES = {"vocabulary": 350, "hidden": 24, "intermediate": 24, "layers": 1, "heads": 2}
TOLERANCE = {"cuda": 2**-7, "cpu": 0.0}
"""By how much, of its largest weight, a resumed run's weights may be off: bfloat16 has 8 significant bits."""


class Checks:
    """Short trainings on one device: bfloat16 on a GPU, float32 on a CPU."""

    def __init__(self, device: str, folder: Path) -> None:
        self.device, self.folder = device, folder
        self.corpus = write_corpus(folder / "corpus")

    def settings(self, name: str, **changes: Any) -> dict[str, Any]:
        on_gpu = self.device == "cuda"
        short = {"steps": 6, "eval_steps": 3, "use_cpu": not on_gpu, "bf16": on_gpu, "report_plans": 4}
        return {"corpus": self.corpus, "run": self.folder / name, **short, **changes}

    def sft_config(self, name: str, **changes: Any) -> sft.SftConfig:
        writer = {"architecture": SIZES, "max_prompt_tokens": 200, "max_new_tokens": 60}
        return sft.SftConfig.model_validate(self.settings(name, **{**writer, **changes}))

    def grpo_config(self, name: str, **changes: Any) -> grpo.GrpoConfig:
        group = {"init": self.start, "batch_size": 4, "generations": 2, "max_zero_variance": 1}
        writer = {"max_prompt_tokens": 200, "max_new_tokens": 60}
        return grpo.GrpoConfig.model_validate(self.settings(name, **{**group, **writer, **changes}))

    @cached_property
    def start(self) -> Path:
        """A run of SFT, long enough that some of what it writes is a graph."""
        config = self.sft_config("start", steps=80, eval_steps=40)
        sft.run(config)
        return config.run

    def sft_learns(self) -> None:
        losses = [entry["loss"] for entry in log_of(self.start) if "loss" in entry]
        assert all(math.isfinite(loss) for loss in losses)
        assert losses[-1] < losses[0]

    def grpo_runs(self) -> None:
        config = self.grpo_config("grpo", batch_size=16, generations=8, weight_decay=0.0, beta=0.0)  # only rewards move it
        grpo.run(config)
        entries = [entry for entry in log_of(config.run) if "loss" in entry]
        assert entries
        assert all(math.isfinite(entry[key]) for entry in entries for key in ("loss", "reward", "failure_rate"))
        assert max(entry["reward"] for entry in entries) > 0
        assert moved(self.start, config.run)

    def resumes(self, stage: Any, config: Any, patch: pytest.MonkeyPatch) -> None:
        """A run that crashed after its first checkpoint ends like `config`'s own."""
        stage.run(config)
        broken = config.model_copy(update={"run": config.run.with_name(f"{config.run.name}-broken")})
        with patch.context() as inner:
            stop_at(stage, 4, crash, inner)
            with pytest.raises(CrashError):
                stage.run(broken)
        stage.run(broken)
        whole, resumed = weights_of(config.run), weights_of(broken.run)
        assert whole.keys() == resumed.keys()
        for name, weight in whole.items():
            most = TOLERANCE[self.device] * weight.abs().max().item()
            assert (weight - resumed[name]).abs().max().item() <= most, name

    def lora_steps(self) -> None:
        base = {"base": str(self.start / "model")}
        config = self.sft_config("lora", architecture=base, lora={"rank": 2, "alpha": 4}, weight_decay=0.0)
        sft.run(config)
        assert (config.run / "model" / "adapter_model.safetensors").exists()
        assert moved(self.start, config.run)

    def t5_learns(self) -> None:
        config = t5.T5Config.model_validate(self.settings("t5", steps=30, eval_steps=15, batch_size=8))
        t5.run(config)
        losses = [entry["loss"] for entry in log_of(config.run) if "loss" in entry]
        assert losses[-1] < losses[0]
        assert GraphAutoencoder.load(config.run / "model").supervision == "graph"

    def writes_as_a_cpu_does(self) -> None:
        """Greedy, float32: the same texts, alone and in a batch."""
        texts = [case.source.text for case in sft.load_cases(self.sft_config("unused"))["test"]]
        here, there = (GraphWriter.load(self.start / "model", device) for device in (self.device, "cpu"))
        written = here.write(texts)
        assert written == [there.write([text])[0] for text in texts]
        assert any(written)


def log_of(run: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run / "metrics.jsonl").read_bytes().splitlines()]


def weights_of(run: Path) -> dict[str, Any]:
    return {name: weight.float() for name, weight in load_file(run / "model" / "model.safetensors").items()}


def moved(before: Path, after: Path) -> bool:
    """Does the later run have other weights?"""
    pairs = [GraphWriter.load(run / "model").model.state_dict() for run in (before, after)]
    return any(not weight.equal(pairs[1][name]) for name, weight in pairs[0].items())
