"""/api/results: the whole of an answer that was given in pages."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field
from starlette.responses import Response, StreamingResponse

from ...graphs.errors import Code
from ...nodes.table import Table
from ..whole_results import FORMATS, accepted, chunks, cut_facts, encoded, read, written
from .calling import ROWS
from .endpoint import Asked, Endpoint, Given, Nothing, endpoint
from .shapes import PageTold


class Form(Given):
    format: Literal["json", "csv", "ndjson", "arrow", "parquet"] | None = Field(
        None, description="By the Accept header when absent"
    )


@endpoint("GET", "/results/{result}", tag="results", summary="All rows of an earlier answer", query=Form,
          answer=PageTold, others=ROWS, parameters={"result": "The id that came with the first page"},
          headers=(("X-Truncation-Reason", "response", "Why these are not all rows, where they are not", False),
                   ("X-Row-Count", "response", "With it: how many rows these are", False),
                   ("X-Total-Rows", "response", "With it: how many were found, where they were counted", False)),
          errors=(Code.RESULT_EXPIRED,))  # fmt: skip
async def get_result(asked: Asked[Form, Nothing]) -> Response:
    """Kept for whoever made the call, for the time that the setting `result.ttl_s` says; then, and for anybody else,
    the answer is 410. It has all rows that were found, also those beyond the tool's `max_rows`; where there was no room
    for them `truncated` says so, and in formats that have rows alone the headers do.
    """
    form = asked.query.format or accepted(asked.request.headers.get("accept", ""))
    whole = await read(asked.service.app, asked.path["result"], asked.principal)
    headers = {
        **PRIVATE,
        **{CUT_HEADERS[name]: str(value) for name, value in cut_facts(whole).items() if value is not None},
    }
    if form == "json":
        return Response(await encoded(whole, form), media_type="application/json", headers=headers)
    file = await written(Table.whole(whole.table), form)
    name = f'attachment; filename="{whole.tool.rpartition("/")[2] or "result"}.{form}"'
    return StreamingResponse(chunks(file), 200, {**headers, "content-disposition": name}, FORMATS[form])


PRIVATE: Final[dict[str, Any]] = {"cache-control": "private, no-store"}
CUT_HEADERS: Final = {
    "row_count": "X-Row-Count",
    "total_rows": "X-Total-Rows",
    "truncation_reason": "X-Truncation-Reason",
}
ENDPOINTS: Final[tuple[Endpoint, ...]] = (get_result,)
