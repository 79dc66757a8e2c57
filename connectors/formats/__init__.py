"""The connector dialects. A file's dialect is told by what it holds; `FORMATS` are asked in order."""

from __future__ import annotations

from typing import Final

from .base import Format
from .bgl import BGL
from .native import NATIVE

FORMATS: Final[tuple[Format, ...]] = (NATIVE, BGL)
