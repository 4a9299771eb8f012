"""What may leave the machine: safetensors, ONNX and text; no other format, no code, no link, nothing that looks like a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import orjson

from graph_handoff.errors import InputError

BINARY = (".safetensors", ".onnx")
ALLOWED = (*BINARY, ".json", ".txt", ".md")
ALLOWED_NAMES = ("chat_template.jinja",)
"""A tokenizer's template: text, which transformers renders in a sandbox."""
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "added_tokens.json")
"""Names with `token` in them that hold no secret."""
SECRET_NAMES = (
    ".env*",
    "*.env",
    "*netrc*",
    "*token*",
    "*secret*",
    "*credential*",
    "*password*",
    "*.pem",
    "*.key",
    "*.p12",
    "id_rsa*",
    "id_ed25519*",
    ".git*",
    ".aws*",
    ".ssh*",
)
SECRET_TEXT = re.compile(
    r"hf_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9_-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""Keys of the Hub, of model providers, of AWS, of GitHub, and private keys."""


def safe_files(folder: Path) -> Iterator[Path]:
    """The files of a folder, in the order of their names. Raises InputError at the first that must not go."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink():
            raise InputError("is a link, and is not exported", file=path)
        if any(_is_secret(part) for part in name.parts):
            raise InputError("may hold a secret, and is not exported: move it away", file=path)
        if path.is_dir():
            continue
        check_file(path)
        yield path


def _is_secret(name: str) -> bool:
    return name not in TOKENIZER and any(fnmatch(name.lower(), pattern) for pattern in SECRET_NAMES)


def check_file(path: Path) -> None:
    """Raises InputError for a format that is not exported, for a key in a text, and for a configuration that asks for code."""
    if path.suffix not in ALLOWED and path.name not in ALLOWED_NAMES:
        allowed = ", ".join((*ALLOWED, *ALLOWED_NAMES))
        raise InputError("this kind of file is not exported: remove it", file=path, found=path.suffix, allowed=allowed)
    if path.suffix in BINARY:
        return
    check_text(path)
    if path.name == "config.json" and "auto_map" in _json(path):
        raise InputError("asks for code of its own, which nobody should run", file=path, field="auto_map")


def check_text(path: Path) -> None:
    """Raises InputError for a file with a key in it, which the error does not repeat."""
    if path.suffix not in BINARY and SECRET_TEXT.search(path.read_text(encoding="utf-8", errors="replace")):
        raise InputError("holds what looks like a key, and is not exported", file=path)


def _json(path: Path) -> dict[str, object]:
    try:
        value = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error})", file=path) from error
    return value if isinstance(value, dict) else {}
