"""Content-Encoding undone in bounded pieces, so that a small body can not inflate past its cap in one step."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

ACCEPTED: Final = "gzip, deflate"
PIECE: Final = 1 << 20
_GZIP: Final = 16 + zlib.MAX_WBITS


class EncodingError(Exception):
    """The body is not what its Content-Encoding says, or ends early."""


class Inflater:
    """Undoes gzip or deflate. `feed` gives pieces of at most 1 MiB; `finish` raises if the body ended early."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise EncodingError(f"Content-Encoding '{encoding[:40]}' was not asked for")
        self._deflate = encoding == "deflate"
        self._stream = zlib.decompressobj(zlib.MAX_WBITS if self._deflate else _GZIP)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:
                if self._deflate:
                    return  # bytes after a deflate stream mean nothing
                self._stream = zlib.decompressobj(_GZIP)  # gzip may hold several members
            try:
                piece = self._stream.decompress(data, PIECE)
            except zlib.error:
                if self._begun or not self._deflate:
                    raise EncodingError("the compressed body is broken") from None
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers send deflate without zlib's frame
                self._begun = True
                continue
            self._begun = True
            if piece:
                yield piece
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    def finish(self) -> None:
        if self._begun and not self._stream.eof:
            raise EncodingError("the compressed body ends early")
