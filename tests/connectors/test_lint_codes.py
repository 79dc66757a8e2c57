"""Every code of lint: a document that has the fault, and the sound one, which has none."""

import ast
import json
import re
from pathlib import Path

import pytest
from connector_documents import SOUND, Change, Document, drop, put, sound, text, written

from jackfield.connectors import catalog
from jackfield.connectors.catalog import load
from jackfield.connectors.lint import lint, lint_all
from jackfield.connectors.lint.codes import CODES
from jackfield.connectors.model import Source
from jackfield.connectors.versions import changed_without_bump
from jackfield.graphs.checks import CODES as GRAPH_CODES
from jackfield.graphs.errors import Code
from jackfield.graphs.findings import Severity

SQL = "tools/0/sql"
DESCRIPTION = "tools/0/description"
PARAMETER = "tools/0/parameters/0"
AUTH = "sources/0/auth"

NAMELESS: Document = {"uri": "zoo://rules", "name": "Rules"}
RULES: Document = {**NAMELESS, "text": "Do not feed the lions."}
STATEMENT: Document = {"engine": "postgres", "dsn": "{{ env:ZOO_DB }}", "sql": "DELETE FROM animals"}
DELETING: Document = {"nodes": [{"id": "gone", "type": "statement", "configuration": STATEMENT}], "edges": []}
HELLO: Document = {"type": "text", "text": "Hello {{name}}"}
FAULTS: list[tuple[str, list[Change], str]] = [
    # (code, changes, words of the message or the pointer)
    ("MISSING_FIELD", [drop("version")], "version"),
    ("MISSING_FIELD", [drop("sources")], "sources"),
    ("MISSING_FIELD", [drop("tools/0/description")], "description"),
    ("INVALID_VALUE", [put("slug", "My Zoo")], "slug"),
    ("INVALID_VALUE", [put("tools/0/category", "RAED")], "READ, WRITE, ACTION"),
    ("INVALID_VALUE", [put("sources/0/type", "rset")], "no source type 'rset'"),
    ("INVALID_VALUE", [put("saves/0/type", "parket")], "no save type 'parket'"),
    ("INVALID_VALUE", [put("tools/9", 7)], "item of 'tools'"),
    ("INVALID_VALUE", [put(f"{PARAMETER}/items", "int")], "belongs to type"),
    ("INVALID_VALUE", [put("sources/0/pagination", {"page_param": "page", "page_size": 50})], "no strategy"),
    ("INVALID_VALUE", [put("skills/0/prompt_template", "")], "would do nothing"),
    ("UNKNOWN_FIELD", [put("tools/0/catgory", "READ")], "catgory"),
    ("UNKNOWN_FIELD", [put("sources/0/urll", "x")], "urll"),
    ("SPELLING_CONFLICT", [put("sources/1/url", "{{ env:OTHER }}")], "'url' is not read"),
    ("SLUG_RESERVED", [put("slug", "elliot")], "elliot"),
    ("DUPLICATE_TOOL_ID", [put("tools/1/id", "list_animals")], "list_animals"),
    ("DUPLICATE_SOURCE_ID", [put("sources/2/id", "animals")], "animals"),
    ("DUPLICATE_SKILL_ID", [put("skills/1", SOUND["skills"][0])], "report"),
    ("DUPLICATE_RESOURCE_URI", [put("resources", [RULES, RULES])], "'zoo://rules'"),
    ("DUPLICATE_SAVE_ID", [put("saves/1", SOUND["saves"][0])], "lake"),
    ("DESCRIPTION_TOO_SHORT", [put(DESCRIPTION, "List animals")], "12 characters"),
    ("DESCRIPTION_MISSING_VERB", [put(DESCRIPTION, "All the animals of the zoo")], "'all'"),
    ("DESCRIPTION_VAGUE", [put(DESCRIPTION, "Get the data from the API")], "vague"),
    ("DESCRIPTION_VAGUE", [put("skills/0/description", "Process all information")], "vague"),
    ("WRITE_TOOL_DESCRIPTION", [put("tools/1/description", "Run the feeding of one animal")], "ACTION"),
    ("PARAMETER_NAME_TOO_SHORT", [put(PARAMETER, {"name": "sp", "type": "string", "description": "Species"})], "'sp'"),
    ("PARAMETER_NAME_GENERIC", [put(f"{PARAMETER}/name", "value")], "'value'"),
    ("PARAMETER_MISSING_DESCRIPTION", [put(f"{PARAMETER}/description", "abc")], "'species'"),
    ("PARAMETER_SHOULD_BE_ENUM", [put(f"{PARAMETER}/description", "Must be cat or dog")], "in words only"),
    ("PARAMETER_SHOULD_BE_ENUM", [put(f"{PARAMETER}/description", "Either cat or dog")], "in words only"),
    ("PARAMETER_DEFAULT_INVALID", [put(f"{PARAMETER}/enum", ["cat"]), put(f"{PARAMETER}/default", "cow")], "species"),
    ("DUPLICATE_PARAMETER", [put("tools/0/parameters/1", SOUND["tools"][0]["parameters"][0])], "species"),
    (
        "FILTER_SEMANTICS_UNCLEAR",
        [put("tools/0/parameters/1", {"name": "name_filter", "type": "string", "description": "Name of it"})],
        "how it matches",
    ),
    ("DESTRUCTIVE_NOT_FLAGGED", [put("tools/1/id", "remove_animal")], "remove"),
    ("UNBOUNDED_SELECT", [put(SQL, "SELECT * FROM animals")], "every row"),
    ("SELECT_STAR_NO_LIMIT", [put(SQL, "SELECT * FROM animals WHERE species = :species")], "without LIMIT"),
    ("MISSING_PAGINATION", [put(SQL, "SELECT id FROM animals WHERE species = :species")], "paging"),
    ("TOO_MANY_TOOLS", [put("tools", [{**SOUND["tools"][0], "id": f"list_{n}"} for n in range(26)])], "26 tools"),
    ("RESULT_FIELD_UNKNOWN", [put("tools/0/result", {"fields": ["id", "speces"]})], "speces"),
    ("RESULT_FIELD_UNKNOWN", [put("tools/0/result", {"rename": {"speces": "kind"}})], "speces"),
    ("TOOL_SOURCE_NOT_LOADED", [put("tools/0/source_ids", ["keepers"])], "source_ids"),
    ("SOURCE_UNKNOWN", [put("tools/0/source_ids", ["animals", "animal"])], "'animal'"),
    ("SOURCE_UNKNOWN", [put("tools/3/at", "keeper")], "'keeper'"),
    ("SAVE_UNKNOWN", [put("tools/2/save", {"to": "lakes"})], "'lakes'"),
    ("SAVE_MODE_UNKNOWN", [put("saves/0", {"id": "lake", "type": "http", "url": "https://h.example/x"})], "upsert"),
    ("SAVE_KEY_MISSING", [put("tools/2/save", {"to": "lake", "mode": "upsert"})], "without a key"),
    ("UNKNOWN_TABLE", [put(SQL, "SELECT id FROM animls WHERE species = :species LIMIT 1")], "'animls'"),
    ("UNKNOWN_COLUMN", [put(SQL, "SELECT specie FROM animals WHERE species = :species LIMIT 1")], "'specie'"),
    ("UNKNOWN_COLUMN", [put(SQL, "SELECT a.id FROM animals a WHERE a.kind = :species LIMIT 1")], "'kind'"),
    (
        "COLUMN_NOT_DECLARED",
        [put("sources/0/contract", "evolve"), put(SQL, "SELECT age FROM animals WHERE species = :species LIMIT 1")],
        "'age'",
    ),
    ("COLUMN_TYPE_UNKNOWN", [put("sources/0/schema/id", "intt")], "'intt'"),
    ("PARAMETER_UNBOUND", [put(SQL, "SELECT id FROM animals WHERE species = :specis LIMIT 1")], "':specis'"),
    ("PARAMETER_UNBOUND", [put("tools/1/request/url", "https://api.example.com/animals/{animal}/feed")], "'animal'"),
    ("PARAMETER_UNUSED", [put(SQL, "SELECT id FROM animals WHERE id > 1 LIMIT 1")], "changes nothing"),
    ("PARAMETER_IN_STRING", [put(SQL, "SELECT id FROM animals WHERE species LIKE ':species' LIMIT 1")], "string"),
    ("PARAMETER_AS_IDENTIFIER", [put(SQL, "SELECT id FROM animals ORDER BY :species LIMIT 1")], "wants a name"),
    ("SQL_BUILT_OF_PIECES", [put(SQL, "SELECT id FROM animals WHERE species = '{{species}}' LIMIT 1")], "put together"),
    ("SQL_INVALID", [put(SQL, "SELEC id FRM animals")], "list_animals"),
    ("SQL_NOT_A_QUERY", [put(SQL, "INSERT INTO animals VALUES (:species)")], "list_animals"),
    ("SQL_NOT_A_CHANGE", [put("tools/3/category", "WRITE")], "INSERT"),
    ("SQL_WRITES", [put(SQL, "WITH gone AS (DELETE FROM animals RETURNING id) SELECT id FROM gone LIMIT 1")], "DELETE"),
    ("SQL_FUNCTION", [put(SQL, "SELECT getenv('HOME') FROM animals WHERE species = :species LIMIT 1")], "getenv"),
    ("SQL_FILE", [put(SQL, "SELECT id FROM '/etc/passwd' LIMIT 1")], "passwd"),
    ("SQL_VARIABLE", [put("sources/1/type", "mysql"), put("tools/3/sql", "SELECT @@version, :cage")], "variables"),
    ("SQL_SCHEMA", [put(SQL, "SELECT id FROM main.animals WHERE species = :species LIMIT 1")], "names a schema"),
    ("SQL_TYPE", [put(SQL, "SELECT id::VARIANT FROM animals WHERE species = :species LIMIT 1")], "VARIANT"),
    ("SQL_TOO_LARGE", [put(SQL, "SELECT repeat(:species, 10000000) FROM animals LIMIT 1")], "too large"),
    ("SQL_HIDDEN", [put(SQL, "SELECT id FROM animals /* a /* b */ */ WHERE species = :species LIMIT 1")], "comment"),
    ("TOOL_SHAPE_INVALID", [drop(SQL)], "no sql, no request and no graph"),
    ("TOOL_SHAPE_INVALID", [put("tools/1/sql", "SELECT id FROM animals LIMIT 1")], "sql and request"),
    ("TOOL_SHAPE_INVALID", [put("tools/2/category", "READ")], "called READ"),
    ("TOOL_SHAPE_INVALID", [put("tools/1/category", "READ")], "sends POST"),
    ("TOOL_SHAPE_INVALID", [drop("tools/2/save")], "neither goes to a save"),
    ("TOOL_SHAPE_INVALID", [put("tools/0/category", "ACTION")], "only reads"),
    ("TOOL_SHAPE_INVALID", [put("tools/0/at", "animals")], "rest source"),
    (
        "CATEGORY_CONTRADICTED",
        [drop("tools/1/request"), put("tools/1/category", "READ"), put("tools/1/graph", DELETING)],
        "its node 'gone' (statement) changes something",
    ),
    ("TEXT_INVISIBLE", [put("tools/0/name", "List\u202e animals")], "U+202E"),
    ("GRAPH_INVALID", [drop("tools/1/request"), put("tools/1/graph", {"nodes": 3, "edges": []})], "nodes"),
    ("SKILL_INVALID", [put("skills/0/tool_ids", ["list_animal"])], "'list_animal'"),
    ("SKILL_INVALID", [drop("skills/0/prompt_template"), put("skills/0/messages", [HELLO])], "a place for 'name'"),
    ("RESOURCE_INVALID", [put("resources", [{**RULES, "text": "{{cage}}"}])], "a place for 'cage'"),
    ("RESOURCE_INVALID", [put("resources", [{**NAMELESS, "tool": "list_animal"}])], "'list_animal'"),
    ("RESOURCE_INVALID", [put("resources", [{**NAMELESS, "tool": "feed_animal"}])], "changes something"),
    ("RESOURCE_INVALID", [put("resources", [{**NAMELESS, "tool": "list_animals"}])], "requires 'species'"),
    ("RESOURCE_INVALID", [put("resources", [{**NAMELESS, "graph": DELETING}])], "node 'gone' (statement) changes"),
    ("SKILL_INVALID", [drop("skills/0/prompt_template"), put("skills/0/graph", DELETING)], "'report' is read"),
    ("INVALID_VALUE", [put("resources", [NAMELESS])], "one of text, blob, path, tool and graph"),
    ("INVALID_VALUE", [put("resources", [{**RULES, "uri": "jackfield://rules"}])], "the platform's own"),
    ("INVALID_VALUE", [put("resources", [{**RULES, "uri": "rules"}])], "no absolute URI"),
    ("INVALID_VALUE", [put("resources", [{"name": "R", "text": "x"}])], "'uri', or a 'uri_template'"),
    ("GRAPH_INVALID", [put("resources", [{**NAMELESS, "graph": {"nodes": 3, "edges": []}}])], "nodes"),
    ("PATH_OUTSIDE_FOLDER", [put("resources", [{**NAMELESS, "path": "../rules.txt"}])], "'..'"),
    ("SQL_INVALID", [put(SQL, "SELECT desc FROM animals WHERE species = :species LIMIT 9")], "uses 'desc'"),
    ("FILTER_INVALID", [drop(SQL), put("tools/0/limit", "ten")], "'limit'"),
    ("DATA_PATH_INVALID", [put("sources/0/data_path", "items[")], "data_path"),
    ("EVALS_MISSING", [put("evals", "zoo.eval.yaml")], "zoo.eval.yaml"),
    ("SECRET_LITERAL", [put("sources/0/headers", {"X-Trace": "AKIAABCDEFGHIJKLMNOP"})], "AWS"),
    ("SECRET_IN_URL", [put("sources/0/url", "https://joe:hunter2@api.example.com/animals")], "password"),
    ("SECRET_IN_URL", [put("sources/0/url", "https://api.example.com/animals?api_key=abc")], "carries a secret"),
    ("SECRET_IN_URL", [put("sources/0/url", "https://api.example.com/ZOO_TOKEN/animals")], "carries a secret"),
    ("AUTH_LITERAL_SECRET", [put(f"{AUTH}/secret_key", "s3cr3t value")], "not the name"),
    ("AUTH_OAUTH2_MISSING_CONFIG", [put(AUTH, {"type": "oauth2"})], "client_id"),
    ("AUTH_OAUTH2_CLIENT_NOT_ENV", [put(AUTH, {"type": "oauth2", "client_id": "my-app-7"})], "client_id"),
    (
        "AUTH_PER_USER_SLOT_IS_ENV",
        [put(AUTH, {"type": "oauth2", "scope": "per_user", "secret_key": "ONE_FOR_ALL"})],
        "each user",
    ),
    ("ENV_IN_TEXT", [put(DESCRIPTION, "Return the animals of {{ env:ZOO_NAME }}")], "description"),
    ("PATH_OUTSIDE_FOLDER", [put("sources/2/path", "../cages.csv")], "'..'"),
]  # fmt: skip

BY_OTHER_MEANS = {
    *("JSON_SYNTAX", "FILE_UNREADABLE", "FORMAT_UNKNOWN"),
    *("DUPLICATE_SLUG", "VERSION_NOT_BUMPED", "SENSITIVE_FIELD_EXPOSED"),
    *("TOOL_NAME_CONFLICT", "TOOL_NAME_RESERVED", "TOOL_NAME_CUT", "RESOURCE_URI_CONFLICT"),
    *("CONFIG_INVALID", "SOURCE_NOT_READABLE"),
}
ROOMS = Path(catalog.__file__).parents[1]
# Where findings are made: whatever has the form of a code in these texts is one.
MAKERS = [
    *(path for path in (ROOMS / "connectors").rglob("*.py") if path.parent.name != "evals"),
    *(ROOMS / "graphs").rglob("*.py"),
    ROOMS / "nodes" / "checking.py",
    ROOMS / "nodes" / "sqltext" / "read_only.py",
    ROOMS / "surfaces" / "columns.py",
]
CODE = re.compile("[A-Z]+(_[A-Z]+)+")


def codes(*changes: Change) -> list[str]:
    return [finding.code for finding in lint(text(*changes))]


def test_a_sound_connector_has_no_finding() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("code", "changes", "words"), FAULTS, ids=[f"{code}-{n}" for n, (code, _, _) in enumerate(FAULTS)]
)
def test_each_fault_has_its_code_its_place_and_its_words(code: str, changes: list[Change], words: str) -> None:
    findings = [finding for finding in lint(text(*changes), path=Path("zoo.connector.json")) if finding.code == code]
    assert findings, codes(*changes)
    finding = findings[0]
    assert words in f"{finding.message} {finding.place.pointer}"
    assert finding.severity is CODES[code].severity
    assert finding.principle == CODES[code].principle
    assert finding.place.file == "zoo.connector.json"
    assert finding.place.line is not None
    assert finding.place.column is not None


def test_every_code_has_a_fault_that_shows_it() -> None:
    assert {code for code, _, _ in FAULTS} | BY_OTHER_MEANS == set(CODES)


def written_codes(path: Path) -> set[str]:
    """The codes that a module spells out. Those of errors are not findings."""
    found = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
    return {text for text in found if isinstance(text, str) and CODE.fullmatch(text)} - {code.value for code in Code}


def test_every_code_that_is_reported_is_in_a_table() -> None:
    found = {code: path.name for path in MAKERS for code in written_codes(path)}
    assert {"PATH_OUTSIDE_FOLDER", "SQL_TOO_LARGE", "SOURCE_NOT_READABLE", "NODE_UNREACHABLE"} <= set(found)
    assert {code: name for code, name in found.items() if code not in {*CODES, *GRAPH_CODES}} == {}


def test_what_a_node_of_a_graph_does_not_take_is_a_finding() -> None:
    nodes = [{"id": "a", "type": "sql", "configuration": {"sq": "SELECT 1"}}, {"id": "out", "type": "output"}]
    found = lint(json.dumps({"nodes": nodes, "edges": [{"from": "a", "to": "out", "out": "rows", "in": "rows"}]}))
    assert "CONFIG_INVALID" in {finding.code for finding in found}


def test_text_that_is_no_json_has_its_line_and_column() -> None:
    (finding,) = lint('{\n  "name": "Zoo",\n}')
    assert (finding.code, finding.place.line, finding.severity) == ("JSON_SYNTAX", 2, Severity.ERROR) or (
        finding.place.line == 3
    )


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    (finding,) = lint(tmp_path / "gone.json")
    assert finding.code == "FILE_UNREADABLE"


def test_a_document_of_no_dialect_is_a_finding() -> None:
    (finding,) = lint('{"a": 1}')
    assert finding.code == "FORMAT_UNKNOWN"


def test_of_two_files_with_one_slug_the_second_is_a_finding(tmp_path: Path) -> None:
    written(tmp_path, name="a.connector.json")
    written(tmp_path, name="b.connector.json")
    (finding,) = lint_all(tmp_path).findings
    assert (finding.code, Path(finding.place.file).name) == ("DUPLICATE_SLUG", "b.connector.json")


def test_a_contract_that_changes_under_one_version_is_a_finding(tmp_path: Path) -> None:
    old = load(written(tmp_path)).connector("zoo")
    parameter = {"name": "keeper", "type": "string", "description": "Keeper, exact name"}
    new = load(written(tmp_path, put("tools/0/parameters/1", parameter))).connector("zoo")
    (finding,) = changed_without_bump(old, new)
    assert finding.code == "VERSION_NOT_BUMPED"
    assert "other arguments" in finding.message
    raised = load(written(tmp_path, put("tools/0/parameters/1", parameter), put("version", "1.1.0"))).connector("zoo")
    assert changed_without_bump(old, raised) == ()
    reworded = load(written(tmp_path, put(DESCRIPTION, "Return every animal of a species."))).connector("zoo")
    assert changed_without_bump(old, reworded) == ()


def test_a_field_that_is_declared_sensitive_may_not_be_given() -> None:
    assert [f.code for f in lint(text(), sensitive=["keeper"])] == []
    change = put(SQL, "SELECT keeper FROM animals WHERE species = :species LIMIT 100")
    (finding,) = lint(text(change), sensitive=["keeper"])
    assert (finding.code, finding.subject) == ("SENSITIVE_FIELD_EXPOSED", "list_animals")


def test_asked_online_a_source_answers_for_its_columns() -> None:
    def columns(source: Source, child: str) -> list[str] | None:
        return ["cage", "name"] if source.id == "cages" else None

    change = put(SQL, "SELECT c.cag FROM cages c WHERE c.name = :species LIMIT 1")
    assert codes(change) == []
    (finding,) = lint(text(change), columns=columns)
    assert (finding.code, finding.hint) == ("UNKNOWN_COLUMN", "Did you mean 'cage'?")


def test_a_fault_in_sql_is_shown_at_its_word() -> None:
    path = Path("zoo.connector.json")
    content = text(put(SQL, "SELECT id FROM animls WHERE species = :species LIMIT 1"))
    (finding,) = lint(content, path=path)
    line = content.splitlines()[(finding.place.line or 0) - 1]
    assert finding.place.column is not None
    assert finding.place.end_column is not None
    assert line[finding.place.column - 1 : finding.place.end_column - 1] == "animls"


def test_one_fault_hides_no_other() -> None:
    found = codes(
        put("slug", "NO"), put("tools/0/category", "X"), put("tools/1/description", "x"), drop("skills/0/name")
    )
    assert {"INVALID_VALUE", "DESCRIPTION_TOO_SHORT", "MISSING_FIELD"} <= set(found)
    assert found.count("INVALID_VALUE") == 2


def test_keywords_and_semicolons_inside_literals_and_with_are_fine() -> None:
    statements = [
        "SELECT id FROM animals WHERE species = 'delete; drop table x' AND keeper = :species LIMIT 1",
        "WITH few AS (SELECT id FROM animals WHERE species = :species) SELECT id FROM few LIMIT 5",
        "SELECT id FROM animals WHERE species = :species LIMIT 1 -- update later; maybe\n",
    ]
    for statement in statements:
        assert codes(put(SQL, statement)) == [], statement


def test_limit_and_offset_take_bound_values() -> None:
    number = {"name": "most", "type": "int", "description": "Most rows", "default": 5}
    change = [
        put("tools/0/parameters/1", number),
        put(SQL, "SELECT id FROM animals WHERE species = :species LIMIT :most"),
    ]
    assert codes(*change) == []


def test_a_document_that_is_sound_stays_as_it_was() -> None:
    before = sound()
    lint(text())
    assert before == SOUND


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT y FROM (SELECT x + 1 AS y FROM (SELECT id AS x FROM animals)) WHERE y > length(:species) LIMIT 3",
        "WITH c AS (SELECT id AS n FROM animals) SELECT n FROM c WHERE n > length(:species) LIMIT 1",
        "SELECT list_transform([1, 2], lambda x: x + id) AS l FROM animals WHERE species = :species LIMIT 1",
        "SELECT species, count(*) n FROM animals WHERE species = :species GROUP BY 1 HAVING n > 1 ORDER BY n LIMIT 4",
        "SELECT u.v FROM animals, unnest([1, 2]) AS u(v) WHERE species = :species LIMIT 3",
        "SELECT id FROM animals WHERE EXISTS (SELECT 1 FROM cages WHERE size > id) AND species = :species LIMIT 3",
        "SELECT day FROM (VALUES (1), (2)) t(day) JOIN animals a ON a.id = day WHERE species = :species LIMIT 3",
        "SELECT id, row_number() OVER () AS rn FROM animals WHERE species = :species QUALIFY rn < 3 LIMIT 3",
        "SELECT ID, Species FROM Animals WHERE SPECIES = :species LIMIT 3",
        'SELECT "id" FROM "animals" WHERE species = :species LIMIT 3',
    ],
)
def test_sound_sql_of_every_shape_has_no_finding(statement: str) -> None:
    assert codes(put(SQL, statement)) == []
