"""Edit scripts as text: how a plan differs from a predicted one.

One line of text an edit, its number the place in the predicted plan:

    3-                     step 3 is not in the plan; `3-5` steps 3 to 5
    4=order2               instead of step 4 a step of the library
    4+order+user           after step 4 two such steps
    4+return: 2= ^0 | 5-   ... a known step, changed: its part 2 is another, its part 5 dropped
    4=: 5= status3         step 4 as predicted, its part 5 replaced by a part of the library
    4=: 3+ ? $ @get_order .status =pending    step 4 as predicted, with a guard after its part 3
    4+> @get_user_details _                   a step written in full

The parts of a step are its tool (1), then its arguments, guards, effects and orders. Signs are those of `line_text`; among them
may be names of parts, and of items of a list, that the library has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from graph_handoff.errors import CodecError
from graph_handoff.linearization.line_text import Words, format_words, parts, read_words, signs
from graph_handoff.protocols.delta.plan_library import NAME, PlanLibrary
from graph_handoff.protocols.delta.sequence_diff import Costs, Edit, EditKind, diff, patch
from graph_handoff.tokens import count_tokens

_EDIT = re.compile(r"(\d{1,5})([-=+])(.*)", re.ASCII | re.DOTALL)
_NAMES = re.compile(rf"{NAME.pattern}(\+{NAME.pattern})*")
_CHANGED = re.compile(rf"({NAME.pattern})?: (.+)", re.DOTALL)
NEAR = 4
"""A step that the library does not have is compared with so many that it has."""


class EditScripts:
    """Writes and reads the edit scripts of one library."""

    def __init__(self, library: PlanLibrary) -> None:
        self.library = library
        self._spelled: dict[Words, str] = {}

    def write(self, predicted: Sequence[Words], lines: Sequence[Words]) -> list[str]:
        """The script that turns the predicted lines into these, as lines of text."""
        costs: Costs[Words] = Costs(
            2,
            lambda words: 2 + count_tokens(self.spell(words)),
            lambda place, words: 2 + count_tokens(self.instead(predicted[place - 1], words)),
        )
        edits = diff(predicted, lines, costs)
        texts: list[str] = []
        for is_deletion, run in groupby(edits, lambda edit: edit.kind == "-"):
            some = list(run)
            texts += _deletions(some) if is_deletion else self._others(predicted, some)
        return texts

    def _others(self, predicted: Sequence[Words], edits: Sequence[Edit[Words]]) -> list[str]:
        """Known steps in a row are one line of text."""
        texts: list[str] = []
        open_at = -1
        for edit in edits:
            words = edit.item or ()
            item = self.instead(predicted[edit.at - 1], words) if edit.kind == "=" else self.spell(words)
            if edit.kind == "+" and edit.at == open_at and words in self.library.step_names:
                texts[-1] += f"+{item}"
            else:
                texts.append(f"{edit.at}{edit.kind}{item}")
            open_at = edit.at if words in self.library.step_names else -1
        return texts

    def spell(self, words: Words) -> str:
        """The shortest text of a line: its name, a known step and what is changed in it, or all of it."""
        if words not in self._spelled:
            known = self.library.step_names.get(words)
            self._spelled[words] = known if known is not None else min(self._ways(words), key=_length)
        return self._spelled[words]

    def instead(self, old: Words, words: Words) -> str:
        """The shortest text of a line that replaces a predicted one."""
        if words in self.library.step_names or old[:2] != words[:2]:
            return self.spell(words)
        return min(f": {self._part_edits(old, words)}", self.spell(words), key=_length)

    def _ways(self, words: Words) -> Iterator[str]:
        yield self._format(words)
        own = parts(words)
        same = [(name, line) for name, line in self.library.step_words.items() if line[:2] == words[:2]]
        for name, line in sorted(same, key=lambda item: _unlike(parts(item[1]), own))[:NEAR]:
            yield f"{name}: {self._part_edits(line, words)}"

    def _format(self, words: Words) -> str:
        """The words as signs; for the longest runs that have one, a name."""
        names = self.library.part_names
        texts: list[str] = []
        at = 0
        while at < len(words):
            longest = min(self.library.longest_part, len(words) - at)
            length = next((n for n in range(longest, 1, -1) if words[at : at + n] in names), 1)
            run = words[at : at + length]
            texts.append(names[run] if length > 1 else format_words(run))
            at += length
        return " ".join(texts)

    def _part_cost(self, part: Words) -> float:
        return 3 + (1 if part in self.library.part_names else len(part))

    def _part_edits(self, old: Words, new: Words) -> str:
        """What is changed in a step."""
        edits = diff(parts(old), parts(new), Costs(3, self._part_cost, lambda place, part: self._part_cost(part)))
        return " | ".join(f"{edit.at}{edit.kind}{f' {self._format(edit.item)}' if edit.item else ''}" for edit in edits)

    def read(self, predicted: Sequence[Words], texts: Sequence[str]) -> list[Words]:
        """The lines that a script makes of the predicted ones. Raises CodecError."""
        edits = [edit for text in texts for edit in self._edits(predicted, text)]
        return patch(predicted, edits)

    def _edits(self, predicted: Sequence[Words], text: str) -> list[Edit[Words]]:
        found = _EDIT.fullmatch(text)
        if found is None:
            raise CodecError("an edit is a place, then - = or +, then a step", found=text)
        at, kind, item = int(found[1]), found[2], found[3]
        if kind == "-":
            if not re.fullmatch(r"\d{0,5}", item, re.ASCII):
                raise CodecError("a deletion ends with a place", found=text)
            end = min(int(item or at), max(at, len(predicted)))
            if end < at:
                raise CodecError("a deletion that ends before it starts", found=text)
            return [Edit(place, "-") for place in range(at, end + 1)]
        names = item.split("+") if _NAMES.fullmatch(item) else []
        first: Edit[Words] = Edit(at, "=" if kind == "=" else "+", self._step(predicted, at, names[0] if names else item))
        return [first, *(Edit(at, "+", self._known(name)) for name in names[1:])]

    def _step(self, predicted: Sequence[Words], at: int, item: str) -> Words:
        changed = _CHANGED.fullmatch(item)
        if changed is None:
            return self._known(item) if NAME.fullmatch(item) else self._expand(signs(item))
        if changed[1] is None and not 0 < at <= len(predicted):
            raise CodecError("an edit names no predicted step", found=f"{at}=: {changed[2]}")
        old = predicted[at - 1] if changed[1] is None else self._known(changed[1])
        return tuple(word for part in patch(parts(old), self._read_part_edits(changed[2])) for word in part)

    def _read_part_edits(self, text: str) -> list[Edit[Words]]:
        edits: list[Edit[Words]] = []
        for is_bar, run in groupby(signs(text), lambda sign: sign == "|"):
            if is_bar:
                continue
            place, *words = run
            found = _EDIT.fullmatch(place)
            if found is None or found[3] or (found[2] == "-") == bool(words):
                raise CodecError("an edit of a step is a place, then - = or +, then a part", found=place)
            kind: EditKind = "-" if found[2] == "-" else "=" if found[2] == "=" else "+"
            edits.append(Edit(int(found[1]), kind, self._expand(words) if words else None))
        return edits

    def _expand(self, found: Sequence[str]) -> Words:
        """The words of signs, among which there may be names of parts."""
        known = self.library.part_words
        return tuple(word for sign in found for word in (known[sign] if sign in known else read_words([sign])))

    def _known(self, name: str) -> Words:
        words = self.library.step_words.get(name)
        if words is None:
            raise CodecError("the predictor knows no such step", found=name)
        return words


def _length(text: str) -> tuple[int, str]:
    return count_tokens(text), text


def _deletions(edits: Sequence[Edit[Words]]) -> list[str]:
    texts: list[str] = []
    for _, run in groupby(enumerate(edits), lambda pair: pair[1].at - pair[0]):
        places = [edit.at for _, edit in run]
        texts.append(f"{places[0]}-{places[-1]}" if len(places) > 1 else f"{places[0]}-")
    return texts


def _unlike(old: Sequence[Words], new: Sequence[Words]) -> float:
    """How many words parts of `new` have that are not among those of `old`, and how many parts must be deleted."""
    return sum(3 + len(part) for part in new if part not in old) + sum(1 for part in old if part not in new)
