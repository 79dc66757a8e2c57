"""Runs against `jackfield serve` what others wrote to test MCP servers with: `scripts/conformance [PART…]`.

Parts: `requirements` (the official conformance suite, each revision's frozen set, over the conformance bundle),
`clients` (the official TypeScript clients, v1 and v2, both eras, HTTP and stdio), `inspector` (the MCP Inspector's
command line, both eras), `broken` (the suite over a bundle that lacks a tool, which has to fail). Exits with 1 when any
of them fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from servers.walked_world import world  # noqa: E402

HERE: Final = Path(__file__).parent
BUNDLE: Final = ROOT / "examples" / "conformance"
MODULES: Final = ROOT / ".conformance" / "node_modules"
NODE: Final = MODULES / "node" / "bin" / "node"
PACKAGES: Final = MODULES / "@modelcontextprotocol"
JACKFIELD: Final = ROOT / ".venv" / "bin" / "jackfield"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
SUITE: Final = PACKAGES / "conformance" / "dist" / "index.js"
OF_EVERY_SCENARIO: Final = "wire-schema-valid"
READY_S: Final = 30


@dataclass(frozen=True)
class Failure:
    what: str
    output: str


@contextmanager
def served(paths: Sequence[Path], folder: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """`jackfield serve` over `paths` on a free port; its MCP address."""
    command = [str(JACKFIELD), "serve", *map(str, paths), "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines: list[str] = []
    ready = threading.Event()
    found: list[str] = []

    def read() -> None:
        for line in process.stderr or ():
            lines.append(line)
            address = re.search(r"https?://[^\s/]+:\d+/mcp", line)
            if address and not found:
                found.append(address[0])
                ready.set()
        ready.set()

    threading.Thread(target=read, daemon=True).start()
    try:
        if not ready.wait(READY_S) or not found:
            raise SystemExit("jackfield serve did not start:\n" + "".join(lines))
        yield found[0]
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def run(what: str, *command: str | Path, cwd: Path, expect: int = 0) -> tuple[str, Failure | None]:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600)
    failed = done.returncode != expect
    print(f"{'FAILED' if failed else 'ok    '} {what}", flush=True)
    return done.stdout, Failure(what, done.stdout + done.stderr) if failed else None


def requirements(folder: Path) -> Iterator[Failure]:
    """Each revision's frozen set of scenarios. What is excused stands, with its reason, in expected-failures.yml."""
    bundle = copied(folder / "bundle")
    for revision in REVISIONS:
        results = folder / revision
        with served([bundle], folder, {}) as url:
            more = ("--expected-failures", HERE / "expected-failures.yml", "--output-dir", results)
            output, failure = run(
                f"requirements of {revision}",
                *(NODE, SUITE, "server", "--url", url, "--requirements", revision, *more),
                cwd=folder,
            )
        print("\n".join(f"       {line}" for line in output.splitlines() if line.startswith(("  ✗", "✗"))))
        if failure:
            yield failure
        lacking = [scenario for scenario in required(revision) if not was_proved(results, scenario)]
        print(f"       {len(required(revision)) - len(lacking)} of {len(required(revision))} required scenarios hold")
        if lacking:
            yield Failure(f"requirements of {revision}: without a passed check", "\n".join(lacking))


def copied(target: Path) -> Path:
    """The bundle, in a place where two of its tools may write beside it."""
    return Path(shutil.copytree(BUNDLE, target, ignore=shutil.ignore_patterns("changing.*", ".jackfield")))


def required(revision: str) -> list[str]:
    """The scenarios that a server has to pass, by the suite's own frozen list."""
    text = (PACKAGES / "conformance" / "requirements" / f"{revision}.yaml").read_text("utf-8")
    scenarios: list[str] = yaml.safe_load(text)["server"]
    return scenarios


def was_proved(results: Path, scenario: str) -> bool:
    """Whether it ran, and passed a check of its own: the suite also counts one as passed that checked nothing."""
    found = [path for path in results.glob("server-*/checks.json") if _scenario(path.parent) == scenario]
    if len(found) != 1:
        return False
    checks = [check for check in json.loads(found[0].read_text("utf-8")) if check["id"] != OF_EVERY_SCENARIO]
    statuses = {check["status"] for check in checks}
    return "SUCCESS" in statuses and "FAILURE" not in statuses


def _scenario(results: Path) -> str:
    """Which scenario left this folder: the suite adds when it ran."""
    return results.name[len("server-") : -len("-2026-11-21T09-36-06-415Z")]


def broken(folder: Path) -> Iterator[Failure]:
    """That the suite fails when something of the bundle is not there: else it would prove nothing."""
    bundle = copied(folder / "broken")
    path = bundle / "conformance.connector.json"
    document = json.loads(path.read_text("utf-8"))
    document["tools"] = [tool for tool in document["tools"] if tool["id"] != "test_simple_text"]
    path.write_text(json.dumps(document), "utf-8")
    with served([bundle], folder, {}) as url:
        for revision in REVISIONS:
            results = folder / f"broken-{revision}"
            command = (NODE, SUITE, "server", "--url", url, "--requirements", revision, "--output-dir", results)
            _, failure = run(f"the suite of {revision} fails without a tool", *command, cwd=folder, expect=1)
            if failure:
                yield failure
            lacking = [scenario for scenario in required(revision) if not was_proved(results, scenario)]
            if lacking != ["tools-call-simple-text"]:
                yield Failure(f"what fails of {revision} without a tool", "\n".join(lacking) or "nothing")


def clients(folder: Path) -> Iterator[Failure]:
    """The walk of an agent, by each official TypeScript client in each era that it speaks."""
    for sdk, era in (("v1", "handshake"), ("v2", "handshake"), ("v2", "stateless")):
        for transport in ("http", "stdio"):
            with world(folder) as here:
                target: dict[str, Any] = {"edited": str(here.edited), "upstream": here.upstream}
                if transport == "http":
                    with served(here.paths, folder, here.variables) as url:
                        yield from walked(sdk, era, transport, {**target, "url": url}, folder)
                else:
                    arguments = ["serve", *map(str, here.paths), "--stdio"]
                    local = {"command": str(JACKFIELD), "args": arguments, "cwd": str(folder), "env": here.variables}
                    yield from walked(sdk, era, transport, {**target, **local}, folder)


def walked(sdk: str, era: str, transport: str, target: dict[str, Any], folder: Path) -> Iterator[Failure]:
    script = ROOT / ".conformance" / "walk.mjs"  # beside its packages: Node looks for them upwards from the script
    what = f"TypeScript {sdk}, {era}, {transport}"
    output, failure = run(what, NODE, script, sdk, era, transport, json.dumps(target), cwd=folder)
    if failure:
        yield failure
    else:
        print(output.rstrip().replace("  ", "       "))


def inspector(folder: Path) -> Iterator[Failure]:
    """The Inspector's command line: lists, calls, reads, prompts, skills, and its lint of tool schemas."""
    cli = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"
    asked: tuple[tuple[str, ...], ...] = (
        ("--method", "tools/list", "--strict"),
        ("--method", "tools/call", "--tool-name", "list_numbers", "--tool-arg", "parity=odd"),
        ("--method", "tools/call", "--tool-name", "revenue_by_region", "--tool-arg", "since=2026-03-01"),
        ("--method", "resources/list"),
        ("--method", "resources/templates/list"),
        ("--method", "resources/read", "--uri", "elliot://docs/error-codes"),
        ("--method", "prompts/list"),
        ("--method", "prompts/get", "--prompt-name", "explain_numbers", "--prompt-args", "parity=odd"),
    )
    # Skills are an extension, and capabilities hold extensions from 2026-07-28 on: a handshake cannot declare them.
    modern = (("--method", "skills/list", "--verify"),)
    with world(folder) as here, served(here.paths, folder, here.variables) as url:
        for era in ("legacy", "modern"):
            for words in asked if era == "legacy" else asked + modern:
                what = f"Inspector, {era}: {' '.join(words[1:])}"
                _, failure = run(what, NODE, cli, "--cli", url, "--protocol-era", era, *words, cwd=folder)
                if failure:
                    yield failure


PARTS: Final[dict[str, Callable[[Path], Iterator[Failure]]]] = {
    "requirements": requirements,
    "clients": clients,
    "inspector": inspector,
    "broken": broken,
}


def main(parts: list[str]) -> int:
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"conformance: there is no part '{unknown[0]}', only {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failures: list[Failure] = []
    for part in parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            failures += PARTS[part](Path(folder))
    for failure in failures:
        print(f"\n--- {failure.what}\n{failure.output[-6000:]}", file=sys.stderr)
    print("conformance: all hold" if not failures else f"conformance: {len(failures)} failed")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
