"""Writes `traces.jsonl` and `tools.json`: conversations of an agent that books laboratory instruments, as a logger saved them.

Every result is that of the simulated laboratory (`lab.py`), so later calls use what earlier ones found. The logger has the warts
of real ones: it changed its format over time, lost some ids and the tools of two conversations, and died in the last line.
Run it again with `python examples/own-traces/make_traces.py`: it writes the same files.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab import DATES, KINDS, NAMES, TOOLS, Json, Lab, RefusedError

HERE = Path(__file__).parent
SYSTEM = "You book laboratory instruments for members. Look things up before you change them."
MONTH = "March"
FAULTS = ("The lid does not lock.", "It stops with error E-417.", "The lamp flickers after ten minutes.", "It drips oil.")
CONVERSATIONS = 56


class Talk:
    """One conversation while it goes on."""

    def __init__(self, lab: Lab, rng: random.Random) -> None:
        self.lab, self.rng = lab, rng
        self.messages: list[Json] = [{"role": "system", "content": SYSTEM}]
        self.member = rng.choice(list(lab.members.values()))
        self.told: list[str] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def agent(self, text: str, *told: str) -> None:
        """What the agent says, and what of it the user must be told."""
        self.messages.append({"role": "assistant", "content": text})
        self.told += told

    def call(self, tool: str, **arguments: str) -> Any:
        """One call with its result; None where the tool refuses."""
        return self.calls((tool, arguments))[0]

    def calls(self, *wanted: tuple[str, Json]) -> list[Any]:
        """Calls of one turn, and their results after it."""
        made, answers, values = [], [], []
        for tool, arguments in wanted:
            name = f"call_{self.rng.randrange(16**8):08x}"
            made.append({"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}})
            try:
                value, answer = json.loads(json.dumps(getattr(self.lab, tool)(**arguments))), {}
            except RefusedError as refused:
                value, answer = None, {"error": True, "content": f"Error: {refused}"}
            values.append(value)
            answers.append({"role": "tool", "tool_call_id": name, "content": json.dumps(value), **answer})
        self.messages += [{"role": "assistant", "content": None, "tool_calls": made}, *answers]
        return values

    def who(self) -> str:
        return str(self.call("find_member", email=self.member["email"])["member_id"])


def spoken(date: str) -> str:
    return f"{int(date[-2:])} {MONTH}"


def held(talk: Talk, wanted: bool) -> str:
    """A kind of instrument for which the member holds the certificate, or does not."""
    kinds = [kind for kind, cert in KINDS.items() if (cert in talk.member["certificates"]) is wanted]
    return talk.rng.choice(kinds)


def choose(talk: Talk, kind: str) -> tuple[str, str, str]:
    """The name of an instrument, a day and an hour at which it is free."""
    name = talk.rng.choice(NAMES[kind])
    own = next(i["instrument_id"] for i in talk.lab.instruments.values() if i["name"] == name)
    date = talk.rng.choice([date for date in DATES if talk.lab.list_free_slots(own, date)])
    return name, date, talk.rng.choice(talk.lab.list_free_slots(own, date))["start"]


def slot_of(talk: Talk, instrument_id: str, date: str, start: str) -> str:
    slots = talk.call("list_free_slots", instrument_id=instrument_id, date=date)
    return str(next(slot["slot_id"] for slot in slots if slot["start"] == start))


def instrument_of(talk: Talk, kind: str, name: str) -> Json:
    return dict(next(i for i in talk.call("list_instruments", kind=kind) if i["name"] == name))


def book(talk: Talk) -> None:
    kind = held(talk, True)
    name, date, start = choose(talk, kind)
    talk.user(f"Hello, I need the {name} ({kind}) on {spoken(date)} at {start}. My address is {talk.member['email']}.")
    member_id = talk.who()
    instrument = instrument_of(talk, kind, name)
    slot_id = slot_of(talk, instrument["instrument_id"], date, start)
    booking = talk.call("book_slot", slot_id=slot_id, member_id=member_id, account_code=talk.member["account_code"])
    talk.agent(f"Done: your booking is {booking['booking_id']}, in room {instrument['room']}.")


def book_late_address(talk: Talk) -> None:
    kind = held(talk, True)
    name, date, start = choose(talk, kind)
    talk.user(f"Can I have the {name} on {spoken(date)}? It is a {kind}.")
    instrument = instrument_of(talk, kind, name)
    slots = talk.call("list_free_slots", instrument_id=instrument["instrument_id"], date=date)
    talk.agent("There are slots at " + ", ".join(slot["start"] for slot in slots) + ". Who are you, and which one?")
    talk.user(f"{talk.member['email']}, at {start} please.")
    member_id = talk.who()
    slot_id = next(slot["slot_id"] for slot in slots if slot["start"] == start)
    booking = talk.call("book_slot", slot_id=slot_id, member_id=member_id, account_code=talk.member["account_code"])
    talk.agent(f"Booked as {booking['booking_id']}.")


def own_booking(talk: Talk) -> Json | None:
    mine = [b for b in talk.lab.list_bookings(talk.member["member_id"]) if b["status"] == "confirmed"]
    return dict(talk.rng.choice(mine)) if mine else None


def move(talk: Talk) -> None:
    booking = own_booking(talk)
    if booking is None:
        return book(talk)
    date = talk.rng.choice([d for d in DATES if d != booking["date"] and talk.lab.list_free_slots(booking["instrument_id"], d)])
    start = talk.rng.choice(talk.lab.list_free_slots(booking["instrument_id"], date))["start"]
    talk.user(
        f"I am {talk.member['name']}, {talk.member['email']}. Please move my booking of the {booking['instrument']} on "
        f"{spoken(booking['date'])} to {spoken(date)}, {start}."
    )
    found = next(b for b in talk.call("list_bookings", member_id=talk.who()) if b["booking_id"] == booking["booking_id"])
    slot_id = slot_of(talk, found["instrument_id"], date, start)
    talk.call("move_booking", booking_id=found["booking_id"], slot_id=slot_id)
    talk.agent(f"It is moved to {spoken(date)}, {start}.")


def cancel(talk: Talk) -> None:
    booking = own_booking(talk)
    if booking is None:
        return book(talk)
    talk.user(f"Cancel my {booking['instrument']} booking of {spoken(booking['date'])}, no longer needed. {talk.member['email']}")
    found = next(b for b in talk.call("list_bookings", member_id=talk.who()) if b["booking_id"] == booking["booking_id"])
    talk.call("cancel_booking", booking_id=found["booking_id"], reason="no longer needed")
    talk.agent("Cancelled.")


def fault(talk: Talk) -> None:
    kind = talk.rng.choice(list(KINDS))
    name, text = talk.rng.choice(NAMES[kind]), talk.rng.choice(FAULTS)
    talk.user(f'The {name}, a {kind}, is broken. Report this: "{text}"')
    instrument = instrument_of(talk, kind, name)
    ticket = talk.call("report_fault", instrument_id=instrument["instrument_id"], description=text)
    talk.agent(f"Thank you. The ticket is {ticket['ticket_id']}.", ticket["ticket_id"])


def training(talk: Talk) -> None:
    """The booking is refused, and a training is asked for."""
    kind = held(talk, False)
    name, date, start = choose(talk, kind)
    talk.user(
        f"Book the {name} ({kind}) for {talk.member['email']} on {spoken(date)}, {start}. If I lack the certificate, sign me up "
        "for the training."
    )
    member_id = talk.who()
    instrument = instrument_of(talk, kind, name)
    slot_id = slot_of(talk, instrument["instrument_id"], date, start)
    talk.call("book_slot", slot_id=slot_id, member_id=member_id, account_code=talk.member["account_code"])
    request = talk.call("request_training", member_id=member_id, certificate=instrument["certificate"])
    told = f"You need {instrument['certificate']} first. Your request for the training is {request['request_id']}."
    talk.agent(told, request["request_id"])


def exchange(talk: Talk) -> None:
    """One booking goes, another comes; the look-ups are made in one turn."""
    booking, kind = own_booking(talk), held(talk, True)
    if booking is None:
        return book(talk)
    name, date, start = choose(talk, kind)
    talk.user(
        f"{talk.member['email']} here. I want the {name} ({kind}) on {spoken(date)} at {start} in place of my "
        f"{booking['instrument']} on {spoken(booking['date'])}, which is no longer needed."
    )
    member_id = talk.who()
    wanted = (("list_bookings", {"member_id": member_id}), ("list_instruments", {"kind": kind}))
    mine, instruments = talk.calls(*wanted)
    found = next(b for b in mine if b["booking_id"] == booking["booking_id"])
    instrument = next(i for i in instruments if i["name"] == name)
    slot_id = slot_of(talk, instrument["instrument_id"], date, start)
    talk.call("cancel_booking", booking_id=found["booking_id"], reason="no longer needed")
    made = talk.call("book_slot", slot_id=slot_id, member_id=member_id, account_code=talk.member["account_code"])
    talk.agent(f"Exchanged. The new booking is {made['booking_id']}.")


def question(talk: Talk) -> None:
    talk.user(f"How much is left in my account? I am {talk.member['email']}.")
    member_id = talk.who()
    code = talk.lab.members[member_id]["account_code"]
    account = talk.call("get_account", account_code=code)
    talk.agent(f"There is {account['balance']} left in {account['account_code']}.", str(account["balance"]))


STORIES: tuple[Callable[[Talk], None], ...] = (book, move, cancel, fault, training, exchange, book_late_address, question)


def record(number: int, rng: random.Random) -> Json:
    """One conversation in the laboratory as it is on the first day."""
    talk = Talk(Lab(), rng)
    STORIES[number % len(STORIES)](talk)
    wanted = {"communicate": talk.told} if talk.told else {}
    return {"id": f"conv-{number:03}", "domain": "lab", **wanted, "messages": talk.messages, "tools": TOOLS}


def worn(value: Json, number: int) -> Json:
    """What the logger made of a conversation."""
    calls = [call for message in value["messages"] for call in message.get("tool_calls") or ()]
    if number % 9 == 2:  # arguments were encoded twice
        calls[0]["function"]["arguments"] = json.dumps(calls[0]["function"]["arguments"])
    if number % 9 == 4:  # content came as parts
        for message in value["messages"]:
            if message["role"] == "user":
                message["content"] = [{"type": "text", "text": message["content"]}]
    if number % 11 == 5:  # an exporter lost the ids
        for message in value["messages"]:
            message.pop("tool_call_id", None)
            for call in message.get("tool_calls") or ():
                call["id"] = ""
    if number % 14 == 6 and all(len(message.get("tool_calls") or ()) < 2 for message in value["messages"]):
        value["functions"] = [tool["function"] for tool in value.pop("tools")]  # the older API
        value["messages"] = [_older(message) for message in value["messages"]]
    if number in (19, 47):  # before the logger wrote tools
        value.pop("tools", None)
    if number == 33:  # the agent was stopped before the last result
        last = max(place for place, message in enumerate(value["messages"]) if message["role"] == "tool")
        value["messages"] = value["messages"][:last]
    return value


def _older(message: Json) -> Json:
    calls = message.get("tool_calls")
    if calls:
        return {"role": "assistant", "content": None, "function_call": calls[0]["function"]}
    if message["role"] == "tool":
        return {key: part for key, part in message.items() if key != "tool_call_id"} | {"role": "function"}
    return message


def main() -> None:
    rng = random.Random(20260309)
    records = [worn(record(number, rng), number) for number in range(CONVERSATIONS)]
    lines = [json.dumps(value, separators=(",", ":")) for value in records]
    lines.append(lines[0][:700])  # the logger died
    (HERE / "traces.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (HERE / "tools.json").write_text(json.dumps(TOOLS, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
