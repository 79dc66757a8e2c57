"""Which connector a command means: a slug of the workspace, or a path to a file, folder or glob."""

from __future__ import annotations

from pathlib import Path

from ...connectors.model import Connector
from ...graphs.errors import Code, JackfieldError
from ..app import App
from ..faults import not_found


def is_path(text: str) -> bool:
    """Whether it can only be a path. A bare word is a slug first, and a folder when no connector has that slug."""
    return text.endswith(".json") or "/" in text or "*" in text


def open_app(connector: str | None) -> App:
    """The app over what `connector` names: a path's connectors, else the workspace's."""
    if connector is None:
        return App()
    if not is_path(connector):
        app = App()
        if connector in app.catalog.connectors or not Path(connector).exists():
            return app
    return App([connector])


def locate(connector: str, tool: str | None = None) -> tuple[App, Connector]:
    """The app, and the one connector that is meant: of a path that holds several, the one that has `tool`.

    Raises CONFIG_INVALID, TOOL_NOT_FOUND.
    """
    app = open_app(connector)
    if not app.paths:
        return app, app.connector(connector)
    app.require_connectors()
    held = list(app.catalog.connectors.values())
    if tool is not None and len(held) > 1:
        held = [one for one in held if tool in one.tools or tool in one.skills or tool in one.resources]
    if len(held) == 1:
        return app, held[0]
    slugs = ", ".join(one.slug for one in held or app.catalog.connectors.values())
    if not held:
        names = [name for one in app.catalog.connectors.values() for name in (*one.tools, *one.skills)]
        raise not_found("tool", tool or "", names, f" in {slugs}")
    raise JackfieldError(
        Code.VALIDATION_INVALID_PARAMS, f"'{connector}' holds several connectors: {slugs}.", "Name one file of them."
    )
