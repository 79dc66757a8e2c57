"""Lint: the full schema check and the five-principles audit of connector files, each finding at its line and column.

`RULES` run in order over a native document taken apart; a graph file is checked as a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from ...graphs.bgl import from_json
from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding, Place, Severity
from .. import catalog, text
from ..formats import FORMATS
from ..formats.native import NATIVE
from ..masking import masked
from ..model import Connector
from ..native.parts import parts_of
from ..reading import read_file
from .categories import categories
from .codes import CODES
from .descriptions import descriptions
from .invisible import invisible
from .names import collisions, names
from .parameters import parameters
from .paths import paths as path_rules
from .prompts import prompts
from .results import results
from .secrets import secrets
from .shapes import shapes
from .sql import sql
from .subject import Columns, Subject
from .tables import tables
from .templates import templates

Rule = Callable[[Subject], Iterator[Finding]]
RULES: Final[tuple[Rule, ...]] = (
    secrets,
    templates,
    names,
    invisible,
    path_rules,
    shapes,
    categories,
    prompts,
    tables,
    sql,
    descriptions,
    parameters,
    results,
)
GRAVITY: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def lint(
    subject: Path | str,
    *,
    path: Path | None = None,
    columns: Columns | None = None,
    sensitive: Iterable[str] = (),
    beside: Mapping[str, Connector] | None = None,
) -> tuple[Finding, ...]:
    """All findings about a file (a Path) or about a text, in the order in which they stand.

    `path` is where a text will be saved; `columns` asks sources for their real columns; `sensitive` are names of
    fields that no tool may give; `beside` are connectors, by slug, whose tools it may call. Raises nothing for what
    the file holds.
    """
    file = text.read_file(subject) if isinstance(subject, Path) else text.parse(subject, path)
    if isinstance(file, Finding):
        return (_tagged(file),)
    dialect = next((dialect for dialect in FORMATS if dialect.matches(file.value)), None)
    if dialect is None:
        message = "This is no connector: it has neither sources and tools nor nodes and edges."
        place = Place(file.file, "", 1, 1)
        return (Finding("FORMAT_UNKNOWN", Severity.ERROR, message, place, "`jackfield new` writes one to start from."),)
    if dialect is not NATIVE:
        return _graph(file)
    parts = parts_of(file)
    looked_at = Subject(parts, columns, frozenset(sensitive), beside or {})
    found = [_tagged(finding) for finding in parts.findings]
    for rule in RULES:
        found.extend(rule(looked_at))
    # Said in full by a rule of its own, and then not once more by the schema.
    said = {finding.place for finding in found if finding.code == "DATA_PATH_INVALID"}
    return in_order(f for f in found if f.code != "INVALID_VALUE" or f.place not in said)


class Linted(NamedTuple):
    """`texts` are by file name, with secrets covered: what a frame may show."""

    findings: tuple[Finding, ...]
    texts: Mapping[str, str]


def lint_all(
    paths: catalog.PathLike | Iterable[catalog.PathLike],
    *,
    columns: Columns | None = None,
    sensitive: Iterable[str] = (),
) -> Linted:
    """`lint` of every connector of the given files, folders and globs, and of them together.

    JSON files of a folder that are no connectors are passed over. Raises CONFIG_INVALID for a path that is not there.
    """
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    slugs: dict[str, Path] = {}
    served: dict[str, Connector] = {}
    subjects = catalog.discover(paths)
    for path in subjects:
        reading = read_file(path)
        if reading is not None and reading.connector is not None:
            served.setdefault(reading.connector.slug, reading.connector)
    for path, named in subjects.items():
        found = lint(path, columns=columns, sensitive=sensitive, beside=served)
        if not named and [finding.code for finding in found] == ["FORMAT_UNKNOWN"]:
            continue
        findings.extend(found)
        try:
            content = path.read_text("utf-8", errors="replace")
        except OSError:
            continue  # reported as unreadable
        texts[str(path)] = masked(content, found)
        slug, place = _slug(path)
        if slug and slugs.setdefault(slug, path) != path:
            message = f"The slug '{slug}' is taken by {slugs[slug]}, which is served in its place."
            findings.append(Finding("DUPLICATE_SLUG", Severity.ERROR, message, place, "Give one of them another slug."))
    findings.extend(_tagged(finding) for finding in collisions(served.values()))
    return Linted(in_order(findings), texts)


def _slug(path: Path) -> tuple[str, Place]:
    file = text.read_file(path)
    if isinstance(file, Finding) or not NATIVE.matches(file.value):
        return "", Place(str(path))
    return str(file.value.get("slug") or ""), file.place("/slug")


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By file and place, and the graver first where two stand together."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda f: (f.place.file, f.place.line or 0, f.place.column or 0, GRAVITY[f.severity], f.code),
        )
    )


def _tagged(finding: Finding) -> Finding:
    known = CODES.get(finding.code)
    finding = replace(finding, message=masked(finding.message))
    return finding if known is None else replace(finding, principle=known.principle)


def _graph(file: text.FileText) -> tuple[Finding, ...]:
    from ...nodes import registry
    from ...nodes.checking import check_graph

    try:
        graph = from_json(file.value, url=file.file)
    except JackfieldError as error:
        place = file.place(str(error.details.get("pointer", "")))
        return (Finding("GRAPH_INVALID", Severity.ERROR, error.message, place, error.hint),)
    return in_order(check_graph(graph, registry(), file=file.file, document=file.document))
