"""What `serve` tells the author in the terminal beside its banner: what lint says, which variables are not set, and
what an edit broke or mended.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import click

from ...connectors.catalog import Catalog
from ...connectors.lint import lint
from ...graphs.findings import Finding, Severity
from .doctor import variables

if TYPE_CHECKING:
    from ...connectors.model import Connector
    from ..app import App
    from ..service import Service

MOST_LINTED: Final = 100  # files: the start of a server is no time for more
NOTE: Final = "VERSION_NOT_BUMPED"  # it is said once, of an edit: that the next edit is without it mends nothing
ByFile = Mapping[str, Mapping[tuple[str, ...], Finding]]


async def tell(service: Service) -> None:
    """Say on stderr what is wrong with the connectors as they are now, and from then on what each edit changes."""
    before = service.app.catalog

    async def changed(catalog: Catalog) -> None:
        nonlocal before
        _say(changes(before, catalog))
        before = catalog

    service.follow(changed)
    _say(await anyio.to_thread.run_sync(lambda: list(standing(service.app)), abandon_on_cancel=True))


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)


def standing(app: App) -> Iterator[str]:
    """A line for what lint refuses beyond what the banner counts, and one for variables that are not set. Blocks."""
    connectors = [one for one in app.catalog.connectors.values() if one.path is not None]
    said = {(finding.code, finding.place.file) for finding in app.catalog.findings}
    errors = [
        finding
        for one in connectors[:MOST_LINTED]
        for finding in lint(Path(one.path or ""))
        if finding.severity is Severity.ERROR and (finding.code, finding.place.file) not in said
    ]
    if errors:
        counted = f" in the first {MOST_LINTED} connectors" if len(connectors) > MOST_LINTED else ""
        yield f"  {_many(errors, 'error')} of lint{counted}, {errors[0].code} the first: see `{_lint(app)}`."
    known = os.environ if app.variables is None else app.variables
    unset = dict.fromkeys(name for one in connectors for name in _variables(one) if not known.get(name))
    if unset:
        yield f"  {_many(unset, 'variable')} not set, {next(iter(unset))} the first: see `{_doctor(app)}`."


def changes(before: Catalog, now: Catalog) -> Iterator[str]:
    """A line for each file whose findings changed: the first that is new, or that it is mended."""
    old, new = _by_file(before), _by_file(now)
    for file in sorted({*old, *new}):
        came = [finding for key, finding in new.get(file, {}).items() if key not in old.get(file, {})]
        came.sort(key=lambda finding: finding.severity is not Severity.ERROR)
        went = [key for key in old.get(file, {}) if key not in new.get(file, {}) and key[0] != NOTE]
        if came:
            first = came[0]
            more = f" And {len(came) - 1:,} more: see `jackfield lint`." if len(came) > 1 else ""
            yield _one_line(f"{first.severity.value}: {first.place}: {first.message} {first.hint}{more}")
        elif went and (left := new.get(file)):
            yield _one_line(
                f"mended: {file}: {len(went):,} of {len(went) + len(left):,} findings; see `jackfield lint`."
            )
        elif went:
            yield _one_line(f"mended: {file}" if os.path.exists(file) else f"gone: {file}, of which there were errors")


def _by_file(catalog: Catalog) -> ByFile:
    found: dict[str, dict[tuple[str, ...], Finding]] = {}
    for one in catalog.findings:
        if one.severity is not Severity.INFO:
            # Without its line: that moves with each edit above it.
            found.setdefault(one.place.file, {})[one.code, one.place.pointer, one.subject, one.message] = one
    return found


def _variables(connector: Connector) -> list[str]:
    try:
        return variables(connector)
    except (OSError, ValueError):
        return []  # the file is being edited: the version before it is served


def _lint(app: App) -> str:
    folder = [] if app.settings.folder.samefile(Path.cwd()) else [app.settings.folder]
    return shlex.join(["jackfield", "lint", *map(str, app.paths or folder)])


def _doctor(app: App) -> str:
    return shlex.join(["jackfield", "doctor", *map(str, app.paths if len(app.paths) == 1 else ())])


def _many(found: Iterable[object], word: str) -> str:
    count = len(list(found))
    return f"{count:,} {word}{'s' * (count != 1)}"


def _one_line(text: str) -> str:
    """Without what a file could do to a terminal."""
    return "".join(one if one.isprintable() else " " for one in " ".join(text.split()))
