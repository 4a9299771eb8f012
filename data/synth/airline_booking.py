"""New bookings: a route, passengers, bags, insurance, and a payment that adds up to the price."""

from __future__ import annotations

import random
from typing import NamedTuple

from data.synth.airline_goals import CABINS, SURNAMES
from data.synth.airline_records import BOOK, DATES, Airline, as_info, nonfree_bags
from data.synth.airline_words import CITIES, cabin_words, choose_method, payment_words, pick_flight
from data.synth.base import Change, DiscardedError, Json, chance, weighted
from data.synth.words import WANT, listing

FIRST_NAMES = ("Nora", "Jonas", "Leila", "Marco", "Anika", "Pavel", "Sana", "Hugo", "Ines", "Tomas")
INSURANCE = 30
"""Dollars for each passenger."""
BAG = 50
"""Dollars for each checked bag that is not free."""


class _Trip(NamedTuple):
    """The flights of a booking, how they were found, and how the passenger calls them."""

    flights: list[Json]
    lookups: list[tuple[str, Json]]
    words: str


class Booker:
    """Makes bookings for one user."""

    def __init__(self, airline: Airline, user: Json, rng: random.Random) -> None:
        self.airline, self.user, self.rng = airline, user, rng
        self.methods: list[Json] = list(user["payment_methods"].values())

    def booking(self) -> Change:
        """One booking. Raises DiscardedError where no flight has seats, or nothing the user has covers the price."""
        cabin = self.rng.choice(CABINS)
        passengers, people = self._passengers()
        origin, destination = self.rng.choice(list(self.airline.routes))
        kind = weighted(self.rng, {"direct": 65, "stop": 15, "round": 20})
        if kind == "stop":
            trip = self._with_stop(cabin, len(passengers))
            origin, destination = trip.flights[0]["origin"], trip.flights[-1]["destination"]
        else:
            trip = self._direct(origin, destination, cabin, len(passengers), kind == "round")
        bags = weighted(self.rng, {0: 5, 1: 3, 2: 2, 3: 1})
        paid_bags = nonfree_bags(bags, cabin, len(passengers), self.user["membership"])
        insured = chance(self.rng, 0.35)
        fares = [flight["prices"][cabin] * len(passengers) for flight in trip.flights]
        costs = [*fares, *([INSURANCE * len(passengers)] if insured else []), *([BAG * paid_bags] if paid_bags else [])]
        payments, paid_with = self._payments(sum(costs))
        cities = origin in CITIES and destination in CITIES and chance(self.rng, 0.25)
        route = f"from {CITIES[origin]} to {CITIES[destination]}" if cities else f"from {origin} to {destination}"
        way = "round trip" if kind == "round" else "one way trip"
        words = f"{WANT} book a {way} {route}{trip.words} in {cabin_words(cabin)} for {people}, {self._extras(bags, insured)}"
        arguments = {
            "user_id": self.user["user_id"],
            "origin": origin,
            "destination": destination,
            "flight_type": "round_trip" if kind == "round" else "one_way",
            "cabin": cabin,
            "flights": as_info(trip.flights),
            "passengers": passengers,
            "payment_methods": payments,
            "total_baggages": bags,
            "nonfree_baggages": paid_bags,
            "insurance": "yes" if insured else "no",
        }
        lookups: list[tuple[str, Json]] = [("list_all_airports", {})] if cities else []
        lookups += trip.lookups
        return Change(BOOK, arguments, f"{words}. {paid_with}", tuple(lookups), True, (), tuple(-cost for cost in costs))

    def _passengers(self) -> tuple[list[Json], str]:
        own = {**self.user["name"], "dob": self.user["dob"]}
        others = [dict(passenger) for passenger in self.user["saved_passengers"]]
        year, month, day = self.rng.randint(1950, 2005), self.rng.randint(1, 12), self.rng.randint(1, 28)
        new = {
            "first_name": self.rng.choice(FIRST_NAMES),
            "last_name": self.rng.choice(SURNAMES),
            "dob": f"{year}-{month:02}-{day:02}",
        }
        chosen = [own] if chance(self.rng, 0.85) else []
        companions = [new] if chance(self.rng, 0.3) else self.rng.sample(others, min(len(others), 1))
        chosen += companions if not chosen or chance(self.rng, 0.4) else []
        said = []
        for passenger in chosen:
            name = f"{passenger['first_name']} {passenger['last_name']}"
            said.append("yourself" if passenger is own else f"{name} (born {passenger['dob']})" if passenger is new else name)
        return chosen, listing(said)

    def _direct(self, origin: str, destination: str, cabin: str, seats: int, both_ways: bool) -> _Trip:
        there, back = sorted(self.rng.sample(DATES, 2))
        ways = [(origin, destination, there)] + ([(destination, origin, back)] if both_ways else [])
        trip = _Trip([], [], "")
        said = []
        for start, end, date in ways:
            found = self.airline.direct(start, end, date, cabin, seats)
            if not found:
                raise DiscardedError("no seats on a direct flight")
            flight, words = pick_flight(found, cabin, self.rng)
            trip.flights.append({**flight, "date": date})
            trip.lookups.append(("search_direct_flight", {"origin": start, "destination": end, "date": date}))
            said.append(f"{'back ' if trip.flights[1:] else ''}on {date}{words}")
        return trip._replace(words=f" {' and '.join(said)},")

    def _with_stop(self, cabin: str, seats: int) -> _Trip:
        """Two flights of one day, as the search for one stop pairs them."""
        (origin, via), date = self.rng.choice(list(self.airline.routes)), self.rng.choice(DATES)
        pairs = []
        for first in self.airline.direct(origin, via, date, cabin, seats):
            for start, end in self.airline.routes:
                if start == via and end != origin and "+1" not in first["scheduled_arrival_time_est"]:
                    onward = self.airline.direct(via, end, date, cabin, seats)
                    pairs += [
                        (first, f) for f in onward if f["scheduled_departure_time_est"] >= first["scheduled_arrival_time_est"]
                    ]
        if not pairs:
            raise DiscardedError("no seats on flights with one stop")
        first, second = self.rng.choice(pairs)
        departures = [flight["scheduled_departure_time_est"] for flight in (first, second)]
        said = f" on {date} with a stop in {via}, leaving at {departures[0]} and going on at {departures[1]},"
        lookup = ("search_onestop_flight", {"origin": origin, "destination": second["destination"], "date": date})
        return _Trip([{**first, "date": date}, {**second, "date": date}], [lookup], said)

    def _extras(self, bags: int, insured: bool) -> str:
        if chance(self.rng, 0.3):
            return f"checked bags: {bags}, insurance: {'yes' if insured else 'no'}"
        carried = f"with {bags} checked bag{'s' if bags > 1 else ''}" if bags else "without checked bags"
        return f"{carried} and {'with' if insured else 'without'} travel insurance"

    def _payments(self, total: int) -> tuple[list[Json], str]:
        """Payments that add up to `total`, and the user's words for them."""
        full = [m for m in self.methods if m["source"] == "credit_card" or (m["source"] == "gift_card" and m["amount"] >= total)]
        certificates = [m for m in self.methods if m["source"] == "certificate"]
        if certificates and chance(self.rng, 0.4):
            certificate = choose_method(certificates, self.methods, self.rng)
            amount = min(total, int(certificate["amount"]))
            said = self._words(certificate)
            if amount == total:
                return [_payment(certificate, total)], f"Pay with {said}"
            if full:
                rest = choose_method(full, self.methods, self.rng)
                words = self.rng.choice(
                    ("Use {} first and pay the rest with {}", "Pay what you can with {} and the rest with {}")
                )
                words = words.format(said, self._words(rest))
                return [_payment(certificate, amount), _payment(rest, total - amount)], words
        if not full:
            raise DiscardedError("nothing covers the price")
        method = choose_method(full, self.methods, self.rng)
        return [_payment(method, total)], f"Pay with {self._words(method)}"

    def _words(self, method: Json) -> str:
        return payment_words(method, self.methods, self.rng)


def _payment(method: Json, amount: int) -> Json:
    return {"payment_id": method["id"], "amount": amount}
