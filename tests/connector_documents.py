"""Connector documents for tests: a sound one, and changes to it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Document = dict[str, Any]
Change = Callable[[Document], object]

SOUND: Document = {
    "name": "Zoo",
    "slug": "zoo",
    "version": "1.0.0",
    "sources": [
        {
            "id": "animals",
            "type": "rest",
            "url": "https://api.example.com/animals",
            "data_path": "items",
            "schema": {"id": "int", "species": "string", "keeper": "string"},
            "contract": "freeze",
            "auth": {"type": "bearer", "secret_key": "ZOO_TOKEN"},
        },
        {"id": "keepers", "type": "postgres", "dsn": "{{ env:ZOO_DB }}", "table": "keepers"},
        {"id": "cages", "type": "csv", "path": "./data/cages.csv"},
    ],
    "tools": [
        {
            "id": "list_animals",
            "name": "List animals",
            "description": "Return the animals of one species, at most 100.",
            "category": "READ",
            "sql": "SELECT id, species FROM animals WHERE species = :species LIMIT 100",
            "parameters": [{"name": "species", "type": "string", "description": "Species, exact name"}],
        },
        {
            "id": "feed_animal",
            "name": "Feed animal",
            "description": "Send food to one animal and update its record.",
            "category": "ACTION",
            "request": {"method": "POST", "url": "https://api.example.com/animals/{animal_id}/feed"},
            "parameters": [{"name": "animal_id", "type": "int", "description": "Id of the animal"}],
        },
        {
            "id": "export_animals",
            "name": "Export animals",
            "description": "Write all animals into the lake.",
            "category": "WRITE",
            "sql": "SELECT id, species FROM animals WHERE id > 0",
            "parameters": [],
            "save": {"to": "lake", "mode": "upsert", "key": ["id"]},
        },
        {
            "id": "find_keeper",
            "name": "Find keeper",
            "description": "Return the keeper of one cage.",
            "category": "READ",
            "at": "keepers",
            "sql": "SELECT name FROM keepers WHERE cage = :cage LIMIT 1",
            "parameters": [{"name": "cage", "type": "string", "description": "Cage, exact number"}],
        },
    ],
    "skills": [
        {
            "id": "report",
            "name": "Report",
            "description": "Summarise the animals by species.",
            "tool_ids": ["list_animals"],
            "prompt_template": "Group the animals by species.",
        }
    ],
    "saves": [{"id": "lake", "type": "parquet", "path": "./out/animals.parquet"}],
}


def sound(*changes: Change) -> Document:
    document = copy.deepcopy(SOUND)
    for change in changes:
        change(document)
    return document


def put(place: str, value: Any) -> Change:
    """A change that sets what is at a path like `tools/0/sql`; a number past the end of a list appends."""

    def change(document: Document) -> None:
        *path, last = place.split("/")
        holder: Any = document
        for part in path:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        if isinstance(holder, list):
            holder[int(last) : int(last) + 1] = [value]
        else:
            holder[last] = value

    return change


def drop(place: str) -> Change:
    def change(document: Document) -> None:
        *path, last = place.split("/")
        holder: Any = document
        for part in path:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        del holder[int(last) if isinstance(holder, list) else last]

    return change


def text(*changes: Change) -> str:
    return json.dumps(sound(*changes), indent=2)


def written(folder: Path, *changes: Change, name: str = "zoo.connector.json") -> Path:
    path = folder / name
    path.write_text(text(*changes))
    return path
