"""Numbers that remember how they were written: `12500.00` says two decimals, which a float has forgotten."""

from __future__ import annotations

import json
from typing import Any

import yaml


class Written(float):
    """A float with the text it was read from."""

    text: str

    def __new__(cls, text: str) -> Written:
        number = super().__new__(cls, text.replace("_", ""))
        number.text = text
        return number


def from_json(text: str) -> Any:
    """Raises ValueError for what is not JSON."""
    return json.loads(text, parse_float=Written)


def from_yaml(text: str) -> Any:
    """YAML of plain values. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_Loader)  # a SafeLoader, which makes plain values only


class _Loader(yaml.SafeLoader):
    """Dates stay text, as they are in JSON answers."""


def _number(loader: _Loader, node: yaml.ScalarNode) -> Any:
    try:
        return Written(node.value)
    except ValueError:  # .inf, 1:30.5
        return loader.construct_yaml_float(node)


def _date(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:float", _number)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _date)
