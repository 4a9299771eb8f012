"""`handoff export t5 RUN`: the T5 graph autoencoder."""

from __future__ import annotations

from eval.export.base import ExportConfig, ExportKind
from eval.exporting import export
from graph_handoff.protocols.t5.protocol import T5

KIND = ExportKind(
    name="t5",
    stage=T5.stage,
    metrics=T5.metrics,
    title="T5 graph autoencoder",
    auto="AutoModelForSeq2SeqLM",
    task="text2text-generation",
    required=("config.json", "model.safetensors", "vocabulary.json"),
    about=(
        "An encoder-decoder that rebuilds the typed graph of a plan from a few code words and the values that the plan holds. "
        "It is for handoffs between an orchestrator and an executor: both sides hold this model, and the code words and the "
        "values are sent. It never writes a value (an identifier, an amount, a name): those are restored from the message "
        "verbatim. The message holds a code word wherever the model would go wrong, and a check sum, so nothing is lost."
    ),
    limits=(
        "It is not a language model: its vocabulary is that of plans over the tools in its training data, in "
        "`vocabulary.json`, and it has no text tokenizer. A plan that it cannot write is sent in compact form instead, without "
        "its savings. Trained with `supervision: text` (`handoff.json` says so) it rebuilds the plan's prose instead."
    ),
    load=(
        "from transformers import AutoModelForSeq2SeqLM",
        'model = AutoModelForSeq2SeqLM.from_pretrained("{repo}", revision="{revision}")',
        "print(model.num_parameters())",
    ),
    load_here=(
        "from graph_handoff import load_protocol",
        'protocol = load_protocol("t5", run="hf:{repo}@{revision}")',
        "handoff = protocol.encode(delegation)",
    ),
)

CONFIG = ExportConfig


def run(config: ExportConfig) -> int:
    """Export, and push where asked. Raises InputError, OutputError, PushError."""
    return export(KIND, config)
