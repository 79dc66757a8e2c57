"""Build, lint, evaluate and deploy: what goes live, and every reason for which something does not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from jackfield.graphs.errors import Code
from jackfield.surfaces.platform import PLATFORM_TOOLS

from .platform_bench import Workbench, connector, workbench

pytestmark = pytest.mark.anyio
TOOL = json.loads(connector())["tools"][0]


def tool(id: str, sql: str, **fields: Any) -> dict[str, Any]:
    return {**TOOL, "id": id, "name": id, "sql": sql, **fields}


def cases(*expected: dict[str, Any], slug: str = "zoo") -> str:
    return json.dumps({"connector": slug, "cases": list(expected)})


def case(tool: str, expect: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {"id": f"{tool}_case", "tool_id": tool, "arguments": arguments, "expect": expect}


def reasons(answer: dict[str, Any]) -> list[str]:
    return [block["reason"] for block in answer["blocks"]]


def test_each_tool_has_the_specs_name_and_ours_and_says_what_it_does() -> None:
    names = [tool.name for tool in PLATFORM_TOOLS]
    assert names[:6] == [
        *("elliot_upload_file", "elliot_discover_source"),
        *("build-connector", "lint-connector", "run-eval", "deploy-connector"),
    ]
    assert names[6:] == [
        *("jackfield_upload_file", "jackfield_discover_source", "jackfield_build_connector"),
        *("jackfield_lint_connector", "jackfield_run_eval", "jackfield_deploy_connector"),
    ]
    for one in PLATFORM_TOOLS:
        assert one.input_schema["additionalProperties"] is False
        assert set(one.annotations) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        for name, schema in one.input_schema["properties"].items():
            assert schema["description"], f"{one.name}: {name}"


async def test_a_text_is_linted_where_it_would_lie_and_its_findings_name_no_path_of_the_machine(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        text = connector(tools=[tool("list_animals", "SELECT * FROM animal")])
        told = await bench("lint-connector", text=text)
        assert not told["passed"]
        assert "UNKNOWN_TABLE" in [finding["code"] for finding in told["findings"]]
        assert [one["kept"] for one in told["principles"]] == [True, False, False, True, True]
        assert str(tmp_path) not in json.dumps(told)
        clean = await bench("lint-connector", text=connector())
        assert (clean["passed"], clean["quality"]["score"]) == (True, 100)
        broken = await bench("lint-connector", text='{"name": ')
        assert [finding["code"] for finding in broken["findings"]] == ["JSON_SYNTAX"]


async def test_a_connector_is_named_by_its_slug_its_path_or_given_as_text_and_by_one_of_them(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        assert (await bench("deploy-connector", text=connector()))["deployed"]
        for name in ("zoo", "connectors/zoo.connector.json", "zoo.connector.json"):
            assert (await bench("lint-connector", connector=name))["passed"]
        neither = await bench.failed("lint-connector")
        assert neither.code is Code.VALIDATION_MISSING_FIELD
        both = await bench.failed("lint-connector", connector="zoo", text=connector())
        assert both.code is Code.VALIDATION_INVALID_PARAMS
        unknown = await bench.failed("lint-connector", connector="zooo")
        assert (unknown.code, unknown.hint) == (Code.TOOL_NOT_FOUND, "Did you mean 'zoo'?")


async def test_cases_are_run_against_a_text_that_is_not_served(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        suite = cases(case("list_animals", {"min_rows": 2}), {**case("list_animals", {"max_rows": 1}), "id": "few"})
        told = await bench("run-eval", text=connector(), eval=suite)
        assert not told["passed"]
        assert [one["verdict"] for one in told["suites"][0]["cases"]] == ["failed", "passed"]
        assert (await bench.failed("run-eval", text=connector())).code is Code.VALIDATION_MISSING_FIELD
        yaml = "connector: zoo\ncases:\n  - {id: all, tool_id: list_animals, expect: {min_rows: 2}}\n"
        assert (await bench("run-eval", text=connector(), eval=yaml))["passed"]
        other = await bench.failed("run-eval", text=connector(), eval=cases(slug="other"))
        assert other.code is Code.CONFIG_INVALID
        assert bench.files() == []


async def test_a_deployed_connector_is_live_before_the_answer_with_its_cases_beside_it(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        suite = cases(case("list_animals", {"min_rows": 2}))
        told = await bench("deploy-connector", text=connector(), eval=suite)
        assert told["deployed"]
        assert told["smoke"] == [{"tool": "list_animals", "passed": True, "rows": 2}]
        assert [row["name"] for row in await bench.rows("zoo", "list_animals")] == ["Tom", "Rex"]
        assert bench.files() == ["connectors/zoo.connector.json", "connectors/zoo.eval.json"]
        assert (tmp_path / "connectors/zoo.connector.json").read_text() == connector()
        again = await bench("deploy-connector", text=connector())
        assert again["deployed"]
        assert again["evals"][0]["passed"] == 1


async def test_cases_go_into_the_file_of_its_own_that_the_connector_names(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        text = json.dumps({**json.loads(connector()), "evals": "zoo.main.eval.yaml"})
        told = await bench("deploy-connector", text=text, eval="cases:\n  - {id: a, tool_id: list_animals}\n")
        assert told["blocks"] == []
        assert bench.files() == ["connectors/zoo.connector.json", "connectors/zoo.main.eval.yaml"]
        assert (await bench("run-eval", connector="zoo"))["passed"]


async def test_lint_errors_block_before_anything_is_called(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        text = connector(tools=[tool("list_animals", "DELETE FROM animals")])
        told = await bench("deploy-connector", text=text)
        assert (told["deployed"], reasons(told), told["smoke"]) == (False, ["lint_errors"], [])
        assert bench.files() == []


async def test_every_reason_is_told_at_once_and_the_served_version_stays(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench("deploy-connector", text=connector())
        worse = connector(
            tools=[
                TOOL,
                tool("list_all", "SELECT id, CAST(name AS int) AS number FROM animals LIMIT 5"),
            ]
        )
        told = await bench("deploy-connector", text=worse, eval=cases(case("list_animals", {"max_rows": 1})))
        assert reasons(told) == ["version_not_bumped", "evals_failed", "smoke_failed"]
        assert told["blocks"][2]["tools"][0]["tool"] == "list_all"
        assert set(bench.app.connector("zoo").tools) == {"list_animals"}
        assert bench.files() == ["connectors/zoo.connector.json"]
        assert (tmp_path / "connectors/zoo.connector.json").read_text() == connector()


async def test_a_missing_secret_is_named_and_nothing_is_called_without_it(tmp_path: Path) -> None:
    source = {
        "id": "animals",
        "type": "rest",
        "url": "{{ env:ZOO_API }}/animals",
        "auth": {"type": "bearer", "secret_key": "ZOO_TOKEN"},
    }
    async with workbench(tmp_path, variables={"ZOO_API": "http://127.0.0.1:9"}) as bench:
        told = await bench("deploy-connector", text=connector(sources=[source]))
        assert reasons(told) == ["missing_secrets"]
        assert told["blocks"][0]["variables"] == ["ZOO_TOKEN"]
        assert told["smoke"] == []


async def test_a_slug_that_is_served_from_another_file_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "mine.connector.json").write_text(connector())
    async with workbench(tmp_path) as bench:
        told = await bench("deploy-connector", text=connector(version="2.0.0"))
        assert reasons(told) == ["slug_taken"]
        assert bench.files() == ["mine.connector.json"]


async def test_a_tool_name_that_another_connector_has_blocks_and_build_avoids_it(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        await bench("deploy-connector", text=connector())
        told = await bench("deploy-connector", text=connector("farm"))
        assert reasons(told) == ["name_taken"]
        source = json.loads(connector())["sources"][0]
        built = await bench("build-connector", name="Farm", sources=[source], tools=[TOOL])
        assert json.loads(built["text"])["prefix"] is True
        deployed = await bench("deploy-connector", connector="farm")
        assert (deployed["blocks"], deployed["tools"]) == ([], ["farm_list_animals"])


async def test_where_connectors_are_not_served_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "other.connector.json").write_text(connector("other", tools=[]))
    async with workbench(tmp_path, paths=(tmp_path / "other.connector.json",)) as bench:
        told = await bench("deploy-connector", text=connector())
        assert reasons(told) == ["not_served"]
        assert bench.files() == ["other.connector.json"]


async def test_a_tool_whose_arguments_nobody_gives_is_told_as_not_called(tmp_path: Path) -> None:
    one = tool(
        "get_animal",
        "SELECT id, name FROM animals WHERE id = :animal_id LIMIT 1",
        parameters=[{"name": "animal_id", "type": "int", "description": "Id of the animal, exact", "required": True}],
    )
    chosen = tool(
        "list_by_kind",
        "SELECT id FROM animals WHERE name = :kind LIMIT 5",
        parameters=[
            {"name": "kind", "type": "string", "enum": ["Tom", "Rex"], "description": "Name, exact", "required": True}
        ],
    )
    async with workbench(tmp_path) as bench:
        told = await bench("deploy-connector", text=connector(tools=[one, chosen]))
        assert told["deployed"]
        assert "'animal_id'" in told["smoke"][0]["skipped"]
        assert told["smoke"][1] == {"tool": "list_by_kind", "passed": True, "rows": 1}
        suite = cases(case("get_animal", {"min_rows": 1}, animal_id=2))
        told = await bench("deploy-connector", text=connector(tools=[one, chosen]), eval=suite)
        assert told["smoke"][0] == {"tool": "get_animal", "passed": True, "rows": 1}


async def test_tools_that_write_are_not_called_by_a_deployment(tmp_path: Path) -> None:
    write = {**TOOL, "id": "save_animals", "category": "WRITE", "description": "Write animals into a file.",
             "sql": "SELECT id FROM animals", "save": {"to": "out"}}  # fmt: skip
    text = connector(tools=[write], saves=[{"id": "out", "type": "csv", "path": "./out.csv"}])
    async with workbench(tmp_path) as bench:
        told = await bench("deploy-connector", text=text)
        assert (told["deployed"], told["smoke"]) == (True, [])
        assert bench.files() == ["connectors/zoo.connector.json"]


async def test_deployments_at_once_go_one_after_the_other_and_each_answers_for_itself(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        answers: list[dict[str, Any]] = []

        async def deploy(number: int) -> None:
            text = connector(version=f"1.0.{number}")
            answers.append(await bench("deploy-connector", text=text))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for number in range(8):
                    tasks.start_soon(deploy, number)
        assert all(answer["deployed"] for answer in answers)
        written = json.loads((tmp_path / "connectors/zoo.connector.json").read_text())["version"]
        assert written == bench.app.connector("zoo").version == answers[-1]["version"]


async def test_a_draft_is_not_served_and_is_gone_once_it_is_deployed(tmp_path: Path) -> None:
    source = json.loads(connector())["sources"][0]
    async with workbench(tmp_path) as bench:
        built = await bench("build-connector", name="Zoo", sources=[source], tools=[TOOL])
        drafts = ["connectors/.drafts/zoo.connector.json", "connectors/.drafts/zoo.eval.json"]
        assert bench.files() == drafts
        assert built["draft"] == drafts[0]
        await bench.bench.publish()
        assert not bench.app.catalog.connectors
        assert (await bench("run-eval", connector="zoo"))["passed"]
        assert (await bench("deploy-connector", connector="zoo"))["deployed"]
        assert bench.files() == ["connectors/zoo.connector.json", "connectors/zoo.eval.json"]


async def test_a_text_that_is_deployed_takes_the_older_draft_of_its_slug_away_and_runs_its_cases(
    tmp_path: Path,
) -> None:
    source = json.loads(connector())["sources"][0]
    async with workbench(tmp_path) as bench:
        await bench("build-connector", name="Zoo", sources=[source], tools=[TOOL])
        told = await bench("deploy-connector", text=connector(version="1.1.0"))
        assert told["evals"][0]["passed"] == 1
        assert bench.files() == ["connectors/zoo.connector.json", "connectors/zoo.eval.json"]
        assert bench.app.connector("zoo").version == "1.1.0"


async def test_rows_in_the_connector_itself_get_tools_too(tmp_path: Path) -> None:
    source = json.loads(connector())["sources"][0]
    async with workbench(tmp_path) as bench:
        built = await bench("build-connector", name="Zoo", sources=[source])
        assert [one["id"] for one in built["tools"]] == ["list_animals", "get_animal"]
        assert (await bench("deploy-connector", connector="zoo"))["blocks"] == []
        assert await bench.rows("zoo", "get_animal", animal_id=2) == [{"id": 2, "name": "Rex"}]


async def test_building_again_raises_the_version_by_what_changed(tmp_path: Path) -> None:
    source = json.loads(connector())["sources"][0]

    async def deployed(bench: Workbench, *tools: dict[str, Any]) -> str:
        built = await bench("build-connector", name="Zoo", sources=[source], tools=list(tools))
        assert (await bench("deploy-connector", connector=built["connector"]))["blocks"] == []
        version: str = json.loads(built["text"])["version"]
        return version

    more = tool("count_animals", "SELECT count(*) AS animals FROM animals")
    async with workbench(tmp_path) as bench:
        assert await deployed(bench, TOOL) == "1.0.0"
        assert await deployed(bench, TOOL) == "1.0.0"
        assert await deployed(bench, TOOL, more) == "1.1.0"
        assert await deployed(bench, more) == "2.0.0"


async def test_a_secret_in_a_tool_or_a_source_reaches_no_draft(tmp_path: Path) -> None:
    source = json.loads(connector())["sources"][0]
    key = "sk_live_" + "a1B2c3D4e5F6"
    dsn = {"id": "orders", "type": "postgres", "dsn": "postgresql://u:hunter2secret@127.0.0.1/x", "table": "t"}
    async with workbench(tmp_path) as bench:
        for sources, tools in (([source], [{**TOOL, "description": f"Return animals by {key}."}]), ([dsn], [TOOL])):
            refused = await bench.failed("build-connector", name="Zoo", sources=sources, tools=tools)
            assert refused.code is Code.VALIDATION_INVALID_PARAMS
            assert key not in str(refused.as_json())
            assert "hunter2secret" not in str(refused.as_json())
        assert bench.files() == []


async def test_a_long_list_of_findings_is_cut_and_says_so(tmp_path: Path) -> None:
    tools = [tool(f"list_{n}", "SELECT * FROM nothing") for n in range(70)]
    async with workbench(tmp_path) as bench:
        told = await bench("lint-connector", text=connector(tools=tools))
        assert len(told["findings"]) == 50
        assert told["more_findings"] > 0
        assert told["errors"] >= 70


async def test_a_failure_of_the_disk_leaves_the_served_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with workbench(tmp_path) as bench:
        await bench("deploy-connector", text=connector())
        real = os.replace

        def full(source: Any, target: Any, **where: Any) -> None:
            if str(target).endswith("zoo.connector.json"):
                raise OSError(28, "No space left on device")
            real(source, target, **where)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", full)
            refused = await bench.failed("deploy-connector", text=connector(version="1.0.1"), eval=cases())
        assert refused.code is Code.SOURCE_ERROR
        assert bench.app.connector("zoo").version == "1.0.0"
        assert bench.files() == ["connectors/zoo.connector.json"]
