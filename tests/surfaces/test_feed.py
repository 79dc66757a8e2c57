"""What the feed holds on to: no more than it shows, whatever calls were."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces import feed as feeds
from jackfield.surfaces.feed import Feed
from jackfield.surfaces.served import Caller, ServedCall


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
