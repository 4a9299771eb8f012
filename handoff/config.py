"""Configurations: one frozen pydantic class a stage, read from YAML, changed by dotted overrides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from handoff.errors import ConfigError, did_you_mean

_NULL = ("null", "~", "")
C = TypeVar("C", bound="Config")


class Config(BaseModel):
    """Base of every configuration: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads 1e-5 as a number, as YAML 1.2 does; PyYAML takes it for a string."""


_Loader.yaml_implicit_resolvers = {k: list(v) for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def parse_yaml(text: str) -> Any:
    """One YAML value. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_Loader)  # a SafeLoader


def load_config(cls: type[C], path: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> C:
    """Build `cls` from a YAML file and dotted overrides (`{"model.layers": "2"}`).

    An override that is a string is read as YAML, but where the key takes any text, as it stands.

    Raises ConfigError, which names the file, the key, what was found and what is allowed.
    """
    values = _read(path) if path is not None else {}
    for key, value in (overrides or {}).items():
        _set(values, key, value if _takes_text(cls, key) and value not in _NULL else _parse_override(key, value))
    source = str(path) if path is not None else "configuration"
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        raise _explain(cls, error, source) from None


def _read(path: str | Path) -> dict[str, Any]:
    try:
        values = parse_yaml(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read: {error.strerror or error}", file=path) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"not valid YAML: {' '.join(str(error).split())}", file=path) from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError("must be a mapping of keys to values", file=path, found=type(values).__name__)
    return values


def _takes_text(cls: type[BaseModel], key: str) -> bool:
    """Is the key a `str`, or one that may be null?"""
    *parents, last = key.split(".")
    field = _class_at(cls, parents).model_fields.get(last)
    return field is not None and {field.annotation, *get_args(field.annotation)} <= {str, str | None, type(None)}


def _parse_override(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_yaml(value)
    except yaml.YAMLError as error:
        raise ConfigError("not valid YAML", field=key, found=value) from error


def _set(values: dict[str, Any], dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    for name in parents:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise ConfigError("has no keys below it", field=dotted, found=values)
    values[last] = value


def _explain(cls: type[BaseModel], error: ValidationError, source: str) -> ConfigError:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        known = sorted(_class_at(cls, path[:-1]).model_fields)
        hint = did_you_mean(path[-1], known)
        return ConfigError(f"unknown key{hint}{more}", file=source, field=".".join(path), allowed=known)
    found = first["input"] if first["type"] != "missing" and path else None
    return ConfigError(
        f"{first['msg'].removeprefix('Value error, ')}{more}", file=source, field=".".join(path) or None, found=found
    )


def _class_at(cls: type[BaseModel], path: list[str]) -> type[BaseModel]:
    """The configuration at a path, as far as it leads."""
    for name in path:
        field = cls.model_fields.get(name)
        annotations = [field.annotation, *get_args(field.annotation)] if field else []
        inner = [a for a in annotations if isinstance(a, type) and issubclass(a, BaseModel)]
        if inner:
            cls = inner[0]
    return cls
