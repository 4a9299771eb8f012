"""A trained router as ONNX: fp32 and int8, each held against torch before it is kept."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.router_labels import Example
from handoff.errors import HandoffError
from handoff.routing.distilled import FILES, ONNX_FOLDER, DistilledRouter, RouterSettings, describe
from training.calibration import expected_calibration_error, to_scores

INPUTS = ("input_ids", "attention_mask")
OPSET = 17
TOLERANCE = 1e-4
MIN_AGREEMENT = 0.99
CHECKED = 400
"""At most so many held-out delegations are compared."""


class ExportDiffersError(HandoffError):
    """The exported network does not compute what the trained one does."""


def export(
    run: Path, model: Any, settings: RouterSettings, parts: Mapping[str, Sequence[Example]]
) -> tuple[RouterSettings, dict[str, Any]]:
    """Write `onnx/model.onnx` and `onnx/model_int8.onnx`; returns the settings with the precision to use, and what was compared.

    Raises ExportDiffersError where fp32 or the reloaded weights differ from torch by more than 1e-4. int8 is the default only
    where its decisions agree with fp32's on at least 0.99.
    """
    from transformers import AutoModelForSequenceClassification

    from training.router import load_tokenizer

    paths = {name: run / ONNX_FOLDER / file for name, file in FILES.items()}
    write_onnx(model, paths["fp32"])
    write_int8(paths["fp32"], paths["int8"])
    examples = [*parts["test"], *parts.get("transfer", ())][:CHECKED]
    texts = [describe(example.task.delegation) for example in examples]
    routers = {name: DistilledRouter(run, name) for name in FILES}
    found = {name: [router.logits(text)[:2] for text in texts] for name, router in routers.items()}
    reloaded = AutoModelForSequenceClassification.from_pretrained(run / "model", use_safetensors=True).eval()
    tokenizer = load_tokenizer(run / "model", settings.max_tokens)
    ids = [tokenizer.encode(text).ids for text in texts]
    ours = _torch_logits(model, ids)
    metrics: dict[str, Any] = {
        "compared": len(examples),
        "fp32_difference": _difference(found["fp32"], ours),
        "reloaded_difference": _difference(_torch_logits(reloaded, ids), ours),
        "int8_difference": _difference(found["int8"], ours),
    }
    for what in ("fp32_difference", "reloaded_difference"):
        if not metrics[what] <= TOLERANCE:
            raise ExportDiffersError(f"{run}: {what} is {metrics[what]:.2e}, allowed {TOLERANCE}")
    targets = [example.target for example in examples]
    scores = {name: to_scores([graph - prose for prose, graph in rows], settings.temperature) for name, rows in found.items()}
    decided = {name: [score > settings.threshold for score in part] for name, part in scores.items()}
    same = sum(a == b for a, b in zip(decided["int8"], decided["fp32"], strict=True))
    metrics["int8_agreement"] = same / len(examples)
    metrics |= {f"{name}_ece": expected_calibration_error(score, targets) for name, score in scores.items()}
    metrics |= {f"{name}_bytes": path.stat().st_size for name, path in paths.items()}
    precision = "int8" if metrics["int8_agreement"] >= MIN_AGREEMENT else "fp32"
    return settings.model_copy(update={"precision": precision}), metrics


def _difference(left: Sequence[tuple[float, float]], right: Sequence[tuple[float, float]]) -> float:
    """The largest difference of two logits."""
    return max(abs(x - y) for a, b in zip(left, right, strict=True) for x, y in zip(a, b, strict=True))


def write_onnx(model: Any, path: Path) -> None:
    """fp32, opset 17, batch and length dynamic."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    example = torch.ones((2, 8), dtype=torch.long)
    axes = {name: {0: "batch", 1: "length"} for name in INPUTS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Logits.of(model),
            tuple(example for _ in INPUTS),
            str(path),
            input_names=list(INPUTS),
            output_names=["logits"],
            dynamic_axes={**axes, "logits": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )


class _Logits:
    """The model as a function of positional tensors, which is what the exporter traces."""

    @staticmethod
    def of(model: Any) -> Any:
        import torch

        class Logits(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

        return Logits().eval()


def write_int8(source: Path, path: Path) -> None:
    """Weights in int8, activations quantised as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().setLevel(logging.ERROR)  # it advises a pre-processing that brings nothing for this network
    quantize_dynamic(str(source), str(path), weight_type=QuantType.QInt8)


def _torch_logits(model: Any, ids: Sequence[Sequence[int]]) -> list[tuple[float, float]]:
    import torch

    with torch.no_grad():
        return [tuple(model(input_ids=torch.tensor([one])).logits[0].tolist()) for one in ids]
