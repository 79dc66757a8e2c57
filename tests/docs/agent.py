"""What an agent gets by the configuration that `jackfield connect claude-code` prints, as pages show it.

`python -m tests.docs.agent PATH list NAME` prints the entry of a tool in tools/list, `… call NAME JSON` the answer of
one call. The server is started from a folder of its own, as a client may do.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import StdioServerParameters
from mcp.client import Client


def configured(path: str, folder: str) -> StdioServerParameters:
    command = [str(Path(sys.executable).parent / "jackfield"), "connect", "claude-code", path]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    entry = json.loads(printed)["mcpServers"]["jackfield"]
    given = {name: re.sub(r"\$\{(\w+):-\}", _of_environment, value) for name, value in entry["env"].items()}
    return StdioServerParameters(command=entry["command"], args=entry["args"], env=given, cwd=folder)


def _of_environment(found: re.Match[str]) -> str:
    return os.environ.get(found[1], "")


async def asked(path: str, method: str, name: str, arguments: str = "{}") -> str:
    with tempfile.TemporaryDirectory() as folder:
        async with Client(configured(path, folder)) as client:
            if method == "call":
                result = await client.call_tool(name, json.loads(arguments))
                return _lines(result.structured_content)
            (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == name]
            return json.dumps(tool.model_dump(by_alias=True, exclude_none=True, mode="json"), indent=2)


def _lines(answer: Any) -> str:
    """JSON with a line for each row."""
    rows = ",\n".join(f"    {json.dumps(row)}" for row in answer["rows"])
    rest = [f'  "{key}": {json.dumps(value)}' for key, value in answer.items() if key != "rows"]
    return ",\n".join([f'{{\n  "rows": [\n{rows}\n  ]', *rest]) + "\n}"


if __name__ == "__main__":
    print(anyio.run(partial(asked, *sys.argv[1:])))
