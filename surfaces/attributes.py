"""Things that are held by name, as attributes and as items: what `jackfield.open` and `jackfield.aopen` give."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from ..graphs.errors import JackfieldError

T = TypeVar("T")


class ByName(ABC, Generic[T]):
    """`held.name` is `held["name"]`; a name that is no identifier is reached as an item only."""

    @abstractmethod
    def __getitem__(self, name: str) -> T:
        """Raises JackfieldError TOOL_NOT_FOUND with the near name."""

    @abstractmethod
    def _names(self) -> Iterable[str]:
        """What may be asked for."""

    def __getattr__(self, name: str) -> T:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except JackfieldError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]
