"""/api/results: the whole of an answer that was given in pages."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field
from starlette.responses import Response, StreamingResponse

from ...graphs.errors import Code
from ...nodes.table import Table
from ..whole_results import FORMATS, accepted, chunks, encoded, read, written
from .calling import ROWS
from .endpoint import Asked, Endpoint, Given, Nothing, endpoint
from .shapes import PageTold


class Form(Given):
    format: Literal["json", "csv", "ndjson", "arrow", "parquet"] | None = Field(
        None, description="By the Accept header when absent"
    )


@endpoint("GET", "/results/{result}", tag="results", summary="All rows of an earlier answer", query=Form,
          answer=PageTold, others=ROWS, parameters={"result": "The id that came with the first page"},
          errors=(Code.RESULT_EXPIRED,))  # fmt: skip
async def get_result(asked: Asked[Form, Nothing]) -> Response:
    """Kept for whoever made the call, for the time that the setting `result.ttl_s` says; then, and for anybody else,
    the answer is 410. Rows beyond the tool's `max_rows` are not kept: `truncated` says so.
    """
    form = asked.query.format or accepted(asked.request.headers.get("accept", ""))
    whole = await read(asked.service.app, asked.path["result"], asked.principal)
    if form == "json":
        return Response(await encoded(whole, form), media_type="application/json", headers=PRIVATE)
    file = await written(Table.whole(whole.table), form)
    name = f'attachment; filename="{whole.tool.rpartition("/")[2] or "result"}.{form}"'
    return StreamingResponse(chunks(file), 200, {**PRIVATE, "content-disposition": name}, FORMATS[form])


PRIVATE: Final[dict[str, Any]] = {"cache-control": "private, no-store"}
ENDPOINTS: Final[tuple[Endpoint, ...]] = (get_result,)
