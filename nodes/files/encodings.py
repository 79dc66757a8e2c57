"""Text files in other encodings than UTF-8, as UTF-8 in temporary files."""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Final

from ...graphs.errors import Code, JackfieldError
from .opened import Opened, contents

CHUNK: Final = 1 << 20


def is_utf8(encoding: str) -> bool:
    return canonical(encoding) in ("utf-8", "ascii")


def canonical(encoding: str) -> str:
    """The name that Python gives the encoding. Raises CONFIG_INVALID for one that it has not."""
    try:
        found = codecs.lookup(encoding)
    except LookupError:
        found = None
    if found is None or not found._is_text_encoding:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{encoding}' is no encoding.",
            "Use a name such as utf-8, latin-1, cp1252 or utf-16.",
        )
    return found.name


@contextmanager
def recoded(files: Opened, encoding: str) -> Iterator[tuple[str, ...]]:
    """The paths of copies in UTF-8, which last as long as the block. Raises SOURCE_BAD_REPLY with the line."""
    with ExitStack() as stack:
        paths = []
        for file, text in zip(contents(files), files.texts, strict=True):
            copy = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".jackfield-tmp"))
            recode(file, copy, encoding, text)
            copy.flush()
            paths.append(copy.name)
        yield tuple(paths)


def recode(file: IO[bytes], copy: IO[bytes], encoding: str, text: str) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    while True:
        chunk = file.read(CHUNK)
        try:
            decoded = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = lines + error.object[: error.start].count(b"\n")
            raise JackfieldError(
                Code.SOURCE_BAD_REPLY,
                f"'{text}', line {line}: {error.reason} as {encoding}.",
                "Give the source the 'encoding' that the file really has.",
                {"path": text, "line": line, "encoding": encoding},
            ) from None
        copy.write(decoded.encode())
        lines += decoded.count("\n")
        if not chunk:
            return
