"""Text that shows all that it holds: no control characters, no change of direction, nothing that takes no place.

What a model reads and a person does not see is a way to speak to the model alone; what a terminal obeys is another.
The two joiners stay (U+200C, U+200D): Persian, Hindi and many emoji are written with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from .model import Connector, Resource, Skill, Tool

_UNSEEN: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
HIDDEN: Final = re.compile(rf"[{_UNSEEN}]|\r(?!\n)")  # in text that may have lines
HIDDEN_IN_LINE: Final = re.compile(rf"[{_UNSEEN}\t\n\r]")  # in a name
_MAY_HIDE: Final = re.compile(rf"\\[ubfnrt]|[{_UNSEEN}]")  # in JSON, where all of these may stand as escapes too
SHOWN: Final = ("title", "description")  # of a schema: what clients show of it


def clean(text: str) -> str:
    """`text` without what cannot be seen; lines and tabs stay."""
    return HIDDEN.sub("", text)


def clean_line(text: str) -> str:
    """`text` on one line, without what cannot be seen."""
    return re.sub(rf"[{_UNSEEN}]", "", re.sub(r"[\t\r\n]+", " ", text))


def may_hide(text: str) -> bool:
    """Whether a file with this text may hold such characters at all: few do, and the others need no second look."""
    return _MAY_HIDE.search(text) is not None


def cleaned(connector: Connector) -> Connector:
    """The connector with all text that agents and people are shown made clean."""
    return replace(
        connector,
        name=clean_line(connector.name),
        description=clean(connector.description),
        instructions=clean(connector.instructions),
        tools={name: _tool(tool) for name, tool in connector.tools.items()},
        skills={name: _skill(skill) for name, skill in connector.skills.items()},
        resources={uri: _resource(resource) for uri, resource in connector.resources.items()},
    )


def _tool(tool: Tool) -> Tool:
    schema = _schema(tool.input_schema)
    return replace(tool, title=clean_line(tool.title), description=clean(tool.description), input_schema=schema)


def _skill(skill: Skill) -> Skill:
    return replace(
        skill,
        name=clean_line(skill.name),
        description=clean(skill.description),
        when_to_use=clean(skill.when_to_use),
        prompt=clean(skill.prompt),
        input_schema=_schema(skill.input_schema),
    )


def _resource(resource: Resource) -> Resource:
    return replace(
        resource,
        name=clean_line(resource.name),
        title=clean_line(resource.title),
        description=clean(resource.description),
        input_schema=_schema(resource.input_schema),
    )


def _schema(value: Any) -> Any:
    """A JSON Schema whose titles and descriptions are clean; names and values stay, since they are compared."""
    if isinstance(value, Mapping):
        return {
            name: clean(held) if name in SHOWN and isinstance(held, str) else _schema(held)
            for name, held in value.items()
        }
    return [_schema(held) for held in value] if isinstance(value, list) else value
