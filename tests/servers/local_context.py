"""A Context for tests of single nodes: a folder, a plain cache, and lists of what the node noted and spent."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Graph
from jackfield.nodes.base import Budget, Egress, Inputs, Lease, Outputs, Pools, Secrets, SourceCache, Tables
from jackfield.nodes.table import Table

R = TypeVar("R")


class PlainSecrets:
    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def expand(self, text: str) -> str:
        for name, value in self.values.items():
            text = text.replace("{{ env:" + name + " }}", value)
        return text

    def value(self, secret_key: str) -> str:
        if secret_key not in self.values:
            raise JackfieldError(Code.SECRET_MISSING, f"'{secret_key}' is not set.")
        return self.values[secret_key]


class PlainCache:
    def __init__(self) -> None:
        self.kept: dict[str, Mapping[str, Table]] = {}

    async def tables(
        self, key: str, ttl_s: float, pull: Callable[[], Awaitable[Mapping[str, Table]]]
    ) -> Mapping[str, Table]:
        if key not in self.kept:
            self.kept[key] = await pull()
        return self.kept[key]

    def drop(self, connector: str) -> None:
        self.kept.clear()


class CountingBudget:
    def __init__(self, rows: float = math.inf, size: float = math.inf) -> None:
        self.limits = {"rows": rows, "bytes": size}
        self.spent = {"rows": 0, "bytes": 0}

    def spend_rows(self, rows: int) -> None:
        self._spend("rows", rows)

    def spend_bytes(self, size: int) -> None:
        self._spend("bytes", size)

    def _spend(self, what: str, amount: int) -> None:
        self.spent[what] += amount
        if self.spent[what] > self.limits[what]:
            raise JackfieldError(Code.BUDGET_EXCEEDED, f"More than {self.limits[what]} {what}.")


class NoPools:
    def lease(
        self, key: str, open: Callable[[], Awaitable[R]], close: Callable[[R], Awaitable[None]]
    ) -> AbstractAsyncContextManager[Lease[R]]:
        raise AssertionError("this node leases no resource")


class LocalContext:
    """All of `Context` that a node on local files may touch; the rest raises."""

    def __init__(
        self,
        folder: Path,
        *,
        roots: Sequence[Path] = (),
        streams: bool = False,
        idempotency_key: str = "",
        secrets: Mapping[str, str] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.run_id = "run"
        self.node = "node"
        self.principal = "local"
        self.connector = "test"
        self.folder = folder
        self.roots = roots
        self.deadline = math.inf
        self.streams = streams
        self.fresh = False
        self.idempotency_key = idempotency_key
        self.secrets: Secrets = PlainSecrets(secrets or {})
        self.pools: Pools = NoPools()
        self.cache: SourceCache = PlainCache()
        self.budget: Budget = budget or CountingBudget()
        self.notes: list[tuple[str, Mapping[str, Any]]] = []

    @property
    def egress(self) -> Egress:
        raise AssertionError("this node sends nothing")

    @property
    def tables(self) -> Tables:
        raise AssertionError("this node queries nothing")

    def subgraph(self, reference: str) -> Graph:
        raise AssertionError("this node runs no graph")

    async def invoke(self, graph: Graph, inputs: Inputs) -> Outputs:
        raise AssertionError("this node runs no graph")

    async def call_tool(self, tool: str, arguments: Inputs) -> Outputs:
        raise AssertionError("this node calls no tool")

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.notes.append(("progress", {"done": done, "total": total, "message": message}))

    def note(self, kind: str, **facts: Any) -> None:
        self.notes.append((kind, facts))
