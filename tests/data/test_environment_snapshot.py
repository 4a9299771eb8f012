"""Databases that are put back: what is reached by a write is copied, found, and undone; nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from data.environments.snapshot import FreshDatabase, LiveDatabase, canonical


class Item(BaseModel):
    count: float
    tags: list[str] = []


class Shop(BaseModel):
    items: dict[str, Item]
    log: list[Item]


def shop() -> Shop:
    return Shop(items={key: Item(count=number) for number, key in enumerate("abcd")}, log=[Item(count=0)])


def bump(items: Any, key: str) -> None:
    items[key].count += 1


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "item": bump,
    "get": lambda items, key: items.get(key).tags.append("x"),
    "values": lambda items, key: [item.tags.append("x") for item in items.values()],
    "items": lambda items, key: [item.tags.append("x") for _, item in items.items()],
    "set": lambda items, key: items.__setitem__("new", Item(count=9)),
    "replace": lambda items, key: items.__setitem__(key, Item(count=9)),
    "setdefault": lambda items, key: items.setdefault(key, Item(count=9)).tags.append("x"),
    "update": lambda items, key: items.update({key: Item(count=9)}),
    "delete": lambda items, key: items.__delitem__(key),
    "pop": lambda items, key: items.pop(key),
    "clear": lambda items, key: items.clear(),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_is_seen_and_undone(way: str) -> None:
    fresh = FreshDatabase(shop())
    live = LiveDatabase(fresh)
    with live.writing():
        WAYS[way](live.model.items, "b")
    assert live.changes(), way
    assert fresh.model == shop()
    live.restore()
    assert live.changes() == {}
    assert live.model.model_dump() == shop().model_dump()
    assert list(live.model.items) == list("abcd")


def test_changes_name_the_record_and_its_new_form() -> None:
    live = LiveDatabase(FreshDatabase(shop()))
    with live.writing():
        live.model.items["b"].count = 7.5
        live.model.items["c"]  # reached, not changed
        del live.model.items["d"]
        live.model.log.append(Item(count=1))
    assert live.changes() == {
        ("items", "b"): '{"count": 7.5, "tags": []}',
        ("items", "d"): None,
        ("log", ""): '[{"count": 0.0, "tags": []}, {"count": 1.0, "tags": []}]',
    }


def test_a_change_that_is_taken_back_is_no_change() -> None:
    live = LiveDatabase(FreshDatabase(shop()))
    with live.writing():
        live.model.items["b"].count += 1
    with live.writing():
        live.model.items["b"].count -= 1
    assert live.changes() == {}


def test_an_integer_is_not_the_float_of_the_same_value() -> None:
    assert canonical(Item.model_construct(count=5, tags=[])) != canonical(Item(count=5))


def test_reading_copies_nothing() -> None:
    fresh = FreshDatabase(shop())
    live = LiveDatabase(fresh)
    assert live.model.items["a"] is fresh.model.items["a"]
    assert [*live.model.items.values()] == [*fresh.model.items.values()]
    assert live.changes() == {}


@given(st.lists(st.tuples(st.sampled_from(list(WAYS)), st.sampled_from("abcd")), max_size=8))
def test_changes_agree_with_comparing_everything(steps: list[tuple[str, str]]) -> None:
    fresh = FreshDatabase(shop())
    live, other = LiveDatabase(fresh), shop()
    for way, key in steps:
        for items in (live.model.items, other.items):
            with live.writing():
                try:
                    WAYS[way](items, key)
                except (KeyError, AttributeError):
                    continue
    assert canonical(live.model.model_dump()) == canonical(other)
    assert (live.changes() == {}) == (canonical(other) == canonical(shop()))
    assert fresh.model == shop()
    live.restore()
    assert live.model.model_dump() == shop().model_dump()
