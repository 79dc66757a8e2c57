"""The `save` kind: rows into a file, a database or a service, and on to whoever follows."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from ..graphs.errors import Code, JackfieldError
from .base import OBJECT, ROWS, TABLE, Context, Effect, Inputs, OpenConfiguration, Outputs, Port, node
from .saves import by_name
from .saves.base import AnySaveType, SaveConfiguration
from .saves.passing import Passing
from .table import Table

REPORT = "report"
CAN_SAVE = "canSave"


class SaveNodeConfiguration(OpenConfiguration):
    """`type` names the kind of save; all further fields are that kind's own. `canSave` changes nothing."""

    type: str = Field(description="Kind of save: parquet, csv, postgres …")
    method: Literal["save", "canSave"] = "save"

    @cached_property
    def kind(self) -> AnySaveType:
        known = by_name()
        if self.type not in known:
            near = difflib.get_close_matches(self.type, known, 1)
            raise ValueError(
                f"there is no save '{self.type}'"
                + (f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(known)}")
            )
        return known[self.type]

    @cached_property
    def target(self) -> SaveConfiguration:
        fields: dict[str, Any] = self.model_extra or {}
        try:
            target: SaveConfiguration = self.kind.configuration.model_validate(fields)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ValueError(f"'{'/'.join(map(str, first['loc']))}' of save '{self.type}': {first['msg']}") from None
        if target.mode not in self.kind.modes:
            raise ValueError(f"save '{self.type}' has no mode '{target.mode}', only {', '.join(self.kind.modes)}")
        if target.mode == "upsert" and not target.key:
            raise ValueError("mode 'upsert' needs 'key': the columns that identify a row")
        return target

    @model_validator(mode="after")
    def _check(self) -> SaveNodeConfiguration:
        _ = self.target
        return self


def no_columns() -> JackfieldError:
    """What came has neither rows nor columns: a target that was replaced by it could not be read any more."""
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        "There is nothing to save: what came has no columns. The target is as it was.",
        "A source that may be empty declares its columns in `schema`.",
        {"columns": []},
    )


@node(
    "save",
    description="Save rows into a file, a database or a service, whole or not at all",
    effect=Effect.WRITES,
    configuration=SaveNodeConfiguration,
    inputs=(Port(ROWS, TABLE, "What to save", required=False),),
    outputs=(
        Port(ROWS, TABLE, "The same rows"),
        Port(REPORT, OBJECT, "How many rows went where, and whether they had been saved before"),
        Port(CAN_SAVE, {"type": "boolean"}, "The answer of method canSave"),
    ),
)
async def save_node(config: SaveNodeConfiguration, inputs: Inputs, context: Context) -> Outputs:
    if config.method == "canSave":
        answer = await config.kind.can_save(config.target, context)
        return {CAN_SAVE: answer.ok, REPORT: {"canSave": answer.ok, "reason": answer.reason}}
    rows = inputs[ROWS]
    with Passing(rows if isinstance(rows, Table) else Table.from_rows(rows)) as passing:
        if not passing.table.schema.names:
            raise no_columns()
        saved = await config.kind.save(config.target, passing.table, context)
        report = {
            "type": config.type,
            "mode": config.target.mode,
            "rows": saved.rows,
            "target": saved.target,
            "repeated": saved.repeated,
        }
        context.note("saved", **report)
        return {ROWS: passing.on(), REPORT: report}
