"""File sources and saves stay inside their folder. The ids are those of the project's list of security cases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.files import confine, opened
from jackfield.nodes.files.confine import folder_of, locate, open_file
from jackfield.nodes.saves import by_name
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
SECRET = "id,secret\n1,hunter2\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A connector's folder, with a secret beside it and a namesake that only a prefix of its path tells apart."""
    (tmp_path / "root/data").mkdir(parents=True)
    (tmp_path / "root/data/orders.csv").write_text("id\n1\n")
    (tmp_path / "root-evil").mkdir()
    for place in ("secret.csv", "root-evil/secret.csv"):
        (tmp_path / place).write_text(SECRET)
    return tmp_path / "root"


async def read(root: Path, path: str, **settings: Any) -> list[dict[str, Any]]:
    context = Stand(folder=root, **settings)
    with anyio.fail_after(10):
        outputs = await file_node.bind("orders", {"path": path, "format": "csv"})({}, context)
    rows: list[dict[str, Any]] = outputs["rows"].to_pylist()
    return rows


FILE_01 = [
    "../secret.csv",
    "../../etc/passwd",
    "data/../../secret.csv",
    "../root-evil/secret.csv",
    "/etc/passwd",
    "~/x",
    "~root/x",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "http://example.com/a.csv",
    "s3://bucket/a.csv",
    "C:\\x",
    "c:/x",
    "\\\\host\\share",
    "data\\..\\..\\secret.csv",
    "data/orders.csv\x00.txt",
    "../*.csv",
    "../root-evil/*.csv",
    "/etc/pass*",
    "data/../../*.csv",
    "/proc/self/environ",
    "/dev/stdin",
    "",
    "  ",
]


@pytest.mark.parametrize("path", FILE_01)
async def test_file_01_a_path_out_of_the_folder_is_refused(root: Path, path: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        await read(root, path)
    assert caught.value.code is Code.CONFIG_INVALID
    assert caught.value.hint
    assert "hunter2" not in str(caught.value.as_json())


@pytest.mark.parametrize("path", FILE_01)
async def test_file_01_a_save_out_of_the_folder_is_refused(root: Path, path: str) -> None:
    before = sorted(str(found) for found in _all(root.parent))
    save = by_name()["csv"]
    config = save.configuration.model_validate({"path": path})
    with pytest.raises(JackfieldError) as caught:
        await save.save(config, Table.whole(pa.table({"a": [1]})), Stand(folder=root))
    assert caught.value.code is Code.CONFIG_INVALID
    assert not (await save.can_save(config, Stand(folder=root))).ok
    assert sorted(str(found) for found in _all(root.parent)) == before


def _all(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("data/link.csv", "../../secret.csv", "data/link.csv"),
        ("data/absolute.csv", "/etc/passwd", "data/absolute.csv"),
        ("data/folder", "../../root-evil", "data/folder/secret.csv"),
        ("data/folder", "../../root-evil", "data/folder/*.csv"),
        ("data/folder", "../../root-evil", "data/**/*.csv"),
        ("data/link.csv", "../../secret.csv", "data/*.csv"),
        ("data/twice", "folder", "data/twice/secret.csv"),
    ],
)
async def test_file_02_a_link_out_of_the_folder_is_refused(root: Path, link: str, target: str, path: str) -> None:
    (root / link).symlink_to(target)
    if target == "folder":
        (root / "data/folder").symlink_to("../../root-evil")
    with pytest.raises(JackfieldError) as caught:
        await read(root, path)
    assert caught.value.code is Code.CONFIG_INVALID
    assert "hunter2" not in str(caught.value.as_json())


async def test_file_02_a_save_through_a_link_out_of_the_folder_is_refused(root: Path) -> None:
    (root / "out").symlink_to("../root-evil")
    (root / "file.csv").symlink_to("../secret.csv")
    save = by_name()["csv"]
    for path in ("out/a.csv", "file.csv"):
        with pytest.raises(JackfieldError):
            await save.save(save.configuration.model_validate({"path": path}), _rows(), Stand(folder=root))
    assert (root.parent / "secret.csv").read_text() == SECRET
    assert os.listdir(root.parent / "root-evil") == ["secret.csv"]


def _rows() -> Table:
    return Table.whole(pa.table({"a": [1]}))


async def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "data/link.csv").symlink_to("orders.csv")
    assert await read(root, "data/link.csv") == [{"id": 1}]
    assert await read(root, "data/../data/orders.csv") == [{"id": 1}]


async def test_a_root_of_the_operator_may_be_read_and_not_written(root: Path) -> None:
    shared = root.parent / "root-evil"
    assert await read(root, str(shared / "secret.csv"), roots=[shared]) == [{"id": 1, "secret": "hunter2"}]
    save = by_name()["csv"]
    config = save.configuration.model_validate({"path": str(shared / "new.csv")})
    with pytest.raises(JackfieldError):
        await save.save(config, _rows(), Stand(folder=root, roots=[shared]))


async def test_file_02_a_folder_that_becomes_a_link_after_the_check_is_not_followed(root: Path) -> None:
    (root.parent / "root-evil/orders.csv").write_text(SECRET)
    checked = locate("data/orders.csv", root)
    (root / "data").rename(root / "aside")
    (root / "data").symlink_to("../root-evil")
    with pytest.raises(JackfieldError) as caught:
        open_file(checked)
    assert caught.value.code is Code.CONFIG_INVALID
    with pytest.raises(JackfieldError), folder_of(checked):
        pass


async def test_file_02_a_file_that_becomes_a_link_after_the_check_is_not_followed(root: Path) -> None:
    checked = locate("data/orders.csv", root)
    (root / "data/orders.csv").unlink()
    (root / "data/orders.csv").symlink_to("../../secret.csv")
    with pytest.raises(JackfieldError) as caught:
        open_file(checked)
    assert caught.value.code is Code.CONFIG_INVALID


async def test_what_was_opened_is_what_is_read_even_if_the_name_moves_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(place: confine.Located) -> int:
        descriptor = open_file(place)
        (root / "data/orders.csv").unlink()
        (root / "data/orders.csv").symlink_to("../../secret.csv")
        return descriptor

    monkeypatch.setattr("jackfield.nodes.files.opened.open_file", swapped)
    assert await read(root, "data/orders.csv") == [{"id": 1}]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
async def test_what_is_no_regular_file_is_refused_at_once(root: Path, kind: str) -> None:
    place = root / "data/odd.csv"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/zero")
    with pytest.raises(JackfieldError) as caught:
        await read(root, "data/odd.csv")
    assert caught.value.code in (Code.SOURCE_UNREACHABLE, Code.CONFIG_INVALID)


async def test_a_missing_file_is_named_with_its_near_names(root: Path) -> None:
    with pytest.raises(JackfieldError) as caught:
        await read(root, "data/order.csv")
    assert caught.value.code is Code.SOURCE_UNREACHABLE
    assert caught.value.message == "There is no file 'data/order.csv'."
    assert caught.value.hint == "Did you mean 'orders.csv'?"
    with pytest.raises(JackfieldError, match=r"No file matches 'data/\*\.tsv'"):
        await read(root, "data/*.tsv")


@pytest.fixture
def few_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with more files than a process may hold open."""
    monkeypatch.setattr(opened, "held", lambda: 2)


def many(root: Path, name: str) -> None:
    for number in range(5):
        (root / f"data/f{number}.csv").write_text("id,secret\n1,x\n")
    (root / "data/orders.csv").unlink()
    target = root / "data" / name
    target.parent.mkdir(exist_ok=True)
    target.write_text("id,secret\n1,x\n")
    (root / "data/.x.csv").symlink_to(root.parent / "secret.csv")
    (root / "data/zz").symlink_to(root.parent)


@pytest.mark.usefixtures("few_held")
@pytest.mark.parametrize("name", ["[.]x.csv", "z*/secret.csv", "?x.csv"])
def test_the_name_of_one_of_many_files_is_never_a_pattern(root: Path, name: str) -> None:
    many(root, name)
    with pytest.raises(JackfieldError, match=r"holds one of \* \? \[") as caught:
        opened.open_all([locate(text, root) for text in ("data/f0.csv", "data/f1.csv", f"data/{name}")])
    assert caught.value.code is Code.CONFIG_INVALID


async def test_as_many_files_as_are_held_open_may_have_any_name(root: Path) -> None:
    many(root, "[.]x.csv")
    assert await read(root, "data/*.csv") == [{"id": 1, "secret": "x"}] * 6


@pytest.mark.usefixtures("few_held")
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
async def test_many_files_are_read_below_a_folder_of_any_name(tmp_path: Path, form: str) -> None:
    root = tmp_path / "a[b]*"
    (root / "data/day=1").mkdir(parents=True)
    for number in range(5):
        place = root / f"data/day=1/{number}.{form}"
        if form == "parquet":
            pq.write_table(pa.table({"id": [number]}), place)
        else:
            place.write_text(f"id\n{number}\n" if form == "csv" else f'{{"id":{number}}}\n')
    outputs = await file_node.bind("orders", {"path": f"data/**/*.{form}"})({}, Stand(folder=root))
    assert sorted(row["id"] for row in outputs["rows"].to_pylist()) == [0, 1, 2, 3, 4]
