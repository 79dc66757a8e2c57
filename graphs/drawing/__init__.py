"""Graphs as pictures: text for a terminal, Mermaid, and SVG. `facts` by node id add what a run measured."""

from __future__ import annotations

from .mermaid import mermaid
from .svg import svg
from .tree import tree

__all__ = ["mermaid", "svg", "tree"]
