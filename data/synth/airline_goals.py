"""What a passenger may want: each wish as a write with its real arguments, and as text."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from data.synth.airline_records import (
    BAGS,
    CANCEL,
    COVERED,
    DATES,
    FLIGHTS,
    PASSENGERS,
    YESTERDAY,
    Airline,
    as_info,
    legs,
    nonfree_bags,
)
from data.synth.airline_words import cabin_words, choose_method, payment_words, pick_flight
from data.synth.base import Change, DiscardedError, Json, chance, weighted
from data.synth.words import WANT

CABINS = ("basic_economy", "economy", "business")
SURNAMES = ("Meyer", "Novak", "Okafor", "Lindqvist", "Haddad", "Costa", "Petrov", "Tanaka", "Dubois", "Keller")
ROUTE = "the trip from "


@dataclass(frozen=True)
class AirlineGoal:
    """All that happens to one reservation."""

    reservation: Json
    changes: tuple[Change, ...]


class AirlineGoalMaker:
    """Makes the wishes of one passenger."""

    def __init__(self, airline: Airline, user: Json, careful: bool, rng: random.Random) -> None:
        self.airline, self.user, self.careful, self.rng = airline, user, careful, rng
        self.reservations: dict[str, Json] = {key: airline.reservations[key] for key in user["reservations"]}
        self.methods: list[Json] = list(user["payment_methods"].values())

    def goal(self, reservation: Json, bundle: Sequence[str]) -> AirlineGoal:
        """The changes to one reservation, each made to what the one before leaves. Raises DiscardedError."""
        makers: dict[str, Callable[[Json, str], Change]] = {CANCEL: self._cancel, BAGS: self._bags, PASSENGERS: self._passengers}
        state = dict(reservation)
        where = self.where(reservation)
        changes = []
        for tool in bundle:
            if tool == FLIGHTS:
                upgrade = CANCEL in bundle
                change = self._cabin(state, where, upgrade) if upgrade or chance(self.rng, 0.4) else self._leg(state, where)
                paid = {"amount": -sum(change.terms)}
                state |= {"cabin": change.arguments["cabin"], "payment_history": [*state["payment_history"], paid]}
            else:
                change = makers[tool](state, where)
            changes.append(change)
            where = self.rng.choice(("the same reservation", "that reservation"))
        return AirlineGoal(reservation, tuple(changes))

    def where(self, reservation: Json) -> str:
        """A reservation as the passenger calls it: by its id, or by a route that none of the others has."""
        route = (reservation["origin"], reservation["destination"])
        alike = [other for other in self.reservations.values() if (other["origin"], other["destination"]) == route]
        if self.careful and len(alike) == 1 and route[0] != route[1] and chance(self.rng, 0.35):
            return f"{ROUTE}{route[0]} to {route[1]}"
        return f"{self.rng.choice(('reservation', 'your reservation', 'reservation'))} {reservation['reservation_id']}"

    def _cancel(self, reservation: Json, where: str) -> Change:
        if "cancelled" in self.airline.statuses(reservation):
            reason = "the airline cancelled a flight of it"
        elif reservation["cabin"] == "business" or reservation["created_at"] >= YESTERDAY:
            reason = self.rng.choice(("your plans have changed", "you booked it by mistake", "you have to work"))
        else:
            reason = self.rng.choice(COVERED)
        refund = tuple(payment["amount"] for payment in reservation["payment_history"])
        words = f"{WANT} cancel {where} because {reason}"
        return Change(CANCEL, {"reservation_id": reservation["reservation_id"]}, words, terms=refund)

    def _cabin(self, reservation: Json, where: str, upgrade: bool) -> Change:
        """The same flights in another cabin."""
        seats = len(reservation["passengers"])
        prices = {}
        for cabin in ("business",) if upgrade else CABINS:
            days = [self.airline.flights[f["flight_number"]]["dates"][f["date"]] for f in reservation["flights"]]
            if cabin != reservation["cabin"] and all(day["available_seats"][cabin] >= seats for day in days):
                prices[cabin] = [day["prices"][cabin] for day in days]
        if not prices:
            raise DiscardedError("no seats in another cabin")
        cabin = self.rng.choice(list(prices))
        if chance(self.rng, 0.6):
            stops = [reservation["flights"][0]["origin"], *(f["destination"] for f in reservation["flights"])]
            where = f"{where} ({' - '.join(stops)})"
        phrase = self.rng.choice(
            (f"change the cabin of {where} to {cabin_words(cabin)}", f"move {where} to {cabin_words(cabin)}")
        )
        terms = (*(f["price"] * seats for f in reservation["flights"]), *(-price * seats for price in prices[cabin]))
        return self._update(reservation, cabin, reservation["flights"], phrase, terms=terms)

    def _leg(self, reservation: Json, where: str) -> Change:
        """One way of the trip on another day, or without a stop."""
        if reservation["cabin"] == "basic_economy":
            raise DiscardedError("basic economy flights cannot be changed")
        ways = legs(reservation)
        number = self.rng.randrange(len(ways))
        way = ways[number]
        seats, cabin = len(reservation["passengers"]), reservation["cabin"]
        after = ways[0][-1]["date"] if number else ""
        before = ways[1][0]["date"] if len(ways) > 1 and number == 0 else "9999"
        dates = [date for date in DATES if after < date < before and (date != way[0]["date"] or len(way) > 1)]
        origin, destination = way[0]["origin"], way[-1]["destination"]
        self.rng.shuffle(dates)
        for date in dates:
            found = self.airline.direct(origin, destination, date, cabin, seats)
            if found:
                break
        else:
            raise DiscardedError("no direct flight on another day")
        flight, said = pick_flight(found, cabin, self.rng)
        new = [{**flight, "date": date, "price": flight["prices"][cabin]}]
        name = ("the return flight", "the outbound flight")[number == 0] if len(ways) > 1 else "the flight"
        phrase = f"change {name} of {where} to a direct flight from {origin} to {destination} on {date}{said}"
        lookup = ("search_direct_flight", {"origin": origin, "destination": destination, "date": date})
        terms = (*(f["price"] * seats for f in way), -new[0]["price"] * seats)
        flights = [f for leg in (ways[:number], [new], ways[number + 1 :]) for part in leg for f in part]
        return self._update(reservation, cabin, flights, phrase, (lookup,), terms)

    def _update(
        self,
        reservation: Json,
        cabin: str,
        flights: list[Json],
        phrase: str,
        lookups: tuple[tuple[str, Json], ...] = (),
        terms: tuple[float, ...] = (),
    ) -> Change:
        method, said, profile = self._pay(reservation)
        arguments = {
            "reservation_id": reservation["reservation_id"],
            "cabin": cabin,
            "flights": as_info(flights),
            "payment_id": method["id"],
        }
        own = (reservation["reservation_id"],)
        return Change(FLIGHTS, arguments, f"{WANT} {phrase}{said}", lookups, profile, own, terms)

    def _bags(self, reservation: Json, where: str) -> Change:
        more = weighted(self.rng, {1: 5, 2: 4, 3: 2})
        total = reservation["total_baggages"] + more
        paid = nonfree_bags(total, reservation["cabin"], len(reservation["passengers"]), self.user["membership"])
        paid = max(paid, reservation["nonfree_baggages"])
        method, said, profile = self._pay(reservation)
        bags = f"{more} checked bag{'s' if more > 1 else ''}"
        phrase = self.rng.choice((f"add {bags} to {where} ({total} in all)", f"have {total} checked bags on {where}"))
        arguments = {
            "reservation_id": reservation["reservation_id"],
            "total_baggages": total,
            "nonfree_baggages": paid,
            "payment_id": method["id"],
        }
        return Change(BAGS, arguments, f"{WANT} {phrase}{said}", (), profile, (reservation["reservation_id"],))

    def _passengers(self, reservation: Json, where: str) -> Change:
        passengers = [dict(passenger) for passenger in reservation["passengers"]]
        one = self.rng.choice(passengers)
        old = f"{one['first_name']} {one['last_name']}"
        if chance(self.rng, 0.6):
            one["last_name"] = self.rng.choice(SURNAMES)
            phrase = f"change the name of {old} on {where} to {one['first_name']} {one['last_name']}"
        else:
            saved = [new for new in self.user["saved_passengers"] if new not in passengers]
            if not saved:
                raise DiscardedError("no other passenger to put in")
            one.update(self.rng.choice(saved))
            name = f"{one['first_name']} {one['last_name']}"
            phrase = f"put {name} (born {one['dob']}) on {where} in place of {old}"
        arguments = {"reservation_id": reservation["reservation_id"], "passengers": passengers}
        return Change(PASSENGERS, arguments, f"{WANT} {phrase}", reads=(reservation["reservation_id"],))

    def _pay(self, reservation: Json) -> tuple[Json, str, bool]:
        """A card or gift card, its words, and whether it must be looked up in the profile."""
        fitting = [method for method in self.methods if method["source"] != "certificate"]
        if not fitting:
            raise DiscardedError("nothing to pay with but certificates")
        original = next((m for m in fitting if m["id"] == reservation["payment_history"][0]["payment_id"]), None)
        if original is not None and not self.careful and chance(self.rng, 0.2):
            return original, self.rng.choice((", paid with the original payment method", ", paid as the booking was")), False
        method = choose_method(fitting, self.methods, self.rng)
        opening = self.rng.choice((", paid with", ", and use", ", charged to"))
        return method, f"{opening} {payment_words(method, self.methods, self.rng)}", True
