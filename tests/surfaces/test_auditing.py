"""The line that a served call becomes, and what its journal refuses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from servers.audit import read

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.auditing import AuditJournal, audit_folder, audit_log
from jackfield.surfaces.served import Caller, ServedCall
from jackfield.surfaces.settings import Settings, load

CALLER = Caller("local", "inspector/1.2", "stateless", "s-7")


def ended(**fields: Any) -> ServedCall:
    call = ServedCall(CALLER, "pets_list_animals", {"species": "cat", "iban": "NO93"}, "r1")
    call.connector, call.tool, call.category, call.seconds = "pets", "list_animals", "READ", 0.0125
    for name, value in fields.items():
        setattr(call, name, value)
    return call


def settings(tmp_path: Path, **given: str) -> Settings:
    return load(tmp_path, {f"JACKFIELD_AUDIT_{name.upper()}": value for name, value in given.items()})


def test_a_call_is_recorded_under_the_name_it_was_called_by(tmp_path: Path) -> None:
    found = settings(tmp_path)
    with audit_log(found) as log:
        journal = AuditJournal(log)
        journal.require()
        journal.record(ended(rows=3, bytes=210, cached=True, pushed=2, sensitive=frozenset({"iban"})))
    (line,) = read(audit_folder(found))
    del line["ts"], line["prev"]
    assert line == {
        "tool": "pets_list_animals", "args": {"species": "cat", "iban": "***"}, "rows": 3, "bytes": 210,
        "duration_ms": 12.5, "error": None, "session_id": "s-7", "run": "r1", "connector": "pets", "category": "READ",
        "principal": "local", "client": "inspector/1.2", "era": "stateless", "cache": "hit", "pushed": 2,
        "truncated": None, "decision": "allowed", "message": None, "trace": None, "seq": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("code", "decision"),
    [
        (Code.TOOL_NOT_FOUND, "denied"),
        (Code.VALIDATION_INVALID_PARAMS, "denied"),
        (Code.ACCESS_DENIED, "denied"),
        (Code.AUTH_REQUIRED, "denied"),
        (Code.OVERLOADED, "denied"),
        (Code.SOURCE_ERROR, "allowed"),
        (Code.CANCELLED, "allowed"),
        (Code.OUTCOME_UNKNOWN, "allowed"),
    ],
)
def test_aud_04_what_was_refused_has_a_line_with_who_what_and_why(tmp_path: Path, code: Code, decision: str) -> None:
    found = settings(tmp_path)
    with audit_log(found) as log:
        AuditJournal(log).record(ended(error=JackfieldError(code, "It was so."), connector="", category=""))
    (line,) = read(audit_folder(found))
    assert (line["error"], line["decision"], line["message"]) == (code.value, decision, "It was so.")
    assert (line["principal"], line["client"], line["tool"]) == ("local", "inspector/1.2", "pets_list_animals")
    assert line["connector"] is None


def test_aud_07_the_journal_refuses_writes_before_and_answers_after(tmp_path: Path) -> None:
    found = settings(tmp_path)
    with audit_log(found) as log:
        journal = AuditJournal(log)
        shutil.rmtree(audit_folder(found))
        for refused in (
            journal.require,
            lambda: journal.record(ended()),
            lambda: journal.record(ended(category="WRITE")),
        ):
            with pytest.raises(JackfieldError) as caught:
                refused()
            assert caught.value.code is Code.AUDIT_UNAVAILABLE
        journal.record(ended(error=JackfieldError(Code.CANCELLED, "The caller went away.")))


def test_aud_07_reads_go_on_where_the_setting_says_so(tmp_path: Path) -> None:
    found = settings(tmp_path, read_without="true")
    with audit_log(found) as log:
        journal = AuditJournal(log)
        shutil.rmtree(audit_folder(found))
        journal.record(ended())
        with pytest.raises(JackfieldError):
            journal.require()
        with pytest.raises(JackfieldError):
            journal.record(ended(category="WRITE"))


def test_the_settings_of_the_audit_hold(tmp_path: Path) -> None:
    found = settings(tmp_path, max_bytes="1500", fsync="true")
    with audit_log(found) as log:
        for _ in range(8):
            AuditJournal(log).record(ended())
    assert len(list(audit_folder(found).glob("audit-*.log"))) > 1
    with pytest.raises(JackfieldError, match="expected true or false"):
        settings(tmp_path, fsync="perhaps")


def test_a_secret_that_the_app_resolved_is_in_no_line(tmp_path: Path) -> None:
    found = settings(tmp_path)
    with audit_log(found, lambda text: text.replace("s3cret-value", "***")) as log:
        AuditJournal(log).record(
            ended(arguments={"q": "s3cret-value"}, error=JackfieldError(Code.SOURCE_ERROR, "s3cret-value"))
        )
    (line,) = read(audit_folder(found))
    assert (line["args"], line["message"]) == ({"q": "***"}, "***")
