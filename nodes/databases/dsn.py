"""A database address, read into the few fields that a connector file may set. Nothing else reaches a driver."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from ...graphs.errors import Code, JackfieldError
from ..base import Secrets
from ..secrets import ENV_REFERENCE as REFERENCE

Engine = Literal["postgres", "mysql"]
Tls = Literal["disable", "prefer", "require", "verify-ca", "verify-full"]
TLS: Final[tuple[Tls, ...]] = ("disable", "prefer", "require", "verify-ca", "verify-full")

SCHEMES: Final[Mapping[str, Engine]] = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
}
PORTS: Final[Mapping[Engine, int]] = {"postgres": 5432, "mysql": 3306}
EXAMPLES: Final[Mapping[Engine, str]] = {
    "postgres": "postgresql://user:password@host:5432/database",
    "mysql": "mysql://user:password@host:3306/database",
}
# Every spelling that common clients use for what we know; any other setting is refused, since some read
# files, run programs or name another host (service, passfile, hostaddr, options, unix_socket …).
SETTINGS: Final[Mapping[str, str]] = {
    "host": "host",
    "port": "port",
    "user": "user",
    "password": "password",
    "dbname": "database",
    "database": "database",
    "sslmode": "tls",
    "ssl-mode": "tls",
    "ssl_mode": "tls",
    "sslrootcert": "ca",
    "ssl-ca": "ca",
    "ssl_ca": "ca",
    "connect_timeout": "",
    "application_name": "",
    "charset": "",
}
OTHER_TLS_WORDS: Final[Mapping[str, str]] = {
    "disabled": "disable",
    "preferred": "prefer",
    "required": "require",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
    "allow": "prefer",
}
PORT_REFERENCE: Final = re.compile(rf":{REFERENCE.pattern}(?=[/?]|$)")
KEYWORD: Final = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))")


@dataclass(frozen=True, slots=True)
class Dsn:
    """Where a database is and who we are there. `ca` is a file of certificates that `tls` verifies by."""

    engine: Engine
    host: str
    port: int
    database: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    tls: Tls = "prefer"
    ca: Path | None = None

    @property
    def place(self) -> str:
        """In words, for messages: no host, no user, no secret."""
        return f"{'Postgres' if self.engine == 'postgres' else 'MySQL'} database '{self.database}'"

    @property
    def endpoint(self) -> str:
        """`host:port`, for the message that nobody answers there."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def digest(self, *more: object) -> str:
        """What tells this address and `more` from others; it does not give the password away."""
        parts = (self.engine, self.host, self.port, self.database, self.user, self.password, self.tls, self.ca, *more)
        return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def over(self, tls: Tls | None) -> Dsn:
        return self if tls is None else replace(self, tls=tls)


def address(text: str, engine: Engine, secrets: Secrets, roots: Sequence[Path] = ()) -> Dsn:
    """The address in configured text, with its `{{ env:VAR }}` resolved.

    A reference inside the address stands for one field, so a password needs no percent-encoding in the environment,
    and a variable can not add settings. Raises as `parse` does, and SECRET_MISSING.
    """
    if REFERENCE.fullmatch(text.strip()):
        return parse(secrets.expand(text.strip()), engine, tuple(roots))
    text = PORT_REFERENCE.sub(lambda match: secrets.expand(match[0]), text)
    values: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        name = f"jackfield-reference-{len(values)}-"
        values[name] = secrets.expand(match[0])
        return name

    found = parse(REFERENCE.sub(stand_in, text), engine, tuple(roots))
    if not values:
        return found

    def back(field: str) -> str:
        for name, value in values.items():
            field = field.replace(name, value)
        return field

    host, database, user, password = map(back, (found.host, found.database, found.user, found.password))
    return replace(found, host=_host(engine, host), database=database, user=user, password=password)


@lru_cache(maxsize=64)
def parse(text: str, engine: Engine, roots: tuple[Path, ...] = ()) -> Dsn:
    """The address in `text`: a URL, or for Postgres also `key=value` words. A CA file has to be under a root.

    Raises CONFIG_INVALID, and its message never repeats the text.
    """
    text = text.strip()
    if "://" in text:
        settings = _of_url(text, engine)
    elif engine == "postgres" and "=" in text:
        settings = _of_words(text)
    else:
        raise _invalid(engine, "is no database address")
    return _dsn(engine, settings, roots)


def _of_url(text: str, engine: Engine) -> dict[str, str]:
    scheme = text.partition("://")[0].lower().partition("+")[0]  # mysql+pymysql:// names a Python driver
    if SCHEMES.get(scheme) != engine:
        known = [name for name, of in SCHEMES.items() if of == engine]
        raise _invalid(engine, "begins with another scheme", f"Expected {' or '.join(f'{k}://' for k in known)}.")
    try:
        url = urlsplit(text)
        port, host = url.port, url.hostname or ""
    except ValueError:
        if "," in text.partition("://")[2].partition("/")[0].rpartition("@")[2]:
            raise _invalid(engine, "names several hosts", "One host is allowed.") from None
        raise _invalid(
            engine, "has a host or port that cannot be read", "Percent-encode '/', '@', ':', '#' and '?' in a password."
        ) from None
    settings: dict[str, str] = {}
    for name, value in parse_qsl(url.query, keep_blank_values=True):
        _set(engine, settings, name, value)
    settings.update(
        {
            "host": settings.get("host", "") or unquote(host),
            "database": unquote(url.path.lstrip("/")) or settings.get("database", ""),
        }
    )
    if port is not None:
        settings["port"] = str(port)
    if url.username is not None:
        settings["user"] = unquote(url.username)
    if url.password is not None:
        settings["password"] = unquote(url.password)
    return settings


def _of_words(text: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    end = 0
    while end < len(text):
        match = KEYWORD.match(text, end)
        if match is None or match.end() == end:
            raise _invalid(
                "postgres", "cannot be read as key=value words", "Quote a value that has blanks: key='a value'."
            )
        value = match[2] if match[2] is not None else match[3]
        _set("postgres", settings, match[1], re.sub(r"\\(.)", r"\1", value))
        end = match.end()
        while end < len(text) and text[end].isspace():
            end += 1
    return settings


def _set(engine: Engine, settings: dict[str, str], name: str, value: str) -> None:
    meaning = SETTINGS.get(name.lower())
    if meaning is None:
        near = difflib.get_close_matches(name.lower(), SETTINGS, 1)
        shown = name if re.fullmatch(r"[\w-]{1,40}", name) else "…"
        hint = (
            f"Did you mean '{near[0]}'?"
            if near
            else "Allowed: host, port, user, password, dbname, sslmode, sslrootcert."
        )
        raise _invalid(engine, f"has the setting '{shown}', which is not allowed", hint)
    if meaning:
        settings[meaning] = value


def _dsn(engine: Engine, settings: Mapping[str, str], roots: Sequence[Path]) -> Dsn:
    host = _host(engine, settings.get("host", ""))
    if "," in settings.get("port", ""):
        raise _invalid(engine, "names several hosts", "One host is allowed.")
    port = settings.get("port") or str(PORTS[engine])
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise _invalid(engine, "has a port that is no number from 1 to 65535")
    if any("\0" in value for value in settings.values()):
        raise _invalid(engine, "has a NUL character")
    word = settings.get("tls", "prefer").lower()
    tls = word if word in TLS else OTHER_TLS_WORDS.get(word)
    if tls is None:
        raise _invalid(engine, "has an unknown sslmode", f"One of {', '.join(TLS)}.")
    return Dsn(
        engine,
        host,
        int(port),
        settings.get("database", ""),
        settings.get("user", ""),
        settings.get("password", ""),
        next(mode for mode in TLS if mode == tls),
        certificates(settings["ca"], engine, roots) if settings.get("ca") else None,
    )


def certificates(text: str, engine: Engine, roots: Sequence[Path]) -> Path:
    """The file `text`, which has to be under one of `roots` with every link followed. Raises CONFIG_INVALID."""
    for root in roots:
        found = (root / text).resolve()
        if found.is_relative_to(root.resolve()) and found.is_file():
            return found
    raise _invalid(
        engine,
        "names a file of certificates that is not in the connector's folder",
        "Put it beside the connector file, or declare its folder as a root.",
    )


def _invalid(engine: Engine, found: str, hint: str = "") -> JackfieldError:
    expected = f"Expected {EXAMPLES[engine]}."
    return JackfieldError(Code.CONFIG_INVALID, f"The 'dsn' {found}. {expected}", hint, {"field": "dsn"})


def _host(engine: Engine, host: str) -> str:
    """`host` when it is one name or address. Raises CONFIG_INVALID."""
    if not host:
        raise _invalid(engine, "names no host", "Unix sockets are not used: give a host name or address.")
    if host.startswith(("@", ".")) or "/" in host:
        raise _invalid(engine, "names a unix socket", "Give a host name or address, such as localhost.")
    if "," in host:
        raise _invalid(engine, "names several hosts", "One host is allowed.")
    if re.search(r"[\s\0]", host):
        raise _invalid(engine, "has a blank in its host")
    return host
