"""Token counts are exact."""

from __future__ import annotations

import pytest

from graph_handoff.tokens import count_tokens


@pytest.mark.parametrize(("text", "count"), [("", 0), ("hello world", 2), ("#W6390527", 5), ("gift_card_7711863", 6)])
def test_known_counts(text: str, count: int) -> None:
    assert count_tokens(text) == count


def test_a_special_token_in_a_text_is_plain_text() -> None:
    assert count_tokens("<|endoftext|>") > 1
