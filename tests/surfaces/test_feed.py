"""What the feed holds on to: no more than it shows, whatever calls were."""

from __future__ import annotations

import gc
import json
import pickle
import weakref
from pathlib import Path
from typing import Any

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces import feed as feeds
from jackfield.surfaces import watchers
from jackfield.surfaces.feed import Feed
from jackfield.surfaces.served import Caller, ServedCall
from jackfield.surfaces.sessions import Sessions


def as_it_is(text: str) -> str:
    return text


def called(feed: Feed, run: str = "run", events: int = 0, **arguments: Any) -> ServedCall:
    call = ServedCall(Caller(), "list", arguments, run)
    feed.call_began(call)
    call.follow(None)
    assert call.trail is not None
    for _ in range(events):
        call.trail.tell("node", "pulled", {"rows": 1})
    return call


class Table:
    """Something large that a run holds."""


def test_a_failed_call_holds_on_to_nothing_of_its_run() -> None:
    feed = Feed(as_it_is)

    def fail(call: ServedCall) -> weakref.ref[Table]:
        table = Table()
        try:
            raise JackfieldError(Code.SOURCE_ERROR, "It failed.")
        except JackfieldError as error:
            call.error = error
            feed.call_ended(call)
        return weakref.ref(table)

    held = fail(called(feed))
    gc.collect()
    assert held() is None
    assert feed.recent()[0]["error"]["message"] == "It failed."


def test_large_arguments_are_cut_when_they_are_kept() -> None:
    feed = Feed(as_it_is)
    large = Table()
    feed.call_ended(called(feed, text="x" * 1_000_000, small=1, other={"held": [large]}))
    told = feed.recent()[0]["arguments"]
    assert (told["small"], told["text"]["cut_bytes"]) == (1, 1_000_000)
    held = weakref.ref(large)
    del large
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("arguments", [
    {"y" * 3_900_000: 1}, {f"k{number}": number for number in range(90_000)}, {"n": 10**5_000},
    {f"k{number}": "v" * 900 for number in range(40)}, {"deep": [[["x" * 900] * 90] * 90]},
])  # fmt: skip
def test_of_odd_arguments_and_errors_little_is_kept_and_told(arguments: dict[str, Any]) -> None:
    feed, sessions = Feed(as_it_is), Sessions()
    caller = Caller(client="c" * 10_000, session_id="s" * 10_000, traceparent="0" * 100_000, tracestate="a=b")
    for number in range(20):
        call = ServedCall(caller, "n" * 10_000, arguments, str(number))
        feed.call_began(call)
        assert len(json.dumps(feed.live())) < 6_000
        call.error = JackfieldError(Code.SOURCE_ERROR, "m" * 1_000_000, "", {"name": "d" * 1_000_000})
        feed.call_ended(call)
        sessions.call_ended(call)
    assert all(len(json.dumps(one)) < 8_000 for one in feed.recent())
    assert len(pickle.dumps(feed._recent)) < 20 * 10_000
    assert len(pickle.dumps(sessions._held)) < 20_000


def test_a_snapshot_has_as_many_calls_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_TOLD", 20_000)
    feed = Feed(as_it_is)
    for number in range(50):
        feed.call_ended(called(feed, str(number), text="x" * 1_000))
    told = feed.recent()
    assert (told[0]["run"], 10 < len(told) < 20, len(json.dumps(told)) < 21_000) == ("49", True, True)


def test_an_event_is_encoded_once_for_all_who_watch() -> None:
    feed = Feed(as_it_is)
    watches = [feed.watch("local") for _ in range(3)]
    called(feed, events=1)
    kinds = set()
    for first, *others in zip(*(watch.held for watch in watches), strict=True):
        assert all(other is first for other in others)
        assert first.sent is first.sent
        kinds.add(first.kind)
    assert kinds == {"call_began", "node"}


def test_a_watcher_that_is_behind_is_told_of_calls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchers, "QUEUE", 4)
    feed = Feed(as_it_is)
    watch = feed.watch("local")
    call = called(feed, events=3)
    assert [event.kind for event in watch.held] == ["call_began", "node"]
    feed.call_ended(call)
    assert [event.kind for event in watch.held] == ["call_began", "node", "call_ended"]
    assert not called(feed, "another").listeners


def test_events_of_runs_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_EVENTS", 10)
    feed = Feed(as_it_is)
    for number in range(5):
        feed.call_ended(called(feed, f"run{number}", events=4))
    kept = [len(found.events) for number in range(5) if (found := feed.run(f"run{number}")) is not None]
    assert kept == [0, 0, 0, 4, 4]
    feed.call_ended(called(feed, "long", events=11))
    found = feed.run("long")
    assert found is not None
    assert found.events == []
    feed.call_ended(called(feed, "next", events=4))
    after = feed.run("next")
    assert after is not None
    assert len(after.events) == 4


def test_what_a_feed_remembers_is_bounded(tmp_path: Path) -> None:
    feed = Feed(as_it_is)
    for number in range(feeds.RECENT + 5):
        feed.call_ended(called(feed, f"run{number}"))
    assert len(feed.recent()) == feeds.RECENT
    assert feed.run("run0") is None
    assert feed.live() == []
