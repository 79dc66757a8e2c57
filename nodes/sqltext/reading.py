"""Reading an SQL text without keeping the event loop: at the size that is allowed it takes seconds, of other calls too.

What was read is kept, and then costs a look-up and no thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread

T = TypeVar("T")
KEPT: Final = 512  # as many texts as each reader keeps itself

_kept: Final[dict[tuple[Hashable, ...], Any]] = {}
_absent: Final = object()
_turn: Final = threading.Lock()  # side by side, readings would but share the interpreter, and read one text twice


async def read(reader: Callable[..., T], *given: Hashable) -> T:
    """`reader(*given)`, a pure function of texts, in a worker thread when it is asked this for the first time.

    Raises what `reader` raises, and keeps no refusal. A caller that is cancelled does not wait for the thread.
    """
    found = _kept.get((reader, *given), _absent)
    if found is not _absent:
        return found  # type: ignore[no-any-return]
    return await anyio.to_thread.run_sync(partial(_alone, reader, given), abandon_on_cancel=True)


def _alone(reader: Callable[..., T], given: tuple[Hashable, ...]) -> T:
    with _turn:
        made = reader(*given)
        _kept[reader, *given] = made
        if len(_kept) > KEPT:
            del _kept[next(iter(_kept))]
        return made
