"""`jackfield new`: a connector file to start from, one of the templates with the given name in it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ...graphs.errors import Code, JackfieldError
from ..starters import DATA, TEMPLATES, connector_text, slug_of, variable_of


@click.command("new", epilog="Templates: " + "; ".join(f"{name} ({what})" for name, what in TEMPLATES.items()) + ".")
@click.argument("name")
@click.option("-t", "--template", type=click.Choice(list(TEMPLATES)), default="csv-local", show_default=True)
@click.option(
    "-C", "--folder", type=click.Path(file_okay=False, path_type=Path), default=".", help="Where to write it."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def command(name: str, template: str, folder: Path, force: bool) -> None:
    """Write NAME.connector.json, a connector file to start from."""
    slug = slug_of(name)
    if not slug:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, f"'{name}' holds no letter or digit.", "Name it such as `pet-store`."
        )
    text = connector_text(template, slug)
    target = folder / f"{slug}.connector.json"
    _write(target, text, force)
    if template in DATA:
        path, rows = DATA[template]
        if force or not (folder / path).exists():
            _write(folder / path, rows, force)
    for named in dict.fromkeys(re.findall(rf"\b{variable_of(slug)}_[A-Z_]+\b", text)):
        click.echo(f"It reads the environment variable {named}.", err=True)
    click.echo(f"Next: jackfield lint {target}", err=True)


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
