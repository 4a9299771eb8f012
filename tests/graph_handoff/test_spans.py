"""Spans: together they are the text, and what is kept of it is in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graph_handoff.faithfulness import unfaithful
from graph_handoff.identifiers import find_identifiers
from graph_handoff.spans import join_spans, split_spans

SPELLED = """call get_order the #W6390527, mei.k+1@example.com "Lamp_2" "Lamp 54.04 1,286.50 1. don't HAT001-HAT002 2024-05-20
 `find` " x_1 .5 é (9375) 0.1,234"""
WORDS = st.sampled_from([*SPELLED.split(), "\n", '"Desk Lamp 2"'])
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(WORDS, max_size=25).flatmap(lambda w: st.sampled_from([" ".join(w), "".join(w)]))
)


@given(TEXTS)
def test_the_pieces_are_the_text_without_its_white_space(text: str) -> None:
    spans = split_spans(text)
    last = 0
    for start, end in spans:
        assert last <= start < end
        assert not text[last:start].strip()
        last = end
    assert not text[last:].strip()


@given(TEXTS)
def test_all_pieces_joined_differ_from_the_text_in_white_space_alone(text: str) -> None:
    assert join_spans(text, split_spans(text)).split() == text.split()


@given(TEXTS, st.randoms(use_true_random=False))
def test_what_is_kept_stands_in_the_text_in_order_and_makes_no_identifier(text: str, random: st.DataObject) -> None:
    kept = [span for span in split_spans(text) if random.random() < 0.5]
    short = join_spans(text, kept)
    at = 0
    for start, end in kept:
        at = short.index(text[start:end], at) + end - start
    assert unfaithful(short, [text]) == []


@given(TEXTS)
def test_an_identifier_is_within_one_piece(text: str) -> None:
    spelled = [text[start:end] for start, end in split_spans(text)]
    for identifier in find_identifiers(text):
        assert any(identifier in span for span in spelled)


def test_quoted_values_and_line_numbers_are_one_piece() -> None:
    text = '1. Call `get_order` with "Desk Lamp, 2".\n2) Stop'
    assert [text[start:end] for start, end in split_spans(text)] == [
        *("1.", "Call", "`get_order`", "with", '"Desk Lamp, 2"', ".", "2)", "Stop"),
    ]


def test_lines_stay_lines() -> None:
    text = "one two\nthree, four"
    spans = split_spans(text)
    assert join_spans(text, [spans[0], spans[2], spans[4]]) == "one\nthree four"
    assert join_spans(text, spans[2:4]) == "three,"
    assert join_spans(text, []) == ""
