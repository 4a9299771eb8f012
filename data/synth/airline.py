"""New plans for the airline: an outline from the train split's gold, a passenger who can have it, real calls, their words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from data.environments import load_environment
from data.synth.airline_booking import Booker
from data.synth.airline_goals import CABINS, ROUTE, AirlineGoal, AirlineGoalMaker
from data.synth.airline_records import BAGS, BOOK, CANCEL, CERTIFICATE, DATES, FLIGHTS, PASSENGERS, Airline
from data.synth.airline_words import cabin_words
from data.synth.base import Change, DiscardedError, Json, Recorder, Story, chance, free_users, load_database, weighted
from data.synth.shapes import Shape, gold_shapes
from data.synth.words import WANT, money, persona, sum_expression, wishes

BUNDLES: Mapping[tuple[str, ...], float] = {
    (CANCEL,): 25,
    (FLIGHTS,): 25,
    (BAGS,): 14,
    (PASSENGERS,): 14,
    (FLIGHTS, BAGS): 10,
    (PASSENGERS, BAGS): 6,
    (FLIGHTS, PASSENGERS, BAGS): 3,
    (FLIGHTS, CANCEL): 3,
}
"""What one reservation may go through, by weight: for outlines that no gold plan has."""

GOLD_SHARE = 0.6
"""The share of plans whose outline is a gold plan's."""
IDLE_SHARE = 0.5
"""The share kept of gold outlines without any write: the benchmark has many, and they teach little."""
VOUCHER = {"cancelled": 100, "delayed": 50}
"""Dollars of compensation for each passenger."""
TRIES = 40  # users looked at for one plan


class AirlineSampler:
    """Samples plans for tau2's airline."""

    def __init__(self, env_name: str) -> None:
        database = load_database("airline")
        self.airline = Airline(free_users(env_name), database["reservations"], database["flights"])
        self.shapes = gold_shapes(load_environment(env_name), "reservation_id")

    def sample(self, rng: random.Random, recorder: Recorder) -> Story:
        """See `Sampler`."""
        shape = self._shape(rng)
        user, reservations = self._user(shape, rng)
        return _Plan(self.airline, user, reservations, shape, rng, recorder).carry_out()

    def _shape(self, rng: random.Random) -> Shape:
        shape = rng.choice(self.shapes)
        while not shape.bundles and not shape.alone and not chance(rng, IDLE_SHARE):
            shape = rng.choice(self.shapes)
        if chance(rng, GOLD_SHARE):
            return shape
        bundles = tuple(weighted(rng, BUNDLES) for _ in range(weighted(rng, {0: 18, 1: 60, 2: 22})))
        alone = () if bundles and chance(rng, 0.85) else (weighted(rng, {BOOK: 0.8, CERTIFICATE: 0.2}),)
        return replace(shape, bundles=bundles, alone=alone)

    def _user(self, shape: Shape, rng: random.Random) -> tuple[Json, list[Json]]:
        """A user, and a reservation for each bundle (and one for a certificate) that the policy lets be changed so."""
        needs = [tuple(t for t in bundle if t != CANCEL or FLIGHTS not in bundle) for bundle in shape.bundles]
        needs += [(CERTIFICATE,)] if CERTIFICATE in shape.alone else []
        idle = not needs and not shape.alone
        for user in rng.sample(self.airline.users, TRIES):
            free = [self.airline.reservations[key] for key in user["reservations"]]
            rng.shuffle(free)
            chosen = []
            for need in needs:
                fitting = [r for r in free if r not in chosen and all(self.airline.allows(tool, r, user) for tool in need)]
                chosen += fitting[:1]
            if len(chosen) == len(needs) and (free or not idle):
                return user, chosen
        raise DiscardedError("no passenger has such reservations")


class _Plan:
    """One attempt."""

    def __init__(
        self, airline: Airline, user: Json, reservations: list[Json], shape: Shape, rng: random.Random, recorder: Recorder
    ) -> None:
        self.airline, self.user, self.shape, self.rng, self.recorder = airline, user, shape, rng, recorder
        self.chosen = reservations
        self.careful = "get_user_details" in shape.lookups or (bool(shape.alone) and chance(rng, 0.5))
        self.checked = self.careful or "get_reservation_details" in shape.lookups
        self.maker = AirlineGoalMaker(airline, user, self.careful, rng)
        self.sentences: list[str] = []
        self.values: list[str] = []
        self.asked_about: list[str] = []
        """Ids of reservations to read, to answer a question."""

    def carry_out(self) -> Story:
        goals = [self.maker.goal(r, bundle) for r, bundle in zip(self.chosen, self.shape.bundles, strict=False)]
        changes = [change for goal in goals for change in goal.changes] + [self._alone(tool) for tool in self.shape.alone[:2]]
        lookups: list[tuple[str, Json]] = []
        if not changes:
            lookups = self._idle()
        expression = self._ask(goals, changes) if changes and (self.shape.asks or chance(self.rng, 0.1)) else None
        self._look_up(goals, changes)
        self.recorder.look_up(lookups)
        if expression or chance(self.rng, 0.6):  # else each change right after its lookups
            self.recorder.look_up(lookup for change in changes for lookup in change.lookups)
        if expression:
            self.values.append(self.recorder.call("calculate", expression=expression).lstrip("-").removesuffix(".0"))
        for change in changes:
            self.recorder.look_up(change.lookups)
            self.recorder.call(change.tool, **change.arguments)
        return Story(self._text(wishes(changes, self.rng) + self.sentences), tuple(self.values))

    def _alone(self, tool: str) -> Change:
        return Booker(self.airline, self.user, self.rng).booking() if tool == BOOK else self._certificate()

    def _certificate(self) -> Change:
        """A gesture for a flight that did not go, or went late."""
        reservation = self.chosen[-1]
        statuses = self.airline.statuses(reservation)
        status = "cancelled" if "cancelled" in statuses else "delayed"
        flight = reservation["flights"][statuses.index(status)]
        amount = VOUCHER[status] * len(reservation["passengers"])
        wish = f"be compensated for the {status} flight from {flight['origin']} to {flight['destination']} in"
        words = f"{WANT} {wish} {self.maker.where(reservation)}"
        words += f", with a certificate of ${amount}" if chance(self.rng, 0.6) else ""
        status_call = ("get_flight_status", {"flight_number": flight["flight_number"], "date": flight["date"]})
        lookups = (status_call,) if chance(self.rng, 0.5) else ()
        arguments = {"user_id": self.user["user_id"], "amount": amount}
        return Change(CERTIFICATE, arguments, words, lookups, True, (reservation["reservation_id"],))

    # Plans that change nothing.

    def _idle(self) -> list[tuple[str, Json]]:
        """A question, or a wish that the policy refuses; returns the lookups beside those of reservations."""
        mine = list(self.maker.reservations.values())
        refused = [r for r in mine if not self.airline.allows(CANCEL, r, self.user)]
        if refused and chance(self.rng, 0.4):
            reservation = self.rng.choice(refused)
            where = self.maker.where(reservation)
            self.sentences.append(f"You want to cancel {where} and get all your money back. You accept nothing less.")
            self.asked_about.append(reservation["reservation_id"])
            return []
        kinds = self.rng.sample(("bags", "paid", "passengers", "status", "fare"), self.rng.randint(1, 2))
        return [lookup for kind in kinds for lookup in self._question(kind, self.rng.choice(mine))]

    def _question(self, kind: str, reservation: Json) -> list[tuple[str, Json]]:
        if kind == "fare":
            return [self._fare()]
        where = self.maker.where(reservation)
        self.asked_about.append(reservation["reservation_id"])
        if kind == "bags":
            self.sentences.append(f"You want to know how many checked bags you have on {where}.")
            self.values.append(str(reservation["total_baggages"]))
        elif kind == "paid":
            self.sentences.append(f"You want to know how much you paid for {where}.")
            self.values.append(money(reservation["payment_history"][0]["amount"]))
        elif kind == "passengers":
            self.sentences.append(f"You want to know how many passengers are on {where}.")
            self.values.append(str(len(reservation["passengers"])))
        else:
            flight, status = self.rng.choice(list(zip(reservation["flights"], self.airline.statuses(reservation), strict=True)))
            way = f"from {flight['origin']} to {flight['destination']} on {flight['date']}"
            self.sentences.append(f"You want to know the status of the flight {way} in {where}.")
            self.values.append(status)
            return [("get_flight_status", {"flight_number": flight["flight_number"], "date": flight["date"]})]
        return []

    def _fare(self) -> tuple[str, Json]:
        (origin, destination), date = self.rng.choice(list(self.airline.routes)), self.rng.choice(DATES)
        cabin = self.rng.choice(CABINS)
        price = min(f["prices"][cabin] for f in self.airline.direct(origin, destination, date, cabin, 0))
        what = f"the lowest {cabin_words(cabin)} fare of a direct flight from {origin} to {destination} on {date}"
        self.sentences.append(f"You want to know {what}.")
        self.values.append(money(price))
        return ("search_direct_flight", {"origin": origin, "destination": destination, "date": date})

    def _ask(self, goals: Sequence[AirlineGoal], changes: Sequence[Change]) -> str | None:
        """Ask for the money, or for something about a reservation; an expression where it must be calculated."""
        terms = [term for change in changes for term in change.terms]
        if terms and chance(self.rng, 0.7):
            self.asked_about += [goal.reservation["reservation_id"] for goal in goals]
            back = all(term > 0 for term in terms)
            costs = ("what all of this costs in total", "the total that you pay or get back")
            what = "the total amount of your refund" if back else self.rng.choice(costs)
            self.sentences.append(f"You want to know {what}.")
            if len(terms) > 1:
                return sum_expression(terms)
            self.values.append(money(abs(terms[0])))
        elif goals:
            self._question(self.rng.choice(("bags", "paid", "passengers")), goals[0].reservation)
        return None

    # What an agent looks up before it acts.

    def _look_up(self, goals: Sequence[AirlineGoal], changes: Sequence[Change]) -> None:
        needed = [read for change in changes for read in change.reads] + self.asked_about
        wanted = list(dict.fromkeys([*(goal.reservation["reservation_id"] for goal in goals), *needed]))
        said = " ".join([change.words for change in changes] + self.sentences)
        unknown = ROUTE in said and any(key not in said for key in wanted)
        profile = unknown or any(change.profile for change in changes)
        if self.careful or unknown:
            self.recorder.call("get_user_details", user_id=self.user["user_id"])
        for key in self._reading_order(wanted) if unknown else wanted:
            if self.checked or key in needed or unknown:
                self.recorder.call("get_reservation_details", reservation_id=key)
        if profile and not self.careful and not unknown:
            self.recorder.call("get_user_details", user_id=self.user["user_id"])

    def _reading_order(self, wanted: Sequence[str]) -> list[str]:
        """The profile's reservations from the first on: all, or up to the last one that is needed."""
        listed: list[str] = self.user["reservations"]
        last = max(listed.index(key) for key in wanted)
        return listed if chance(self.rng, 0.6) else listed[: last + 1]

    # What the passenger says.

    def _text(self, sentences: Sequence[str]) -> str:
        first, last = self.user["name"]["first_name"], self.user["name"]["last_name"]
        user_id = self.user["user_id"]
        who = self.rng.choice(
            (
                f"You are {first} {last}. Your user id is {user_id}.",
                f"Your name is {first} {last}, and your user id is {user_id}.",
                f"You are {first} {last} (user id {user_id}).",
            )
        )
        parts = [" ".join(sentences), who]
        if chance(self.rng, 0.7):
            parts.append(persona(self.rng))
        return "\n\n".join(parts)
