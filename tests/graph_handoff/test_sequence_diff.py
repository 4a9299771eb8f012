"""Edit scripts: the cheapest one, applied, gives the other sequence; a script that does not fit is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_handoff.errors import CodecError
from graph_handoff.protocols.delta.sequence_diff import Costs, Edit, diff, distance, patch

UNIT: Costs[str] = Costs(1, lambda item: 1, lambda place, item: 1)
sequences = st.lists(st.sampled_from("abcd"), max_size=8)


@given(sequences, sequences)
def test_a_script_turns_one_sequence_into_the_other(old: list[str], new: list[str]) -> None:
    edits = diff(old, new, UNIT)
    assert patch(old, edits) == new
    assert len(edits) == distance(old, new, UNIT) <= max(len(old), len(new))
    assert diff(old, old, UNIT) == []


@given(sequences, sequences, sequences)
def test_the_cost_is_a_metric(a: list[str], b: list[str], c: list[str]) -> None:
    assert distance(a, b, UNIT) == distance(b, a, UNIT)
    assert distance(a, c, UNIT) <= distance(a, b, UNIT) + distance(b, c, UNIT)


def test_a_known_distance() -> None:
    assert distance("kitten", "sitting", UNIT) == 3
    assert diff("abc", "axc", UNIT) == [Edit(2, "=", "x")]
    assert diff("abc", "ac", UNIT) == [Edit(2, "-")]
    assert diff("ac", "abc", UNIT) == [Edit(1, "+", "b")]


def test_the_cheaper_of_two_scripts_is_taken() -> None:
    dear: Costs[str] = Costs(1, lambda item: 1, lambda place, item: 5)
    assert [edit.kind for edit in diff("a", "b", dear)] in (["-", "+"], ["+", "-"])


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(4, "-")],
        [Edit(0, "-")],
        [Edit(0, "=", "x")],
        [Edit(4, "+", "x")],
        [Edit(2, "-"), Edit(1, "-")],
        [Edit(2, "-"), Edit(2, "=", "x")],
        [Edit(2, "+", "x"), Edit(1, "+", "y")],
    ],
)
def test_a_script_that_does_not_fit_is_refused(edits: list[Edit[str]]) -> None:
    with pytest.raises(CodecError, match="no place that is left"):
        patch("abc", edits)
