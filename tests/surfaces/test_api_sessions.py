"""Sessions and their signals: errors, contract misses, retries, repeats, slow calls, large results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.replaying import last_calls
from jackfield.surfaces.served import Caller, ServedCall
from jackfield.surfaces.sessions import Sessions

from .apiserving import api
from .serving import zoo
from .test_api_calls import numbers


def ended(name: str, session: str = "one", *, code: Code | None = None, seconds: float = 0.01, size: int = 100,
          category: str = "READ", **arguments: Any) -> ServedCall:  # fmt: skip
    call = ServedCall(Caller(session_id=session, era="handshake"), name, arguments, "run", category=category)
    call.seconds, call.bytes = seconds, size
    call.error = None if code is None else JackfieldError(code, "It failed.")
    return call


@pytest.mark.parametrize(
    ("calls", "signals"),
    [
        ([ended("list")], ()),
        ([ended("list", code=Code.SOURCE_ERROR)], ("errors",)),
        ([ended("list", code=Code.TOOL_NOT_FOUND)], ("errors", "contract_miss")),
        ([ended("list", code=Code.VALIDATION_INVALID_PARAMS), ended("list")], ("retry",)),
        ([ended("list", code=Code.SOURCE_ERROR), ended("other")], ()),
        ([ended("list", code=Code.SOURCE_ERROR), ended("list"), ended("list", page=2)], ()),
        ([ended("list", kind="a"), ended("list", kind="a")], ("redundant",)),
        ([ended("list", a=1, b=2), ended("list", b=2, a=1)], ("redundant",)),
        ([ended("list", kind="a"), ended("list", kind="b")], ()),
        ([ended("list", kind="a"), ended("list", "two", kind="a")], ()),
        ([ended("list"), ended("write", category="WRITE"), ended("list")], ()),
        ([ended("list", kind="a" * 500), ended("list", kind="a" * 500)], ("redundant",)),
        ([ended("list", seconds=3.1)], ("slow",)),
        ([ended("list", seconds=3.0)], ()),
        ([ended("list", size=2001)], ("large_result",)),
        ([ended("list", size=2000)], ()),
    ],
)
def test_the_last_call_of_a_session_has_its_signals(calls: list[ServedCall], signals: tuple[str, ...]) -> None:
    sessions = Sessions()
    for call in calls:
        sessions.call_ended(call)
    found = sessions.find(calls[-1].caller.session_id, "local")
    assert found is not None
    assert set(found.calls[-1].signals) == set(signals)


def test_sessions_are_bounded_and_the_one_longest_without_a_call_goes_first() -> None:
    sessions = Sessions()
    for number in range(1_001):
        sessions.call_ended(ended("list", f"s{number}"))
        sessions.call_ended(ended("list", "s0"))
    assert len(sessions.list("local")) == 1_000
    assert sessions.find("s0", "local") is not None
    assert sessions.find("s1", "local") is None
    for number in range(500):
        sessions.call_ended(ended(f"tool{number}", "s0", number=number))
    found = sessions.find("s0", "local")
    assert found is not None
    assert (found.count, len(found.calls)) == (1_502, 200)


@pytest.mark.anyio
async def test_a_session_is_shown_with_its_calls_and_signals(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        for arguments in ({"species": 1}, {"species": "cat"}, {"species": "cat"}):
            body = {"arguments": arguments}
            await served.post("/tools/list_animals/run", body, headers={"x-session-id": "mine"})
        await served.post("/tools/list_anmals/run", headers={"x-session-id": "mine"})
        found = (await served.get("/sessions")).json()["sessions"]
        assert [(one["session"], one["calls"]) for one in found] == [("mine", 4)]
        wanted = {"errors": 2, "contract_miss": 2, "retry": 1, "redundant": 1, "slow": 0, "large_result": 0}
        assert found[0]["signals"] == wanted
        latest = (await served.get("/sessions/mine")).json()["latest"]
        assert [call["signals"] for call in latest] == [
            ["errors", "contract_miss"], ["redundant"], ["retry"], ["errors", "contract_miss"]
        ]  # fmt: skip
        assert latest[0]["error"] == "TOOL_NOT_FOUND"


@pytest.mark.anyio
async def test_an_answer_of_more_than_500_tokens_is_large(tmp_path: Path) -> None:
    numbers(tmp_path, 200, page_size=200)
    async with api(tmp_path) as served:
        await served.run("list_numbers")
        assert (await served.get("/sessions")).json()["sessions"][0]["signals"]["large_result"] == 1


@pytest.mark.anyio
async def test_a_restart_forgets_neither_sessions_nor_the_last_calls(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        for species in ("cat", "cat", 3):
            body = {"arguments": {"species": species}}
            await served.post("/tools/list_animals/run", body, headers={"x-session-id": "mine"})
        before = (await served.get("/sessions/mine")).json()
        calls = (await served.get("/runs")).json()["recent"]
    async with api(tmp_path) as served:
        after = (await served.get("/sessions/mine")).json()
        assert after["signals"] == before["signals"]
        assert after["tools"] == before["tools"]
        assert [call["run"] for call in after["latest"]] == [call["run"] for call in before["latest"]]
        for old, new in zip(calls, (await served.get("/runs")).json()["recent"], strict=True):
            for name in ("run", "name", "arguments", "state", "rows", "bytes", "session", "cached"):
                assert old[name] == new[name]
            assert old["at"] == pytest.approx(new["at"], abs=0.1)
            assert (old["error"] or {}).get("code") == (new["error"] or {}).get("code")
        await served.post("/tools/list_animals/run", headers={"x-session-id": "mine"})
        latest = (await served.get("/sessions/mine")).json()["latest"]
        assert (len(latest), latest[0]["signals"]) == (4, ["retry"])
        assert len((await served.get("/audit")).json()["lines"]) == 4


def test_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    assert last_calls(tmp_path / "nowhere") == []
    (tmp_path / "audit.log").write_text('{"seq": 1}\n{"seq": 2, "tool": null}\nhalf of a li')
    assert last_calls(tmp_path) == []
