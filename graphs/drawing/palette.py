"""The colours of each family of node kinds: a light fill and a stroke with contrast enough beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COLOURS: Final[Mapping[str, tuple[str, str]]] = {
    "edge": ("#eef1f6", "#5b6778"),
    "source": ("#f1ebfd", "#6d3fd1"),
    "query": ("#e8eefc", "#2c51cf"),
    "run": ("#fdf3df", "#8a5a00"),
    "write": ("#e4f5ec", "#13754a"),
    "other": ("#f5f6f8", "#5b6778"),
}
