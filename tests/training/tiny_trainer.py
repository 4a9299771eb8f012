"""A Trainer over one weight, for the run loop's own tests: it takes a second, and its loss is known by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainingArguments

from training.run_loop import RunConfig, shared_arguments, train


class Slope(torch.nn.Module):
    """y = weight * x."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        found = self.weight * x
        return {"loss": ((found - labels) ** 2).mean(), "logits": found}


def rows(slope: float) -> list[dict[str, torch.Tensor]]:
    return [{"x": torch.tensor(float(n % 4)), "labels": torch.tensor(slope * (n % 4))} for n in range(16)]


class Run:
    """Trains towards a slope of 10 while validation wants `wanted`: it gets better until the weight passes that, then worse."""

    def __init__(self, folder: Path, wanted: float, steps: int = 20, callbacks: Sequence[Any] = (), **changes: Any) -> None:
        values = {"run": folder, "eval_steps": 2, "steps": steps, "batch_size": 4, "learning_rate": 0.5}
        self.config = RunConfig.model_validate({**values, "warmup_steps": 0, "weight_decay": 0, **changes})
        self.model = Slope()
        arguments = TrainingArguments(
            **shared_arguments(self.config, best="eval_loss", greater_is_better=False),
            lr_scheduler_type="constant",
        )
        self.trainer = Trainer(
            self.model,
            arguments,
            train_dataset=rows(10),
            eval_dataset=rows(wanted),
            callbacks=list(callbacks),  # type: ignore[arg-type]
        )

    def __call__(self) -> float:
        """Train; the weight that the run ends with."""
        train(self.trainer, self.config)
        return self.model.weight.item()
