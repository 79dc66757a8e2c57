"""`jackfield new`: a connector file to start from, one of the templates with the given name in it."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from ...graphs.errors import Code, JackfieldError

# Each is a file of surfaces/templates; what follows its name is written beside it, so that it runs as it is.
TEMPLATES: Final = {
    "rest-api-key": "a REST API with a key in a header",
    "rest-bearer": "a REST API with a bearer token, read and changed",
    "paginated-rest": "a REST API that answers in pages, with pushdown",
    "postgres": "a Postgres table",
    "mysql": "a MySQL or MariaDB table",
    "csv-local": "a CSV file, and a Parquet save",
    "join-three": "Postgres, REST and CSV in one SQL",
}
DATA: Final = {
    "csv-local": ("data/readings.csv", "place,reading\nHarbour,4.5\nHarbour,5.5\nHill,2.25\nForest,3.0\n"),
    "join-three": ("data/regions.csv", "country,region\nNO,Nordics\nSE,Nordics\nDE,Central\nES,South\n"),
}


@click.command("new", epilog="Templates: " + "; ".join(f"{name} ({what})" for name, what in TEMPLATES.items()) + ".")
@click.argument("name")
@click.option("-t", "--template", type=click.Choice(list(TEMPLATES)), default="csv-local", show_default=True)
@click.option(
    "-C", "--folder", type=click.Path(file_okay=False, path_type=Path), default=".", help="Where to write it."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def command(name: str, template: str, folder: Path, force: bool) -> None:
    """Write NAME.connector.json, a connector file to start from."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not slug:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, f"'{name}' holds no letter or digit.", "Name it such as `pet-store`."
        )
    text = (files("jackfield.surfaces") / "templates" / f"{template}.connector.json").read_text("utf-8")
    title = slug.replace("-", " ").capitalize()
    prefix = _variable(slug.replace("-", "_").upper())
    text = text.replace("__NAME__", title).replace("__SLUG__", slug).replace("__ENV__", prefix)
    target = folder / f"{slug}.connector.json"
    _write(target, text, force)
    if template in DATA:
        path, rows = DATA[template]
        if force or not (folder / path).exists():
            _write(folder / path, rows, force)
    for named in dict.fromkeys(re.findall(rf"\b{prefix}_[A-Z_]+\b", text)):
        click.echo(f"It reads the environment variable {named}.", err=True)
    click.echo(f"Next: jackfield lint {target}", err=True)


def _variable(slug: str) -> str:
    """A variable's name may not begin with a digit."""
    return f"C{slug}" if slug[0].isdigit() else slug


def _write(path: Path, text: str, force: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, f"'{path}' is there already.", "Choose another name, or say --force."
        ) from None
    click.echo(str(path))
