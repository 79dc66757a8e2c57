"""CSV replies: text columns first, and then the types that give back the very text they came from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError
from ..conversions import Column
from ..datapath import check_text
from ..flatten import check_size

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGER: Final = r"^(0|-?[1-9]\d{0,17})$"
_NUMBER: Final = r"^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$"  # up to the digits that a double keeps
_TRUTH: Final = r"^(true|false)$"


def text_rows(body: bytes, source: str) -> pa.Table:
    """The rows below the header, each column as text, an empty field as null. Raises SOURCE_BAD_REPLY."""
    import pyarrow as pa
    import pyarrow.csv as pc

    check_text(body, source)
    body = body.removeprefix(b"\xef\xbb\xbf")
    head = body[: body.find(b"\n")] if b"\n" in body else body
    parse = pc.ParseOptions(delimiter=max(",;\t|", key=lambda mark: head.count(mark.encode())), newlines_in_values=True)
    check_size(head.count(parse.delimiter.encode()) + 1, 0, 0)
    try:
        names = pc.open_csv(io.BytesIO(head + b"\n"), parse_options=parse).schema.names
        convert = pc.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        return pc.read_csv(io.BytesIO(body), parse_options=parse, convert_options=convert)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"The reply of '{source}' is not CSV: {str(error).splitlines()[0][:200]}.",
            "Expected a header line, and as many fields in each line.",
            {"source": source},
        ) from None


def typed_rows(pages: Sequence[pa.Table], declared: Sequence[str]) -> pa.Table:
    """All pages as one table; columns that are not declared take the type that all their texts fit."""
    import pyarrow as pa

    table = pa.concat_tables(pages, promote_options="default")
    for place, name in enumerate(table.column_names):
        if name not in declared:
            table = table.set_column(place, name, _typed(table[name]))
    return table


def _typed(column: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return column
    for form, target in ((_INTEGER, pa.int64()), (_NUMBER, pa.float64()), (_TRUTH, pa.bool_())):
        if pc.all(pc.match_substring_regex(column, form)).as_py():
            return column.cast(target)
    return column
