"""Libraries that only some saves need, and that are installed by naming an extra."""

from __future__ import annotations

from importlib.util import find_spec

from ...graphs.errors import Code, JackfieldError


def require(module: str, extra: str) -> None:
    """Raises CONFIG_INVALID naming the extra when `module` is not installed."""
    if find_spec(module) is None:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"A save of this kind needs the library {module}, which is not installed.",
            f"Install it: pip install 'jackfield[{extra}]'",
            {"extra": extra},
        )
