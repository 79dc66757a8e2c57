"""What `connector` or `text` means: a draft, a connector that is served, or a text that an agent holds.

Drafts lie in `connectors/.drafts/`, which is hidden and so never served; their relative paths start at `connectors/`,
where they are going to be deployed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...connectors.catalog import CONNECTOR_SUFFIXES
from ...connectors.evals import Suite, fitting, suite_in, suites_of
from ...connectors.model import SLUG, Connector
from ...connectors.reading import read_text
from ...graphs.errors import Code, JackfieldError
from ...graphs.findings import Severity
from ...graphs.model import Json
from ..faults import not_found
from . import files
from .bench import DRAFTS, Bench

LONGEST: Final = 1_000_000  # characters of a connector or of its cases
PLACEHOLDER: Final = "draft"
SUBJECT: Final[Mapping[str, Json]] = {
    "connector": {
        "type": "string",
        "description": "Slug of a draft or of a served connector, or a path below connectors/; or give text",
    },
    "text": {"type": "string", "maxLength": LONGEST, "description": "The connector file itself, as JSON text"},
}
EVAL: Final[Mapping[str, Json]] = {
    "eval": {
        "type": "string",
        "maxLength": LONGEST,
        "description": "Cases as YAML or JSON: {connector, cases: [{id, tool_id, arguments, expect}]}; else those kept",
    }
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A connector's text and the file that it is, or would be. `cases` is the suite kept with a draft of its slug."""

    text: str
    path: Path
    is_draft: bool = False
    cases: str | None = None


def draft_file(bench: Bench, slug: str) -> Path:
    return bench.connectors / DRAFTS / f"{slug}.connector.json"


def cases_file(bench: Bench, slug: str) -> Path:
    return bench.connectors / DRAFTS / f"{slug}.eval.json"


def chosen(bench: Bench, arguments: Mapping[str, Any]) -> Draft:
    """The connector that the arguments name: by `text`, or by `connector`.

    Raises VALIDATION_MISSING_FIELD when neither is given, VALIDATION_INVALID_PARAMS for both, TOOL_NOT_FOUND.
    """
    name, text = arguments.get("connector"), arguments.get("text")
    if (name is None) == (text is None):
        raise JackfieldError(
            Code.VALIDATION_MISSING_FIELD if name is None else Code.VALIDATION_INVALID_PARAMS,
            f"Give 'connector' or 'text', found {'neither' if name is None else 'both'}.",
            "'connector' is the slug that build-connector answered; 'text' is a connector file.",
            {"parameter": "connector"},
        )
    if text is not None:
        slug = slug_of(text)
        return Draft(text, bench.target(slug or PLACEHOLDER), cases=_cases(bench, slug) if slug else None)
    return _named(bench, str(name))


def slug_of(text: str) -> str:
    """The slug that a text has; empty when it has none that can be one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    slug = document.get("slug") if isinstance(document, dict) else None
    return slug if isinstance(slug, str) and len(slug) <= 64 and SLUG.fullmatch(slug) else ""


def _named(bench: Bench, name: str) -> Draft:
    if SLUG.fullmatch(name):
        kept = files.read(bench.workspace, draft_file(bench, name))
        if kept is not None:
            return Draft(_text(kept), bench.target(name), True, _cases(bench, name))
        served = bench.app.catalog.connectors.get(name)
        if served is not None and served.path is not None:
            return Draft(_text(served.path.read_bytes()), served.path)
    elif name.endswith(CONNECTOR_SUFFIXES):
        place = bench.connectors / name.removeprefix("./").removeprefix("connectors/")
        content = files.read(bench.workspace, place)
        if content is not None:
            return Draft(_text(content), place)
    raise not_found("draft or connector", name, [*_drafts(bench), *bench.app.catalog.connectors])


def _cases(bench: Bench, slug: str) -> str | None:
    content = files.read(bench.workspace, cases_file(bench, slug))
    return None if content is None else _text(content)


def _drafts(bench: Bench) -> list[str]:
    folder = bench.connectors / DRAFTS
    return sorted(path.name.partition(".")[0] for path in folder.glob("*.connector.json")) if folder.is_dir() else []


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


def encoded(text: str) -> bytes:
    """Raises VALIDATION_INVALID_PARAMS for text that is not Unicode."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, "The text holds half of a surrogate pair.", "Send valid Unicode."
        ) from None


def connector_of(draft: Draft) -> Connector:
    """The connector of a draft. Raises CONFIG_INVALID with the first error that keeps it from being read."""
    reading = read_text(draft.text, draft.path)
    if reading is not None and reading.connector is not None:
        return reading.connector
    errors = [finding for finding in reading.findings if finding.severity is Severity.ERROR] if reading else []
    found = errors[0].message if errors else "The text is of no connector dialect."
    raise JackfieldError(
        Code.CONFIG_INVALID,
        found,
        errors[0].hint if errors else "build-connector writes one to start from.",
        {"finding": errors[0].as_json()} if errors else {},
    )


def suites_for(draft: Draft, connector: Connector, given: str | None) -> list[Suite]:
    """The suites to run: the one given or kept with the draft, and those beside the connector but for its older self.

    Raises CONFIG_INVALID for cases that cannot be read, or are for another connector.
    """
    text = given if given is not None else draft.cases
    found: list[Suite] = []
    replaced: set[Path] = set()
    if text is not None:
        place = cases_target(connector, text)
        found.append(fitting(suite_in(text, place), place, connector))
        replaced.add(place)
    if connector.folder.is_dir():
        kept = suites_of(connector) if all((connector.folder / name).is_file() for name in connector.evals) else ()
        found += [suite for suite in kept if Path(suite.file) not in replaced]
    return found


def cases_target(connector: Connector, text: str) -> Path:
    """The file that these cases are kept in beside the connector: the one that it names, else by its slug.

    Raises CONFIG_INVALID when it names another than one of its own: what is written there could be a connector.
    """
    if not connector.evals:
        kind = "json" if text.lstrip()[:1] == "{" else "yaml"
        return connector.folder / f"{connector.slug}.eval.{kind}"
    own = re.compile(rf"(\./)?{connector.slug}(\.[a-z0-9-]+)?\.eval\.(json|ya?ml)")
    name = next((name for name in connector.evals if own.fullmatch(name)), None)
    if name is None:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The connector keeps its cases in '{connector.evals[0]}', which these cannot be written to.",
            f"Take `evals` out, or name '{connector.slug}.eval.json' there.",
            {"evals": list(connector.evals)},
        )
    return connector.folder / name.removeprefix("./")
