"""Databases with a fast reset: records are shared until a write call changes them (copy on write).

A benchmark's tools change the records of a pydantic database in place. Copying or hashing a whole database for every
trial costs far more than the trial. Here a process keeps one fresh database that nothing changes. Each live database
holds the same records, and a *table* (a field that maps keys to records) swaps in a copy of a record at the moment a
write call reaches for it. What was not reached is unchanged, so putting back, comparing and hashing look only at what
was reached. Fields that are not tables are small, and are copied whole.
"""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator, MutableMapping
from typing import Any

from pydantic import BaseModel

Place = tuple[str, str]
"""Where a record is: (field of the database, key); the key is empty where the field is not a table."""
Changes = dict[Place, str | None]
"""The canonical form of each record that differs from the fresh database; None for one that was removed."""


def canonical(value: Any) -> str:
    """The form in which two states are compared: JSON with sorted keys, as tau2 hashes it (`5` and `5.0` differ)."""
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return value.model_dump(warnings=False) if isinstance(value, BaseModel) else str(value)


class FreshDatabase:
    """A database as it was loaded. Never changed after that, so that any number of live ones can share it."""

    def __init__(self, model: BaseModel) -> None:
        self.model = model
        fields = {name: getattr(model, name) for name in type(model).model_fields}
        self.tables: dict[str, dict[str, BaseModel]] = {n: v for n, v in fields.items() if _is_table(v)}
        self.rest: dict[str, Any] = {n: v for n, v in fields.items() if n not in self.tables}
        self._canonical: dict[Place, str | None] = {}

    def canonical(self, place: Place) -> str | None:
        """The record's canonical form, worked out once; None where the fresh database has no such record."""
        if place not in self._canonical:
            field, key = place
            record = self.tables[field].get(key) if field in self.tables else self.rest[field]
            self._canonical[place] = None if record is None and field in self.tables else canonical(record)
        return self._canonical[place]


class LiveDatabase:
    """A database that tools may change. `model` is what they get; it keeps its identity through `restore`."""

    def __init__(self, fresh: FreshDatabase) -> None:
        self._fresh = fresh
        self._tables = {name: Table(records) for name, records in fresh.tables.items()}
        fields: dict[str, Any] = {**self._tables, **copy.deepcopy(fresh.rest)}
        self.model: BaseModel = type(fresh.model).model_construct(**fields)

    def restore(self) -> None:
        """Back to the fresh state."""
        for table in self._tables.values():
            table.restore()
        for name, value in self._fresh.rest.items():
            setattr(self.model, name, copy.deepcopy(value))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Records reached inside this block may be changed. Outside it nothing may be."""
        for table in self._tables.values():
            table.writing = True
        try:
            yield
        finally:
            for table in self._tables.values():
                table.writing = False

    def changes(self) -> Changes:
        """What differs from the fresh database. Equal exactly where the two databases are equal."""
        now: Changes = {}
        for field, table in self._tables.items():
            for key in table.reached:
                now[field, key] = canonical(table[key]) if key in table else None
        for field in self._fresh.rest:
            now[field, ""] = canonical(getattr(self.model, field))
        return {place: value for place, value in now.items() if value != self._fresh.canonical(place)}


class Table(dict[str, Any]):
    """A dict of records that copies a record when it is reached while `writing`. A real dict: pydantic serialises it."""

    def __init__(self, fresh: dict[str, BaseModel]) -> None:
        super().__init__(fresh)
        self._fresh = fresh
        self.writing = False
        self.reached: dict[str, None] = {}

    def restore(self) -> None:
        """Back to the fresh records, in their order."""
        if self.reached:
            super().clear()
            super().update(self._fresh)
            self.reached.clear()

    def _reach(self, *keys: str) -> None:
        for key in keys:
            if key not in self.reached and key in self:
                self.reached[key] = None
                record = super().__getitem__(key)
                # Through JSON: an exact copy (a test compares every record), several times faster than a deep copy.
                super().__setitem__(key, type(record).model_validate_json(record.model_dump_json()))

    def __getitem__(self, key: str) -> Any:
        if self.writing:
            self._reach(key)
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self.reached[key] = None
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self.reached[key] = None

    def values(self) -> Any:
        if self.writing:
            self._reach(*self)
        return super().values()

    def items(self) -> Any:
        if self.writing:
            self._reach(*self)
        return super().items()

    # The other ways in, written in terms of the ones above.
    get = MutableMapping.get  # type: ignore[assignment]
    pop = MutableMapping.pop
    popitem = MutableMapping.popitem
    setdefault = MutableMapping.setdefault
    update = MutableMapping.update
    clear = MutableMapping.clear


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(v, BaseModel) for v in value.values())
