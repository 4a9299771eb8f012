"""Tables of names: a name stands for a class, which is imported only when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from handoff.errors import ConfigError, did_you_mean


def make(what: str, table: Mapping[str, str], name: str, options: Mapping[str, Any]) -> Any:
    """The object that `name` stands for in `table` (name -> module:class). `what` is the noun of the messages.

    Raises ConfigError where the name is unknown, or where the class does not take these options.
    """
    if name not in table:
        raise ConfigError(f"unknown {what}{did_you_mean(name, table)}", found=name, allowed=table)
    module, cls = table[name].split(":")
    kind = getattr(import_module(module), cls)
    try:
        signature(kind).bind(**options)
    except TypeError as error:
        raise ConfigError(f"{what} {name}: {error}", field="options", found=dict(options) or None) from error
    return kind(**options)
