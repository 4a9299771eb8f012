"""The plan library that sender and receiver of a predictive delta share: plans seen in training, their values lifted out.

Nothing here is a network. A *step prototype* is the line of a step (`linearization.writer`) without its values, a *plan
prototype* a sequence of those. Parts of steps (an argument, an item of a list, a guard) that occur twice are prototypes, too. All
have names that a person can say (`order`, `order2`, `exchange14`) and counts; the most frequent come first, so that a usual name
is short.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from graph_handoff.code_words import code_words
from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError, InputError
from graph_handoff.files import sha256_json, write_text
from graph_handoff.linearization.line_text import Words, elements, format_words, parts, read_words
from graph_handoff.linearization.writer import linearize
from graph_handoff.plan import Plan
from graph_handoff.protocols.delta.sequence_diff import Costs, distance

LIBRARY_FILE = "library.json"
NOTHING = "nothing"
"""The plan prototype without steps, which every library has."""
NAME = re.compile(r"[a-z]+[0-9]*")
SIMILAR = 64
"""So many plans whose steps are most alike, in any order, are compared step by step."""


class Prototype(NamedTuple):
    """Something that training plans have in common."""

    name: str
    content: tuple[str, ...]
    """The words of a step or part, or the names of a plan's steps."""
    seen: int
    """How many training plans (for a step or part: how often in them)."""


@dataclass(frozen=True)
class PlanLibrary:
    """What both sides have. Equal libraries have equal hashes."""

    words: frozenset[str]
    """Tool names, keys and constants that a line may hold; every other value is lifted out."""
    parts: tuple[Prototype, ...]
    steps: tuple[Prototype, ...]
    plans: tuple[Prototype, ...]

    @cached_property
    def hash(self) -> str:
        """Hex SHA-256 of the content."""
        return sha256_json(self._content())

    @property
    def version(self) -> str:
        """The short word that names this library in a message."""
        return code_words()[int(self.hash[:8], 16) % len(code_words())]

    @cached_property
    def step_words(self) -> Mapping[str, Words]:
        """Name of a step -> its words."""
        return {step.name: step.content for step in self.steps}

    @cached_property
    def step_names(self) -> Mapping[Words, str]:
        """The inverse of `step_words`."""
        return {step.content: step.name for step in self.steps}

    @cached_property
    def part_words(self) -> Mapping[str, Words]:
        """Name of a part -> its words."""
        return {part.name: part.content for part in self.parts}

    @cached_property
    def part_names(self) -> Mapping[Words, str]:
        """The inverse of `part_words`."""
        return {part.content: part.name for part in self.parts}

    @cached_property
    def longest_part(self) -> int:
        """Words in the longest part that has a name."""
        return max((len(part.content) for part in self.parts), default=0)

    @cached_property
    def _plan_lines(self) -> Mapping[str, list[Words]]:
        return {plan.name: [self.step_words[name] for name in plan.content] for plan in self.plans}

    @cached_property
    def _bags(self) -> list[tuple[str, Counter[str]]]:
        return [(plan.name, Counter(plan.content)) for plan in self.plans]

    def predict(self, name: str) -> list[Words]:
        """The lines of the plan prototype of that name. Raises CodecError where there is none."""
        if name not in self._plan_lines:
            raise CodecError("the predictor knows no such plan", found=name)
        return self._plan_lines[name]

    def nearest(self, lines: Sequence[Words], most: int) -> list[str]:
        """Names of the plan prototypes that fewest edits turn into these lines; NOTHING is always among them."""
        own = [self.step_names.get(words, "") for words in lines]
        bag = Counter(own)
        alike = sorted((sum(((bag - other) + (other - bag)).values()), place) for place, (_, other) in enumerate(self._bags))
        near = [self.plans[place] for _, place in alike[:SIMILAR]]
        flat: Costs[str] = Costs(2, lambda item: 3, lambda place, item: 4)
        ranked = sorted(near, key=lambda plan: distance(plan.content, own, flat))  # stable: the more alike and frequent first
        return list(dict.fromkeys([*(plan.name for plan in ranked[:most]), NOTHING]))

    def _content(self) -> dict[str, Any]:
        return {
            "words": sorted(self.words),
            "parts": [{"name": p.name, "count": p.seen, "part": format_words(p.content)} for p in self.parts],
            "steps": [{"name": s.name, "count": s.seen, "line": format_words(s.content)} for s in self.steps],
            "plans": [{"name": p.name, "count": p.seen, "steps": " ".join(p.content)} for p in self.plans],
        }

    def save(self, folder: Path) -> None:
        """Write `library.json`."""
        content = {**self._content(), "hash": self.hash}
        write_text(folder / LIBRARY_FILE, orjson.dumps(content, option=orjson.OPT_INDENT_2).decode() + "\n")

    @classmethod
    def load(cls, folder: Path) -> PlanLibrary:
        """Raises InputError where the file is none, or was changed after it was written."""
        path = folder / LIBRARY_FILE
        try:
            content = orjson.loads(path.read_bytes())
            library = cls._of(content)
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror or error}; `handoff train predictor` writes it", file=path) from error
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, CodecError) as error:
            raise InputError(f"not a predictor's library ({error})", file=path) from error
        if content.get("hash") != library.hash:
            raise InputError("does not match its hash: train the predictor again", file=path, field="hash")
        return library

    @classmethod
    def _of(cls, content: Mapping[str, Any]) -> PlanLibrary:
        named = tuple(Prototype(p["name"], read_words(p["part"]), p["count"]) for p in content["parts"])
        steps = tuple(Prototype(s["name"], read_words(s["line"]), s["count"]) for s in content["steps"])
        plans = tuple(Prototype(p["name"], tuple(p["steps"].split()), p["count"]) for p in content["plans"])
        known = {step.name for step in steps}
        for prototype in (*named, *steps, *plans):
            if not NAME.fullmatch(prototype.name):
                raise CodecError("a prototype's name is letters and a number", found=prototype.name)
        for plan in plans:
            if not known.issuperset(plan.content):
                raise CodecError("a plan has a step that the library lacks", found=plan.name)
        return cls(frozenset(content["words"]), named, steps, plans)


def fit(plans: Sequence[tuple[Plan, Toolset]], words: frozenset[str]) -> PlanLibrary:
    """The library of training plans. `words` are what a line may hold (`graph_handoff.linearization.vocabulary`)."""
    lines = [[line.words for line in linearize(plan, tools, words)] for plan, tools in plans]
    short = {f"@{name}": short for _, tools in plans for name, short in tools.short_names.items()}
    steps = _named(Counter(line for plan in lines for line in plan), lambda words: _spoken(words, short))
    names = {step.content: step.name for step in steps}
    found = _named(
        Counter(tuple(names[line] for line in plan) for plan in lines if plan),
        lambda content: re.sub(r"\d", "", content[-1]),
    )
    counts: Counter[Words] = Counter()
    for step in steps:
        for part in parts(step.content)[1:]:
            for piece in (part, *elements(part)):
                counts[piece] += step.seen
    usual = Counter({part: seen for part, seen in counts.items() if seen > 1 and len(part) > 1})
    return PlanLibrary(words, tuple(_named(usual, _last_key)), tuple(steps), (*found, Prototype(NOTHING, (), 0)))


def _last_key(words: Words) -> str:
    """What a part is called: the first word of the last key in it."""
    letters = next((found for word in reversed(words) if word[0] == "." and (found := re.search(r"[a-z]+", word.lower()))), None)
    return letters.group() if letters else "part"


def _named(counts: Counter[tuple[str, ...]], stem: Callable[[tuple[str, ...]], str]) -> list[Prototype]:
    """The most frequent first; of those with one stem, the first is called by it and the others are numbered."""
    used: Counter[str] = Counter([NOTHING])
    found: list[Prototype] = []
    for content, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        name = stem(content)
        used[name] += 1
        found.append(Prototype(f"{name}{used[name]}" if used[name] > 1 else name, content, count))
    return found


def _spoken(words: Words, short: Mapping[str, str]) -> str:
    """What a step is called: the last word of its tool's short name."""
    if words[0] in ("<goal>", "<constraint>"):
        return "goal" if words[0] == "<goal>" else "rule"
    letters = re.findall(r"[a-z]+", short.get(words[1], words[1]).lower()) if words[1].startswith("@") else []
    return letters[-1] if letters else "step"
