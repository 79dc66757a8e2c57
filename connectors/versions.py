"""What changed between two versions of a connector for those who call it, and whether its version says so."""

from __future__ import annotations

from ..graphs.findings import Finding, Place, Severity
from .model import Connector, Tool


def contract_changes(old: Connector, new: Connector) -> tuple[str, ...]:
    """Each change that a caller can notice, in words: tools gone or added, arguments, categories, answers."""
    changes = [f"tool '{id_}' is gone" for id_ in old.tools if id_ not in new.tools]
    changes += [f"tool '{id_}' is new" for id_ in new.tools if id_ not in old.tools]
    for identifier, tool in new.tools.items():
        if identifier in old.tools:
            changes += _tool_changes(old.tools[identifier], tool)
    changes += [f"skill '{id_}' is gone" for id_ in old.skills if id_ not in new.skills]
    return tuple(changes)


def _tool_changes(old: Tool, new: Tool) -> list[str]:
    changes = []
    if old.name != new.name:
        changes.append(f"tool '{old.id}' is called '{new.name}' now, not '{old.name}'")
    if old.category != new.category:
        changes.append(f"tool '{new.id}' is {new.category} now, not {old.category}")
    if _shape(old) != _shape(new):
        changes.append(f"tool '{new.id}' takes other arguments")
    if old.output_schema != new.output_schema or old.result.fields != new.result.fields:
        changes.append(f"tool '{new.id}' promises other columns")
    return changes


def _shape(tool: Tool) -> dict[str, object]:
    """The argument schema without its words."""
    properties = {
        name: {key: value for key, value in schema.items() if key != "description"}
        for name, schema in tool.input_schema.get("properties", {}).items()
    }
    return {**tool.input_schema, "properties": properties}


def changed_without_bump(old: Connector, new: Connector) -> tuple[Finding, ...]:
    """A warning when the contract changed under the same version number."""
    if old.version != new.version or old.slug != new.slug:
        return ()
    changes = contract_changes(old, new)
    if not changes:
        return ()
    return (
        Finding(
            "VERSION_NOT_BUMPED",
            Severity.WARNING,
            f"The contract changed under version {new.version}: {'; '.join(changes)}.",
            Place(str(new.path or ""), "/version"),
            "Raise the version: patch for words, minor for what is new, major for what callers must follow.",
            principle=1,
            subject=new.slug,
        ),
    )
