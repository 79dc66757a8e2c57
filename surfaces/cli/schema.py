"""`jackfield schema`: the JSON Schema behind `$schema`, lint and forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from ...graphs.errors import Code, JackfieldError
from ..faults import not_found
from .failures import errors_as_json


def _connector(name: str) -> Mapping[str, Any]:
    from ...connectors.native.schema import connector_schema

    return connector_schema()


def _node(name: str) -> Mapping[str, Any]:
    from ...nodes import registry

    kinds = registry()
    if name not in kinds:
        raise not_found("kind of node", name, kinds)
    schema: Mapping[str, Any] = kinds[name].configuration.model_json_schema()
    return schema


def _source(name: str) -> Mapping[str, Any]:
    from ...connectors.native.kinds import source_models

    return _model("source", name, source_models())


def _save(name: str) -> Mapping[str, Any]:
    from ...connectors.native.kinds import save_models

    return _model("save", name, save_models())


def _model(kind: str, name: str, models: Mapping[str, Any]) -> Mapping[str, Any]:
    if name not in models:
        raise not_found(f"kind of {kind}", name, models)
    schema: Mapping[str, Any] = models[name].model_json_schema()
    return schema


def _settings(name: str) -> Mapping[str, Any]:
    from ..settings import KEYS

    return {key.name: {"default": key.default, "variable": key.variable, "description": key.meaning} for key in KEYS}


SUBJECTS: Final[Mapping[str, Callable[[str], Mapping[str, Any]]]] = {
    "connector": _connector,
    "node": _node,
    "source": _source,
    "save": _save,
    "settings": _settings,
}


@click.command("schema")
@click.argument("subject", type=click.Choice(list(SUBJECTS)), default="connector")
@click.argument("name", default="")
def command(subject: str, name: str) -> None:
    """Print the JSON Schema of a connector file, or of one kind: `node NAME`, `source NAME`, `save NAME`.

    `settings` prints the keys of jackfield.toml. An editor checks a connector file by it: save it, and name it in the
    file's "$schema".
    """
    errors_as_json(True)
    if subject in ("node", "source", "save") and not name:
        raise JackfieldError(
            Code.VALIDATION_MISSING_FIELD, f"Which {subject}?", f"Write it such as `jackfield schema {subject} NAME`."
        )
    click.echo(json.dumps(SUBJECTS[subject](name), ensure_ascii=False, indent=2, default=str))
