"""`handoff export grpo RUN`: the graph writer trained with GRPO; whole, as LoRA on a pinned base, or merged into it."""

from __future__ import annotations

from eval.export.base import ExportConfig, ExportKind
from eval.exporting import export
from graph_handoff.protocols.graph_writer.protocol import Rl

KIND = ExportKind(
    name="grpo",
    stage=Rl.stage,
    metrics=Rl.metrics,
    title="graph writer, trained with GRPO",
    auto="AutoModelForCausalLM",
    task="text-generation",
    required=("tokenizer.json", "writer.json"),
    about=(
        "A causal language model that reads the plan of a delegation as prose and writes it as a typed graph, in compact form. "
        "GRPO rewarded it for valid graphs that preserve the plan. It is for handoffs from an orchestrator that plans in prose "
        "to an executor. It never sees an identifier: it copies placeholders, and `handoff` puts the real values back."
    ),
    limits=(
        "It generates: `handoff` checks each graph and every identifier in it against the delegation, and sends the prose itself "
        "where the check fails. Without those checks do not use it. It knows the tools and domains of its training data."
    ),
    load=(
        "from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast",
        'model = AutoModelForCausalLM.from_pretrained("{repo}", revision="{revision}")',
        'tokenizer = PreTrainedTokenizerFast.from_pretrained("{repo}", revision="{revision}")',
    ),
    load_here=(
        "from graph_handoff import load_protocol",
        'protocol = load_protocol("rl", run="hf:{repo}@{revision}")',
        "handoff = protocol.encode(delegation)",
    ),
    tokenizer="PreTrainedTokenizerFast",  # AutoTokenizer splits words in Qwen's way, whatever tokenizer.json says
)


class GrpoExportConfig(ExportConfig):
    """An adapter can be exported with its base pinned, or merged."""

    merge: bool = False
    """Merge a LoRA adapter into its base, so that it loads without the base."""


CONFIG = GrpoExportConfig


def run(config: GrpoExportConfig) -> int:
    """Export, and push where asked. Raises InputError, OutputError, PushError."""
    return export(KIND, config, merge=config.merge)
