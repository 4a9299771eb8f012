"""How users of synthetic plans talk, and what the airline's policy lets them have."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.synth.airline_records import legs, nonfree_bags
from data.synth.airline_words import pick_flight
from data.synth.base import Change
from data.synth.retail_words import describe, telling_options
from data.synth.words import WANT, listing, money, sum_expression, wishes

VALUES = st.sampled_from(["red", "blue", "green"])
OPTIONS = st.fixed_dictionaries({"color": VALUES, "lid": VALUES, "strap": VALUES})


@given(st.lists(OPTIONS, min_size=1, max_size=12, unique_by=lambda v: tuple(sorted(v.items()))), st.integers(0, 99))
def test_telling_options_single_a_variant_out(variants: list[dict[str, str]], seed: int) -> None:
    target = variants[seed % len(variants)]
    told = telling_options(target, variants, Random(seed))
    assert told.items() <= target.items()
    assert [v for v in variants if told.items() <= v.items()] == [target]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"switch type": "clicky", "backlight": "RGB"}, "clicky switch type and RGB backlight"),
        ({"size": "full size", "waterproof": "yes"}, "full size and waterproof: yes"),
        ({"size": "8", "cover type": "hard cover", "pieces": "500"}, "size 8, hard cover and pieces 500"),
    ],
)
def test_options_in_words(options: dict[str, str], words: str) -> None:
    assert describe(options) == words


def test_lists_and_amounts() -> None:
    assert [listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert [money(180.1), money(54.0), money(1939.05), money(100)] == ["180.1", "54", "1939.05", "100"]


@pytest.mark.parametrize(
    ("terms", "expression"),
    [([10.5, 20], "10.5 + 20"), ([10, -4.25], "10 - 4.25"), ([-10, -4.25], "10 + 4.25"), ([-3, 2], "-3 + 2")],
)
def test_sums_of_costs_are_positive(terms: list[float], expression: str) -> None:
    assert sum_expression(terms) == expression


def test_each_wish_is_a_sentence() -> None:
    changes = [Change("x", {}, f"{WANT} do {name}") for name in ("{a}", "b", "c")]
    sentences = wishes(changes, Random(1))
    assert sentences[0] == "You want to do {a}."
    assert sentences[2] == "Finally, you want to do c."
    assert all(sentence[0].isupper() and WANT not in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("total", "cabin", "passengers", "membership", "paid"),
    [(2, "basic_economy", 1, "regular", 2), (2, "economy", 2, "regular", 0), (9, "business", 2, "gold", 1)],
)
def test_bags_beyond_the_free_ones_are_paid(total: int, cabin: str, passengers: int, membership: str, paid: int) -> None:
    assert nonfree_bags(total, cabin, passengers, membership) == paid


def test_a_round_trip_has_two_legs() -> None:
    stops = ["LAX", "DEN", "SEA", "LAX"]
    flights = [{"origin": a, "destination": b} for a, b in pairwise(stops)]
    trip = {"flight_type": "round_trip", "destination": "SEA", "flights": flights}
    assert legs(trip) == [flights[:2], flights[2:]]
    assert legs({**trip, "flight_type": "one_way"}) == [flights]


@given(st.integers(0, 99))
def test_words_for_a_flight_tell_it_from_the_others(seed: int) -> None:
    flights = [
        {"flight_number": f"HAT00{n}", "scheduled_departure_time_est": f"0{n}:00:00", "prices": {"economy": 50 + n}}
        for n in range(4)
    ]
    flight, words = pick_flight(flights, "economy", Random(seed))
    told = [flight["flight_number"] in words, flight["scheduled_departure_time_est"] in words]
    assert sum(told) == 1 or (words == ", the cheapest one" and flight is flights[0])
