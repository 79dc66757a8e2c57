"""Hot reload: edits go live, and a bad one leaves the last good version in service."""

import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from connector_documents import Change, put, text, written

from jackfield.connectors.catalog import Catalog
from jackfield.connectors.watch import Watcher
from jackfield.graphs.findings import Severity

DESCRIPTION = put("tools/0/description", "Return every animal of one species, at most 100.")


def described(watcher: Watcher) -> str:
    return watcher.catalog.tool("zoo", "list_animals").description


def test_a_look_that_finds_nothing_new_keeps_the_catalog(tmp_path: Path) -> None:
    written(tmp_path)
    watcher = Watcher(tmp_path)
    before = watcher.catalog
    assert not watcher.refresh()
    assert watcher.catalog is before


def test_an_edit_makes_a_new_catalog_and_calls_under_way_keep_the_old(tmp_path: Path) -> None:
    written(tmp_path)
    watcher = Watcher(tmp_path)
    old = watcher.catalog
    written(tmp_path, DESCRIPTION)
    assert watcher.refresh()
    assert described(watcher).startswith("Return every animal")
    assert old.tool("zoo", "list_animals").description.startswith("Return the animals")


def test_file_08_a_half_written_file_leaves_the_last_good_version_in_service(tmp_path: Path) -> None:
    path = written(tmp_path)
    watcher = Watcher(tmp_path)
    whole = text(DESCRIPTION)
    for size in (0, 1, 40, len(whole) // 2, len(whole) - 2):
        path.write_text(whole[:size])
        os.utime(path, ns=(size, size))
        assert watcher.refresh()
        assert described(watcher).startswith("Return the animals")
        (finding,) = watcher.catalog.findings
        assert finding.severity is Severity.ERROR
        assert "stays in service" in finding.hint
    path.write_text(whole)
    assert watcher.refresh()
    assert described(watcher).startswith("Return every animal")
    assert watcher.catalog.findings == ()


@pytest.mark.parametrize(
    "bad",
    [put("version", "one"), put("tools/0/sql", "SELECT id FROM nowhere LIMIT 1"), put("tools/0/sql", "SELEC")],
    ids=["schema", "table", "syntax"],
)
def test_an_edit_that_breaks_a_tool_is_reported_and_not_served(tmp_path: Path, bad: Change) -> None:
    written(tmp_path)
    watcher = Watcher(tmp_path)
    good = watcher.catalog.connector("zoo")
    written(tmp_path, DESCRIPTION, bad)
    assert watcher.refresh()
    assert watcher.catalog.connector("zoo") is good
    assert any(finding.severity is Severity.ERROR for finding in watcher.catalog.findings)


def test_a_new_file_is_served_and_a_deleted_one_is_not(tmp_path: Path) -> None:
    path = written(tmp_path)
    watcher = Watcher(tmp_path)
    written(tmp_path, put("slug", "aquarium"), name="b.connector.json")
    assert watcher.refresh()
    assert sorted(watcher.catalog.connectors) == ["aquarium", "zoo"]
    path.unlink()
    assert watcher.refresh()
    assert sorted(watcher.catalog.connectors) == ["aquarium"]


def test_a_named_file_that_goes_away_stays_in_service_and_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path)
    watcher = Watcher(path)
    path.unlink()
    assert watcher.refresh()
    assert sorted(watcher.catalog.connectors) == ["zoo"]
    assert [finding.code for finding in watcher.catalog.findings] == ["FILE_UNREADABLE"]
    assert not watcher.refresh()
    written(tmp_path)
    assert watcher.refresh()
    assert watcher.catalog.findings == ()


def test_a_file_written_anew_with_the_same_text_keeps_its_connector_and_its_graphs(tmp_path: Path) -> None:
    path = written(tmp_path)
    watcher = Watcher(tmp_path)
    before = watcher.catalog.connector("zoo")
    os.utime(path, ns=(1, 1))
    assert watcher.refresh()
    assert watcher.catalog.connector("zoo") is before


def test_a_contract_that_changes_without_its_version_is_served_with_a_warning(tmp_path: Path) -> None:
    written(tmp_path)
    watcher = Watcher(tmp_path)
    written(tmp_path, put("tools/0/category", "ACTION"))
    assert watcher.refresh()
    assert watcher.catalog.tool("zoo", "list_animals").category == "ACTION"
    assert [finding.code for finding in watcher.catalog.findings] == ["VERSION_NOT_BUMPED"]


@pytest.mark.anyio
@pytest.mark.parametrize("told", [True, False], ids=["told by the system", "looking"])
async def test_an_edit_is_live_within_two_seconds(tmp_path: Path, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not told:  # as where no more watches are to be had
        import watchfiles

        def refused(*_: object, **__: object) -> object:
            raise OSError("no watches left")

        monkeypatch.setattr(watchfiles, "awatch", refused)
    written(tmp_path)
    watcher = Watcher(tmp_path)
    live, started = anyio.Event(), anyio.Event()

    async def on_change(catalog: Catalog) -> None:
        if catalog.tool("zoo", "list_animals").description.startswith("Return every"):
            live.set()
        started.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run, on_change)
        with anyio.fail_after(10):  # until the watch is set up: a first file, whenever it is seen
            written(tmp_path, put("slug", "first"), name="first.connector.json")
            await started.wait()
        written(tmp_path, DESCRIPTION)
        with anyio.fail_after(2):
            await live.wait()
        tasks.cancel_scope.cancel()


def test_a_graph_file_that_a_tool_names_is_followed_with_its_connector(tmp_path: Path) -> None:
    board = {"nodes": [{"id": "in", "type": "input"}, {"id": "out", "type": "output"}], "edges": []}
    path = tmp_path / "echo.bgl.json"
    path.write_text(json.dumps(board))
    written(tmp_path, put("tools/1/request", None), put("tools/1/graph", "echo.bgl.json"))
    watcher = Watcher(tmp_path / "zoo.connector.json")
    assert len(watcher.catalog.tool("zoo", "feed_animal").graph.edges) == 0
    path.write_text(json.dumps({**board, "edges": [{"from": "in", "out": "*", "to": "out"}]}))
    assert watcher.refresh()
    assert len(watcher.catalog.tool("zoo", "feed_animal").graph.edges) == 1


def pattern(folder: Path) -> str:
    return str(folder / "*.connector.json")


@pytest.mark.parametrize("later", [False, True], ids=["given", "of the settings"])
def test_a_file_that_a_pattern_found_is_gone_when_it_is_deleted(tmp_path: Path, later: bool) -> None:
    path = written(tmp_path)
    watcher = Watcher([], later=[pattern(tmp_path)]) if later else Watcher(pattern(tmp_path))
    assert sorted(watcher.catalog.connectors) == ["zoo"]
    path.unlink()
    assert watcher.refresh()
    assert (watcher.catalog.connectors, watcher.catalog.findings) == ({}, ())


def test_a_file_that_is_renamed_is_served_from_its_new_place_and_leaves_no_ghost(tmp_path: Path) -> None:
    path = written(tmp_path)
    watcher = Watcher([], later=[pattern(tmp_path)])
    moved = path.rename(tmp_path / "animals.connector.json")
    assert watcher.refresh()
    assert [one.path for one in watcher.catalog.connectors.values()] == [moved]
    assert watcher.catalog.findings == ()


def test_a_named_file_that_is_renamed_yields_its_slug_to_the_file_that_is_there(tmp_path: Path) -> None:
    path = written(tmp_path)
    watcher = Watcher([path, tmp_path])
    moved = path.rename(tmp_path / "zzz.connector.json")
    assert watcher.refresh()
    assert [one.path for one in watcher.catalog.connectors.values()] == [moved]
    assert [finding.code for finding in watcher.catalog.findings] == ["FILE_UNREADABLE"]


def test_a_file_that_a_pattern_found_and_that_is_no_connector_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "zoo.connector.json").write_text("{}")
    assert [finding.code for finding in Watcher(pattern(tmp_path)).catalog.findings] == ["FORMAT_UNKNOWN"]


@asynccontextmanager
async def followed(watcher: Watcher) -> AsyncIterator[Callable[[Callable[[Catalog], bool]], Awaitable[None]]]:
    """Follows the files; what is given waits until a catalog is as it says, for 3 s: a look every 10 s is too late."""
    changed = anyio.Event()

    async def on_change(catalog: Catalog) -> None:
        nonlocal changed
        changed.set()
        changed = anyio.Event()

    async def until(wanted: Callable[[Catalog], bool]) -> None:
        with anyio.fail_after(3):
            while not wanted(watcher.catalog):
                await changed.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run, on_change)
        yield until
        tasks.cancel_scope.cancel()


def has(*slugs: str) -> Callable[[Catalog], bool]:
    return lambda catalog: sorted(catalog.connectors) == sorted(slugs)


def describes(slug: str) -> Callable[[Catalog], bool]:
    return lambda catalog: "every" in catalog.tool(slug, "list_animals").description


@pytest.mark.anyio
@pytest.mark.parametrize("deeper", ["connectors", "connectors/team"])
async def test_a_folder_that_comes_goes_and_is_replaced_is_followed(tmp_path: Path, deeper: str) -> None:
    top, folder = tmp_path / "connectors", tmp_path / deeper
    async with followed(Watcher([], later=[pattern(tmp_path), top])) as until:
        written(tmp_path, put("slug", "root"), name="root.connector.json")
        await until(has("root"))  # it is listening
        folder.mkdir(parents=True)
        written(folder)
        await until(has("root", "zoo"))
        for slug in ("second", "third"):
            shutil.rmtree(top)
            folder.mkdir(parents=True)
            written(folder, put("slug", slug))
            await until(has("root", slug))
            written(folder, put("slug", slug), DESCRIPTION)
            await until(describes(slug))
        top.rename(tmp_path / "elsewhere")
        await until(has("root"))
        (tmp_path / "elsewhere").rename(top)
        await until(has("root", "third"))


@pytest.mark.anyio
async def test_a_given_folder_that_is_replaced_is_listened_to_anew(tmp_path: Path) -> None:
    top = tmp_path / "connectors"
    top.mkdir()
    written(top)
    async with followed(Watcher(top)) as until:
        for slug in ("second", "third"):
            top.rename(tmp_path / f"before-{slug}")
            await until(has())
            top.mkdir()
            written(top, put("slug", slug))
            await until(has(slug))
