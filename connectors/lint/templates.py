"""`{{ env:VAR }}` stays out of every text that a model or a database reads (TPL-06)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...graphs.findings import Finding
from .subject import Subject, texts

REFERENCE: Final = re.compile(r"\{\{\s*env:[^}]*\}\}")
# Pointers of texts that a model sees, that name things, or that are query text.
SEEN: Final = re.compile(
    r"/(name|slug|version|description|instructions|\$schema)"
    r"|/(sources|saves)/\d+/(id|type|name|description|table_name)"
    r"|/tools/\d+/(id|name|description|category|sql|at)"
    r"|/tools/\d+/(parameters|result|output_schema|source_ids)/.*"
    r"|/skills/\d+/.*"
    r"|/resources/\d+/(uri|uri_template|name|title|description|mime_type|text|blob)"
)


def templates(subject: Subject) -> Iterator[Finding]:
    for pointer, text in texts(subject.parts.document, ""):
        reference = REFERENCE.search(text)
        if reference and SEEN.fullmatch(pointer):
            field = pointer.rpartition("/")[2]
            message = f"'{field}' holds {{{{ env: }}}}, and is text that a model or a database sees."
            hint = "Environment variables belong into addresses, DSNs, paths, headers and request parameters."
            yield subject.finding("ENV_IN_TEXT", pointer, message, hint, span=reference.span())
