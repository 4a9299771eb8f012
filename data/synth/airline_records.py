"""The airline's database as a sampler looks at it: what may be done to a reservation under the benchmark's policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from data.synth.base import Json

BOOK, CANCEL, CERTIFICATE = "book_reservation", "cancel_reservation", "send_certificate"
FLIGHTS, BAGS = "update_reservation_flights", "update_reservation_baggages"
PASSENGERS = "update_reservation_passengers"

YESTERDAY = "2024-05-14T15:00:00"
"""24 hours before the benchmark's present: what was booked since may be cancelled."""
DATES = tuple(f"2024-05-{day}" for day in range(16, 31))
"""The days whose flights can be booked."""
COVERED = ("you are ill", "of a health problem", "of the bad weather")
"""Reasons for which travel insurance allows to cancel."""
FREE_BAGS: Mapping[str, int] = {"basic_economy": 0, "economy": 1, "business": 2}
"""Free checked bags for a passenger, for a regular member."""
MEMBER_BAGS: Mapping[str, int] = {"regular": 0, "silver": 1, "gold": 2}
"""How many more a member has."""


@dataclass(frozen=True)
class Airline:
    """The database before any call, and the users that plans may be about."""

    users: list[Json]
    reservations: Mapping[str, Json]
    flights: Mapping[str, Json]

    @cached_property
    def routes(self) -> dict[tuple[str, str], list[Json]]:
        """The flights between two airports."""
        found: dict[tuple[str, str], list[Json]] = {}
        for flight in self.flights.values():
            found.setdefault((flight["origin"], flight["destination"]), []).append(flight)
        return found

    def direct(self, origin: str, destination: str, date: str, cabin: str, seats: int) -> list[Json]:
        """Flights that can be booked, in the form of the search's results."""
        found = []
        for flight in self.routes.get((origin, destination), ()):
            day = flight["dates"].get(date, {})
            if day.get("status") == "available" and day["available_seats"][cabin] >= seats:
                found.append({**flight, "prices": day["prices"]})
        return found

    def statuses(self, reservation: Json) -> list[str]:
        """The status of each of a reservation's flights."""
        return [self.flights[f["flight_number"]]["dates"][f["date"]]["status"] for f in reservation["flights"]]

    def allows(self, tool: str, reservation: Json, user: Json) -> bool:
        """May the agent make such a change to the reservation?"""
        statuses = self.statuses(reservation)
        if tool == CERTIFICATE:
            deserves = user["membership"] != "regular" or reservation["insurance"] == "yes" or reservation["cabin"] == "business"
            return deserves and bool({"cancelled", "delayed"} & set(statuses))
        if tool == CANCEL:
            return not {"landed", "flying"} & set(statuses) and (
                reservation["cabin"] == "business"
                or reservation["insurance"] == "yes"
                or reservation["created_at"] >= YESTERDAY
                or "cancelled" in statuses
            )
        payable = any(method["source"] != "certificate" for method in user["payment_methods"].values())
        return set(statuses) == {"available"} and (payable or tool == PASSENGERS)


def legs(reservation: Json) -> list[list[Json]]:
    """The flights there, and back where the trip is a round trip."""
    flights: list[Json] = reservation["flights"]
    if reservation["flight_type"] == "one_way":
        return [flights]
    turn = next(n for n, f in enumerate(flights, 1) if f["destination"] == reservation["destination"])
    return [flights[:turn], flights[turn:]]


def nonfree_bags(total: int, cabin: str, passengers: int, membership: str) -> int:
    """How many of `total` checked bags are paid for."""
    return max(0, total - passengers * (FREE_BAGS[cabin] + MEMBER_BAGS[membership]))


def as_info(flights: list[Json]) -> list[Json]:
    """Flights as the tools take them."""
    return [{"flight_number": flight["flight_number"], "date": flight["date"]} for flight in flights]
