"""Scalars as text: bare where that is unambiguous, quoted as JSON where it is not. Shared by references and the compact codec."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import orjson

from graph_handoff.errors import CodecError

Scalar = str | int | float | bool | None

WORD_STOPS = " [](){},=\"'$?!<"
"""What ends a bare word in a line of the compact codec, and a key outside of brackets in a path."""

_JSON_SCALAR = re.compile(r"true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_LONG_INTEGER = re.compile(r"[1-9][0-9]{18}")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def dumps(value: Any) -> str:
    """Minified JSON. Integers of any size keep their digits (orjson stops at 64 bits, so json is the fallback)."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def loads(text: str) -> Any:
    """Parse JSON without rounding integers above 64 bits. Raises ValueError; NaN and Infinity are refused."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    # orjson reads integers beyond 64 bits as floats: read the text again where that can have happened.
    return value if not _LONG_INTEGER.search(text) else _loads_exact(text)


def _loads_exact(text: str) -> Any:
    import json

    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def same(left: Any, right: Any) -> bool:
    """Equality of JSON scalars: 1 equals 1.0, but True is not 1 and "1" is not 1."""
    return (
        isinstance(left, bool) == isinstance(right, bool) and isinstance(left, str) == isinstance(right, str) and (left == right)
    )


@cache
def _as_set(stops: str) -> frozenset[str]:
    return frozenset(stops)


def format_scalar(value: Scalar, stops: str, kind: str | None = None) -> str:
    """Write a scalar so that `scan_scalar` with the same `stops` and `kind` reads it back.

    `stops` are the characters that end a bare word in this place. `kind` is the JSON Schema type that both sides know:
    with "string", `28236` needs no quotes, and the number is written `'28236`.
    """
    if not isinstance(value, str):
        return f"'{dumps(value)}" if kind == "string" else dumps(value)
    bare = (
        value != ""
        and value.isprintable()
        and value == value.strip()
        and value[0] not in "\"'$[{("
        and _as_set(stops).isdisjoint(value)
        and (kind == "string" or not _JSON_SCALAR.fullmatch(value))
    )
    return value if bare else dumps(value)


def scan_scalar(text: str, at: int, stops: str, kind: str | None = None) -> tuple[Scalar, int]:
    """Read a scalar that starts at `at`; returns it and the position after it. Raises CodecError."""
    if text[at : at + 1] == '"':
        found = _QUOTED.match(text, at)
        if found is None:
            raise CodecError("a quoted text does not end", found=text[at : at + 40])
        try:
            return loads(found.group()), found.end()
        except ValueError as error:
            raise CodecError("a quoted text is not valid JSON", found=found.group()) from error
    if kind == "string" and text[at : at + 1] == "'":
        at, kind = at + 1, None
    end = at
    while end < len(text) and text[end] not in stops:
        end += 1
    word = text[at:end]
    if not word:
        raise CodecError("a value is missing", found=text[max(0, at - 20) : at + 20])
    if kind != "string" and _JSON_SCALAR.fullmatch(word):
        try:
            return loads(word), end
        except ValueError as error:
            raise CodecError("a number that is too large", found=word[:40]) from error
    return word, end
