"""Placeholders: identifiers, names and quoted texts leave a text before a model reads it, and come back after it wrote.

    use find_user with the email mei@example.com and the city "New York"     text
    use find_user with the email @1 and the city @2                          lifted; values: mei@example.com, New York
    find_user @1 @2                                                          what a model writes
    find_user mei@example.com "New York"                                     restored

So a model copies a placeholder or does without; it has no way to write an identifier of its own. In a plan `@3` is the third
value as a text and `&3` the third value as a number, so that types survive.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from graph_handoff.delegation import Toolset
from graph_handoff.errors import CodecError
from graph_handoff.identifiers import exactly, find_identifiers
from graph_handoff.plan import Effect, Guard, Plan, Step
from graph_handoff.reference import PathStep, Reference, Select, references
from graph_handoff.scalar import Scalar, dumps, loads

PLACEHOLDER = re.compile(r"[@&]([1-9][0-9]{0,3})", re.ASCII)
_CAPITALISED = r"[A-ZÀ-ÖØ-Þ][^\W\d]*(?:['’-][^\W\d]+)*(?![\w@])"
_LIFTED = rf"""
      "(?P<quoted>[^"\n]+)"
    | (?<![\w.+-])[\w.+-]++@[\w-]++\.[\w.-]*\w               # an email
    | (?<![\w.,])\d{{1,3}}(?:,\d{{3}})++(?:\.\d+)?(?!\w|[,.]\d)  # a number with groups of thousands
    | \#?(?<![\w@&])(?<!\w[-/:.])(?!(?<=[@&][-/:.])[\w@&])(?:-(?=\d))?  # any other word with a digit or an @
      (?=(?:[\w@&]|[-/:.](?=[\w@&]))*[\d@])[\w@&]++(?:[-/:.][\w@&]++)*+
    | (?P<name>(?<!\w){_CAPITALISED}(?:\ {_CAPITALISED})*)
    """
_STAYS = re.compile(r"\d{1,2}(?:st|nd|rd|th)?", re.ASCII)
_SENTENCE_START = re.compile(r"(?:\A|\n|[.!?][\"'`]?[ \t])[ \t]*(?:-[ \t]|\d+[.)][ \t])?\Z")
_LETTERS = re.compile(r"[a-z]+")
_PHRASE = re.compile(r"[a-z]{2,}(?:[ -][a-z]+)*")
_REACH = 16  # characters before a word that show whether it begins a sentence


@dataclass(frozen=True)
class Lifted:
    """A text with placeholders, and what they stand for: `@1` is `values[0]`."""

    text: str
    values: tuple[str, ...]


@lru_cache(maxsize=8)
def _pattern(gazetteer: tuple[str, ...]) -> re.Pattern[str]:
    """Longer phrases come first: `dial color` is not a `dial` and a `color`."""
    phrases = "|".join(map(re.escape, sorted(gazetteer, key=len, reverse=True)))
    return re.compile(_LIFTED + (rf"| (?<![\w@&])(?:{phrases})(?!\w)" if phrases else ""), re.VERBOSE)


def lift(text: str, keep: Collection[str] = (), gazetteer: Sequence[str] = ()) -> Lifted:
    """Replace what must arrive verbatim by placeholders, numbered by first occurrence; a value has one number.

    Lifted are texts in double quotes, words with a digit or an `@`, and capitalised words that do not begin a sentence,
    neighbours joined, and the phrases of `gazetteer`. Integers below 100 stay, as do the words in `keep` (names of a schema,
    such as `address1`).
    """
    numbers: dict[str, int] = {}

    def placeholder(value: str) -> str:
        return f"@{numbers.setdefault(value, len(numbers) + 1)}"

    def put(match: re.Match[str]) -> str:
        found = match.group()
        if match["quoted"] is not None:
            return placeholder(match["quoted"])
        if found in keep or _STAYS.fullmatch(found):
            return found
        before = text[max(0, match.start() - _REACH) : match.start()]
        if match["name"] and _SENTENCE_START.search(before):
            first, space, rest = found.partition(" ")
            return first + space + (placeholder(rest) if rest else "")
        return placeholder(found)

    return Lifted(_pattern(tuple(gazetteer)).sub(put, text), tuple(numbers))


def make_gazetteer(plans: Iterable[Plan], tools: Iterable[Toolset]) -> tuple[str, ...]:
    """The words and phrases by which conditions of `plans` select one of several (`color`, `stainless steel`), sorted; without
    those of the tools' schemas, which speak of other things, too."""
    known = {word for toolset in tools for name in toolset.words for word in _LETTERS.findall(name.lower())}
    found: set[str] = set()
    for plan in plans:
        for step in plan.steps:
            found.update(text for path in _paths(step) for text in _conditions(path))
    return tuple(sorted(text for text in found if _PHRASE.fullmatch(text) and known.isdisjoint(_LETTERS.findall(text))))


def _conditions(path: tuple[PathStep, ...]) -> Iterator[str]:
    for part in path:
        if isinstance(part, Select):
            for keys, equal in part.conditions:
                yield from (text for text in (*keys, equal) if isinstance(text, str))


def hide(plan: Plan, values: Iterable[str]) -> Plan:
    """The plan with a placeholder for each scalar and path key that is one of `values`.

    Raises CodecError for a text in the plan that looks like a placeholder and is none of the values.
    """
    numbers = {value: number for number, value in reversed(list(enumerate(values, 1)))}

    def scalar(value: Scalar) -> Scalar:
        if isinstance(value, str):
            if value in numbers:
                return f"@{numbers[value]}"
            if PLACEHOLDER.fullmatch(value):
                raise CodecError("a text of the plan looks like a placeholder", found=value)
            return value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = numbers.get(dumps(value)) if is_number else None
        return value if number is None else f"&{number}"

    return _replaced(plan, scalar)


def restore(plan: Plan, values: Iterable[str]) -> Plan:
    """The inverse of `hide`. Raises CodecError for a placeholder that stands for nothing, or for no number where one is meant."""
    known = list(values)

    def scalar(value: Scalar) -> Scalar:
        found = PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return value
        if int(found[1]) > len(known):
            raise CodecError("a placeholder without a value", found=value, allowed=f"up to {len(known)}")
        text = known[int(found[1]) - 1]
        return text if str(value).startswith("@") else _number(text)

    return _replaced(plan, scalar)


def _number(text: str) -> int | float:
    try:
        number = loads(text)
    except ValueError:
        number = None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise CodecError("a placeholder for a number has a text as its value", found=text)
    return number


def _replaced(plan: Plan, scalar: Callable[[Scalar], Scalar]) -> Plan:
    """The plan with `scalar` applied to every scalar and, as far as it gives texts, to every key of a path."""

    def path_step(step: PathStep) -> PathStep:
        if isinstance(step, Select):
            return Select(tuple((tuple(str(scalar(key)) for key in keys), scalar(equal)) for keys, equal in step.conditions))
        return step if isinstance(step, int) else str(scalar(step))

    def reference(found: Reference) -> Reference:
        return Reference(found.node, tuple(map(path_step, found.path)))

    def value(found: Any) -> Any:
        if isinstance(found, Reference):
            return reference(found)
        if isinstance(found, list):
            return [value(item) for item in found]
        if isinstance(found, dict):
            return {str(scalar(key)): value(item) for key, item in found.items()}
        return scalar(found)

    def step(found: Step) -> Step:
        return replace(
            found,
            arguments={name: value(item) for name, item in found.arguments.items()},
            guards=tuple(Guard(reference(guard.that), scalar(guard.equals)) for guard in found.guards),
            effects=tuple(Effect(tuple(map(path_step, effect.path)), scalar(effect.equals)) for effect in found.effects),
        )

    def text(found: str) -> str:
        return str(scalar(found))

    goal = None if plan.goal is None else text(plan.goal)
    return Plan(tuple(map(step, plan.steps)), goal, tuple(map(text, plan.rules)))


def foreign(plan: Plan, text: str, tools: Toolset) -> list[str]:
    """What a hidden plan says that it could not copy: identifiers and numbers that are no placeholder, no word of the schema, and
    do not occur in the lifted text that the plan was written from. Each once, in order; empty for a faithful plan."""
    known = tools.words
    found: dict[str, None] = {}
    for value in _said(plan):
        if isinstance(value, str) and not PLACEHOLDER.fullmatch(value):
            found.update(dict.fromkeys(word for word in find_identifiers(value) if word not in known))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[dumps(value)] = None
    return [word for word in found if not any(exactly(form).search(text) for form in _forms(word))]


def _forms(word: str) -> tuple[str, ...]:
    """As a text may say it: `payment_methods`, `payment methods`, `payment method`."""
    spaced = word.replace("_", " ")
    return (word, spaced, word.removesuffix("s"), spaced.removesuffix("s")) if "_" in word else (word,)


def _said(plan: Plan) -> Iterator[Scalar]:
    """Every scalar and key of a plan: all that a writer chooses but the steps' numbers."""
    yield from (text for text in (plan.goal, *plan.rules) if text is not None)
    for step in plan.steps:
        yield step.name
        yield from step.arguments
        for path in (*_paths(step), *(effect.path for effect in step.effects)):
            yield from _keys(path)
        yield from (scalar for value in step.arguments.values() for scalar in _literals(value))
        yield from (guard.equals for guard in step.guards)
        yield from (effect.equals for effect in step.effects)


def _paths(step: Step) -> Iterator[tuple[PathStep, ...]]:
    """Into results: of its references and its guards."""
    yield from (r.path for value in step.arguments.values() for r in references(value))
    yield from (guard.that.path for guard in step.guards)


def _keys(path: tuple[PathStep, ...]) -> Iterator[Scalar]:
    for part in path:
        if isinstance(part, Select):
            for keys, equal in part.conditions:
                yield from (*keys, equal)
        elif isinstance(part, str):
            yield part


def _literals(value: Any) -> Iterator[Scalar]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _literals(item)
    elif not isinstance(value, Reference):
        yield value
