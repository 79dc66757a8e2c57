"""Writes TPC-H data, queries and official answers into a folder. Runs in an environment of its own.

DuckDB 1.5.5 has the generator as a package; the version that Jackfield uses has not.
"""

import json
import sys
from pathlib import Path

import duckdb
import duckdb_extensions  # type: ignore[import-not-found]

SCALE = 0.01


def main(folder: Path) -> None:
    duckdb_extensions.import_extension("tpch")
    database = duckdb.connect()
    database.execute("LOAD tpch")
    database.execute(f"CALL dbgen(sf={SCALE})")
    tables = {}
    for (name,) in database.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
        described = database.execute(f"DESCRIBE {name}").fetchall()
        tables[name] = {row[0]: row[1] for row in described}
        database.execute(f"COPY {name} TO '{folder}/{name}.parquet' (FORMAT parquet)")
        database.execute(f"COPY {name} TO '{folder}/{name}.csv' (FORMAT csv, HEADER)")
    queries = dict(database.execute("SELECT query_nr, query FROM tpch_queries()").fetchall())
    answers = dict(
        database.execute("SELECT query_nr, answer FROM tpch_answers() WHERE scale_factor = ?", [SCALE]).fetchall()
    )
    assert len(tables) == 8
    assert len(queries) == len(answers) == 22
    facts = {"tables": tables, "queries": queries, "answers": answers}
    (folder / "facts.json").write_text(json.dumps(facts))  # last: its presence says that all is there


if __name__ == "__main__":
    main(Path(sys.argv[1]))
