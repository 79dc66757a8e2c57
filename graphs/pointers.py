"""JSON pointers (RFC 6901): naming a place in a document."""

from __future__ import annotations


def escaped(name: str) -> str:
    """`name` as one part of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def pointer(*parts: str | int) -> str:
    """The pointer to the value under these keys and indexes."""
    return "".join(f"/{escaped(str(part))}" for part in parts)


def parts(pointer: str) -> tuple[str, ...]:
    """The keys and indexes, as text, that a pointer names."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
