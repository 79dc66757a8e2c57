"""Every code that lint knows: how grave it is, which of the five principles it serves, and what it means.

1 descriptions are contracts · 2 results fit the context window · 3 errors are actionable · 4 every session is
observable · 5 the platform is safe to hand over: secrets, addresses and rights stay with the operator
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ...graphs.findings import Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class LintCode(NamedTuple):
    severity: Severity
    principle: int | None
    meaning: str


CODES: Final[Mapping[str, LintCode]] = {
    # The document itself
    "JSON_SYNTAX": LintCode(ERROR, None, "The file is not JSON"),
    "FILE_UNREADABLE": LintCode(ERROR, None, "The file cannot be read"),
    "FORMAT_UNKNOWN": LintCode(ERROR, None, "The file is of no connector dialect"),
    "CONFIG_INVALID": LintCode(ERROR, None, "A node of a graph is configured with what its kind does not take"),
    "GRAPH_INVALID": LintCode(ERROR, None, "A graph cannot be read or run"),
    "MISSING_FIELD": LintCode(ERROR, None, "A required field is missing"),
    "INVALID_VALUE": LintCode(ERROR, None, "A field holds what it may not hold"),
    "UNKNOWN_FIELD": LintCode(WARNING, None, "A field is not known and is not read"),
    "SPELLING_CONFLICT": LintCode(WARNING, None, "Two fields say the same, and one is not read"),
    "DUPLICATE_SLUG": LintCode(ERROR, None, "Another file has this slug"),
    "TOOL_NAME_CONFLICT": LintCode(WARNING, None, "Another connector offers agents a tool or skill of this name"),
    "TOOL_NAME_RESERVED": LintCode(ERROR, None, "The name is one that the platform uses itself"),
    "RESOURCE_URI_CONFLICT": LintCode(WARNING, None, "Another connector has a resource of this URI"),
    "TOOL_NAME_CUT": LintCode(INFO, None, "The name is longer than clients take, and agents see it cut"),
    "SLUG_RESERVED": LintCode(ERROR, None, "The slug is one that the platform uses itself"),
    "VERSION_NOT_BUMPED": LintCode(WARNING, 1, "The contract changed under the same version"),
    # Principle 1: descriptions
    "DUPLICATE_TOOL_ID": LintCode(ERROR, 1, "Two tools have one id"),
    "DUPLICATE_SOURCE_ID": LintCode(ERROR, 1, "Two sources have one id"),
    "DUPLICATE_SKILL_ID": LintCode(ERROR, 1, "Two skills have one id"),
    "DUPLICATE_RESOURCE_URI": LintCode(ERROR, 1, "Two resources have one URI"),
    "DUPLICATE_SAVE_ID": LintCode(ERROR, 1, "Two saves have one id"),
    "DESCRIPTION_TOO_SHORT": LintCode(ERROR, 1, "A description has fewer than 15 characters"),
    "DESCRIPTION_MISSING_VERB": LintCode(WARNING, 1, "A description does not begin with a verb"),
    "DESCRIPTION_VAGUE": LintCode(ERROR, 1, "A description does not say what is returned or done"),
    "WRITE_TOOL_DESCRIPTION": LintCode(INFO, 1, "The description of a writing tool does not say that it writes"),
    "PARAMETER_NAME_TOO_SHORT": LintCode(WARNING, 1, "A parameter's name has one or two letters"),
    "PARAMETER_NAME_GENERIC": LintCode(WARNING, 1, "A parameter's name says nothing"),
    "PARAMETER_MISSING_DESCRIPTION": LintCode(WARNING, 1, "A parameter is not described"),
    "PARAMETER_SHOULD_BE_ENUM": LintCode(WARNING, 1, "The description lists the values, and no enum does"),
    "PARAMETER_DEFAULT_INVALID": LintCode(ERROR, 1, "A default that the parameter itself would refuse"),
    "DUPLICATE_PARAMETER": LintCode(ERROR, 1, "Two parameters of a tool have one name"),
    "FILTER_SEMANTICS_UNCLEAR": LintCode(WARNING, 1, "A filter does not say how it matches"),
    "DESTRUCTIVE_NOT_FLAGGED": LintCode(WARNING, 1, "The id says that something is taken away, and no field does"),
    # Principle 2: results
    "UNBOUNDED_SELECT": LintCode(ERROR, 2, "SELECT * with neither WHERE nor LIMIT"),
    "SELECT_STAR_NO_LIMIT": LintCode(WARNING, 2, "SELECT * with WHERE but no LIMIT"),
    "MISSING_PAGINATION": LintCode(WARNING, 2, "A listing tool without LIMIT and without a paging parameter"),
    "TOO_MANY_TOOLS": LintCode(WARNING, 2, "More than 25 tools"),
    "RESULT_FIELD_UNKNOWN": LintCode(ERROR, 2, "result names a column that the SQL does not give"),
    # Principle 3: what would fail when called
    "TOOL_SOURCE_NOT_LOADED": LintCode(ERROR, 3, "The SQL reads a source that source_ids leaves out"),
    "SOURCE_UNKNOWN": LintCode(ERROR, 3, "A tool names a source that is not there"),
    "SAVE_UNKNOWN": LintCode(ERROR, 3, "A tool saves to what is not there"),
    "SAVE_MODE_UNKNOWN": LintCode(ERROR, 3, "A save in a way that its kind does not have"),
    "SAVE_KEY_MISSING": LintCode(ERROR, 3, "upsert without the key by which to find rows"),
    "UNKNOWN_TABLE": LintCode(ERROR, 3, "The SQL reads a table that no source gives"),
    "UNKNOWN_COLUMN": LintCode(ERROR, 3, "The SQL reads a column that its table does not have"),
    "COLUMN_NOT_DECLARED": LintCode(WARNING, 3, "The SQL reads a column that an open schema does not declare"),
    "COLUMN_TYPE_UNKNOWN": LintCode(ERROR, 3, "A declared schema names a type that there is not"),
    "PARAMETER_UNBOUND": LintCode(ERROR, 3, "A :name in the tool is not one of its parameters"),
    "PARAMETER_UNUSED": LintCode(WARNING, 3, "A parameter changes nothing"),
    "PARAMETER_IN_STRING": LintCode(ERROR, 3, "A :name inside a string literal is text and is not bound"),
    "PARAMETER_AS_IDENTIFIER": LintCode(ERROR, 3, "A bound value stands where SQL wants a name"),
    "SQL_BUILT_OF_PIECES": LintCode(ERROR, 3, "SQL with the marks of another template language in it"),
    "SQL_INVALID": LintCode(ERROR, 3, "SQL that cannot be parsed"),
    "SQL_NOT_A_QUERY": LintCode(ERROR, 3, "SQL that is not one SELECT"),
    "SQL_NOT_A_CHANGE": LintCode(ERROR, 3, "SQL of a WRITE tool that is not one INSERT, UPDATE, DELETE or MERGE"),
    "SQL_WRITES": LintCode(ERROR, 3, "SQL that changes something where it may only read"),
    "SQL_FUNCTION": LintCode(ERROR, 3, "SQL that calls a function which is not allowed"),
    "SQL_FILE": LintCode(ERROR, 3, "SQL that names a file as a table"),
    "SQL_VARIABLE": LintCode(ERROR, 3, "SQL that reads or sets session variables"),
    "SQL_SCHEMA": LintCode(ERROR, 3, "SQL that names a table by a schema"),
    "SQL_TYPE": LintCode(ERROR, 3, "SQL that uses a type which is not allowed"),
    "SQL_TOO_LARGE": LintCode(ERROR, 3, "SQL that makes one value too large to hold"),
    "SQL_HIDDEN": LintCode(ERROR, 3, "SQL that hides what it does"),
    "TOOL_SHAPE_INVALID": LintCode(ERROR, 3, "A tool's fields do not fit together or do not fit its category"),
    "CATEGORY_CONTRADICTED": LintCode(ERROR, 5, "A READ tool whose graph, or a tool that it calls, changes something"),
    "FILTER_INVALID": LintCode(ERROR, 3, "A condition, aggregate or order that is not understood and would be dropped"),
    "SKILL_INVALID": LintCode(ERROR, 3, "A skill names a tool or a step that is not there"),
    "RESOURCE_INVALID": LintCode(ERROR, 3, "A resource names a tool that is not there, or uses no place of its URI"),
    "DATA_PATH_INVALID": LintCode(ERROR, 3, "data_path is no JMESPath, or too long or too deep a one"),
    "SOURCE_NOT_READABLE": LintCode(ERROR, 3, "`--online`: a source was asked, and refuses or is not there"),
    "EVALS_MISSING": LintCode(WARNING, 3, "The file of cases is not there"),
    # Principle 5: secrets and confinement
    "SECRET_LITERAL": LintCode(ERROR, 5, "A secret stands in the file"),
    "SECRET_IN_URL": LintCode(ERROR, 5, "A url carries a secret or credentials"),
    "AUTH_LITERAL_SECRET": LintCode(ERROR, 5, "A secret_key that is not the name of a variable"),
    "AUTH_OAUTH2_MISSING_CONFIG": LintCode(ERROR, 5, "oauth2 without what it needs"),
    "AUTH_OAUTH2_CLIENT_NOT_ENV": LintCode(WARNING, 5, "An oauth2 client id or secret that is not a variable"),
    "AUTH_PER_USER_SLOT_IS_ENV": LintCode(WARNING, 5, "A secret of each user that is one variable for all"),
    "SENSITIVE_FIELD_EXPOSED": LintCode(ERROR, 5, "A field declared sensitive is given to agents"),
    "ENV_IN_TEXT": LintCode(ERROR, 5, "{{ env: }} in a text that a model or a database sees"),
    "TEXT_INVISIBLE": LintCode(ERROR, 5, "A character that is not seen, in a name or a text that agents read"),
    "PATH_OUTSIDE_FOLDER": LintCode(ERROR, 5, "A path that leaves the connector's folder"),
}
