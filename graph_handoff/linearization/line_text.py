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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from graph_handoff.errors import CodecError
from graph_handoff.linearization.writer import BACK, END, NEW, SAME, SLOT
from graph_handoff.scalar import dumps, loads

Words = tuple[str, ...]

_SIGNS = {
    **{"<goal>": "#", "<constraint>": "%", "<tool_call>": ">", "<action>": "*", "<tool_arg>": ":", "<precondition>": "?"},
    **{"<postcondition>": "!", "<follows>": "<", "<depends_on>": "$", "<list>": "[", "<object>": "(", "<field>": ","},
    **{"<index>": "/", "<select>": "{", "<key>": ".", "<step>": "&", END: "]", NEW: "_"},
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
    """A line's head (what it calls) and then each argument, guard, effect and order. Joined they are the line again."""
    return _Scan(words).parts()


def elements(part: Words) -> list[Words]:
    """The values in a part that is a list; of any other part nothing."""
    return list(_Scan(part).elements()) if part[0] == "<list>" else []


class _Scan:
    """Goes over words that follow the grammar of a line; where they do not, the rest is the last part."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.at = 0

    def elements(self) -> Iterator[Words]:
        self.at = 1
        while self.peek() != END:
            start = self.at
            self.value()
            yield self.words[start : self.at]

    def parts(self) -> list[Words]:
        cuts = [0, 2]
        self.at = 2
        while self.at < len(self.words):
            self.part()
            cuts.append(self.at)
        return [self.words[start:end] for start, end in pairwise(cuts) if self.words[start:end]]

    def peek(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else END

    def part(self) -> None:
        mark = self.peek()
        if mark in ("<precondition>", "<postcondition>", "<follows>", "<tool_arg>"):
            self.at += 1
        if mark in ("<precondition>", "<follows>"):
            self.target()
        if mark in ("<precondition>", "<postcondition>"):
            self.path()
            self.at += 1
        elif mark == "<tool_arg>":
            self.key()
            self.value()
        elif mark != "<follows>":
            self.value()

    def key(self) -> None:
        self.at += 2 if self.peek() == "<key>" else 1

    def target(self) -> None:
        self.at += 2 if self.peek() == "<step>" or self.peek() in BACK else 1

    def path(self) -> None:
        while True:
            if self.peek() == "<select>":
                self.bracket()
            elif self.peek() == "<index>":
                self.at += 2
            elif self.peek() == "<key>" or self.peek().startswith("."):
                self.key()
            else:
                return

    def value(self) -> None:
        if self.peek() == "<depends_on>":
            self.at += 1
            self.target()
            self.path()
        elif self.peek() in ("<list>", "<object>"):
            self.bracket()
        else:
            self.at += 1

    def bracket(self) -> None:
        depth = 0
        while self.at < len(self.words):
            depth += (self.peek() in ("<list>", "<object>", "<select>")) - (self.peek() == END)
            self.at += 1
            if not depth:
                return
