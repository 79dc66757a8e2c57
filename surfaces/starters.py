"""The connector files to start from: what `jackfield new` writes, and agents read as resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

# Each is a file of surfaces/templates.
TEMPLATES: Final[Mapping[str, str]] = {
    "rest-api-key": "a REST API with a key in a header",
    "rest-bearer": "a REST API with a bearer token, read and changed",
    "paginated-rest": "a REST API that answers in pages, with pushdown",
    "openapi-petstore": "a REST API described by an OpenAPI document, read and changed",
    "postgres": "a Postgres table",
    "mysql": "a MySQL or MariaDB table",
    "csv-local": "a CSV file, and a Parquet save",
    "join-three": "Postgres, REST and CSV in one SQL",
}
# What a template reads beside it, so that it runs as it is.
DATA: Final[Mapping[str, tuple[str, str]]] = {
    "csv-local": ("data/readings.csv", "place,reading\nHarbour,4.5\nHarbour,5.5\nHill,2.25\nForest,3.0\n"),
    "join-three": ("data/regions.csv", "country,region\nNO,Nordics\nSE,Nordics\nDE,Central\nES,South\n"),
}


def slug_of(name: str) -> str:
    """`Pet store` → `pet-store`; empty when the name has no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def connector_text(template: str, slug: str) -> str:
    """The text of a connector with this slug."""
    text = (files("jackfield.surfaces") / "templates" / f"{template}.connector.json").read_text("utf-8")
    title = slug.replace("-", " ").capitalize()
    return text.replace("__NAME__", title).replace("__SLUG__", slug).replace("__ENV__", variable_of(slug))


def variable_of(slug: str) -> str:
    """What the names of its environment variables begin with; they may not begin with a digit."""
    name = slug.replace("-", "_").upper()
    return f"C{name}" if name[0].isdigit() else name
