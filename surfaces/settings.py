"""Settings: `jackfield.toml` of the workspace, and `JACKFIELD_…` variables over it. Each key is a row of KEYS."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..graphs.errors import Code, JackfieldError

FILE: Final = "jackfield.toml"
PREFIX: Final = "JACKFIELD_"


def _seconds(value: Any) -> float:
    seconds = _number(value)
    if seconds <= 0:
        raise ValueError("a number of seconds above 0")
    return seconds


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("a number")
    return float(value)


def _share(value: Any) -> float:
    share = _number(value)
    if not 0 <= share <= 1:
        raise ValueError("a number from 0 to 1")
    return share


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)) or int(value) < 1:
        raise ValueError("a whole number above 0")
    return int(value)


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower())
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    """A list; in the environment, entries separated as in PATH."""
    if isinstance(value, str):
        return tuple(part for part in value.split(os.pathsep) if part)
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise ValueError("a list of texts")
    return tuple(value)


def _one_of(*known: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"one of {', '.join(known)}")
        return str(value)

    return read


def _names(value: Any) -> tuple[str, ...]:
    """A list; in the environment, entries separated by commas: they may hold colons."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else _texts(value)


class Key(NamedTuple):
    """A setting: `read` turns what was written into its value, or raises ValueError saying what was expected."""

    name: str
    default: Any
    read: Callable[[Any], Any]
    meaning: str

    @property
    def variable(self) -> str:
        return PREFIX + self.name.replace(".", "_").upper()


KEYS: Final = (
    Key(
        "connectors",
        ("*.connector.json", "*.bgl.json", "connectors"),
        _texts,
        "Folders, files or globs that hold connector files",
    ),
    Key("state", ".jackfield", _text, "Folder for results kept for cursors, and other state"),
    Key("roots", (), _texts, "Further folders that file sources and saves may use"),
    Key("call.timeout_s", 60.0, _seconds, "Seconds that one call may take, where its tool does not say"),
    Key("call.max_rows", 10_000_000, _count, "Rows that the sources of one call may give"),
    Key("call.max_bytes", 8 * 2**30, _count, "Bytes that the sources of one call may give"),
    Key("sql.memory", "2GB", _text, "Memory for all tools' SQL together; beyond it, it spills to disk"),
    Key(
        "sql.threads",
        0,
        lambda value: _count(value) if value not in (0, "0") else 0,
        "Threads for SQL; 0: all it may use",
    ),
    Key("result.ttl_s", 900.0, _seconds, "Seconds that a result is kept for its cursor"),
    Key("upload.max_bytes", 16 * 2**20, _count, "Bytes that a file uploaded by an agent may have"),
    Key("discover.variables", (), _names, "Environment variables that discovery may send where an agent says"),
    Key("serve.calls", 64, _count, "Calls of one connector that run at once while it is served"),
    Key("serve.waiting", 2_000, _count, "Calls of one connector that may wait; more are answered OVERLOADED"),
    Key("serve.hosts", (), _names, "Further names by which this server is asked (Host), as behind a proxy"),
    Key("serve.origins", (), _names, "Origins of web pages that may ask this server, beside its own"),
    Key("serve.max_body", 4 * 2**20, _count, "Bytes that the body of one request may have"),
    Key("serve.connections", 4_000, _count, "Connections at once; beyond it, the one that has idled longest is closed"),
    Key("serve.head_s", 10.0, _seconds, "Seconds within which a client sends the head of a request"),
    Key("serve.body_s", 30.0, _seconds, "Seconds within which it sends the body"),
    Key("serve.idle_s", 75.0, _seconds, "Seconds that a connection is kept between requests"),
    Key("serve.write_s", 30.0, _seconds, "Seconds that a client may read nothing of what it is sent"),
    Key(
        "serve.tool_search",
        "off",
        _one_of("off", "on", "auto"),
        "Whether agents get a tool to search for tools in place of their list; auto: when there are more than 30",
    ),
    Key("serve.drain_s", 10.0, _seconds, "Seconds that calls under way get to end when the server is shut down"),
    Key("audit.max_bytes", 64 * 2**20, _count, "Bytes of an audit file, after which another is begun"),
    Key("audit.read_without", False, _flag, "READ tools go on while the audit cannot be written; others never do"),
    Key("audit.fsync", False, _flag, "Wait for the disk at every line of the audit, so that no power cut takes one"),
    Key("telemetry.otlp_url", "", _text, "An OTLP endpoint that spans of calls are sent to; empty: none are made"),
    Key("telemetry.secret_key", "", _text, "The environment variable that holds a bearer token for that endpoint"),
    Key("telemetry.service", "jackfield", _text, "The name that spans say they are of"),
    Key("telemetry.share", 1.0, _share, "How many of the traces that begin here are exported: 0 to 1"),
    Key("telemetry.propagate", (), _texts, "Hosts of sources that are sent our trace context; `*`: all of them"),
    Key("model.url", "", _text, "An OpenAI-compatible endpoint that runs skills; empty: skills give their prompt"),
    Key("model.name", "", _text, "The model to ask there"),
    Key("model.secret_key", "", _text, "The environment variable that holds the key of that endpoint"),
)
BY_NAME: Final[Mapping[str, Key]] = {key.name: key for key in KEYS}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it came from: `default`, the file, or the environment variable."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds in a workspace. `folder` is where jackfield.toml lies, or would."""

    folder: Path
    settings: Mapping[str, Setting]

    def __getitem__(self, name: str) -> Any:
        return self.settings[name].value

    def with_value(self, name: str, value: Any, origin: str) -> Settings:
        """These settings, but for one that was given otherwise, such as by an option of the command line."""
        return replace(self, settings={**self.settings, name: Setting(value, origin)})

    @property
    def state(self) -> Path:
        return self.folder / str(self["state"])

    @property
    def roots(self) -> tuple[Path, ...]:
        return tuple((self.folder / root).resolve() for root in self["roots"])


def find_folder(start: Path) -> Path:
    """The nearest folder from `start` upward that holds jackfield.toml, else `start`."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder
    return start


def load(start: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings for work in `start` (the current folder). Raises CONFIG_INVALID naming the key and its origin."""
    folder = find_folder(start or Path.cwd())
    environment = os.environ if environment is None else environment
    written = _flat(_document(folder / FILE))
    for name in written.keys() - BY_NAME.keys():
        near = difflib.get_close_matches(name, BY_NAME, 2)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known keys: {', '.join(BY_NAME)}."
        raise JackfieldError(Code.CONFIG_INVALID, f"{FILE} has an unknown key '{name}'.", hint, {"key": name})
    settings = {}
    for key in KEYS:
        if key.variable in environment:
            settings[key.name] = Setting(_read(key, environment[key.variable], key.variable), key.variable)
        elif key.name in written:
            settings[key.name] = Setting(_read(key, written[key.name], FILE), str(folder / FILE))
        else:
            settings[key.name] = Setting(key.default, "default")
    return Settings(folder, settings)


def _document(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JackfieldError(
            Code.CONFIG_INVALID, f"{path.name} is not valid TOML: {error}.", "Correct it, or remove it."
        ) from None


def _flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def _read(key: Key, value: Any, origin: str) -> Any:
    try:
        return key.read(value)
    except ValueError as error:
        expected = str(error) if not str(error).startswith(("could not", "invalid literal")) else "a number"
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Setting '{key.name}' from {origin} is {value!r}; expected {expected}.",
            f"{key.meaning}.",
            {"key": key.name},
        ) from None
