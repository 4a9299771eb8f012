"""English for the parts of a plan: values, lists, references, conditions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_handoff.plan import Guard
from graph_handoff.reference import PathStep, Reference, Select
from graph_handoff.scalar import Scalar, dumps

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth")
_BARE = re.compile(r"[^\s\"';,()]*[^\s\"';,().:!?]")


def ordinal(number: int) -> str:
    """`first` for 1; in digits from 13 on."""
    if 1 <= number <= len(ORDINALS):
        return ORDINALS[number - 1]
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(items: Iterable[str]) -> str:
    """`a, b and c`; with semicolons where the items themselves hold commas or an `and`."""
    parts = list(items)
    if len(parts) < 2:
        return "".join(parts)
    if any("," in part or " and " in part for part in parts):
        return "; ".join(parts[:-1]) + f"; and {parts[-1]}"
    return ", ".join(parts[:-1]) + f" and {parts[-1]}"


def singular(noun: str) -> str:
    """One of several: `item` for `items`, `address` for `addresses`; a noun that is no regular plural stays."""
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def is_compound(value: Any) -> bool:
    """Does a value need a sentence of its own: an array of objects, or of several values that come from results?"""
    if not isinstance(value, list):
        return False
    return any(isinstance(item, (dict, list)) for item in value) or (
        len(value) > 1 and any(isinstance(item, Reference) for item in value)
    )


def scalar(value: Scalar) -> str:
    """A value verbatim; in quotes where it is more than a word."""
    if not isinstance(value, str):
        return dumps(value)
    return value if _BARE.fullmatch(value) else f'"{value}"'


@dataclass(frozen=True)
class Wording:
    """How one writer puts things; the same throughout one text."""

    plain_keys: bool
    """`item id`, not `item_id`."""
    steps_by_ordinal: bool
    """`the third step`, not `step 3`."""
    origin: str
    """What stands between a value and the step it comes from: `returned by`, `from`."""

    def key(self, name: str) -> str:
        return name.replace("_", " ") if self.plain_keys else name

    def step(self, node: str) -> str:
        """`t3` in words."""
        number = int(node.removeprefix("t"))
        if self.steps_by_ordinal and number <= len(ORDINALS):
            return f"the {ordinal(number)} step"
        return f"step {number}"

    def argument(self, name: str, value: Any) -> str:
        """An argument with its value, as it stands after `with`."""
        word = self.key(name)
        if isinstance(value, Reference):
            phrase = self.reference(value, word)
            return phrase if phrase.startswith(f"the {word} ") else f"{phrase} as the {word}"
        if isinstance(value, str):
            return f"the {word} {scalar(value)}" if value else f"an empty {word}"
        if isinstance(value, dict):
            return f"the {word} with {self.fields(value)}" if value else f"an empty {word}"
        if not isinstance(value, list):
            return f"the {word} set to {dumps(value)}"
        if not value:
            return f"an empty list of {word}"
        if is_compound(value):
            return f"the {word}: {self.items(value)}"
        if isinstance(value[0], Reference):
            return f"{self.items(value)} as the {word}"
        word = singular(word) if len(value) == 1 and self.plain_keys else word
        return f"the {word} {self.items(value)}"

    def items(self, values: Sequence[Any]) -> str:
        """The members of an array; objects are told apart as `one with ...`."""
        return listed(f"one with {self.value(v)}" if isinstance(v, (dict, list)) else self.value(v) for v in values)

    def fields(self, value: Mapping[str, Any]) -> str:
        """An object's fields: `street "12 Elm", the city from step 2`."""
        return listed(self._field(self.key(key), item) for key, item in value.items())

    def _field(self, word: str, value: Any) -> str:
        phrase = self.value(value)
        return phrase if isinstance(value, Reference) and phrase.startswith(f"the {word} ") else f"{word} {phrase}"

    def value(self, value: Any) -> str:
        """A value without its name."""
        if isinstance(value, Reference):
            return self.reference(value)
        if isinstance(value, dict):
            return self.fields(value) if value else "nothing"
        if isinstance(value, list):
            return self.items(value) if value else "an empty list"
        return scalar(value)

    def reference(self, reference: Reference, word: str = "") -> str:
        """Where a value comes from. `word` is what it will be used as, for a result that is taken whole."""
        source, path = self.step(reference.node), reference.path
        if not path:
            return f"the {word} {self.origin} {source}" if word else f"the result of {source}"
        if len(path) == 1:
            return f"{self.path(path)} {self.origin} {source}"
        return f"{self.path(path)} in the result of {source}"

    def path(self, path: tuple[PathStep, ...]) -> str:
        """A place in a result, innermost part first: `the item id of the item whose name is Lamp`."""
        phrase, at = "", 0
        while at < len(path):
            step = path[at]
            follower = path[at + 1] if at + 1 < len(path) else None
            if isinstance(step, str) and isinstance(follower, (int, Select)):
                noun, at = self._chosen(step, follower), at + 2
            else:
                noun, at = self._named(step), at + 1
            phrase = f"{noun} of {phrase}" if phrase else noun
        return phrase

    def _chosen(self, key: str, step: int | Select) -> str:
        if isinstance(step, int):
            return f"the {ordinal(step + 1)} of the {self.key(key)}"
        word = self.key(key)
        one = f"the one of the {word}" if "_" in word else f"the {singular(word)}"  # a field's own name is not bent
        return f"{one} {self.conditions(step)}"

    def _named(self, step: PathStep) -> str:
        if isinstance(step, Select):
            return f"the entry {self.conditions(step)}"
        if isinstance(step, int):
            return f"the {ordinal(step + 1)} entry"
        has_digit = any(c.isdigit() for c in step)
        return f"the entry {scalar(step)}" if has_digit or not step.strip() else f"the {self.key(step)}"

    def conditions(self, select: Select) -> str:
        """`whose name is Lamp and whose options include color red`."""
        parts: dict[str, list[str]] = {}
        for keys, value in select.conditions:
            owner = self.key(" ".join(keys[:-1]))
            parts.setdefault(owner, []).append(f"{self.key(keys[-1])} {'' if owner else 'is '}{scalar(value)}")
        clauses = [f"whose {part}" for part in parts.pop("", [])]
        clauses += [f"whose {owner} include{'' if owner.endswith('s') else 's'} {listed(of)}" for owner, of in parts.items()]
        return " and ".join(clauses)

    def guard(self, guard: Guard) -> str:
        return f"{self.reference(guard.that)} is {scalar(guard.equals)}"
