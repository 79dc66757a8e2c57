"""Boards that carry their own expectation: inputs, outputs in order, sequence one at a time, throws, start."""

import json
from pathlib import Path
from typing import Any

import pytest
from servers.flow import KINDS, kind

from jackfield.engine.engine import Engine
from jackfield.graphs.bgl import from_json
from jackfield.graphs.errors import JackfieldError
from jackfield.nodes.base import Context, Inputs, Outputs

FOLDER = Path(__file__).parent / "boards"
BOARDS = {path.name.partition(".")[0]: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.bgl.json"))}


async def unwrap(inputs: Inputs, context: Context) -> Outputs:
    return {name: inputs["error"][name] for name in inputs["keep"]}


@pytest.mark.anyio
@pytest.mark.parametrize("concurrency", [1, 2, None])
@pytest.mark.parametrize("document", BOARDS.values(), ids=BOARDS.keys())
async def test_a_board_does_what_it_says(document: dict[str, Any], concurrency: int | None) -> None:
    graph = from_json(document)
    async with Engine((*KINDS, kind("unwrap", unwrap))) as engine:

        async def run() -> tuple[list[Outputs], list[str]]:
            run = await engine.run(
                graph,
                document["inputs"],
                max_concurrency=concurrency,
                component=False,
                start=document.get("start", ""),
            )
            started = [event.node for event in run.events if event.kind == "started"]
            return [outputs for _, outputs in run.outputs], started

        if document.get("throws"):
            with pytest.raises(JackfieldError):
                await run()
            return
        outputs, sequence = await run()
    shown = [{port: value for port, value in found.items() if not port.startswith("$")} for found in outputs]
    assert shown == document["outputs"]
    if concurrency == 1 and "sequence" in document:
        assert sequence == document["sequence"]
