"""The journal beside an SQLite file, which is as little to be trusted as the file.

A journal may end in the name of a super-journal, any path at all, and SQLite deletes that file when it rolls the
journal back. So a journal with such a name is refused before SQLite may write, and a source is never opened for
writing: what a killed writer left is rolled back in a private copy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Final

from ...graphs.errors import Code, JackfieldError
from .confine import open_file
from .opened import Opened

SUPER_JOURNAL: Final = bytes.fromhex("d9d505f920a163d7")  # the last bytes of a journal that names one
BESIDE: Final = ("-journal", "-wal")


def check_journal(database: Path, text: str) -> None:
    """Raises SOURCE_ERROR when the journal beside `database` names a super-journal."""
    with suppress(FileNotFoundError), open(f"{database}-journal", "rb") as journal:
        refuse_super_journal(journal, text)


def refuse_super_journal(journal: IO[bytes], text: str) -> None:
    journal.seek(max(0, os.fstat(journal.fileno()).st_size - len(SUPER_JOURNAL)))
    if journal.read() == SUPER_JOURNAL:
        raise JackfieldError(
            Code.SOURCE_ERROR,
            f"Beside '{text}' is a journal of a transaction over several databases, which names a file to delete.",
            "Open the database once with the program that wrote it, so that this one finishes the transaction.",
            {"path": text},
        )


def private_copy(files: Opened) -> tempfile.TemporaryDirectory[str]:
    """A folder with a copy of the database, as `database`, and of the logs beside it.

    Raises as `check_journal`, and SOURCE_UNREACHABLE when someone wrote meanwhile.
    """
    place = files.places[0]
    folder = tempfile.TemporaryDirectory(prefix="jackfield-", suffix=".jackfield-tmp")
    try:
        with ExitStack() as stack:
            sources: list[tuple[str, IO[bytes]]] = []
            for suffix in BESIDE:
                beside = place.beside(place.name + suffix)
                if os.path.lexists(beside.path):
                    sources.append((suffix, stack.enter_context(open(open_file(beside), "rb"))))
            sources.append(("", stack.enter_context(open(open_file(place), "rb"))))
            before = [state(source) for _, source in sources]
            for suffix, source in sources:
                if suffix == "-journal":
                    refuse_super_journal(source, files.text)
                    source.seek(0)
                with open(Path(folder.name, "database" + suffix), "xb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
            if before != [state(source) for _, source in sources]:
                raise JackfieldError(
                    Code.SOURCE_UNREACHABLE,
                    f"'{files.text}' was written to while it was read.",
                    "Try again when its writer is done.",
                    {"path": files.text},
                    transient=True,
                )
        journal = Path(folder.name, "database-journal")
        if journal.exists():  # what SQLite will see, not only what was looked at first
            with journal.open("rb") as copied:
                refuse_super_journal(copied, files.text)
        return folder
    except BaseException:
        folder.cleanup()
        raise


def state(file: IO[bytes]) -> tuple[int, int]:
    fact = os.fstat(file.fileno())
    return fact.st_size, fact.st_mtime_ns
