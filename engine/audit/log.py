"""The audit as it is written: one line a call, in the kernel before the caller is answered, one writer.

A line that cannot be written is kept until it can be, and meanwhile calls are refused: those that write before they
run, those that read unless the workspace lets them go on.
"""

from __future__ import annotations

import logging
import math
import os
import stat
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from ...graphs.errors import Code, JackfieldError
from .chain import line_hash
from .line import DAY_S, Clock, Line, day_of, encoded
from .opening import Opened, Position, open_audit
from .places import CURRENT, rotated_name
from .redaction import MAX_ARGS_BYTES, Redaction, no_secrets
from .settling import Settling, sync

logger: Final = logging.getLogger(__name__)
MAX_BYTES: Final = 64 * 2**20
MOST_KEPT: Final = 1_000  # lines in memory while none can be written
MOST_NOTES: Final = 100
RETRY_S: Final = 1.0
WRITABLE: Final = stat.S_IWUSR
READS: Final = (None, "READ")
NOT_OPEN: Final = "it is not open"


class AuditLog:
    """The NDJSON audit in `folder`, between `open` and `close`, or in a `with` block. To be called from one thread.

    `sensitive` are names whose values are never written, beside those that look it; `redact` hides secrets in a text.
    The current file is `audit.log`; past `max_bytes`, or at the first line of another day (UTC), it gets a name of its
    own. `fsync` waits for the disk at every line: without it a power cut, but no crash of ours, may take lines.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = MAX_BYTES,
        sensitive: frozenset[str] = frozenset(),
        redact: Callable[[str], str] = no_secrets,
        read_without: bool = False,
        fsync: bool = False,
        max_args_bytes: int = MAX_ARGS_BYTES,
        retry_s: float = RETRY_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = Path(folder)
        self.read_without = read_without
        self.notes: deque[str] = deque(maxlen=MOST_NOTES)  # what was found wrong or mended, for the operator
        self.lost = 0  # lines given up because too many were waiting
        self._redaction = Redaction(sensitive, redact, max_args_bytes)
        self._max_bytes = max_bytes
        self._fsync = fsync
        self._retry_s = retry_s
        self._clock = clock
        self._texts = Clock()
        self._path = str(self.folder / CURRENT)
        self._opened: Opened | None = None
        self._known: Position | None = None
        self._day = 0
        self._fault = NOT_OPEN
        self._tried = -math.inf
        self._told = ""  # the fault that was told last, while it lasts
        self._waiting: deque[tuple[str, Line]] = deque()
        self._settling = Settling()

    def open(self) -> Self:
        """Take the lock and go on where the last process ended; `notes` says what a crash left.

        Raises CONFIG_INVALID while another process writes here; AUDIT_UNAVAILABLE when it cannot be written, unless
        reading goes on without it.
        """
        try:
            self._open()
        except OSError as error:
            self._fault = _reason(error)
            self.notes.append(f"The audit in '{self.folder}' cannot be written: {self._fault}.")
            if not self.read_without:
                raise self._unavailable(f" in '{self.folder}'") from None
        return self

    def close(self) -> None:
        """Put what was written onto the disk and give up the lock. Lines that still wait are gone, and counted."""
        if self._waiting:
            self._tried = -math.inf
            self._is_up()
        if self._waiting:
            self._tell(f"{len(self._waiting)} lines of the audit could not be written, and are gone.")
        if self._opened is not None:
            sync(self._opened.log)
            sync(self._opened.head)
        self._shut()
        self._settling.join()
        self._fault = NOT_OPEN
        self._known = None
        self.lost += len(self._waiting)
        self._waiting.clear()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def seq(self) -> int:
        """The seq of the last line written."""
        return self._known.seq if self._known else 0

    @property
    def waiting(self) -> int:
        """Lines that could not be written yet."""
        return len(self._waiting)

    @property
    def is_available(self) -> bool:
        """Whether lines can be written, by trying."""
        return self._is_up()

    def require(self, category: str | None) -> None:
        """Asked before a call of this category runs. Raises AUDIT_UNAVAILABLE when it could not be recorded.

        A READ, and what is of no category, goes on where `read_without` says so.
        """
        if not self._is_up() and not self._may_go_on(category):
            raise self._unavailable()

    def append(self, line: Line) -> int:
        """Record a call that has ended; gives the line's seq, or 0 when it waits to be written.

        Raises AUDIT_UNAVAILABLE when it waits and calls of its category do not go on without: the caller must not be
        given the answer. A call that failed has none, and keeps its error. The line is written, with the time it has
        now, as soon as any line can be.
        """
        at = self._clock()
        text = self._texts.text(at)
        if self._is_up(at):
            try:
                return self._write(line, text, at)
            except OSError as error:
                self._fail(_reason(error))
        if len(self._waiting) < MOST_KEPT:
            self._waiting.append((text, line))
        else:
            self.lost += 1
        if line.error is not None or self._may_go_on(line.category):
            return 0
        raise self._unavailable() if line.category in READS else self._made()

    def _may_go_on(self, category: str | None) -> bool:
        return self.read_without and category in READS

    def _write(self, line: Line, text: str, at: float) -> int:
        opened = self._opened
        assert opened is not None, "the log is open while there is no fault"
        written = encoded(line, text, opened.seq + 1, opened.hash, self._redaction)
        if opened.size and (opened.size + len(written) > self._max_bytes or at // DAY_S > self._day):
            self._rotate(opened)
        count = os.write(opened.log, written)
        if count != len(written):
            os.ftruncate(opened.log, opened.size)
            raise OSError("there was room for a part of a line only")
        if not opened.first_ts:
            opened.first_ts, self._day = text, int(at // DAY_S)
        opened.size += count
        opened.seq += 1
        opened.hash = line_hash(written[:-1])
        self._known = Position(opened.seq, opened.hash)
        try:
            if self._fsync:
                os.fsync(opened.log)
            opened.record()
        except OSError as error:  # this line is written; the next must wait
            self._fail(_reason(error))
        return self._known.seq

    def _rotate(self, opened: Opened) -> None:
        """Give the full file its own name and start anew. It is put onto the disk aside: that may take long."""
        name = opened.folder / rotated_name(opened.first_ts, opened.first)
        if os.path.lexists(name):
            raise FileExistsError(17, f"{name.name} is there already")
        os.rename(self._path, name)
        full, opened.log = opened.log, -1
        opened.first, opened.first_ts = opened.seq + 1, ""
        self._settling.start(full)
        opened.start_file()
        opened.record()

    def _is_up(self, at: float | None = None) -> bool:
        """Whether our file is still where it was, whole and writable; after a fault, whether it is so again."""
        if self._fault:
            return self._fault is not NOT_OPEN and self._is_up_again(self._clock() if at is None else at)
        opened = self._opened
        assert opened is not None, "the log is open while there is no fault"
        try:
            found = os.stat(self._path)
        except OSError as error:
            self._fail(_reason(error))
            return False
        if found.st_ino != opened.inode or found.st_dev != opened.device:
            self._fail(f"{CURRENT} was replaced")
        elif found.st_size != opened.size:
            self._fail(f"{CURRENT} was changed by another program")
        elif not found.st_mode & WRITABLE:
            self._fail(f"{CURRENT} was made read-only")
        return not self._fault

    def _is_up_again(self, at: float) -> bool:
        now = time.monotonic()
        if now - self._tried < self._retry_s:
            return False
        self._tried = now
        waited = len(self._waiting)
        try:
            self._open()
            while self._waiting and not self._fault:
                text, line = self._waiting[0]
                self._write(line, text, at)
                self._waiting.popleft()
        except (OSError, JackfieldError) as error:
            self._fail(_reason(error) if isinstance(error, OSError) else error.message.rstrip("."))
        if self._fault:
            return False
        lost = f"; {self.lost} more were given up" if self.lost else ""
        self._tell(f"The audit is written again: {waited} lines that waited are in it{lost}.")
        self._told = ""
        return True

    def _open(self) -> None:
        self._shut()
        if os.path.lexists(self._path) and not os.stat(self._path).st_mode & WRITABLE:
            raise PermissionError(13, f"{CURRENT} is read-only")
        opened = open_audit(self.folder, self._known)
        self._opened = opened
        self._known = Position(opened.seq, opened.hash)
        self._day = day_of(opened.first_ts, self._clock())
        self.notes.extend(opened.notes)
        self._fault = ""

    def _shut(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _fail(self, reason: str) -> None:
        if reason != self._told:
            self._tell(f"The audit cannot be written: {reason}.")
            self._told = reason
        self._fault = reason
        self._tried = time.monotonic()
        self._shut()

    def _tell(self, note: str) -> None:
        """Tell the operator of what happens while calls are recorded."""
        self.notes.append(note)
        logger.warning(note)

    def _unavailable(self, where: str = "") -> JackfieldError:
        return JackfieldError(
            Code.AUDIT_UNAVAILABLE,
            f"The audit{where} cannot be written: {self._fault}.",
            "Calls are refused while they cannot be recorded; whoever runs this server must mend its state folder.",
        )

    def _made(self) -> JackfieldError:
        return JackfieldError(
            Code.AUDIT_UNAVAILABLE,
            f"The call was made and succeeded, but the audit cannot be written: {self._fault}.",
            "Do not make it again. Its line is written when it can be; whoever runs this server must mend its state.",
            {"made": True},
        )


def _reason(error: OSError) -> str:
    """What happened, without a path: callers are told it."""
    return error.strerror or str(error)
