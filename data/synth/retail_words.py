"""How a customer of the shop says things: items by name and looks, wanted variants by their options, payment, address.

What only a lookup tells (item, product, variant and payment ids) is never said.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Mapping, Sequence

from data.synth.base import Json, chance, weighted
from data.synth.words import card_words, listing

UNSAID = ("yes", "no", "none")
"""Option values that say nothing without their key."""


def describe(options: Mapping[str, str]) -> str:
    """Options as prose: `clicky switch type, RGB backlight and size 8`."""
    return listing([_describe(key, value) for key, value in options.items()])


def _describe(key: str, value: str) -> str:
    if value in UNSAID:
        return f"{key}: {value}"
    if set(key.split()) & set(re.split(r"\W", value)):
        return value  # `full size`, `hard cover`, `3-piece`
    return f"{key} {value}" if value.isdigit() or key == "size" else f"{value} {key}"


def as_record(options: Mapping[str, str]) -> str:
    """Options as the benchmark's own scripted customers recite them: `{'color': 'red', 'size': 'M'}`."""
    return "{" + ", ".join(f"'{key}': '{value}'" for key, value in options.items()) + "}"


def telling_options(target: Mapping[str, str], all_options: Sequence[Mapping[str, str]], rng: random.Random) -> dict[str, str]:
    """A smallest set of the target's options that no other of `all_options` has; one at random where there are several."""
    keys = list(target)
    for size in range(1, len(keys) + 1):
        fitting = [
            chosen
            for chosen in itertools.combinations(keys, size)
            if sum(all(other.get(k) == target[k] for k in chosen) for other in all_options) == 1
        ]
        if fitting:
            chosen = rng.choice(fitting)
            return {key: target[key] for key in chosen}
    return dict(target)


def product_word(name: str, rng: random.Random) -> str:
    """A product's name, in lower case half of the time; names with capitals of their own stay."""
    return name.lower() if name.istitle() and chance(rng, 0.5) else name


def item_words(item: Json, order: Json, rng: random.Random) -> str:
    """One item of an order: its name, and what sets it apart where the order holds another of the same product."""
    same = [other["options"] for other in order["items"] if other["product_id"] == item["product_id"]]
    word = product_word(item["name"], rng)
    if len(same) == 1:
        return word
    return f"{word} with {describe(telling_options(item['options'], same, rng))}"


def swap_words(item: Json, order: Json, variant: Json, product: Json, rng: random.Random) -> tuple[str, str]:
    """An item and the variant wanted for it, each in words."""
    options = [v["options"] for v in product["variants"].values()]
    wanted: dict[str, str] = variant["options"]
    style = weighted(rng, {"telling": 46, "all": 21, "record": 23, "changed": 10})
    if style == "record":
        return f"{item['name']} {as_record(item['options'])}", f"one with {as_record(wanted)}"
    old = item_words(item, order, rng)
    if variant is cheapest(product) and chance(rng, 0.3):
        return old, "the cheapest version that is available"
    if style == "changed":
        changed = {key: value for key, value in wanted.items() if item["options"].get(key) != value}
        return old, f"one with {describe(changed)}, everything else the same"
    named = wanted if style == "all" else telling_options(wanted, options, rng)
    if all(value not in UNSAID for value in named.values()) and chance(rng, 0.4):
        return old, f"the {', '.join(named.values())} one"
    return old, f"one with {describe(named)}"


def cheapest(product: Json) -> Json | None:
    """The available variant with the lowest price, if any."""
    return min((v for v in product["variants"].values() if v["available"]), key=lambda v: v["price"], default=None)


def payment_words(method: Json, methods: Iterable[Json], rng: random.Random) -> str:
    """A payment method as its owner calls it; the last digits of a card where they have several cards."""
    if method["source"] == "paypal":
        return rng.choice(("your PayPal", "your PayPal account"))
    if method["source"] == "gift_card":
        return rng.choice(("your gift card", "the gift card"))
    return card_words(method, methods, rng)


def address_words(address: Mapping[str, str], rng: random.Random) -> str:
    """A whole address in one line."""
    street = ", ".join(filter(None, (address["address1"], address["address2"])))
    if chance(rng, 0.5):
        return f"{street}, {address['city']}, {address['state']}, {address['country']}, {address['zip']}"
    return f"{street}, {address['city']}, {address['state']} {address['zip']}, {address['country']}"
