"""Rows as JSON values, without losing anything that JSON can not hold: what does not fit becomes text."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..nodes.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


def json_rows(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    return [{name: json_value(value) for name, value in row.items()} for row in rows.to_pylist()]


def json_value(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value == Decimal(repr(float(value))) else str(value)
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, Table):
        return json_rows(value.arrow())
    if isinstance(value, Mapping):
        return {str(name): json_value(held) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(held) for held in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)
