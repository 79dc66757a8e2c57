"""Connector files of the workspace as they are edited over the wire: read, checked, replaced whole, never elsewhere.

Only `connectors/` of the workspace is written. A text with an error is not written; one that somebody else has changed
meanwhile is not overwritten.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..connectors.lint import lint
from ..connectors.masking import masked
from ..connectors.model import SLUG, Connector
from ..connectors.text import FileText, parse
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding, Severity, has_errors
from ..nodes.blocking import in_thread
from .platform.files import write

if TYPE_CHECKING:
    from .service import Service

FOLDER: Final = "connectors"
SUFFIX: Final = ".connector.json"
MOST_FINDINGS: Final = 100
WRITING: Final = threading.Lock()  # from the look at what is there to its replacement


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text. `etag` is the digest of it that a connector made of it has, too."""

    slug: str
    path: Path
    text: str
    etag: str
    findings: tuple[Finding, ...] = ()


class Stale(Exception):  # noqa: N818 - an answer
    """There is another text than the one that was to be replaced."""

    def __init__(self, error: JackfieldError) -> None:
        super().__init__(str(error))
        self.error = error


class Files:
    """The connector files of one service's workspace."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.workspace = service.app.settings.folder
        self.folder = self.workspace / FOLDER

    def is_editable(self, connector: Connector) -> bool:
        return connector.path is not None and self._is_inside(connector.path.absolute())

    async def read(self, slug: str) -> Text:
        """Raises TOOL_NOT_FOUND, ACCESS_DENIED for a connector that came from no file, SOURCE_UNREACHABLE."""
        path = self.path_of(slug)
        text = await in_thread(lambda: _read(path))
        return Text(slug, path, text, digest(text))

    async def replace(self, slug: str, text: str, etag: str) -> Text:
        """Write `text` where the text of `etag` lies. Raises Stale, CONFIG_INVALID with findings, ACCESS_DENIED."""
        path = self.path_of(slug)
        if not self._is_inside(path):
            raise _outside(path)
        findings = await self.checked(text, path, slug)
        await in_thread(lambda: _replace(self.workspace, path, text, etag))
        await self._service.refresh()
        return Text(slug, path, text, digest(text), findings)

    async def create(self, text: str) -> Text:
        """Write `text` as a new file named after its slug. Raises as `replace` does."""
        slug = slug_of(text)
        path = self.folder / f"{slug}{SUFFIX}"
        taken = self._service.app.catalog.connectors.get(slug)
        if taken is not None:
            raise Stale(_taken(f"The slug '{slug}' is taken by {taken.path}."))
        if not self._is_inside(path):
            raise _outside(path)
        findings = await self.checked(text, path, slug)
        await in_thread(lambda: _create(self.workspace, path, text))
        await self._service.refresh()
        return Text(slug, path, text, digest(text), findings)

    async def checked(self, text: str, path: Path, slug: str) -> tuple[Finding, ...]:
        """What lint finds in a text that is to lie at `path`. Raises CONFIG_INVALID when an error is among it."""
        served = self._service.app.catalog.connectors
        findings = await in_thread(lambda: lint(text, path=path, beside=served))
        if has_errors(findings):
            raise _unsound(findings)
        if slug_of(text) != slug:
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"The text has the slug '{slug_of(text)}', and the connector's is '{slug}'.",
                "Keep the slug, or write a new connector.",
                {"findings": []},
            )
        return findings

    def path_of(self, slug: str) -> Path:
        if slug not in self._service.app.catalog.connectors and SLUG.fullmatch(slug):
            path = self.folder / f"{slug}{SUFFIX}"
            if path.is_file():  # with an error in it, so that it is not served, and is to be mended
                return path
        connector = self._service.app.connector(slug)
        if connector.path is None:
            raise JackfieldError(
                Code.ACCESS_DENIED, f"Connector '{slug}' was given in Python and has no file.", "Change it there."
            )
        return connector.path.absolute()

    def _is_inside(self, path: Path) -> bool:
        return path.is_relative_to(self.folder) and ".." not in path.parts


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def slug_of(text: str) -> str:
    """The slug that a connector's text declares. Raises CONFIG_INVALID where it has none that names a file."""
    file = parse(text)
    if not isinstance(file, FileText):
        raise _unsound((file,))
    value: Any = file.value
    slug = value.get("slug") if isinstance(value, dict) else None
    if not isinstance(slug, str) or SLUG.fullmatch(slug) is None or len(slug) > 64:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            "The text has no slug to name its file by.",
            'Add "slug": lower-case words and digits, joined by hyphens.',
            {"findings": []},
        )
    return slug


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise JackfieldError(
            Code.SOURCE_UNREACHABLE, f"'{path.name}' cannot be read: {os.strerror(error.errno or 0)}.", "Was it moved?"
        ) from None


def _replace(workspace: Path, path: Path, text: str, etag: str) -> None:
    with WRITING:
        found = digest(_read(path))
        if found != etag:
            raise Stale(_changed(path, found))
        write(workspace, path, text.encode("utf-8"))


def _changed(path: Path, found: str) -> JackfieldError:
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"'{path.name}' does not hold the text that If-Match names: somebody has written it meanwhile.",
        "Read it again, merge, and write with its new etag.",
        {"etag": found},
    )


def _create(workspace: Path, path: Path, text: str) -> None:
    try:
        write(workspace, path, text.encode("utf-8"), replace=False)
    except JackfieldError as error:
        if error.code is Code.VALIDATION_INVALID_PARAMS:
            raise Stale(_taken(f"There is a file '{path.name}' already.")) from None
        raise


def _unsound(findings: Sequence[Finding]) -> JackfieldError:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    told = [{**f.as_json(), "message": masked(f.message), "hint": masked(f.hint)} for f in findings[:MOST_FINDINGS]]
    first = errors[0]
    where = f"line {first.place.line}: " if first.place.line else ""
    return JackfieldError(
        Code.CONFIG_INVALID,
        f"The text has {len(errors)} error{'s' * (len(errors) != 1)}: {where}{masked(first.message)}",
        "Nothing was written. Correct what `details.findings` names.",
        {"findings": told},
    )


def _outside(path: Path) -> JackfieldError:
    return JackfieldError(
        Code.ACCESS_DENIED,
        f"'{path.name}' does not lie in the workspace's {FOLDER}/ folder, and only files there are written.",
        f"Move it into {FOLDER}/, or edit it where it is.",
    )


def _taken(message: str) -> JackfieldError:
    return JackfieldError(Code.VALIDATION_INVALID_PARAMS, message, "Choose another slug, or replace that one's text.")
