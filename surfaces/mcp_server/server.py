"""The MCP server: the low-level SDK server over the handlers of each list."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp_types import PaginatedRequestParams, SetLevelRequestParams

from ..kept_answers import KeptAnswers
from ..service import Service
from .bugs import told_by_id
from .completion import Completions
from .connector_shelf import Connectors
from .declared_shelf import Declared
from .documents import Documents
from .log_levels import LogLevels
from .prompts import Prompts
from .request_state import sealing
from .resources import Resources
from .result_shelf import Results
from .skills_extension import EXTENSION, SETTINGS, DirectoryUri, SkillFolders, SkillUri
from .subscriptions import Subscriptions
from .tools import Keeping, Tools

INSTRUCTIONS: Final = (
    "Tools of connectors, each a query over live sources. Answers come in pages: `truncated` says that there is more,"
    " `next_cursor` goes on, the resource link holds the whole. An error says what was expected and what would fix it."
)

# What an agent deploys it looks for at once: lists are never stale. Only what no connector changes may be kept.
CACHE_HINTS: Final[Mapping[CacheableMethod, CacheHint]] = {
    "tools/list": CacheHint(),
    "prompts/list": CacheHint(),
    "resources/list": CacheHint(),
    "resources/read": CacheHint(),
    "resources/templates/list": CacheHint(ttl_ms=60_000),
    "server/discover": CacheHint(ttl_ms=300_000),
}


class JackfieldServer(Server[Any]):
    """The SDK's server, which says in the handshake too that its lists change, and knows whom to tell."""

    subscriptions: Subscriptions
    keep: Keeping

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        every = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or every, experimental_capabilities, extensions
        )


def build(service: Service) -> JackfieldServer:
    """A server of what `service` offers, at whatever moment it is asked."""
    levels = LogLevels()
    kept = KeptAnswers(service.app)
    tools = Tools(service, levels, kept)
    prompts = Prompts(service, levels)
    skills = SkillFolders(service)
    shelves = (Documents(), Connectors(service), skills, Results(service.app, kept), Declared(service))
    resources = Resources(shelves, levels)
    subscriptions = Subscriptions(service)
    server = JackfieldServer(
        "jackfield",
        version=version("jackfield"),
        title="Jackfield",
        instructions=INSTRUCTIONS,
        cache_hints=CACHE_HINTS,
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_completion=Completions(service, shelves).complete,
        on_subscribe_resource=subscriptions.subscribe,
        on_unsubscribe_resource=subscriptions.unsubscribe,
        on_subscriptions_listen=subscriptions.listen,
    )
    server.extensions[EXTENSION] = dict(SETTINGS)
    server.add_request_handler("skills/list", PaginatedRequestParams, skills.list)
    server.add_request_handler("skills/get", SkillUri, skills.get)
    server.add_request_handler("resources/directory/read", DirectoryUri, skills.directory)
    server.subscriptions = subscriptions
    server.keep = tools.keep
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, levels.set)
    server.middleware[:] = [told_by_id, subscriptions, sealing(service.app.settings.state)]
    return server
