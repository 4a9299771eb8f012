"""The words of a line (`linearization.writer`) as text that a person can read, and the parts that a line is made of.

    > @get_order_details $ @get_user_details .orders / =0
    > @cancel_pending_order ^0 _ ? $ @get_order_details .status =pending ! .status =cancelled

`>` calls a tool, `*` is an action of the executor's own, `#` a goal, `%` a rule. `$` takes a value from the last call of a tool
(`-1` from the one before), along `.key`, `/` index and `{` selector `]`. `_` is a new value, `^0` the one that was last used in
this role, `~0` the one that was last used in any. `?` is a guard, `!` an effect, `<` an order, `[` a list, `(` an object with
`,` fields, `]` closes what is open. `:` names an argument that is not the next of the schema, `.` alone a key that is a value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from graph_handoff.errors import CodecError
from graph_handoff.linearization import automaton
from graph_handoff.linearization.grammar import END, SIGNS
from graph_handoff.linearization.memory import BACK, NEW, SAME, SLOT
from graph_handoff.scalar import dumps, loads

Words = tuple[str, ...]

_SIGNS = {
    **SIGNS,
    **{END: "]", NEW: "_"},
    **{word: f"^{rank}" for rank, word in enumerate(SAME)},
    **{word: f"~{rank}" for rank, word in enumerate(SLOT)},
    **{word: f"-{count}" for count, word in enumerate(BACK, 1)},
}
_MARKS = {sign: mark for mark, sign in _SIGNS.items()}
CACHED = 4096
_LEXEME = re.compile(r'[@.=]"(?:[^"\\]|\\.)*"|[^ ]+')
_PLAIN = re.compile(r"[\w-]+", re.ASCII)
_BARE = re.compile(r"(?!(true|false|null)$)[a-z_]+")
"""A text that needs no quotes as a constant."""


@lru_cache(CACHED)
def _sign(word: str) -> str:
    if word in _SIGNS:
        return _SIGNS[word]
    if word[0] == "=":
        value = loads(word[1:])
        return f"={value}" if isinstance(value, str) and _BARE.fullmatch(value) else word
    return word if _PLAIN.fullmatch(word, 1) else f"{word[0]}{dumps(word[1:])}"


@lru_cache(CACHED)
def _word(sign: str) -> str:
    if sign in _MARKS:
        return _MARKS[sign]
    kind, rest = sign[0], sign[1:]
    if kind not in "@.=" or not rest:
        raise CodecError("not a sign of a line", found=sign)
    try:
        if kind == "=":
            return f"={dumps(rest if _BARE.fullmatch(rest) else loads(rest))}"
        return f"{kind}{loads(rest)}" if rest[0] == '"' else sign
    except ValueError as error:
        raise CodecError("a quoted text is not valid JSON", found=sign) from error


def format_words(words: Sequence[str]) -> str:
    """The words of a line, or of a part of one, as text."""
    return " ".join(map(_sign, words))


def signs(text: str) -> list[str]:
    """The signs of a text, one for each word. Raises CodecError."""
    found = _LEXEME.findall(text)
    if " ".join(found) != text:
        raise CodecError("signs are separated by one space", found=text)
    return found


def read_words(text: str | Sequence[str]) -> Words:
    """The inverse of `format_words`; takes the text or its signs. Raises CodecError."""
    return tuple(map(_word, signs(text) if isinstance(text, str) else text))


def parts(words: Words) -> list[Words]:
    """A line's head (what it calls) and then each argument, guard, effect and order. Joined they are the line again; where the
    words do not follow the grammar, the rest is the last part."""
    return _cut(words, [0, 2, *automaton.starts(words, automaton.START, "part*")])


def elements(part: Words) -> list[Words]:
    """The values in a part that is a list; of any other part nothing."""
    return _cut(part[:-1], list(automaton.starts(part, ("value",), "value*"))) if part[0] == "<list>" else []


def _cut(words: Words, places: list[int]) -> list[Words]:
    found = [words[start:end] for start, end in pairwise([*places, len(words)])]
    return [part for part in found if part]
