"""What a kind of save declares: one file a format, and `SAVES` in `nodes/saves/__init__.py` lists them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field

from ..base import Configuration, Context
from ..table import Table

Mode = Literal["append", "overwrite", "upsert"]


class SaveConfiguration(Configuration):
    """`key` names the columns by which `upsert` finds the row to replace."""

    mode: Mode = "append"
    key: tuple[str, ...] = Field((), description="Columns that identify a row, for upsert")


S = TypeVar("S", bound=SaveConfiguration)


@dataclass(frozen=True, slots=True)
class Saved:
    """`target` says where in words without secrets; `repeated` that this idempotency key had been saved before."""

    rows: int
    target: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class CanSave:
    ok: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SaveType(Generic[S]):
    """A kind of save. `save` is atomic: the target is as it was, or has all rows. `can_save` changes nothing.

    The Table given to `save` may be a stream; `save` may read it once, and need not keep it whole.
    """

    name: str
    description: str
    configuration: type[S]
    modes: tuple[Mode, ...]
    save: Callable[[S, Table, Context], Awaitable[Saved]]
    can_save: Callable[[S, Context], Awaitable[CanSave]]


AnySaveType = SaveType[Any]
