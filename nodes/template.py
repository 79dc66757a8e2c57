"""`template`: text with `{{name}}` places for values. Values are put in as they are: nothing is evaluated."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import ANYTHING, Context, Inputs, OpenConfiguration, Outputs, Port, Ports, node
from .blocking import in_thread
from .table import Table

# `{{ env:X }}` has a colon and so is never a place: a template may not read the environment.
PLACE: Final = re.compile(r"\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}", re.ASCII)
TEXT: Final = Port("text", {"type": "string"}, "The filled template")


class TemplateConfiguration(OpenConfiguration):
    """Further fields are values of places."""

    template: str = Field(description="Text with places such as {{name}} or {{order.id}}")
    fence: bool = Field(False, description="Mark each value as data, for text that a model will read")


def places(template: str) -> tuple[str, ...]:
    """The names of a template's places, each once, in order."""
    return tuple(dict.fromkeys(PLACE.findall(template)))


def fill(template: str, values: Mapping[str, Any], *, fence: bool = False) -> str:
    """The template with its places filled, in one pass: a `{{name}}` inside a value stays text.

    A place `a.b` is the value of that name, else the property `b` of the value `a`. What is not text is written as
    JSON. `fence` puts each value between marks that it can not contain, so that it reads as data and not as orders.

    Raises VALIDATION_MISSING_FIELD naming the place that has no value.
    """

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        text = _text(_value(name, values))
        return _fenced(name, text) if fence else text

    return PLACE.sub(filled, template)


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name in values:
        return values[name]
    value: Any = values
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise JackfieldError(
                Code.VALIDATION_MISSING_FIELD,
                f"The template has a place for '{name}', and there is no such value.",
                "Wire or configure it. Values here: " + (", ".join(f"'{known}'" for known in values) or "none") + ".",
                {"parameter": name, "available": list(values)},
            )
        value = value[part]
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Table):
        value = value.arrow().to_pylist()
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Json:
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return str(value)  # a Decimal as text keeps its digits


def _fenced(name: str, text: str) -> str:
    # The tag is made of the text's own digest, so whoever writes the text can not write its closing tag.
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    tag = "data-" + digest[:16]
    return f'<{tag} name="{name}">\n{text}\n</{tag}>'


def _ports(configuration: Mapping[str, Json]) -> Ports:
    template = configuration.get("template")
    names = places(template) if isinstance(template, str) else ()
    ports = dict.fromkeys(name if name in configuration else name.partition(".")[0] for name in names)
    inputs = [Port(name, ANYTHING, f"The value of {{{{{name}}}}}") for name in ports]
    template_port = Port("template", {"type": "string"}, "The template itself", required=False)
    return Ports((template_port, *inputs), (TEXT,), open_inputs=True)


@node(
    "template",
    description="Fills the {{name}} places of a text with its inputs. Plain substitution; nothing is evaluated.",
    configuration=TemplateConfiguration,
    outputs=(TEXT,),
    open_inputs=True,
    ports_of=_ports,
)
async def template_node(config: TemplateConfiguration, inputs: Inputs, context: Context) -> Outputs:
    if any(isinstance(value, Table) for value in inputs.values()):
        return {"text": await in_thread(lambda: fill(config.template, inputs, fence=config.fence))}
    return {"text": fill(config.template, inputs, fence=config.fence)}
