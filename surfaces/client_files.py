"""An entry in a client's configuration file: as text, merged into what is there, and written whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from .agent_clients import AgentClient

# What says how the server is reached is ours to replace; what else stands in an entry is the person's.
TRANSPORT: Final = ("type", "command", "args", "env_vars", "cwd", "url", "httpUrl")
BY_URL: Final = ("url", "httpUrl")


def entry_text(client: AgentClient, name: str, entry: Mapping[str, Any]) -> str:
    """The entry alone, as a whole file of that client would be."""
    if client.is_toml:
        return _toml(client.table, name, entry)
    return json.dumps({client.table: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def merged(client: AgentClient, text: str, name: str, entry: Mapping[str, Any], place: Path) -> str:
    """`text` with the entry `name` in it, everything else kept. Raises CONFIG_INVALID for what cannot be merged."""
    return (
        _merged_toml(client, text, name, entry, place)
        if client.is_toml
        else _merged_json(client, text, name, entry, place)
    )


def read(path: Path) -> str:
    """What the file holds; nothing when it is not there. Raises CONFIG_INVALID for what is no text, and OSError."""
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise _unreadable(path, "is not UTF-8 text") from None


def write(path: Path, text: str) -> Path | None:
    """Replace `path` in one step and answer where its former text is kept, if it had one. Raises OSError."""
    path = path.resolve()  # a link stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = _backup(path) if path.exists() else None
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if backup is not None:
            shutil.copymode(path, draft)
        else:
            Path(draft).chmod(0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft)
        raise
    return backup


def _backup(path: Path) -> Path:
    """A copy under the first free name: an earlier one is never lost."""
    number = 0
    while True:
        target = path.with_name(f"{path.name}.bak{number or ''}")
        with suppress(FileExistsError), target.open("xb") as copy:
            copy.write(path.read_bytes())
            shutil.copymode(path, target)
            return target
        number += 1


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _joined(before: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with what the person had added to the former one, unless that was reached in another way."""
    if not isinstance(before, dict) or _is_by_url(before) != _is_by_url(entry):
        return dict(entry)
    kept = {key: value for key, value in before.items() if key not in TRANSPORT}
    if isinstance(kept.get("env"), dict):
        kept["env"] = {**entry.get("env", {}), **kept["env"]}
    return {**entry, **kept}


def _is_by_url(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in BY_URL)


def _merged_json(client: AgentClient, text: str, name: str, entry: Mapping[str, Any], place: Path) -> str:
    try:
        document = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise _unreadable(place, f"is not plain JSON: {error.msg} in line {error.lineno}") from None
    servers = document.setdefault(client.table, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise _unreadable(place, f"holds no object '{client.table}'")
    servers[name] = _joined(servers.get(name), entry)
    indent = re.search(r'^([ \t]+)"', text, re.M)
    return json.dumps(document, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


def _merged_toml(client: AgentClient, text: str, name: str, entry: Mapping[str, Any], place: Path) -> str:
    """Line by line, so that comments stay, and then read again to see that this meant what it should."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(place, f"is not valid TOML: {error}") from None
    servers = document.setdefault(client.table, {})
    if not isinstance(servers, dict):
        raise _unreadable(place, f"holds no table '{client.table}'")
    before = servers.get(name)
    servers[name] = _joined(before, entry)
    if before is None:
        head = text if not text or text.endswith("\n") else f"{text}\n"
        result = f"{head}{chr(10) if head else ''}{_toml(client.table, name, entry)}"
    else:
        keeps = isinstance(before, dict) and _is_by_url(before) == _is_by_url(entry)
        result = _replaced(text, client.table, name, entry, keeps)
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(result) == document:
            return result
    raise _unreadable(place, f"holds '{name}' in a way that is not changed safely")


def _replaced(text: str, table: str, name: str, entry: Mapping[str, Any], keeps: bool) -> str:
    """The lines of `text` with the table of `name` written anew; lines of other keys in it stay, if `keeps`."""
    part = re.escape(name)
    header = re.compile(rf"""\s*\[\s*{table}\s*\.\s*(?:{part}|"{part}"|'{part}')\s*(?P<more>\.)?""")
    lines: list[str] = []
    value = ""  # of a key of ours, which may go on over several lines
    inside = False
    for line in text.splitlines(keepends=True):
        if value:
            value = _going_on(value + line)
        elif line.lstrip().startswith("["):
            found = header.match(line)
            inside = found is not None
            if found and not found["more"]:
                lines.append(_toml(table, name, entry))
            elif keeps or not found:
                inside = False
                lines.append(line)
        elif inside and re.match(rf"\s*({'|'.join(TRANSPORT)})\s*=", line):
            value = _going_on(line)
        elif not inside or keeps or not line.strip() or line.lstrip().startswith("#"):
            lines.append(line)
    return "".join(lines)


def _going_on(value: str) -> str:
    """The text of a key and its value while it is not whole, else nothing."""
    try:
        tomllib.loads(value)
    except tomllib.TOMLDecodeError:
        return value
    return ""


def _toml(table: str, name: str, entry: Mapping[str, Any]) -> str:
    # JSON's texts and lists of texts are TOML's.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"[{table}.{name}]", *lines, ""])


def _unreadable(place: Path, what: str) -> JackfieldError:
    return JackfieldError(
        Code.CONFIG_INVALID,
        f"{place} {what}.",
        "Nothing was written. Without --write the entry is printed: add it by hand.",
        {"file": str(place)},
    )
