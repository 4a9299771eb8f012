"""`handoff export grpo RUN`: the compressor trained with GRPO; whole, as LoRA on a pinned base, or merged into it."""

from __future__ import annotations

from eval.export.base import ExportConfig, Kind
from eval.export.run import export

KIND = Kind(
    name="grpo",
    stage="train grpo",
    title="GRPO handoff compressor",
    auto="AutoModelForCausalLM",
    task="text-generation",
    required=("tokenizer.json",),
    about=(
        "A causal language model that rewrites the prose plan of a delegation as a short message, trained with GRPO against "
        "rewards for length, validity and what the message preserves. It is for handoffs between an orchestrator and an executor."
    ),
    limits=(
        "It generates: check what it writes before it is sent (`handoff` compares every identifier with the source). It was "
        "trained on the tools and domains in its training data; elsewhere use a form that is lossless without training."
    ),
    load=(
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        'model = AutoModelForCausalLM.from_pretrained("{repo}", revision="{revision}")',
        'tokenizer = AutoTokenizer.from_pretrained("{repo}", revision="{revision}")',
    ),
    load_here=(
        "from handoff import load_protocol",
        'protocol = load_protocol("grpo", run="hf:{repo}@{revision}")',
        "text = protocol.encode(delegation, seed=0)",
    ),
)


class GrpoExportConfig(ExportConfig):
    """An adapter can be exported with its base pinned, or merged."""

    merge: bool = False
    """Merge a LoRA adapter into its base, so that it loads without the base."""


CONFIG = GrpoExportConfig


def run(config: GrpoExportConfig) -> int:
    """Export, and push where asked. Raises InputError, OutputError, PushError."""
    return export(KIND, config, merge=config.merge)
