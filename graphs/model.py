"""The immutable graph: nodes, edges, sub-graphs and exports, in BGL's own words. Nothing here runs or reads files.

An edge `out → in` carries values; `out="*"` carries every output under its own name; without ports it is a control
edge, which triggers and carries nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

Json = Any  # a JSON value: None, bool, int, float, str, list, dict
EMPTY: Final[Mapping[str, Json]] = MappingProxyType({})
WILDCARD: Final = "*"
ERROR_PORT: Final = "$error"


@dataclass(frozen=True, slots=True)
class Node:
    """One configured step. `rest` keeps the fields of the file that we do not use, so that writing loses nothing."""

    id: str
    type: str
    configuration: Mapping[str, Json] = field(default_factory=lambda: EMPTY)
    metadata: Mapping[str, Json] = field(default_factory=lambda: EMPTY)
    rest: Mapping[str, Json] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Edge:
    """`from_.out → to.in_`. `constant`: the value stays for every firing. `optional`: the port is not waited for."""

    from_: str
    to: str
    out: str = ""
    in_: str = ""
    optional: bool = False
    constant: bool = False
    metadata: Mapping[str, Json] = field(default_factory=lambda: EMPTY)
    rest: Mapping[str, Json] = field(default_factory=lambda: EMPTY)

    @property
    def is_control(self) -> bool:
        return not self.out

    @property
    def is_wildcard(self) -> bool:
        return self.out == WILDCARD


@dataclass(frozen=True)
class Graph:
    """A whole graph. `graphs` are its sub-graphs by id (a node of type `#id` runs one); `rest` as in `Node`."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    graphs: Mapping[str, Graph] = field(default_factory=lambda: MappingProxyType({}))
    exports: tuple[str, ...] = ()
    title: str = ""
    description: str = ""
    version: str = ""
    url: str = ""
    metadata: Mapping[str, Json] = field(default_factory=lambda: EMPTY)
    rest: Mapping[str, Json] = field(default_factory=lambda: EMPTY)

    @cached_property
    def by_id(self) -> Mapping[str, Node]:
        return MappingProxyType({node.id: node for node in self.nodes})

    @cached_property
    def hash(self) -> str:
        """Hex SHA-256 of what runs: the canonical JSON of the BGL document without its `url`."""
        from .bgl import to_json

        document = to_json(self)
        document.pop("url", None)
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()
