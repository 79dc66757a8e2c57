"""Files that agents upload, and that nothing the platform tools write lands anywhere but where it may."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.platform import files

from .platform_bench import connector, workbench

pytestmark = pytest.mark.anyio
CSV = "country,region\nNO,Nordics\nSE,Nordics\nDE,Central\n"


async def test_an_upload_is_written_below_uploads_and_told_by_its_digest(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        told = await bench("elliot_upload_file", file_name="regions.csv", content=CSV)
        digest = hashlib.sha256(CSV.encode()).hexdigest()
        path = "uploads/regions.csv"
        assert told == {"managed_path": path, "bytes": len(CSV), "sha256": digest, "replaced": False}
        assert (tmp_path / path).read_text() == CSV
        assert bench.files() == [path]


async def test_bytes_come_as_base64_and_text_keeps_its_bytes(tmp_path: Path) -> None:
    content = bytes(range(256))
    async with workbench(tmp_path) as bench:
        encoded = base64.b64encode(content).decode()
        await bench("jackfield_upload_file", file_name="a.bin", content=encoded, encoding="base64")
        await bench("jackfield_upload_file", file_name="b.txt", content="å\r\n")
        assert (tmp_path / "uploads/a.bin").read_bytes() == content
        assert (tmp_path / "uploads/b.txt").read_bytes() == "å\r\n".encode()
        wrong = await bench.failed("jackfield_upload_file", file_name="c.bin", content="å", encoding="base64")
        assert wrong.code is Code.VALIDATION_INVALID_PARAMS


async def test_a_file_is_replaced_on_request_only(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench("elliot_upload_file", file_name="a.csv", content="a\n1\n")
        same = await bench("elliot_upload_file", file_name="a.csv", content="a\n1\n")
        assert not same["replaced"]
        refused = await bench.failed("elliot_upload_file", file_name="a.csv", content="a\n2\n")
        assert refused.code is Code.VALIDATION_INVALID_PARAMS
        assert (tmp_path / "uploads/a.csv").read_text() == "a\n1\n"
        told = await bench("elliot_upload_file", file_name="a.csv", content="a\n2\n", replace=True)
        assert told["replaced"]
        assert (tmp_path / "uploads/a.csv").read_text() == "a\n2\n"


@pytest.mark.parametrize(
    "name",
    [
        *("../jackfield.toml", "/etc/passwd", "a/b.csv", "a\\b.csv", "..", ".", ".hidden", "", "   "),
        *("a\0.csv", "a\n.csv", "\u202efdp.csv", "a\u200b.csv", "C:\\x", "con", "nul.csv", "-rf", "a.csv "),
        *("*.csv", "a?.csv", "[a].csv", "{{ env:HOME }}", "$HOME", "~", "x" * 300, "\ud800.csv", "a|b", "a;b"),
    ],
)
async def test_a_name_that_is_not_plainly_one_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "jackfield.toml").write_text("")
    async with workbench(tmp_path) as bench:
        refused = await bench.failed("elliot_upload_file", file_name=name, content="x")
        assert refused.code is Code.VALIDATION_INVALID_PARAMS
        assert bench.files() == ["jackfield.toml"]


async def test_a_file_larger_than_the_setting_allows_is_refused(tmp_path: Path) -> None:
    async with workbench(tmp_path, settings={"JACKFIELD_UPLOAD_MAX_BYTES": "10"}) as bench:
        await bench("elliot_upload_file", file_name="a.csv", content="x" * 10)
        refused = await bench.failed("elliot_upload_file", file_name="b.csv", content="x" * 11)
        assert refused.code is Code.BUDGET_EXCEEDED
        assert bench.files() == ["uploads/a.csv"]


async def test_what_a_killed_process_left_of_a_file_goes_when_it_is_written_again(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / ".a.csv.0123abcd.jackfield-tmp").write_text("ha")
    (tmp_path / "uploads" / ".b.csv.0123abcd.jackfield-tmp").write_text("ha")
    async with workbench(tmp_path) as bench:
        await bench("elliot_upload_file", file_name="a.csv", content="a\n1\n")
        assert bench.files() == ["uploads/.b.csv.0123abcd.jackfield-tmp", "uploads/a.csv"]


async def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "uploads").symlink_to(outside)
    async with workbench(workspace) as bench:
        refused = await bench.failed("elliot_upload_file", file_name="a.csv", content="x")
        assert refused.code is Code.CONFIG_INVALID
        (workspace / "uploads").unlink()
        (workspace / "uploads").mkdir()
        (workspace / "uploads" / "a.csv").symlink_to(outside / "a.csv")
        refused = await bench.failed("elliot_upload_file", file_name="a.csv", content="x", replace=True)
        assert refused.code is Code.CONFIG_INVALID
        assert os.listdir(outside) == []


async def test_a_linked_folder_of_connectors_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "connectors").symlink_to(outside)
    async with workbench(workspace) as bench:
        refused = await bench.failed("deploy-connector", text=connector())
        assert refused.code is Code.CONFIG_INVALID
        assert os.listdir(outside) == []


@pytest.mark.parametrize(
    "place", ["jackfield.toml", ".jackfield/state", "connectors", "uploads/../jackfield.toml", "../x/connectors/a"]
)
def test_nothing_is_written_but_below_connectors_and_uploads(tmp_path: Path, place: str) -> None:
    with pytest.raises(JackfieldError) as refused:
        files.write(tmp_path, tmp_path / place, b"x")
    assert refused.value.code is Code.ACCESS_DENIED
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("slug", ["../../jackfield", "a/b", ".jackfield", "A", "x" * 65, "a\0"])
async def test_a_slug_leads_nowhere_else(tmp_path: Path, slug: str) -> None:
    (tmp_path / "jackfield.toml").write_text("")
    async with workbench(tmp_path) as bench:
        blocked = await bench("deploy-connector", text=connector(slug))
        assert [block["reason"] for block in blocked["blocks"]] == ["lint_errors"]
        document = json.loads(connector())
        refused = await bench.failed(
            "build-connector", name="x", slug=slug, sources=document["sources"], tools=document["tools"]
        )
        assert refused.code is Code.VALIDATION_INVALID_PARAMS
        refused = await bench.failed("lint-connector", connector=slug)
        assert refused.code in (Code.TOOL_NOT_FOUND, Code.VALIDATION_INVALID_PARAMS)
        assert bench.files() == ["jackfield.toml"]


@pytest.mark.parametrize("path", ["../jackfield.toml", "connectors/../../x.connector.json", "/etc/x.connector.json"])
async def test_a_path_outside_of_connectors_is_not_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.connector.json").write_text(connector())
    async with workbench(tmp_path / "workspace") as bench:
        refused = await bench.failed("lint-connector", connector=path)
        assert refused.code in (Code.TOOL_NOT_FOUND, Code.ACCESS_DENIED)


async def test_a_connector_that_saves_outside_of_its_folder_is_not_deployed(tmp_path: Path) -> None:
    write = {
        "id": "save_animals",
        "name": "Save animals",
        "category": "WRITE",
        "description": "Write the animals of the zoo into a file.",
        "sql": "SELECT id FROM animals",
        "parameters": [],
        "save": {"to": "out"},
    }
    outside = ("../jackfield.toml", "../.jackfield/x.csv", "/tmp/x.csv", "../uploads/../x.csv", "../uploads//tmp/x.csv")
    for path in outside:
        save = {"id": "out", "type": "csv", "path": path}
        text = json.dumps({**json.loads(connector()), "tools": [write], "saves": [save]})
        async with workbench(tmp_path) as bench:
            blocked = await bench("deploy-connector", text=text)
            assert [finding["code"] for finding in blocked["blocks"][0]["findings"]] == ["PATH_OUTSIDE_FOLDER"]
            assert bench.files() == []


@pytest.mark.parametrize("name", ["farm.connector.json", "farm.eval.json", "zoo.json", "./a/b"])
async def test_cases_are_not_written_over_what_is_not_this_connectors_own(tmp_path: Path, name: str) -> None:
    async with workbench(tmp_path) as bench:
        farm = json.loads(connector("farm", prefix=True))
        await bench("deploy-connector", text=json.dumps(farm))
        text = json.dumps({**json.loads(connector()), "evals": name})
        suite = json.dumps({**farm, "cases": [], "name": "Evil"})
        refused = await bench.failed("deploy-connector", text=text, eval=suite)
        assert refused.code is Code.CONFIG_INVALID
        assert bench.files() == ["connectors/farm.connector.json"]
        assert json.loads((tmp_path / "connectors/farm.connector.json").read_text()) == farm


async def test_an_uploaded_file_is_read_by_a_connector_of_the_workspace(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        path = (await bench("elliot_upload_file", file_name="regions.csv", content=CSV))["managed_path"]
        found = await bench("elliot_discover_source", source_type="csv", config={"path": path})
        assert found["row_count"] == 3
        assert found["source"]["path"] == "../uploads/regions.csv"
        built = await bench("build-connector", name="Regions", sources=[found["source_id"]])
        deployed = await bench("deploy-connector", connector=built["connector"])
        assert deployed["blocks"] == []
        assert len(await bench.rows("regions", "list_regions")) == 3
