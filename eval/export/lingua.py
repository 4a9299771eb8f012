"""`handoff export lingua RUN`: the token classifier that keeps or drops words."""

from __future__ import annotations

from eval.export.base import ExportConfig, ExportKind
from eval.exporting import export
from graph_handoff.protocols.lingua.protocol import LinguaProse

KIND = ExportKind(
    name="lingua",
    stage=LinguaProse.stage,
    metrics=LinguaProse.metrics,
    title="token classifier for prompt compression",
    auto="AutoModelForTokenClassification",
    task="token-classification",
    required=("config.json", "model.safetensors", "tokenizer.json"),
    about=(
        "A token classifier in the manner of LLMLingua-2: for each token of a prose handoff, the probability that it is needed. "
        "It is for shortening handoffs in prose: the words that weigh least are dropped, in place and without rewriting."
    ),
    limits=(
        "What it drops is gone, and a shortened plan has no formal reader. It was trained on handoffs of the domains in its "
        "training data; elsewhere its choice is a guess."
    ),
    load=(
        "from transformers import pipeline",
        'classify = pipeline("token-classification", model="{repo}", revision="{revision}")',
        'print(classify("Return the desk lamp."))',
    ),
    load_here=(
        "from graph_handoff import load_protocol",
        'protocol = load_protocol("lingua", run="hf:{repo}@{revision}")',
        "handoff = protocol.encode(delegation)",
    ),
)

CONFIG = ExportConfig


def run(config: ExportConfig) -> int:
    """Export, and push where asked. Raises InputError, OutputError, PushError."""
    return export(KIND, config)
