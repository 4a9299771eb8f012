"""How a user talks, whatever the domain."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from data.synth.base import Change, Json, chance

WANT = "{want}"
"""Stands in a change's words for `you want to` or another way to say it."""

TRAITS = ("polite", "brief", "impatient", "cheerful", "a bit anxious", "organized", "sad", "outgoing", "direct", "shy", "busy")
HABITS = ("", "You do not want to say more than needed.", "You want everything done in one go.", "You say one thing at a time.")


def listing(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def money(amount: float) -> str:
    """An amount as the benchmark writes it: two decimals at most, none that are zero at the end."""
    return f"{round(amount, 2):.2f}".rstrip("0").rstrip(".")


def sum_expression(terms: Sequence[float]) -> str:
    """The sum of what comes back (positive) and what is paid (negative), as `calculate` takes it; a sum of costs is positive."""
    sign = 1 if any(term > 0 for term in terms) else -1
    return " + ".join(money(sign * term) for term in terms).replace("+ -", "- ")


def persona(rng: random.Random) -> str:
    """How the user behaves: noise that a planner must see through, as in the benchmark."""
    first, second = rng.sample(TRAITS, 2)
    return f"You are {first} and {second}. {rng.choice(HABITS)}".strip()


def card_words(card: Json, methods: Iterable[Json], rng: random.Random) -> str:
    """A credit card as its owner calls it; by its last digits where they have several."""
    cards = [method for method in methods if method["source"] == "credit_card"]
    brand = card["brand"].title()
    if len(cards) > 1 or chance(rng, 0.4):
        return rng.choice((f"the {brand} ending in {card['last_four']}", f"your {brand} credit card ({card['last_four']})"))
    return rng.choice(("your credit card", "the credit card"))


def wishes(changes: Sequence[Change], rng: random.Random) -> list[str]:
    """One sentence a change."""
    sentences = []
    for number, change in enumerate(changes):
        last = number > 1 and number == len(changes) - 1
        more = "finally, you want to" if last else rng.choice(("you also want to", "then you want to", "you would also like to"))
        clause = change.words.replace(WANT, more if number else "you want to", 1)
        sentences.append(f"{clause[0].upper()}{clause[1:]}.")
    return sentences
