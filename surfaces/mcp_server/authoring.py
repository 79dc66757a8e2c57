"""The prompts of the platform itself: Markdown files of `surfaces/guides/prompts`, each with its arguments declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ...nodes.skill import rendered

RULE: Final = "---\n"
CONNECTORS: Final = "connectors"  # stands for the slugs of the moment


@dataclass(frozen=True, slots=True)
class Argument:
    """`values` are those that it may have, as far as they are known; `connectors` stands for what is served."""

    name: str
    description: str
    required: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Guide:
    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    text: str

    def render(self, arguments: Mapping[str, str]) -> str:
        """The text with the arguments in it, as quoted data."""
        return rendered(self.text, (), {each.name: arguments.get(each.name) for each in self.arguments})

    @property
    def input_schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema, to be checked as those of a tool are."""
        properties: dict[str, Any] = {}
        for each in self.arguments:
            properties[each.name] = {"type": "string", "description": each.description}
            if each.values and each.values != (CONNECTORS,):
                properties[each.name]["enum"] = list(each.values)
        required = [each.name for each in self.arguments if each.required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@cache
def guides() -> Mapping[str, Guide]:
    """Every prompt of the platform by name, `getting_started` first."""
    found = [_guide(entry.name.removesuffix(".md"), entry.read_text("utf-8")) for entry in _folder().iterdir()]
    return {
        guide.name: guide for guide in sorted(found, key=lambda guide: (guide.name != "getting_started", guide.name))
    }


def _folder() -> Any:
    return files("jackfield.surfaces") / "guides" / "prompts"


def _guide(name: str, content: str) -> Guide:
    import yaml

    _, head, text = content.split(RULE, 2)
    declared = yaml.safe_load(head)
    return Guide(
        name, declared["title"], declared["description"], tuple(map(_argument, declared.get("arguments", ()))), text
    )


def _argument(declared: Mapping[str, Any]) -> Argument:
    values = declared.get("values", ())
    return Argument(
        declared["name"],
        declared["description"],
        declared["required"],
        (values,) if isinstance(values, str) else tuple(values),
    )
