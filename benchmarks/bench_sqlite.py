"""A query over rows that just arrived as Arrow: ours, beside loading them into SQLite in memory first (Elliot's way).

Both start at the same Arrow tables (orders of twelve columns, customers of two) and filter, join, group and order;
SQLite's time holds the load, as there each call does. Exits with 1 when we are slower from 10,000 rows up, or take more
than 1.5 times SQLite's time at 1,000.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import statistics
import sys
import time

import pyarrow as pa

from jackfield.engine.tables import Database, Session
from jackfield.nodes.table import Table

MOST_AT_1K = 1.5
SQL = (
    "SELECT c.region, count(*) AS n, sum(o.total) AS revenue FROM orders o JOIN customers c ON c.id = o.customer_id"
    " WHERE o.total > :least AND c.region <> 'none' GROUP BY c.region ORDER BY revenue DESC"
)
ARGUMENTS = {"least": 20.0}


def tables(rows: int) -> dict[str, pa.Table]:
    some = random.Random(1)
    customers = max(10, rows // 100)
    return {
        "orders": pa.table(
            {
                "id": list(range(rows)),
                "customer_id": [some.randrange(customers) for _ in range(rows)],
                "status": [some.choice(["paid", "new", "returned"]) for _ in range(rows)],
                "total": [some.random() * 100 for _ in range(rows)],
                "weight": [some.random() for _ in range(rows)],
                "currency": [some.choice(["EUR", "USD", "NOK"]) for _ in range(rows)],
                "created_at": [f"2024-01-{number % 28 + 1:02}T10:00:00Z" for number in range(rows)],
                "shipped_on": [f"2024-02-{number % 28 + 1:02}" for number in range(rows)],
                "reference": [f"ref-{number:08}" for number in range(rows)],
                "is_gift": [number % 7 == 0 for number in range(rows)],
                "items": [number % 9 for number in range(rows)],
                "note": [f"note of order {number}" for number in range(rows)],
            }
        ),
        "customers": pa.table(
            {"id": list(range(customers)), "region": [some.choice(["eu", "us", "none"]) for _ in range(customers)]}
        ),
    }


def in_sqlite(rows: dict[str, pa.Table]) -> list[tuple[object, ...]]:
    database = sqlite3.connect(":memory:")
    for name, table in rows.items():
        names = ", ".join(table.column_names)
        database.execute(f"CREATE TABLE {name} ({names})")
        marks = ", ".join("?" * table.num_columns)
        columns = [column.to_pylist() for column in table.columns]
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*columns, strict=True))
    found = database.execute(SQL, ARGUMENTS).fetchall()
    database.close()
    return found


async def ours(session: Session, rows: dict[str, pa.Table]) -> list[tuple[object, ...]]:
    """New Table objects over new Arrow objects at each call, so that nothing is warm."""
    fresh = {name: Table.whole(table.slice(0)) for name, table in rows.items()}
    answer = await session.query(SQL, ARGUMENTS, fresh)
    return [tuple(row.values()) for row in answer.to_pylist()]


async def main() -> int:
    database = Database()
    session = database.session()
    failed = False
    print(f"{'rows':>10}{'SQLite ms':>12}{'ours ms':>10}{'SQLite/ours':>13}")
    for count in (1_000, 10_000, 100_000, 1_000_000):
        rows = tables(count)
        peer: list[float] = []
        own: list[float] = []
        for _ in range(3 if count == 1_000_000 else 30):
            began = time.perf_counter()
            expected = in_sqlite(rows)
            peer.append(time.perf_counter() - began)
            began = time.perf_counter()
            found = await ours(session, rows)
            own.append(time.perf_counter() - began)
            assert [row[:2] for row in found] == [row[:2] for row in expected]
        theirs, mine = statistics.median(peer) * 1e3, statistics.median(own) * 1e3
        print(f"{count:>10,}{theirs:12.2f}{mine:10.2f}{theirs / mine:13.2f}")
        failed = failed or (mine > theirs if count >= 10_000 else mine > MOST_AT_1K * theirs)
    database.close()
    print("MISSED" if failed else "held")
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
