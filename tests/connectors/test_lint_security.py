"""Lint against the security cases that concern a connector file: TPL, SEC-12, SQL-02, SQL-03, FILE-01."""

import re
from pathlib import Path

import pytest
from connector_documents import Change, put, text, written

from jackfield.connectors.catalog import load
from jackfield.connectors.lint import lint, lint_all
from jackfield.connectors.masking import masked
from jackfield.graphs.findings import Finding, Severity
from jackfield.graphs.positions import caret

LITERALS = {
    "live key": ("sources/0/headers", {"X-Key": "sk_live_4eC39HqLyjWDarjtT1zdp7dc"}),
    "aws": ("sources/0/params", {"id": "AKIAIOSFODNN7EXAMPLE"}),
    "jwt": ("sources/0/headers", {"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dGVzdA"}),
    "pem": ("sources/0/headers", {"X-Cert": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"}),
    "dsn password": ("sources/1/dsn", "postgresql://joe:hunter2secret@db.example.com/zoo"),
    "dsn keyword": ("sources/1/dsn", "host=db.example.com user=joe password=hunter2secret"),
    "url password": ("sources/0/url", "https://joe:hunter2secret@api.example.com/animals"),
    "secret_key": ("sources/0/auth/secret_key", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    "high entropy": ("sources/0/headers", {"X-Api-Key": "9f8Qz71LmV03xRtBk2Yd"}),
    "github": ("tools/1/request/headers", {"X-Token": "ghp_abcdefghijklmnopqrstuvwx1234"}),
}  # fmt: skip
PIECES = re.compile(r"sk_live_\w+|AKIA\w+|eyJ[\w.-]+|MIIEow|hunter2secret|9f8Qz71LmV03xRtBk2Yd|ghp_\w+")


def findings(*changes: Change) -> tuple[Finding, ...]:
    return lint(text(*changes), path=Path("zoo.connector.json"))


def errors(*changes: Change) -> list[str]:
    return [finding.code for finding in findings(*changes) if finding.severity is Severity.ERROR]


@pytest.mark.parametrize("name", LITERALS)
def test_sec_12_a_literal_secret_is_an_error_that_names_the_field_and_never_the_value(
    name: str, tmp_path: Path
) -> None:
    change = put(*LITERALS[name])
    found = [f for f in findings(change) if f.code.startswith(("SECRET_", "AUTH_"))]
    assert found
    assert all(finding.severity is Severity.ERROR for finding in found)
    for finding in findings(change):
        assert not PIECES.search(f"{finding.message} {finding.hint}")
    path = tmp_path / "zoo.connector.json"
    path.write_text(text(change))
    linted = lint_all(path)
    shown = "\n".join(caret(finding, linted.texts[str(path)]) for finding in linted.findings)
    assert not PIECES.search(shown)
    assert shown


@pytest.mark.parametrize("place", ["sources/0/auth/secret_key", "sources/1/dsn"])
def test_sec_12_names_and_references_are_no_secrets(place: str) -> None:
    for value in ("ZOO_TOKEN_2026_A1B2C3", "{{ env:ZOO_PRODUCTION_DATABASE_URL_9 }}"):
        if place.endswith("dsn") and not value.startswith("{{"):
            continue
        assert not [code for code in errors(put(place, value)) if code.startswith(("SECRET_", "AUTH_"))]


@pytest.mark.parametrize(
    "value", ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "my secret", "aB3xK9mQ2rT7vZ1pL5wN", "{{ env:A }}x"]
)
def test_sec_12_a_connector_whose_secret_key_is_a_secret_is_not_served(value: str, tmp_path: Path) -> None:
    catalog = load(written(tmp_path, put("sources/0/auth/secret_key", value)))
    assert not catalog.connectors
    (finding,) = catalog.findings
    assert finding.code == "AUTH_LITERAL_SECRET"
    assert value not in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize(
    "value", ["ZOO_TOKEN", "zoo_service_token_v2_production", "{{ env:ZOO_TOKEN }}", "T0KEN_9F8Q7"]
)
def test_sec_12_the_name_of_a_variable_is_one_in_any_case(value: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, put("sources/0/auth/secret_key", value))).findings == ()


def test_sec_12_sql_that_compares_passwords_holds_none() -> None:
    statement = "SELECT id FROM animals WHERE species = :species AND keeper = lower('password') LIMIT 1"
    assert errors(put("tools/0/sql", statement)) == []
    bound = "SELECT name FROM keepers WHERE password = :cage LIMIT 1"
    assert errors(put("tools/3/sql", bound)) == []


def test_sec_12_a_secret_in_a_file_that_is_no_json_is_covered_too() -> None:
    broken = '{ "secret_key": "hunter2secret!", "token": "9f8Qz71LmV03xRtBk2Yd9f8Qz7", "a": AKIAIOSFODNN7EXAMPLE }'
    (finding,) = lint(broken)
    assert not PIECES.search(caret(finding, masked(broken, [finding])))
    assert len(masked(broken, [finding])) == len(broken)


SEEN = [
    ("name", "Zoo {{ env:NAME }}"),
    ("slug", "{{ env:NAME }}"),
    ("sources/0/id", "{{ env:NAME }}"),
    ("tools/0/id", "{{ env:NAME }}"),
    ("tools/0/name", "{{ env:NAME }}"),
    ("tools/0/description", "Return the animals of {{env:NAME}}, all."),
    ("tools/0/sql", "SELECT id FROM animals WHERE species = '{{ env:NAME }}' LIMIT 1"),
    ("tools/0/parameters/0/description", "Species {{ env:NAME }}"),
    ("skills/0/prompt_template", "Use {{ env:NAME }}."),
    ("skills/0/description", "Summarise for {{ env:NAME }}."),
]


@pytest.mark.parametrize(("place", "value"), SEEN, ids=[place for place, _ in SEEN])
def test_tpl_06_a_variable_in_a_text_that_a_model_or_a_database_sees_is_an_error(place: str, value: str) -> None:
    assert "ENV_IN_TEXT" in errors(put(place, value))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("sources/0/url", "https://{{ env:ZOO_HOST }}/animals"),
        ("sources/0/params", {"site": "{{ env:SITE }}"}),
        ("sources/2/path", "{{ env:DATA }}/cages.csv"),
        ("saves/0/path", "./out/{{ env:STAGE }}.parquet"),
        ("tools/1/request/url", "https://{{ env:ZOO_HOST }}/animals/{animal_id}/feed"),
    ],
)
def test_tpl_06_elsewhere_a_variable_is_welcome(place: str, value: object) -> None:
    assert errors(put(place, value)) == []


@pytest.mark.parametrize("path", ["[" * 3000, "a||" * 20_000 + "a", "a" * 1_000_000, "foo[?"])
def test_tpl_08_a_data_path_beyond_reason_is_one_finding(path: str) -> None:
    found = findings(put("sources/0/data_path", path))
    assert [finding.code for finding in found] == ["DATA_PATH_INVALID"]
    assert len(found[0].message) < 500


@pytest.mark.parametrize("version", ["1", "1.0", "01.0.0", "1.0.0-01", "v1.0.0", "1.0.0-", "1.0.0-rc_1", ""])
def test_tpl_13_a_version_that_is_no_semver_is_an_error(version: str) -> None:
    (finding,) = findings(put("version", version))
    assert (finding.code, finding.severity, finding.place.pointer) == ("INVALID_VALUE", Severity.ERROR, "/version")


@pytest.mark.parametrize("version", ["0.0.1", "1.0.0-rc.1", "1.0.0-rc1+x", "10.20.30+build.5"])
def test_tpl_13_every_semver_is_taken(version: str) -> None:
    assert findings(put("version", version)) == ()


PIECED = ["{{order}}", "{order}", "${order}", "%(order)s"]


@pytest.mark.parametrize("piece", PIECED)
def test_sql_02_sql_that_is_put_together_is_refused(piece: str) -> None:
    statement = f"SELECT id FROM animals WHERE species = :species ORDER BY {piece} LIMIT 1"
    assert "SQL_BUILT_OF_PIECES" in errors(put("tools/0/sql", statement))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM animals ORDER BY :species LIMIT 1",
        "SELECT id FROM animals GROUP BY :species LIMIT 1",
    ],
)
def test_sql_02_a_bound_value_is_no_column(statement: str) -> None:
    assert errors(put("tools/0/sql", statement)) == ["PARAMETER_AS_IDENTIFIER"]


def test_sql_02_a_parameter_can_be_no_table() -> None:
    assert errors(put("tools/0/sql", "SELECT id FROM :species LIMIT 1")) != []


def test_sql_02_limit_and_concatenated_values_are_fine() -> None:
    assert errors(put("tools/0/sql", "SELECT id FROM animals WHERE species LIKE '%' || :species || '%' LIMIT 9")) == []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1; DROP TABLE t",
        "COMMIT; DROP SCHEMA public CASCADE",
        "SELECT 1; SELECT 2",
        "SELECT id FROM animals WHERE species = :species LIMIT 1; DELETE FROM animals",
    ],
)
@pytest.mark.parametrize("tool", [0, 3])
def test_sql_03_a_second_statement_is_refused(statement: str, tool: int) -> None:
    assert [code for code in errors(put(f"tools/{tool}/sql", statement)) if code.startswith("SQL_")]


@pytest.mark.parametrize(
    "path",
    [
        *("../x.csv", "a/../../x.csv", "/etc/passwd", "~/x.csv", "file:///etc/passwd"),
        *("C:\\x.csv", "\\\\host\\share\\x", "a\\..\\..\\x"),
    ],
)
@pytest.mark.parametrize("place", ["sources/2/path", "saves/0/path"])
def test_file_01_a_path_that_leaves_the_folder_is_an_error(path: str, place: str) -> None:
    assert "PATH_OUTSIDE_FOLDER" in errors(put(place, path))


def test_file_02_a_path_that_leaves_the_folder_by_a_link_is_an_error(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "zoo"
    outside.mkdir()
    inside.mkdir()
    (inside / "data").symlink_to(outside)
    (inside / "zoo.connector.json").write_text(text())
    assert [f.code for f in lint(inside / "zoo.connector.json")] == ["PATH_OUTSIDE_FOLDER"]
    beside = tmp_path / "zoo-backup"  # begins with the folder's name, and is another folder
    beside.mkdir()
    (inside / "data").unlink()
    (inside / "data").symlink_to(beside)
    assert [f.code for f in lint(inside / "zoo.connector.json")] == ["PATH_OUTSIDE_FOLDER"]
