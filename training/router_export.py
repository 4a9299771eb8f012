"""A trained router as ONNX: fp32 and int8, each held against torch before it is kept."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.router_labels import Example
from handoff.errors import HandoffError
from handoff.routing.distilled import INPUTS, NETWORKS, RouterCard, logits_of, open_session, read_pair, read_tokenizer
from training.calibration import expected_calibration_error, sigmoid

OPSET = 17
TOLERANCE = 1e-4
MIN_AGREEMENT = 0.99
CHECKED = 400
"""At most so many held-out delegations are compared."""


class ExportDiffersError(HandoffError):
    """The exported network does not compute what the trained one does."""


def export(run: Path, model: Any, card: RouterCard, parts: Mapping[str, Sequence[Example]]) -> tuple[RouterCard, dict[str, Any]]:
    """Write `onnx/model.onnx` and `onnx/model_int8.onnx`; returns the card with the precision to use, and what was compared.

    Raises ExportDiffersError where fp32 or the reloaded weights differ from torch by more than 1e-4. int8 is the default only
    where its decisions agree with fp32's on at least 0.99.
    """
    import numpy as np
    from transformers import AutoModelForSequenceClassification

    model = model.cpu().eval()
    paths = {name: run / "onnx" / file for name, file in NETWORKS.items()}
    write_onnx(model, paths["fp32"], card.max_tokens)
    write_int8(paths["fp32"], paths["int8"])
    examples = [*parts["test"], *parts.get("transfer", ())][:CHECKED]
    tokenizer = read_tokenizer(run / "model" / "tokenizer.json", card.max_tokens)
    encodings = [tokenizer.encode(*read_pair(example.task.delegation, card)) for example in examples]
    found = {name: _session_logits(path, encodings) for name, path in paths.items()}
    reloaded = AutoModelForSequenceClassification.from_pretrained(run / "model", use_safetensors=True).eval()
    ours = _each(lambda one: _torch_logits(model, one), encodings)
    again = _each(lambda one: _torch_logits(reloaded, one), encodings)
    metrics: dict[str, Any] = {
        "compared": len(examples),
        "fp32_difference": float(np.abs(found["fp32"] - ours).max()),
        "reloaded_difference": float(np.abs(again - ours).max()),
        "int8_difference": float(np.abs(found["int8"] - ours).max()),
    }
    for what in ("fp32_difference", "reloaded_difference"):
        if not metrics[what] <= TOLERANCE:
            raise ExportDiffersError(f"{run}: {what} is {metrics[what]:.2e}, allowed {TOLERANCE}")
    targets = np.array([example.target for example in examples])
    scores = {name: sigmoid((logits[:, 1] - logits[:, 0]).astype(np.float64), card.temperature) for name, logits in found.items()}
    decided = {name: score >= card.threshold for name, score in scores.items()}
    metrics["int8_agreement"] = float((decided["int8"] == decided["fp32"]).mean())
    metrics |= {f"{name}_ece": expected_calibration_error(score, targets) for name, score in scores.items()}
    metrics |= {f"{name}_bytes": path.stat().st_size for name, path in paths.items()}
    precision = "int8" if metrics["int8_agreement"] >= MIN_AGREEMENT else "fp32"
    return card.model_copy(update={"precision": precision}), metrics


def write_onnx(model: Any, path: Path, max_tokens: int) -> None:
    """fp32, opset 17, batch and length dynamic."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    example = torch.ones((2, min(16, max_tokens)), dtype=torch.long)
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

            def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
                return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits

        return Logits().eval()


def write_int8(source: Path, path: Path) -> None:
    """Weights in int8, activations quantised as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().setLevel(logging.ERROR)  # it advises a pre-processing that brings nothing for this network
    quantize_dynamic(str(source), str(path), weight_type=QuantType.QInt8)


def _each(logits: Any, encodings: Sequence[Any]) -> Any:
    import numpy as np

    return np.concatenate([logits(one) for one in encodings])


def _session_logits(path: Path, encodings: Sequence[Any]) -> Any:
    session = open_session(path)
    return _each(lambda one: logits_of(session, [one]), encodings)


def _torch_logits(model: Any, encoding: Any) -> Any:
    import torch

    values = (encoding.ids, encoding.attention_mask, encoding.type_ids)
    inputs = {name: torch.tensor([value]) for name, value in zip(INPUTS, values, strict=True)}
    with torch.no_grad():
        return model(**inputs).logits.numpy()
