"""A trained text classifier as ONNX files, fp32 and int8, checked against torch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph_handoff.errors import HandoffError
from graph_handoff.routing.distilled import FILES, ONNX_FOLDER
from training.router.onnx_form import for_export

OPSET = 18
TOLERANCE = 1e-4
"""The largest difference of two logits that rounding may make."""
INPUTS = ("input_ids", "attention_mask")


class ExportError(HandoffError):
    """An exported model does not say what the trained one says."""


def export_onnx(model: Any, folder: Path) -> None:
    """Write both files below `folder`/onnx: inputs int64 (batch, tokens), logits float32 (batch, 2)."""
    import torch

    target = folder / ONNX_FOLDER
    target.mkdir(parents=True, exist_ok=True)
    exported = for_export(model).train(False)
    example = (torch.ones((2, 9), dtype=torch.long), torch.ones((2, 9), dtype=torch.long))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's own deprecations, and of shapes that it traces
        torch.onnx.export(
            exported,
            example,
            str(target / FILES["fp32"]),
            input_names=list(INPUTS),
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "tokens"} for name in INPUTS} | {"logits": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )
    quantise(target / FILES["fp32"], target / FILES["int8"])


def quantise(source: Path, target: Path) -> None:
    """Weights to int8, activations at run time (dynamic quantisation). Of a weight 7 bits are used: a processor without VNNI adds
    two products in 16 bits, which 8 bits overflow."""
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().addFilter(_quiet)  # it advises a preprocessing step through the root logger
    try:
        quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    finally:
        logging.getLogger().removeFilter(_quiet)


def _quiet(record: Any) -> bool:
    return "pre-process" not in record.getMessage()


def largest_difference(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> float:
    """Of two tables of logits."""
    return max(abs(a - b) for one, other in zip(first, second, strict=True) for a, b in zip(one, other, strict=True))


def check_same(name: str, expected: Sequence[Sequence[float]], found: Sequence[Sequence[float]]) -> float:
    """The largest difference. Raises ExportError past TOLERANCE."""
    difference = largest_difference(expected, found)
    if not difference <= TOLERANCE:  # also where it is NaN
        raise ExportError(f"{name}: its logits are {difference:.2g} away from the trained model's; allowed: {TOLERANCE:g}")
    return difference
