"""Parameters: named, described, closed where they are closed, and with defaults that they would accept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding
from ...nodes.arguments import coerce
from ..native.document import Parameter, Skill, Tool
from ..native.parameters import schema_of
from .subject import Subject

GENERIC: Final = frozenset(
    (
        "data",
        "value",
        "input",
        "query",
        "arg",
        "args",
        "obj",
        "object",
        "item",
        "type",
        "key",
        "val",
        "param",
        "params",
        "name",
    )
)
LISTS_VALUES: Final = re.compile(r"\bone of\b|\bvalid values?\b|\bmust be\b|\beither\b.+\bor\b", re.IGNORECASE)
MATCHING: Final = re.compile(
    r"exact|substring|prefix|suffix|contains|case-(in)?sensitive|starts with|ends with|equals|wildcard|partial"
    r"|matches|like",
    re.IGNORECASE,
)


def parameters(subject: Subject) -> Iterator[Finding]:
    owners: list[tuple[str, Tool | Skill]] = [*subject.tools, *subject.parts.skills]
    for pointer, owner in owners:
        seen: set[str] = set()
        for index, parameter in enumerate(owner.parameters):
            place = f"{pointer}/parameters/{index}"
            if parameter.name in seen:
                message = f"'{owner.id}' has two parameters called '{parameter.name}'."
                yield subject.finding("DUPLICATE_PARAMETER", f"{place}/name", message, "Rename one.", owner.id)
            seen.add(parameter.name)
            yield from _names(subject, place, parameter, owner.id)
            yield from _words(subject, place, parameter, owner.id)
            yield from _default(subject, place, parameter, owner.id)


def _names(subject: Subject, pointer: str, parameter: Parameter, about: str) -> Iterator[Finding]:
    name = parameter.name
    if len(name) <= 2:
        message = f"The parameter name '{name}' of '{about}' is too short to tell what it is."
        yield subject.finding("PARAMETER_NAME_TOO_SHORT", f"{pointer}/name", message, "Spell it out.", about)
    if name.lower() in GENERIC:
        message = f"The parameter name '{name}' of '{about}' would fit any tool."
        hint = "Name what the value is: customer_name, order_status."
        yield subject.finding("PARAMETER_NAME_GENERIC", f"{pointer}/name", message, hint, about)


def _words(subject: Subject, pointer: str, parameter: Parameter, about: str) -> Iterator[Finding]:
    text = parameter.description
    place = f"{pointer}/description"
    if len(text.strip()) < 5:
        message = f"Parameter '{parameter.name}' of '{about}' is not described."
        yield subject.finding(
            "PARAMETER_MISSING_DESCRIPTION", place, message, "Say what it means and how it is matched.", about
        )
    if parameter.type != "string":
        return
    if parameter.enum is None and LISTS_VALUES.search(text):
        message = f"Parameter '{parameter.name}' of '{about}' lists its values in words only."
        yield subject.finding("PARAMETER_SHOULD_BE_ENUM", place, message, "Give them as `enum`.", about)
    if re.search(r"filter|search", parameter.name, re.IGNORECASE) and not MATCHING.search(text):
        message = f"Parameter '{parameter.name}' of '{about}' does not say how it matches."
        hint = "Say: exact, substring, prefix, case-insensitive …"
        yield subject.finding("FILTER_SEMANTICS_UNCLEAR", place, message, hint, about)


def _default(subject: Subject, pointer: str, parameter: Parameter, about: str) -> Iterator[Finding]:
    if parameter.default is None:
        return
    try:
        coerce(schema_of([parameter]), {parameter.name: parameter.default})
    except JackfieldError as error:
        message = f"The default of '{parameter.name}' of '{about}' is not one of its values: {error.message}"
        yield subject.finding("PARAMETER_DEFAULT_INVALID", f"{pointer}/default", message, error.hint, about)
