"""The exported form of the router's classifiers against transformers' own, and MiniLM cut down to its lower layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, set_seed

from graph_handoff.errors import ConfigError
from training.lingua.word_pieces import train_word_pieces
from training.router import model as router_model
from training.router.model import RouterArchitecture, make_model
from training.router.onnx_form import for_export

TEXTS = [f"cancel order number {number} of the shop, then tell me its total" for number in range(20)]
LENGTHS = (40, 1, 17)


def small_bert(layers: int, tokens: int) -> Any:
    set_seed(0)
    sizes = BertConfig(
        vocab_size=tokens,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=64,
        attn_implementation="eager",
        initializer_range=0.3,
    )
    return BertForSequenceClassification(sizes)


def small_modernbert(layers: int, tokens: int) -> Any:
    sizes = RouterArchitecture(hidden=32, feed_forward=48, layers=layers, heads=4, window=6, vocabulary=tokens, max_tokens=64)
    return make_model(sizes, TEXTS, seed=0)[1]


@pytest.mark.parametrize("make", [small_bert, small_modernbert])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_the_exported_form_says_what_transformers_says(make: Any, layers: int) -> None:
    model = make(layers, 100).train(False)
    form = for_export(model).train(False)
    ids = torch.randint(0, model.config.vocab_size, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[int(place < length) for place in range(max(LENGTHS))] for length in LENGTHS])
    with torch.inference_mode():
        expected = model(input_ids=ids, attention_mask=mask).logits
        assert torch.allclose(form(ids, mask), expected, atol=1e-5)
        for row, length in enumerate(LENGTHS):  # padding changes nothing
            alone = form(ids[row : row + 1, :length], mask[row : row + 1, :length])
            assert torch.allclose(alone[0], expected[row], atol=1e-5)
    assert (expected[0] - expected[2]).abs().max() > 1e-3  # different texts, different logits


def test_minilm_keeps_its_lower_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = train_word_pieces(TEXTS, 100, lowercase=True, max_tokens=32)
    whole = small_bert(4, len(tokenizer))
    whole.bert.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    monkeypatch.setattr(router_model, "minilm_folder", lambda: tmp_path)
    _, model = make_model(RouterArchitecture(backbone="minilm", layers=2), [], seed=1, freeze_embeddings=True)
    kept = dict(model.bert.named_parameters())
    assert {name.split(".")[2] for name in kept if name.startswith("encoder.")} == {"0", "1"}
    assert all(torch.equal(value, dict(whole.bert.named_parameters())[name]) for name, value in kept.items())
    assert {name for name, value in kept.items() if not value.requires_grad} == {n for n in kept if n.startswith("embeddings.")}
    assert model.config.id2label == {0: "nl", 1: "graph"}
    with pytest.raises(ConfigError, match=r"architecture\.layers.*1 to 4"):
        make_model(RouterArchitecture(backbone="minilm", layers=5), [], seed=1)
