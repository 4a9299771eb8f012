"""Tables of names: a name stands for a class, which is imported only when it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from graph_handoff.errors import ConfigError, did_you_mean


def known(what: str, table: Collection[str], name: str, field: str | None = None) -> str:
    """`name`, if the table has it; `what` is the noun of the message. Raises ConfigError, which offers the nearest name."""
    if name not in table:
        raise ConfigError(f"unknown {what}{did_you_mean(name, table)}", field=field, found=name, allowed=table)
    return name


def make(
    what: str, table: Mapping[str, str], name: str, options: Mapping[str, Any], keys: tuple[str | None, str] = (None, "options")
) -> Any:
    """The object that `name` stands for in `table` (name -> module:class). `keys` are those of the name and of the options in a
    configuration.

    Raises ConfigError where the name is unknown, or where the class does not take these options; and what else the class raises.
    """
    module, cls = table[known(what, table, name, keys[0])].split(":")
    kind = getattr(import_module(module), cls)
    named = signature(kind).parameters.values()
    allowed = [each.name for each in named if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    try:
        signature(kind).bind(**options)
    except TypeError as error:  # an option that it does not know may be a secret: names alone are shown
        problem = f"{what} {name}: {error}"
        raise ConfigError(problem, field=keys[1], found=list(options) or None, allowed=allowed or "none") from error
    try:
        return kind(**options)
    except ConfigError as error:
        raise error.within(keys[1]) from error
    except (TypeError, ValueError, AttributeError) as error:  # a number where a path is meant
        problem = f"{what} {name}: {error}"
        raise ConfigError(problem, field=keys[1], found=dict(options) or None, allowed=allowed or "none") from error
