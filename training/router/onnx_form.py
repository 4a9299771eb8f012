"""The form in which the router's classifier is exported: its weights, with fewer operations.

The classifier reads the first token alone, so the last layer is computed for no other. On a text of a few dozen tokens each
operation also costs more than its arithmetic: what does not depend on the text is a table, and what reads the same text is one
product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

_FAR = -1e9
"""Added to the attention score of what is not to be seen."""


def for_export(model: Any) -> nn.Module:
    """A module (input_ids, attention_mask) -> logits of a ModernBERT or BERT for sequence classification; dropout is left out."""
    return {"modernbert": _modernbert, "bert": _bert}[model.config.model_type](model)


def _reshape(states: Tensor, *shape: int) -> Tensor:
    """A reshape in which 0 keeps a dimension, as ONNX has it; torch would have its exporter compute such a shape at run time."""
    import torch

    class Reshape(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, states: Tensor) -> Tensor:
            return states.reshape([size or states.shape[place] for place, size in enumerate(shape)])

        @staticmethod
        def symbolic(graph: Any, states: Any) -> Any:
            return graph.op("Reshape", states, graph.op("Constant", value_t=torch.tensor(shape)))

    reshaped: Tensor = Reshape.apply(states)
    return reshaped


def _read(asked: Tensor, given: Tensor, values: Tensor, mask: Tensor, heads: int) -> Tensor:
    """What the asking tokens read of those seen; `asked` is scaled. All of shape (batch, tokens, hidden)."""
    asked, given, values = (_reshape(states, 0, 0, heads, -1) for states in (asked, given, values))
    scores = asked.transpose(1, 2) @ given.permute(0, 2, 3, 1) + mask
    return _reshape((scores.softmax(-1) @ values.transpose(1, 2)).transpose(1, 2), 0, 0, -1)


def _unseen(attention_mask: Tensor) -> Tensor:
    """The mask of padding, of shape (batch, 1, 1, tokens)."""
    import torch

    return (1 - attention_mask[:, None, None, :].to(torch.float32)) * _FAR


def _modernbert(model: Any) -> nn.Module:
    """A token's place turns pairs of its features: k becomes k cos + k' sin, where k' is a product of the text, too, by other
    weights. At the first place, the only one that the last layer asks for, nothing is turned."""
    import torch
    from torch.nn.functional import linear

    sizes, encoder = model.config, model.model
    heads, hidden_size = sizes.num_attention_heads, sizes.hidden_size
    width = hidden_size // heads

    def turned(weights: Tensor) -> Tensor:
        """Of each head the second half of the features, negated, before the first."""
        first, second = weights.reshape(heads, 2, width // 2, -1).unbind(1)
        return torch.stack([-second, first], 1).reshape(weights.shape)

    class ModernBert(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            places = torch.arange(sizes.max_position_embeddings)
            self.register_buffer("far", torch.where((places[:, None] - places).abs() > sizes.sliding_window, _FAR, 0.0))
            for kind in set(sizes.layer_types):
                for name, table in zip(("cos", "sin"), encoder.rotary_emb(torch.zeros(1), places[None], kind), strict=True):
                    self.register_buffer(f"{kind}_{name}", table[0].repeat(1, 2 * heads))
            for number, layer in enumerate(encoder.layers):
                query, key, value = layer.attn.Wqkv.weight.detach().chunk(3)
                query = query * width**-0.5
                both = torch.cat([query, key, turned(query), turned(key), value])
                last = layer is encoder.layers[-1]
                self.register_buffer(f"weights{number}", torch.cat([key, turned(key), value]) if last else both)
            self.register_buffer("asking", query)

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            tokens = input_ids.shape[1]
            hidden = encoder.embeddings(input_ids)
            unseen = _unseen(attention_mask)
            masks = {"full_attention": unseen, "sliding_attention": unseen + self.far[:tokens, :tokens]}
            for number, layer in enumerate(encoder.layers):
                kind = layer.attention_type
                cos, sin = getattr(self, f"{kind}_cos")[:tokens], getattr(self, f"{kind}_sin")[:tokens]
                seen = layer.attn_norm(hidden)
                states = linear(seen, getattr(self, f"weights{number}"))
                if layer is encoder.layers[-1]:
                    hidden = hidden[:, :1]
                    query = linear(seen[:, :1], self.asking)
                    key, other, value = states.split(hidden_size, -1)
                    key = key * cos[:, :hidden_size] + other * sin[:, :hidden_size]
                else:
                    both, other, value = states.split([2 * hidden_size, 2 * hidden_size, hidden_size], -1)
                    query, key = (both * cos + other * sin).split(hidden_size, -1)
                hidden = hidden + layer.attn.Wo(_read(query, key, value, masks[kind], heads))
                kept, gate = layer.mlp.Wi(layer.mlp_norm(hidden)).split(sizes.intermediate_size, -1)
                hidden = hidden + layer.mlp.Wo(layer.mlp.act(kept) * gate)
            logits: Tensor = model.classifier(model.head(encoder.final_norm(hidden)[:, 0]))
            return logits

    return ModernBert()


def _bert(model: Any) -> nn.Module:
    """The kinds of token, of which there is one here, are part of the table of places."""
    import torch

    encoder, heads = model.bert, model.config.num_attention_heads
    table, layers = encoder.embeddings, encoder.encoder.layer
    scale = (model.config.hidden_size // heads) ** -0.5

    class Bert(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            kind = table.token_type_embeddings.weight[0]
            self.register_buffer("places", (table.position_embeddings.weight + kind).detach())

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            hidden = table.LayerNorm(table.word_embeddings(input_ids) + self.places[: input_ids.shape[1]])
            unseen = _unseen(attention_mask)
            for layer in layers:
                asking = hidden[:, :1] if layer is layers[-1] else hidden
                own, out = layer.attention.self, layer.attention.output
                read = _read(own.query(asking) * scale, own.key(hidden), own.value(hidden), unseen, heads)
                hidden = out.LayerNorm(asking + out.dense(read))
                hidden = layer.output.LayerNorm(hidden + layer.output.dense(layer.intermediate(hidden)))
            logits: Tensor = model.classifier(encoder.pooler(hidden))
            return logits

    return Bert()
