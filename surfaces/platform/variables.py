"""Which environment variables an agent's work may send, and where to: it names both, and only the person may trust it.

A variable goes out as credentials (`auth`, `dsn`) or as the address itself, and only when the person listed it in the
setting `discover.variables`, or when a served connector sends it to that very place already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from ...connectors.model import Connector, Runnable
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Graph, Json
from ...nodes.secrets import ENV_REFERENCE, demands
from .bench import Bench

SETTING: Final = "discover.variables"
# A variable that is the address: what follows it begins a path or a query, and so cannot lead to another host.
IS_ADDRESS: Final = re.compile(rf"\s*{ENV_REFERENCE.pattern}\s*(?:[/?#].*)?", re.DOTALL)
PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
Origin = tuple[str, str, int | None]


def require_allowed(bench: Bench, source: Mapping[str, Json]) -> None:
    """Raises ACCESS_DENIED for the first variable in a native source that discovery may not send there."""
    allowed = bench.app.settings[SETTING]
    used: frozenset[str] | None = None
    for field, variable in demands(source):
        if source["type"] == "rest" and not _is_credential(field, source):
            raise JackfieldError(
                Code.ACCESS_DENIED,
                f"config.{field}: discovery sends a variable as credentials only, and '{variable}' stands elsewhere.",
                f'Put it into auth, as "secret_key": "{variable}", or let it be the beginning of the url.',
                {"parameter": f"config.{field}", "variable": variable},
            )
        if variable in allowed:
            continue
        if used is None:
            used = frozenset(_sent_there(bench, source))
        if variable not in used:
            raise _denied(field, variable)


def require_trusted(bench: Bench, connector: Connector) -> None:
    """Raises ACCESS_DENIED for the first variable that a connector may not send where it does.

    To run its cases sends it, and an agent wrote both. What is served already it may.
    """
    allowed = bench.app.settings[SETTING]
    served: frozenset[Sent] | None = None
    for sent in _sent_by(bench, connector):
        if sent.variable in allowed:
            continue
        if served is None:
            served = frozenset(each for one in bench.app.catalog.connectors.values() for each in _sent_by(bench, one))
        if sent.place is None or sent not in served:
            raise JackfieldError(
                Code.ACCESS_DENIED,
                f"Connector '{connector.slug}' sends the variable '{sent.variable}' where no served connector does, "
                f"and the setting {SETTING} does not name it.",
                _remedy(sent.variable),
                {"variable": sent.variable, "setting": SETTING},
            )


class Sent(NamedTuple):
    """A variable, and the origin or address that it goes to; None: that is not known before it runs."""

    variable: str
    place: tuple[str, Any] | None


def _sent_by(bench: Bench, connector: Connector) -> Iterator[Sent]:
    runnables: tuple[Runnable, ...] = (
        *connector.tools.values(), *connector.skills.values(), *connector.resources.values(),
    )  # fmt: skip
    configurations = [one.configuration for one in connector.sources.values()]
    for runnable in runnables:
        with suppress(JackfieldError):  # what cannot be compiled cannot run
            configurations += [node.configuration for graph in _graphs(runnable.graph) for node in graph.nodes]
    for configuration in configurations:
        for _, variable in demands(configuration):
            yield Sent(variable, _address(bench, configuration))


def _graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for inner in graph.graphs.values():
        yield from _graphs(inner)


def _address(bench: Bench, configuration: Mapping[str, Any]) -> tuple[str, Any] | None:
    dsn, url = configuration.get("dsn"), configuration.get("url")
    if isinstance(dsn, str):
        return "dsn", dsn
    if not isinstance(url, str):
        return None
    try:
        found = origin_of(bench.app.secrets.expand(url))
    except JackfieldError:
        return None  # a variable that is not set, or holds what no address may
    return ("url", found) if found is not None else ("dsn", url)


def _remedy(variable: str) -> str:
    return (
        f'Ask the person to allow it where Jackfield runs, by {SETTING} = ["{variable}"] in jackfield.toml or '
        f"JACKFIELD_DISCOVER_VARIABLES={variable}, and to start it again."
    )


def _denied(field: str, variable: str) -> JackfieldError:
    return JackfieldError(
        Code.ACCESS_DENIED,
        f"config.{field}: discovery may not send the variable '{variable}': no served connector sends it there, and "
        f"the setting {SETTING} does not name it.",
        _remedy(variable),
        {"parameter": f"config.{field}", "variable": variable, "setting": SETTING},
    )


def _is_credential(field: str, source: Mapping[str, Json]) -> bool:
    if field != "url":
        return field.partition(".")[0] == "auth"
    url = str(source["url"])
    return IS_ADDRESS.fullmatch(url) is not None and len(ENV_REFERENCE.findall(url)) == 1


def _sent_there(bench: Bench, source: Mapping[str, Json]) -> Iterator[str]:
    """The variables that sources of served connectors send to where `source` is."""
    place = _place(bench, source["type"], source)
    if place is None:
        return
    for connector in bench.app.catalog.connectors.values():
        for served in connector.sources.values():
            if _place(bench, served.type, served.configuration) == place:
                parts = {name: served.configuration.get(name) for name in ("url", "dsn", "auth")}
                yield from (variable for _, variable in demands(parts))


def _place(bench: Bench, kind: Json, configuration: Mapping[str, Any]) -> tuple[str, Any] | None:
    """What must be the same: the origin of an API, the address of a database as it is written. None: nowhere."""
    if kind == "rest":
        try:
            found = origin_of(bench.app.secrets.expand(str(configuration.get("url", ""))))
        except JackfieldError:
            return None  # a variable that is not set, or holds what no address may
        return None if found is None else ("rest", found)
    dsn = configuration.get("dsn")
    return (str(kind), dsn) if kind in ("postgres", "mysql") and isinstance(dsn, str) else None


def origin_of(url: str) -> Origin | None:
    """Scheme, host and port; None for what is no address."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
