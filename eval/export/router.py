"""`handoff export router RUN`: the classifier that chooses graph or prose, with its ONNX files and its threshold."""

from __future__ import annotations

from eval.export.base import ExportConfig, Kind
from eval.exporting import export
from eval.plots import calibration_svg

KIND = Kind(
    name="router",
    stage="train router",
    title="handoff router",
    auto="AutoModelForSequenceClassification",
    task="text-classification",
    required=(
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "router.json",
        "onnx/model.onnx",
        "onnx/model_int8.onnx",
    ),
    about=(
        "A small classifier that reads a delegation and chooses the format of its handoff, a typed graph or prose, before the "
        "executor sees it. It is for agent systems that route each delegation without a call to a large model. `router.json` "
        "holds the temperature, the threshold and the rates that it reached on its own split; below the threshold it answers "
        "prose."
    ),
    limits=(
        "Its threshold was chosen for one split and one goal, both in `router.json`; on other traffic choose it again. A "
        "delegation of a domain that it was not trained on may be routed wrongly: the default is prose for that reason."
    ),
    load=(
        "from transformers import AutoModelForSequenceClassification, AutoTokenizer",
        'tokenizer = AutoTokenizer.from_pretrained("{repo}", revision="{revision}")',
        'model = AutoModelForSequenceClassification.from_pretrained("{repo}", revision="{revision}")',
        'text = "+cancel (order), get (order), calculate: Cancel my order, then tell me the total refund."',
        'print(model(**tokenizer(text, truncation=True, return_tensors="pt")).logits.softmax(-1))',
    ),
    load_note=(
        "That is the classifier alone, by even odds. It reads what `routing.distilled.describe` writes of a delegation: "
        "the actions of its tools, then the task. The router also divides the logits by the temperature and takes the threshold, "
        "both in `router.json`, and so may decide otherwise; with `handoff` all of that is done."
    ),
    load_here=(
        "from graph_handoff import Delegation, Toolset, load_router",
        'router = load_router("hf:{repo}@{revision}")',
        'tools = Toolset.from_schemas([{{"name": "get_order"}}, {{"name": "cancel_order"}}])  # in OpenAI\'s form',
        'print(router.route(Delegation("1", "Cancel my order, then tell me the total refund.", tools)))',
    ),
    onnx=True,
    picture=calibration_svg,
)

CONFIG = ExportConfig


def run(config: ExportConfig) -> int:
    """Export, and push where asked. Raises InputError, OutputError, PushError."""
    return export(KIND, config)
