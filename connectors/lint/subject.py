"""What a rule looks at: a native document taken apart, and ways to report at the very place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...graphs.findings import Finding
from ...nodes.sqltext.tokens import Dialect
from ..model import Connector, Source
from ..native import document as fields
from ..native.compile import DATABASES
from ..native.parts import Parts
from .codes import CODES

Columns = Callable[[Source, str], Sequence[str] | None]  # the columns a source really has (of a child table), if known


@dataclass(frozen=True)
class Statement:
    """The SQL of a tool: its text, where it stands, and the dialect of what will run it."""

    tool: fields.Tool
    pointer: str
    sql: str
    dialect: Dialect


@dataclass(frozen=True)
class Subject:
    """`columns` asks the sources themselves (`--online`); `sensitive` are field names that no tool may give.

    `beside` are the connectors, by slug, whose tools this one may call.
    """

    parts: Parts
    columns: Columns | None = None
    sensitive: frozenset[str] = frozenset()
    beside: Mapping[str, Connector] = field(default_factory=dict)

    def finding(
        self,
        code: str,
        pointer: str,
        message: str,
        hint: str = "",
        about: str = "",
        span: tuple[int, int] | None = None,
    ) -> Finding:
        """A finding of `code`; `span` is the part of the text at `pointer` that it is about."""
        known = CODES[code]
        start, end = span or (None, 0)
        place = self.parts.place(pointer, start, end - (start or 0))
        return Finding(code, known.severity, message, place, hint, known.principle, about)

    @cached_property
    def misread(self) -> frozenset[str]:
        """Tools whose filter form is refused: the SQL made of it is not what the author meant."""
        return frozenset(f.subject for f in self.parts.findings if f.code == "FILTER_INVALID")

    @property
    def tools(self) -> list[tuple[str, fields.Tool]]:
        return self.parts.tools

    @cached_property
    def sources(self) -> dict[str, Source]:
        """Every source that is written, also those that do not fit: a fault of theirs is no fault of a tool."""
        return {**self.parts.sources, **self.parts.unfit}

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(
            Statement(tool, f"{pointer}/sql", tool.sql, self.dialect_of(tool))
            for pointer, tool in self.tools
            if tool.sql is not None and tool.id not in self.misread
        )

    def dialect_of(self, tool: fields.Tool) -> Dialect:
        source = self.sources.get(tool.at or "")
        if source is None or source.type not in DATABASES:
            return "duckdb"
        return "postgres" if source.type == "postgres" else "mysql"


def texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Every string in a JSON value, with its pointer."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for name, item in value.items():
            escaped = str(name).replace("~", "~0").replace("/", "~1")
            yield from texts(item, f"{pointer}/{escaped}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from texts(item, f"{pointer}/{index}")
