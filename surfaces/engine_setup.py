"""What an engine is set up with, out of a workspace's settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from ..nodes.base import NodeType
from .settings import Settings

if TYPE_CHECKING:
    from ..engine.engine import Settings as EngineSettings

FEWEST_QUERIES: Final = 4


def engine_settings(settings: Settings) -> EngineSettings:
    """The engine's own settings out of a workspace's."""
    from ..engine.engine import Settings as EngineSettings
    from ..engine.tables import TableSettings

    cores = usable_cores()
    # More queries at once than cores can work on get in each other's way; fewer would wait for one that is slow.
    queries = max(FEWEST_QUERIES, 2 * cores)
    threads = settings["sql.threads"] or cores
    tables = TableSettings(memory_limit=settings["sql.memory"], threads=threads, queries=queries)
    return EngineSettings(max_rows=settings["call.max_rows"], max_bytes=settings["call.max_bytes"], tables=tables)


def usable_cores() -> int:
    """Those that this process may run on: DuckDB asks for all of the machine's, and their threads get in their way."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def model_kinds(settings: Settings) -> tuple[NodeType[Any], ...]:
    """The skill kind whose prompts a model answers, where one is configured."""
    if not settings["model.url"]:
        return ()
    from ..nodes.chat import ChatEndpoint
    from ..nodes.skill import skill_kind

    endpoint = ChatEndpoint(settings["model.url"], settings["model.name"], settings["model.secret_key"])
    return (skill_kind(endpoint),)
