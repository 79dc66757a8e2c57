"""DuckDB's own reading of a text decides: what a tokenizer may overlook is refused, and ordinary SQL is not."""

import pytest

from jackfield.engine.parse_tree import require_only_reads
from jackfield.graphs.errors import Code, JackfieldError

ORDINARY = (
    "SELECT CURRENT_DATE, current_timestamp, now(), today(), localtimestamp, current_time",
    "SELECT extract(year FROM d), date_part('week', d), d AT TIME ZONE 'Europe/Oslo', d + INTERVAL 3 MONTH FROM t",
    "SELECT substring(a FROM 2 FOR 3), trim(BOTH ' ' FROM a), position('x' IN a), overlay(a PLACING 'b' FROM 1) FROM t",
    "SELECT a SIMILAR TO 'x+', a GLOB 'x*', a ILIKE 'X%' ESCAPE '!', a NOT LIKE 'y', a !~ 'z', a COLLATE nocase FROM t",
    "SELECT a[1], a[1:2], [x + 1 FOR x IN a IF x > 1], list_transform(a, x -> x), list_sum(a) FROM t",
    "SELECT {'k': 1}.k, MAP {'a': 1}['a'], ARRAY[1, 2], row(1, 2), struct_pack(a := 1), (1, 2) FROM t",
    "SELECT a -> '$.x', a ->> 'y', json_extract(a, '$.z'), a::JSON, TRY_CAST(a AS INTEGER[]) FROM t",
    "SELECT coalesce(a, b), nullif(a, b), ifnull(a, b), CASE WHEN a THEN 1 END, a IS DISTINCT FROM b, NOT a FROM t",
    "SELECT a BETWEEN 1 AND 2, a IN (1, 2), a IN (SELECT b FROM u), EXISTS (SELECT 1 FROM u) FROM t",
    "SELECT a = ANY (SELECT b FROM u), a > ALL (SELECT b FROM u) FROM t",
    "SELECT count(*), count(DISTINCT a), sum(a) FILTER (WHERE b), string_agg(a, ',' ORDER BY b) FROM t GROUP BY ALL",
    "SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS 2 PRECEDING), lag(a) OVER w FROM t WINDOW w AS ()",
    "SELECT grouping(a), sum(b) FROM t GROUP BY GROUPING SETS ((a), ()) HAVING sum(b) > 1 ORDER BY 2 LIMIT 3 OFFSET 1",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r",
    "SELECT * FROM t JOIN u USING (id) LEFT JOIN LATERAL (SELECT u.x) l ON true ASOF JOIN t v ON t.a >= v.a",
    "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b), COLUMNS('x.*') FROM t QUALIFY row_number() OVER () = 1",
    "SELECT * FROM range(3) r(i), unnest([1, 2]) s(x), generate_series(1, 3) g(j)",
    "FROM (PIVOT t ON a IN ('x', 'y') USING sum(b))",
    "FROM (UNPIVOT t ON a, b)",
    "SELECT a FROM t UNION ALL BY NAME SELECT b FROM u EXCEPT SELECT c FROM u",
    "SELECT -a, +a, ~a, a // 2, a ** 2, a % 3, a << 1, a & 1, a | 2, xor(a, 1), @a, a || 'x', a ^@ 'y' FROM t",
    "SELECT * FROM t TABLESAMPLE reservoir(10 ROWS)",
    "VALUES (1, 'a'), (2, 'b')",
)
REFUSED = {
    "a function behind an invisible character": "SELECT current_setting\u200b('temp_directory')",
    "a function behind a byte order mark": "SELECT current_setting\ufeff('temp_directory')",
    "a quoted function": "SELECT \"current_setting\"('temp_directory')",
    "a function of a schema": "SELECT main.lower(a) FROM t",
    "a method call": "SELECT 'temp_directory'.current_setting()",
    "an insert in a CTE": "WITH z AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM z",
    "a delete in a CTE": "WITH z AS (DELETE FROM t RETURNING *) SELECT * FROM z",
    "an update in a CTE": "WITH z AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM z",
    "a file as a table": "SELECT * FROM 'secrets.csv'",
    "a table function that reads files": "SELECT * FROM read_text('x')",
    "a table of another": "SELECT * FROM other",
    "a table of a schema": "SELECT * FROM information_schema.tables",
    "a look at the tables": "FROM (SHOW TABLES)",
    "a description": "SELECT * FROM (DESCRIBE t)",
    "a cast to a type that can end the process": "SELECT a::VARIANT FROM t",
    "that type inside another": "SELECT CAST(a AS STRUCT(x VARIANT[])) FROM t",
    "two statements": "SELECT 1; SELECT 2",
    "no query": "CREATE TABLE x (a int)",
    "a pivot that looks for its values itself": "FROM (PIVOT t ON a USING sum(b))",
}


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sql_passes(text: str) -> None:
    require_only_reads(text, {"t", "u"})


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_does_more_than_read_its_tables_is_refused(text: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        require_only_reads(text, {"t", "u"})
    assert caught.value.code is Code.QUERY_INVALID
