"""The peer: FastMCP with asyncpg, written as its documentation does it. `fastmcp_server.py DSN PORT`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from fastmcp import FastMCP

DSN, PORT = sys.argv[1], int(sys.argv[2])
POOL: Any = None


@asynccontextmanager
async def lifespan(server: FastMCP) -> AsyncIterator[None]:
    global POOL
    POOL = await asyncpg.create_pool(DSN, min_size=8, max_size=16)
    try:
        yield
    finally:
        await POOL.close()


mcp = FastMCP("peer", lifespan=lifespan)


async def fetched(sql: str, value: Any) -> list[dict[str, Any]]:
    async with POOL.acquire() as connection:
        return [dict(row) for row in await connection.fetch(sql, value)]


@mcp.tool
async def find_order(id: int) -> list[dict[str, Any]]:
    """Return one order by its number."""
    return await fetched("SELECT id, status, amount, created_at FROM orders WHERE id = $1", id)


@mcp.tool
async def page_orders(after: int) -> list[dict[str, Any]]:
    """Return a page of 1000 orders after a number."""
    sql = "SELECT id, status, amount, created_at FROM orders WHERE id > $1 ORDER BY id LIMIT 1000"
    return await fetched(sql, after)


@mcp.tool
async def sum_orders(below: int) -> list[dict[str, Any]]:
    """Return count and sum of orders by status, of customers below a number."""
    sql = (
        "SELECT status, count(*) AS orders, sum(amount) AS amount FROM orders"
        " WHERE customer_id < $1 GROUP BY status ORDER BY status"
    )
    return await fetched(sql, below)


if __name__ == "__main__":
    mcp.run(transport="http", host="127.0.0.1", port=PORT, show_banner=False, log_level="error")
