"""Answer: the streams that a run gives to its caller, who reads them while the run stays open.

They are read in threads of the reader's, and may be ended from the event loop meanwhile. What they hold is closed only
when nobody reads: by whoever ended them, else by the read that comes back last.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Value
from ..nodes.table import Table
from .outcomes import as_failure
from .runs import Fired

if TYPE_CHECKING:
    import pyarrow as pa


class Answer:
    """`fired` is what came out of a run, each stream in it one that `ended` waits for."""

    def __init__(self, fired: Fired) -> None:
        self._loop = asyncio.get_running_loop()
        self._streams: list[Stream] = []
        self._ended = anyio.Event()
        self.fired: Fired = [
            (node, {port: self._followed(value) for port, value in outputs.items()}) for node, outputs in fired
        ]

    @property
    def is_open(self) -> bool:
        return not all(stream.is_closed for stream in self._streams)

    @property
    def error(self) -> JackfieldError | None:
        """What ended a stream before all its rows were read."""
        return next((stream.error for stream in self._streams if stream.error is not None), None)

    async def ended(self) -> None:
        """Until each stream was read to its end, or closed."""
        if self.is_open:
            await self._ended.wait()

    def stop(self, error: JackfieldError) -> None:
        """End what is still open; its readers get `error`."""
        for stream in self._streams:
            stream.end(error)

    def _followed(self, value: Value) -> Value:
        if not isinstance(value, Table) or not value.is_stream:
            return value
        stream = Stream(value, self._closed)
        self._streams.append(stream)
        return stream.table()

    def _closed(self) -> None:
        if not self.is_open:
            with suppress(RuntimeError):  # the loop has ended: nobody waits
                self._loop.call_soon_threadsafe(self._ended.set)


class Stream:
    """One table of an answer. `closed` is called when it holds nothing any more, in whatever thread that is."""

    def __init__(self, source: Table, closed: Callable[[], None]) -> None:
        self._source = source
        self._reader = source.reader()
        self._closed = closed
        self._lock = threading.Lock()
        self._reading = False
        self._over = False
        self.is_closed = False
        self.error: JackfieldError | None = None

    def table(self) -> Table:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._source.schema, self._batches())
        return Table.stream(reader, close=self._leave, cancel=self._leave)

    def end(self, error: JackfieldError | None) -> None:
        """Nothing more will be read; before the last row that is for an `error`, and cuts off a read under way."""
        with self._lock:
            if self._over:
                return
            self._over, self.error = True, error
            reading = self._reading
        if error is not None:
            self._source.cancel()
        if not reading:
            self._close()

    def _leave(self) -> None:
        self.end(JackfieldError(Code.CANCELLED, "The answer was closed before its last row was read."))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := self._next()) is not None:
                yield batch
        finally:
            self._leave()  # its reader is gone, if it has not come to the end

    def _next(self) -> pa.RecordBatch | None:
        with self._lock:
            if self._over:
                raise self.error or _read_already()
            self._reading = True
        batch = None
        failure: JackfieldError | None = None
        try:
            batch = next(self._reader, None)
        except Exception as error:
            failure = as_failure(error)
        with self._lock:
            self._reading = False
            was_ended = self._over
        if was_ended:
            self._close()
            raise self.error or _read_already()
        if batch is None:
            self.end(failure)
        if failure is not None:
            raise failure from failure.__cause__
        return batch

    def _close(self) -> None:
        try:
            self._source.close()
        finally:
            self.is_closed = True
            self._closed()


def _read_already() -> JackfieldError:
    return JackfieldError(Code.CANCELLED, "The answer was read already.")
