"""A text survives its lines of words, whatever it holds; what may not be generated is a value."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_handoff.errors import CodecError
from graph_handoff.linearization.constraint import END_TOKEN
from graph_handoff.linearization.grammar import MARKS
from graph_handoff.linearization.memory import NEW
from graph_handoff.linearization.text_tokens import (
    TextConstraint,
    add_text_phrases,
    build_text_vocabulary,
    decode_text,
    encode_text,
    pieces,
)
from graph_handoff.linearization.vocabulary import Vocabulary

TEXTS = [
    f'Take these steps.\n\n1. Call `get_order` with the order id #W{n}.\n2. Cancel it with the reason "no longer needed" for Mei.'
    for n in range(10, 20)
]
VOCABULARY = add_text_phrases(build_text_vocabulary(TEXTS, min_plans=5, min_share=0.5), TEXTS, 40)
EMPTY = Vocabulary(tuple((mark,) for mark in MARKS), (), ())
texts = st.text() | st.lists(st.sampled_from([*"ab 1\"\n.#_@'-", " the", "#W12", "mei_k_1", "Call", "<new>", "é"])).map("".join)


@given(texts)
def test_any_text_survives_any_vocabulary(text: str) -> None:
    for vocabulary in (VOCABULARY, EMPTY):
        sent = encode_text(text, vocabulary)
        assert decode_text(sent.tokens, sent.values, vocabulary) == text


@given(texts.filter(lambda text: "\n" not in text))
def test_the_pieces_of_a_line_are_the_line(line: str) -> None:
    assert "".join(space + word for space, word in pieces(line)) == line


def test_identifiers_and_names_cross_as_values_and_frequent_words_do_not() -> None:
    sent = encode_text(TEXTS[3], VOCABULARY)
    assert sent.values == ("#W13", "Mei")
    assert len(sent.tokens) < len(TEXTS[3].split())
    assert {" Call", " get_order", "get_order", "no longer needed", " id"} & VOCABULARY.words >= {
        "get_order",
        "no longer needed",
        " id",
    }
    long_digits = [word for word in VOCABULARY.words if any(c.isdigit() for c in word) and not word.strip().isdigit()]
    assert not long_digits
    assert not any("@" in word for word in VOCABULARY.words)


def test_a_value_that_occurs_again_is_pointed_at() -> None:
    sent = encode_text("order #W5 and #W6, then #W5", VOCABULARY)
    assert sent.values.count("#W5") == 1
    assert decode_text(sent.tokens, sent.values, VOCABULARY) == "order #W5 and #W6, then #W5"


def ids(words: Sequence[str]) -> list[int]:
    return [VOCABULARY.encode([word])[0] for word in words]


def test_what_may_come_next() -> None:
    constraint = TextConstraint(VOCABULARY, ["#W5"])
    new, line, last = ids([NEW, "<line>", "<same0>"])
    assert not constraint.allows(last)  # no value has occurred
    assert not constraint.allows(END_TOKEN)  # no line has ended, and the value is not used
    constraint.move(new)
    assert not constraint.allows(new)
    assert constraint.allows(last)
    assert not constraint.allows(END_TOKEN)
    constraint.move(line)
    assert constraint.allows(END_TOKEN)
    with pytest.raises(CodecError, match="not allowed here"):
        constraint.move(new)


@given(st.lists(st.integers(0, VOCABULARY.output_size - 1), max_size=8), st.lists(st.text(max_size=3), max_size=3))
def test_tokens_that_are_no_text_are_refused(tokens: list[int], values: list[str]) -> None:
    try:
        text = decode_text(tokens, values, VOCABULARY)
    except CodecError:
        return
    assert all(value in text for value in values)
