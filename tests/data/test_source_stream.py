"""Reading large and damaged JSON: a bad value costs only itself, and chunks do not show."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.sources import stream as module
from data.sources.base import BAD_FIELD, BAD_UTF8, NOT_FINITE, NOT_JSON, TOO_LARGE, TRUNCATED, WHOLE, RecordError, Rejected
from data.sources.stream import JsonStream, elements, json_lines, leftover, members
from graph_handoff.errors import InputError

CHUNKS = (1, 2, 3, 7, 64, 1 << 20)


def array(tmp_path: Path, raw: bytes, chunk: int = 1 << 20) -> list[Any]:
    """Values, and (number, reason) of what is set aside."""
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    source = JsonStream(path, chunk)
    items = [*elements(source), *leftover(source)]
    return [(i.record, i.reason) if isinstance(i, Rejected) else i[1] for i in items]


def by_line(tmp_path: Path, raw: bytes, chunk: int = 1 << 20) -> list[Any]:
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    return [(i.record, i.reason) if isinstance(i, Rejected) else i[1] for i in json_lines(path, chunk)]


ARRAYS = [
    (b"[]", []),
    (b" [ 1 , 2 ]\n", [1, 2]),
    (b'[{"a": NaN}, {"b": 1}]', [(1, NOT_FINITE), {"b": 1}]),
    (b"[1e999, -Infinity, 3]", [(1, NOT_FINITE), (2, NOT_FINITE), 3]),
    (b'[{"a": "]}\\"{"}, {"b": undefined}, {"c": 1}]', [{"a": ']}"{'}, (2, NOT_JSON), {"c": 1}]),
    (b'[{"a": "\xff"}, {"b": "\xc3\xa9"}]', [(1, BAD_UTF8), {"b": "é"}]),
    (b'[{"a": 1}, {"b": ', [{"a": 1}, (2, TRUNCATED)]),
    (b'[{"a": 1}, {"b": "x', [{"a": 1}, (2, TRUNCATED)]),
    (b'[{"a": 1}', [{"a": 1}, (2, TRUNCATED)]),
    (b"[1, 2] [3]", [1, 2, (WHOLE, NOT_JSON)]),
    (b"[1 2]", [1, (2, NOT_JSON)]),
    (b"[1,]", [1, (2, NOT_JSON)]),
    (b'[{"a": [1}, {"b": 2}]', [(1, NOT_JSON)]),
    (b"[" + b"[" * 5000 + b"]" * 5000 + b", 1]", [(1, NOT_JSON), 1]),
    (b"[9007199254740993, 12345678901234567890123, 1.5, 1e2]", [2**53 + 1, 12345678901234567890123, 1.5, 100.0]),
]


@pytest.mark.parametrize(("raw", "expected"), ARRAYS)
@pytest.mark.parametrize("chunk", CHUNKS)
def test_array(tmp_path: Path, raw: bytes, expected: list[Any], chunk: int) -> None:
    found = array(tmp_path, raw, chunk)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


LINES = [
    (b'{"a": 1}\r\n\n  \n{"b": 2}', [{"a": 1}, {"b": 2}]),
    (b'{"a": NaN}\n{"b": 2}\n', [(1, NOT_FINITE), {"b": 2}]),
    (b'{"a": "\xff"}\n{"b": 2}\n', [(1, BAD_UTF8), {"b": 2}]),
    (b'{"a": 1}\n{"b": \n{"c": 3}\n', [{"a": 1}, (2, NOT_JSON), {"c": 3}]),
    (b'{"a": 1}\n{"b": "\xc3', [{"a": 1}, (2, TRUNCATED)]),
    (b'{"a": 1}\n{"b": undefined}', [{"a": 1}, (2, NOT_JSON)]),
    (b'\xef\xbb\xbf{"a": 1}\n', [{"a": 1}]),
    (b"[" * 5000 + b"\n1\n", [(1, NOT_JSON), 1]),
    (b"1" * 5000 + b"\n1\n", [(1, NOT_JSON), 1]),
]


@pytest.mark.parametrize(("raw", "expected"), LINES)
@pytest.mark.parametrize("chunk", CHUNKS)
def test_lines(tmp_path: Path, raw: bytes, expected: list[Any], chunk: int) -> None:
    assert by_line(tmp_path, raw, chunk) == expected


def test_positions_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{}\n{"a": "\xff"}\n{"b": nope}\n')
    details = [item.detail for item in json_lines(path) if isinstance(item, Rejected)]
    assert details[0].startswith("byte 7 of the line") and "b'\\xff'" in details[0]
    assert "at character 6 of the record" in details[1]


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
OBJECTS = st.dictionaries(st.text(max_size=3), st.text(max_size=5) | NUMBERS, max_size=3)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OBJECTS | NUMBERS, max_size=4), st.booleans(), st.integers(1, 9))
def test_any_array_survives_any_chunking(tmp_path: Path, values: list[Any], ascii_only: bool, chunk: int) -> None:
    texts = [json.dumps(value, ensure_ascii=ascii_only).encode() for value in values]
    assert array(tmp_path, b"[" + b", ".join(texts) + b"]", chunk) == values
    assert by_line(tmp_path, b"\n".join(texts), chunk) == values


def test_members_are_taken_or_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "o.json"
    path.write_bytes(b'{"a": NaN, "b": [1, NaN, {"x": [2]}], "c": {"d": [3]}, "e": 4}')
    for chunk in CHUNKS:
        source = JsonStream(path, chunk)
        seen = {key: source.value() if key in "ce" else None for key in members(source)}
        assert seen == {"a": None, "b": None, "c": {"d": [3]}, "e": 4}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"[1]", BAD_FIELD),
        (b'{"a": 1', TRUNCATED),
        (b'{"a": {"b": ', TRUNCATED),
        (b'{"a": [1, ', TRUNCATED),
        (b'{"a" 1}', NOT_JSON),
        (b"{1: 2}", NOT_JSON),
        (b'{"a": 1 "b": 2}', NOT_JSON),
    ],
)
def test_a_broken_object_is_refused(tmp_path: Path, raw: bytes, reason: str) -> None:
    path = tmp_path / "o.json"
    path.write_bytes(raw)
    with pytest.raises(RecordError) as caught:
        list(members(JsonStream(path)))
    assert caught.value.reason == reason


def test_a_record_that_is_too_large_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 100)
    long = json.dumps({"a": "x" * 1000}).encode()
    assert by_line(tmp_path, b'{"b": 1}\n' + long + b'\n{"c": 2}\n' + long, 16) == [
        {"b": 1},
        (2, TOO_LARGE),
        {"c": 2},
        (4, TOO_LARGE),
    ]
    assert array(tmp_path, b'[{"b": 1}, ' + long + b', {"c": 2}]', 16) == [{"b": 1}, (2, TOO_LARGE)]


def test_gzip_is_told_by_content_and_may_be_cut(tmp_path: Path) -> None:
    import random

    values = [{"n": n, "noise": random.Random(n).random()} for n in range(5000)]
    whole = gzip.compress("\n".join(map(json.dumps, values)).encode())
    assert by_line(tmp_path, whole) == values
    cut = by_line(tmp_path, whole[: len(whole) // 2])
    kept = [item for item in cut if isinstance(item, dict)]
    assert len(kept) > 1000 and kept == values[: len(kept)]
    assert cut[len(kept) :] == [(len(kept) + 1, TRUNCATED), (WHOLE, TRUNCATED)]
    zipped = gzip.compress(json.dumps(values).encode())
    cut = array(tmp_path, zipped[: len(zipped) // 2])
    kept = [item for item in cut if isinstance(item, dict)]
    assert len(kept) > 1000 and kept == values[: len(kept)]
    assert cut[len(kept) :] == [(len(kept) + 1, TRUNCATED)]


def test_a_wrong_checksum_is_reported_after_the_records(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"[1, 2]"))
    whole[-6] ^= 1
    assert array(tmp_path, bytes(whole)) == [1, 2, (WHOLE, TRUNCATED)]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="cannot read"):
            list(json_lines(path))
