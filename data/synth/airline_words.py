"""How a passenger says things: trips by reservation id or by route, flights by time or number, payment by kind and amount."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from data.synth.base import Json, chance, weighted
from data.synth.words import card_words, money

CITIES: Mapping[str, str] = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
}
"""The benchmark's name for the city of an airport, where that is a city's name."""


def payment_words(method: Json, methods: Sequence[Json], rng: random.Random) -> str:
    """A payment method as its owner calls it; a gift card or certificate by its amount where there are several."""
    if method["source"] == "credit_card":
        return card_words(method, methods, rng)
    kind = method["source"].replace("_", " ")
    several = sum(other["source"] == method["source"] for other in methods) > 1
    if several or chance(rng, 0.3):
        return f"the {kind} with ${money(method['amount'])} on it"
    return f"your {kind}"


def choose_method(fitting: Sequence[Json], methods: Sequence[Json], rng: random.Random) -> Json:
    """One of the fitting methods; mostly one that its kind or its last digits tell from the user's others."""
    sources = [method["source"] for method in methods]
    clear = [m for m in fitting if m["source"] == "credit_card" or sources.count(m["source"]) == 1]
    return rng.choice(clear if clear and chance(rng, 0.8) else fitting)


def cabin_words(cabin: str) -> str:
    """A cabin class with spaces."""
    return cabin.replace("_", " ")


def pick_flight(flights: Sequence[Json], cabin: str, rng: random.Random) -> tuple[Json, str]:
    """One of the flights, and the words that tell it from the others (empty where it is the only one)."""
    flight = rng.choice(flights)
    if len(flights) == 1 and chance(rng, 0.5):
        return flight, ""
    style = weighted(rng, {"time": 50, "number": 25, "price": 25})
    if style == "price" and len(flights) > 1:
        prices = [other["prices"][cabin] for other in flights]
        if prices.count(min(prices)) == 1:
            return flights[prices.index(min(prices))], ", the cheapest one"
    if style == "number":
        return flight, f", flight {flight['flight_number']}"
    return flight, f", the one that leaves at {flight['scheduled_departure_time_est']}"
