"""Functions whose one call makes a value as large as a number says, in memory that `memory_limit` does not count.

In their stead stand macros of their names, which the check does not let pass by (`sqltext.read_only`). Each names an
argument once: a call within a call would else be written out many times over. In FROM, `range` and `generate_series`
are other functions, which give rows as they are read and need no bound.
"""

from __future__ import annotations

from typing import Final

LONGEST: Final = 100_000  # bytes of a text, items of a list


def _series(name: str) -> str:
    """`far` is where a series of the greatest length ends; beyond the last number or moment it is NULL, and not met."""
    words = f"error('{name}(…) makes a list too large to hold: stay below {LONGEST}, or write it in FROM.')"

    def of(arguments: str, packed: str, is_too_long: str, call: str) -> str:
        return (
            f"({arguments}) AS list_transform([struct_pack({packed})], lambda x:"
            f" CASE WHEN {is_too_long} THEN {words} ELSE system.main.{name}({call}) END)[1]"
        )

    reach = f"{LONGEST}::BIGINT"
    passed = "least(x.a, x.b) < x.far AND x.far < greatest(x.a, x.b)"
    return f"CREATE MACRO {name}" + ", ".join(
        (
            of("stop", "b := stop", f"x.b > {LONGEST}", "x.b"),
            of("start, stop", f"a := start, b := stop, far := try(start + {reach})", "x.far < x.b", "x.a, x.b"),
            of(
                "start, stop, step",
                f"a := start, b := stop, c := step, far := try(start + {reach} * step)",
                passed,
                "x.a, x.b, x.c",
            ),
        )
    )


def _resize(name: str) -> str:
    def of(arguments: str, packed: str, call: str) -> str:
        return (
            f"({arguments}) AS list_transform([struct_pack({packed})], lambda x: CASE WHEN x.n > {LONGEST}"
            f" THEN error('{name}(…) makes a list too large to hold: stay below {LONGEST}.')"
            f" ELSE system.main.{name}({call}) END)[1]"
        )

    return f"CREATE MACRO {name}" + ", ".join(
        (
            of("items, size", "a := items, n := size", "x.a, x.n"),
            of("items, size, filler", "a := items, n := size, f := filler", "x.a, x.n, x.f"),
        )
    )


MACROS: Final = (
    f"""CREATE MACRO repeat(text, times) AS list_transform([struct_pack(a := text, n := times)], lambda x:
        CASE WHEN x.n > {LONGEST} // greatest(len(x.a), 1)
             THEN error('repeat(…) makes a value too large to hold: stay below {LONGEST}.')
             ELSE system.main.repeat(x.a, x.n) END)[1]""",
    "CREATE MACRO lpad(text, width, fill) AS system.main.lpad(text, width::SMALLINT::INTEGER, fill)",
    "CREATE MACRO rpad(text, width, fill) AS system.main.rpad(text, width::SMALLINT::INTEGER, fill)",
    "CREATE MACRO bitstring(bits, width) AS system.main.bitstring(bits, width::SMALLINT::INTEGER)",
    _series("range"),
    _series("generate_series"),
    _resize("list_resize"),
    _resize("array_resize"),
)
