"""Finished runs for the tests of the export: tiny models with random weights, and what training writes beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from eval.export.base import ExportKind
from eval.export.proof import SENTENCES
from graph_handoff.delegation import Toolset
from graph_handoff.linearization.vocabulary import build_vocabulary
from graph_handoff.plan import Plan, Step
from graph_handoff.protocols.t5.autoencoder import GraphAutoencoder
from graph_handoff.reference import Reference

SCHEMAS = [
    {"name": "get_order", "parameters": {"properties": {"order_id": {"type": "string"}}}},
    {"name": "cancel", "parameters": {"properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}}}},
]
TOOLS = Toolset.from_schemas(SCHEMAS)
METRICS = {"held_out_plans": 10, "corrections_a_plan": 1.5, "parameters": 123}
MODEL_TOKENS = 64


def plan(number: int) -> Plan:
    order = Reference("t1", ("id",))
    return Plan(
        (Step("get_order", {"order_id": f"#W{number}"}), Step("cancel", {"order_id": order, "reason": "no longer needed"}))
    )


def finished(folder: Path, stage: str, config: dict[str, Any] | None = None, parents: list[str] | None = None) -> Path:
    """Manifest, metrics and the mark of a complete run."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "stage": stage,
        "identity_sha256": "0" * 64,
        "config": {"run": str(folder.resolve()), "seed": 0, **(config or {})},
        "inputs_sha256": {str(folder.resolve().parent / "corpus"): "1" * 64},
        "parents": parents or [],
        "versions": {"torch": "2.13.0"},
        "revision": "2" * 40,
    }
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest))
    (folder / "metrics.json").write_bytes(orjson.dumps(METRICS))
    (folder / "COMPLETE").touch()
    return folder


def t5_run(folder: Path) -> Path:
    """An autoencoder that was made and not trained."""
    from training.t5.train import T5Architecture, make_model

    vocabulary = build_vocabulary([(plan(number), TOOLS) for number in range(8)], min_plans=2, min_share=0.1, max_categories=8)
    sizes = T5Architecture(d_model=16, d_ff=16, layers=1, heads=2)
    GraphAutoencoder(make_model(sizes, vocabulary, seed=0), vocabulary).save(folder / "model")
    return finished(folder, "train t5")


def trained_t5_run(folder: Path) -> Path:
    """A run of `handoff train t5` on a corpus of its own, a few steps long."""
    from toy_corpus import row, save

    from training.t5 import train as t5

    numbers = {"train": range(40), "validation": range(40, 44), "test": range(44, 50)}
    parts = {split: [row(str(number), plan(number).to_graph()) for number in part] for split, part in numbers.items()}
    corpus = save(folder.parent / "corpus", parts, SCHEMAS)
    sizes = {"d_model": 16, "d_ff": 16, "layers": 1, "heads": 2}
    values = {"corpus": corpus, "run": folder, "steps": 8, "batch_size": 4, "eval_steps": 4, "architecture": sizes}
    assert t5.run(t5.T5Config.model_validate(values)) == 0
    return folder


def tokenizer(folder: Path) -> Any:
    """A tokenizer of the fixed sentences' words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    ids = {word: number for number, word in enumerate(["<pad>", "<unk>", *words])}
    made = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", unk_token="<unk>")
    fast.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    fast.save_pretrained(folder)
    return fast


def causal_model() -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM, set_seed

    set_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    return Qwen2ForCausalLM(Qwen2Config(vocab_size=MODEL_TOKENS, num_key_value_heads=2, **sizes))


def writer_files(folder: Path) -> None:
    """What a graph writer has beside its weights."""
    tokenizer(folder)
    (folder / "writer.json").write_bytes(orjson.dumps({"reads": "prose", "max_new_tokens": 8}))


def grpo_run(folder: Path) -> Path:
    causal_model().save_pretrained(folder / "model")
    writer_files(folder / "model")
    return finished(folder, "train grpo", {"init": None, "architecture": {"base": None, "revision": None}})


def lora_run(folder: Path, base: str, revision: str | None) -> Path:
    """An adapter with random weights; its base beside it where it has no revision."""
    import torch
    from peft import LoraConfig, get_peft_model

    whole = causal_model()
    if revision is None:
        whole.save_pretrained(folder / "model" / "base")
    adapter = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
    torch.manual_seed(1)
    model = get_peft_model(whole, adapter)
    model.peft_config["default"].base_model_name_or_path = base
    model.peft_config["default"].revision = revision
    model.save_pretrained(folder / "model")
    writer_files(folder / "model")
    return finished(
        folder, "train grpo", {"init": None, "architecture": {"base": base if revision else None, "revision": revision}}
    )


def bert_run(folder: Path, kind: ExportKind) -> Path:
    """A classifier of tokens or of texts."""
    import transformers
    from transformers import BertConfig, BertTokenizerFast, set_seed

    set_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = getattr(transformers, kind.auto.replace("Auto", "Bert").replace("ModelFor", "For"))(
        BertConfig(vocab_size=MODEL_TOKENS, num_labels=2, max_position_embeddings=64, **sizes)
    )
    model.save_pretrained(folder / "model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for text in SENTENCES for word in text.split()})]
    BertTokenizerFast(vocab={word: number for number, word in enumerate(words)}).save_pretrained(folder / "model")
    return finished(folder, kind.stage)


def router_run(folder: Path, kind: ExportKind) -> Path:
    """A classifier of texts with its threshold and ONNX files. The int8 file is the same here: nothing reads it."""
    import torch
    from transformers import AutoModelForSequenceClassification

    bert_run(folder, kind)
    model = AutoModelForSequenceClassification.from_pretrained(folder / "model")

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

    ids = torch.ones((1, 5), dtype=torch.long)
    names = ["input_ids", "attention_mask"]
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    (folder / "onnx").mkdir()
    for name in ("model.onnx", "model_int8.onnx"):
        file = str(folder / "onnx" / name)
        torch.onnx.export(Logits(), (ids, ids), file, input_names=names, output_names=["logits"], dynamic_axes=axes, dynamo=False)
    (folder / "model" / "router.json").write_bytes(orjson.dumps({"threshold": 0.5, "temperature": 1.0}))
    return folder
