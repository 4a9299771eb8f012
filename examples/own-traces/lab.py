"""A made-up laboratory whose instruments are booked through an agent: its records, and the tools over them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


class RefusedError(Exception):
    """A tool refuses; the text is its answer."""


KINDS = {"microscope": "CERT-OPT", "centrifuge": "CERT-ROT", "cryostat": "CERT-LN2", "sequencer": "CERT-SEQ"}
"""Kind of instrument -> the certificate that it needs."""
NAMES = {
    "microscope": ("Lumen 4 confocal", "Aster light sheet"),
    "centrifuge": ("Vortex 9 ultracentrifuge", "Gyro mini"),
    "cryostat": ("Boreal CM2", "Frost 12"),
    "sequencer": ("Helix bench sequencer", "Ribo long-read"),
}
PEOPLE = ("Ines Falk", "Tomas Brandt", "Yuki Arai", "Oluwaseun Bello", "Marta Kruk", "Jonas Heim", "Priya Nair", "Elif Demir")
DATES = tuple(f"2026-03-{day:02}" for day in (9, 10, 11, 12, 13, 16, 17, 18))
HOURS = ("08:00", "10:30", "13:00", "15:30")


class Lab:
    """The whole laboratory. Every tool is a method; what it returns is what the agent sees."""

    def __init__(self) -> None:
        self.members: dict[str, Json] = {}
        self.instruments: dict[str, Json] = {}
        self.slots: dict[str, Json] = {}
        self.bookings: dict[str, Json] = {}
        self.accounts: dict[str, Json] = {}
        self.count = 4100
        for number, name in enumerate(PEOPLE):
            self._add_member(number, name)
        for number, (kind, name) in enumerate((kind, name) for kind, names in NAMES.items() for name in names):
            self._add_instrument(number, kind, name)
        for number, member in enumerate(self.members.values()):
            for step in range(2):
                self._book_something(member, 2 * number + step)

    def _add_member(self, number: int, name: str) -> None:
        member_id, account = f"mbr_{3017 + 61 * number}", f"GRANT-{7100 + 37 * number}"
        email = f"{name.lower().replace(' ', '.')}@lab.example"
        held = [cert for place, cert in enumerate(KINDS.values()) if (place + number) % 4]
        self.members[member_id] = {
            "member_id": member_id,
            "name": name,
            "email": email,
            "account_code": account,
            "certificates": held,
        }
        self.accounts[account] = {"account_code": account, "owner": member_id, "balance": 1250 + 315 * number}

    def _add_instrument(self, number: int, kind: str, name: str) -> None:
        instrument_id = f"ins_{520 + 13 * number}"
        self.instruments[instrument_id] = {
            "instrument_id": instrument_id,
            "name": name,
            "kind": kind,
            "room": f"R{210 + number}",
            "certificate": KINDS[kind],
            "hourly_rate": 18 + 7 * number,
        }
        for day, date in enumerate(DATES):
            for hour, start in enumerate(HOURS):
                slot_id = f"slot_{80000 + 1000 * number + 10 * day + hour}"
                values = {"slot_id": slot_id, "instrument_id": instrument_id, "date": date, "start": start, "booking_id": None}
                self.slots[slot_id] = values

    def _book_something(self, member: Json, number: int) -> None:
        known = [i for i in self.instruments.values() if i["certificate"] in member["certificates"]]
        instrument = known[number % len(known)]
        free = [s for s in self.slots.values() if s["instrument_id"] == instrument["instrument_id"] and not s["booking_id"]]
        self.book_slot(free[(5 * number) % len(free)]["slot_id"], member["member_id"], member["account_code"])

    def _number(self, prefix: str) -> str:
        self.count += 7
        return f"{prefix}-{self.count}"

    # --- look-ups -----------------------------------------------------------------------------------------------------

    def find_member(self, email: str) -> Json:
        found = [member for member in self.members.values() if member["email"] == email.lower()]
        if not found:
            raise RefusedError(f"no member with the address {email}")
        return found[0]

    def list_instruments(self, kind: str) -> list[Json]:
        return [instrument for instrument in self.instruments.values() if instrument["kind"] == kind]

    def get_instrument(self, instrument_id: str) -> Json:
        if instrument_id not in self.instruments:
            raise RefusedError(f"unknown instrument {instrument_id}")
        return self.instruments[instrument_id]

    def list_free_slots(self, instrument_id: str, date: str) -> list[Json]:
        self.get_instrument(instrument_id)
        slots = [s for s in self.slots.values() if s["instrument_id"] == instrument_id and s["date"] == date]
        return [{"slot_id": slot["slot_id"], "start": slot["start"]} for slot in slots if not slot["booking_id"]]

    def list_bookings(self, member_id: str) -> list[Json]:
        return [booking for booking in self.bookings.values() if booking["member_id"] == member_id]

    def get_account(self, account_code: str) -> Json:
        if account_code not in self.accounts:
            raise RefusedError(f"unknown account {account_code}")
        return self.accounts[account_code]

    # --- writes -------------------------------------------------------------------------------------------------------

    def book_slot(self, slot_id: str, member_id: str, account_code: str) -> Json:
        slot, member = self._free(slot_id), self.members[member_id]
        instrument = self.instruments[slot["instrument_id"]]
        if instrument["certificate"] not in member["certificates"]:
            raise RefusedError(f"{member_id} does not hold the certificate {instrument['certificate']}")
        booking_id = self._number("BK")
        slot["booking_id"] = booking_id
        self.bookings[booking_id] = {
            "booking_id": booking_id,
            "member_id": member_id,
            "instrument_id": instrument["instrument_id"],
            "instrument": instrument["name"],
            "slot_id": slot_id,
            "date": slot["date"],
            "start": slot["start"],
            "account_code": account_code,
            "status": "confirmed",
        }
        return self.bookings[booking_id]

    def move_booking(self, booking_id: str, slot_id: str) -> Json:
        booking, slot = self._booking(booking_id), self._free(slot_id)
        if slot["instrument_id"] != booking["instrument_id"]:
            raise RefusedError(f"{slot_id} is a slot of another instrument")
        self.slots[booking["slot_id"]]["booking_id"] = None
        slot["booking_id"] = booking_id
        booking |= {"slot_id": slot_id, "date": slot["date"], "start": slot["start"]}
        return booking

    def cancel_booking(self, booking_id: str, reason: str) -> Json:
        booking = self._booking(booking_id)
        self.slots[booking["slot_id"]]["booking_id"] = None
        booking |= {"status": "cancelled", "reason": reason}
        return booking

    def report_fault(self, instrument_id: str, description: str) -> Json:
        instrument = self.get_instrument(instrument_id)
        return {"ticket_id": self._number("TKT"), "instrument_id": instrument_id, "room": instrument["room"], "state": "open"}

    def request_training(self, member_id: str, certificate: str) -> Json:
        return {"request_id": self._number("TRN"), "member_id": member_id, "certificate": certificate, "state": "waiting"}

    def _free(self, slot_id: str) -> Json:
        slot = self.slots.get(slot_id)
        if slot is None or slot["booking_id"]:
            raise RefusedError(f"slot {slot_id} is not free")
        return slot

    def _booking(self, booking_id: str) -> Json:
        booking = self.bookings.get(booking_id)
        if booking is None or booking["status"] != "confirmed":
            raise RefusedError(f"no confirmed booking {booking_id}")
        return booking


def _tool(name: str, description: str, reads: bool, /, **parameters: str) -> Json:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    function = {"name": name, "description": description, "parameters": schema, "annotations": {"readOnlyHint": reads}}
    return {"type": "function", "function": function}


SLOT, DAY = "Identifier of a slot", "Day as YYYY-MM-DD"
TOOLS = [
    _tool("find_member", "Find a member by email address.", True, email="The member's address"),
    _tool("list_instruments", "List the instruments of a kind.", True, kind="Kind, such as 'microscope'"),
    _tool("get_instrument", "Show one instrument.", True, instrument_id="Identifier of the instrument"),
    _tool("list_free_slots", "List the free slots of a day.", True, instrument_id="Identifier of the instrument", date=DAY),
    _tool("list_bookings", "List a member's bookings.", True, member_id="Identifier of the member"),
    _tool("get_account", "Show the account that pays.", True, account_code="Code of the account"),
    _tool("book_slot", "Book a slot.", False, slot_id=SLOT, member_id="Who books", account_code="Which account pays"),
    _tool("move_booking", "Move a booking to another slot of its instrument.", False, booking_id="The booking", slot_id=SLOT),
    _tool("cancel_booking", "Cancel a booking.", False, booking_id="The booking", reason="Why: 'no longer needed'"),
    _tool("report_fault", "Open a ticket for a fault.", False, instrument_id="Which instrument", description="What is wrong"),
    _tool("request_training", "Ask for a training.", False, member_id="Who asks", certificate="Which certificate is wanted"),
]
