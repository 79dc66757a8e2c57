"""`jackfield demo`: no set-up, offline: one SQL tool joins a REST API, a database and a CSV, and saves Parquet."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import anyio
import click

from ..app import App
from ..demo_world import CUSTOMERS, ORDERS, TOKEN, lay_workspace, live_api
from ..facts import duration
from ..settings import load
from .call import said
from .plan import plan_text
from .rows import write_rows

SLUG: Final = "shop"
ARGUMENTS: Final[Mapping[str, Any]] = {"since": "2026-03-01", "countries": ["NO", "SE", "DE", "FR"]}
COMMAND_LINE: Final = "since=2026-03-01 countries=NO,SE,DE,FR"


@click.command("demo")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), default="jackfield-demo", show_default=True)
@click.option("--serve", is_flag=True, help="Keep the REST API up afterwards, to try commands of your own.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the REST API; 0: any free one.")
def command(folder: Path, serve: bool, port: int) -> None:
    """Join a REST API, a database and a CSV with one SQL tool, offline, and save the answer as Parquet.

    The connector and its data are written into a folder, to look at and to change.
    """
    began = time.perf_counter()
    lay_workspace(folder)
    with live_api(port) as url:
        variables = {**os.environ, "SHOP_API": url, "SHOP_TOKEN": TOKEN}
        _heading("One SQL tool over a live REST API, a database and a CSV")
        click.echo(f"  customers  REST API   {url}/customers, {CUSTOMERS} rows in pages of 100, for a bearer token")
        click.echo(f"  orders     database   {folder}/data/orders.duckdb, {ORDERS:,} rows")
        click.echo(f"  regions    CSV        {folder}/data/regions.csv")
        click.echo(f"  connector             {folder}/shop.connector.json")
        anyio.run(_show, folder, variables)
        click.echo(f"Done in {duration(time.perf_counter() - began)}, offline. Try it yourself:")
        click.echo(f"  cd {folder} && {_ourselves()} lint && {_ourselves()} show {SLUG}")
        if serve:
            _keep_up(folder, url)
        else:
            click.echo(f"  {_ourselves()} demo --serve    keeps the REST API up, so that you can call the tools")


async def _show(folder: Path, variables: Mapping[str, str]) -> None:
    file = folder / "shop.connector.json"
    async with App([file], settings=load(folder), variables=variables) as app:
        _heading(f"$ jackfield call {SLUG} revenue_by_region {COMMAND_LINE}")
        result = await app.call(SLUG, "revenue_by_region", ARGUMENTS)
        assert result.rows is not None
        assert result.run is not None
        write_rows(result.rows, "table", None)
        click.echo(said(result, None))

        _heading(f"$ jackfield plan {SLUG} revenue_by_region {COMMAND_LINE} --analyze")
        _, found = app.find(SLUG, "revenue_by_region")
        click.echo(await plan_text(app, SLUG, found, ARGUMENTS, "tree", analyze=True))

        _heading(f"$ jackfield call {SLUG} export_revenue since=2026-03-01")
        saved = await app.call(SLUG, "export_revenue", {"since": date(2026, 3, 1).isoformat()})
        report = saved.value["report"]
        click.echo(f"{report['rows']:,} rows saved: {folder / 'out' / 'revenue.parquet'}\n")


def _ourselves() -> str:
    """The command as the reader can type it: `scripts/demo` runs one that is not on the path."""
    script = Path(sys.argv[0])
    return str(script.absolute()) if script.name == "jackfield" and not shutil.which("jackfield") else "jackfield"


def _heading(text: str) -> None:
    click.echo(f"\n{click.style(text, bold=True)}")


def _keep_up(folder: Path, url: str) -> None:
    click.echo(f"\nThe REST API stays up at {url} until Ctrl-C. In another terminal:")
    click.echo(f"  cd {folder}")
    click.echo(f"  export SHOP_API={url} SHOP_TOKEN={TOKEN}")
    click.echo(f"  {_ourselves()} call {SLUG} revenue_by_region {COMMAND_LINE}")
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
