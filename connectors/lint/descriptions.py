"""Descriptions are contracts: long enough, verb first, and saying something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...graphs.findings import Finding
from ..native.annotations import destructive_verb
from .subject import Subject

VERBS: Final = frozenset(
    [
        *("return", "get", "list", "fetch", "find", "search", "count", "create", "update", "delete", "send", "run"),
        *("execute", "check", "calculate", "summarise", "summarize", "filter", "retrieve", "show", "aggregate"),
        *("export", "generate", "compute", "load", "submit", "remove", "insert", "stream", "resolve", "validate"),
        *("write", "save", "cancel", "add", "set", "compare", "rank", "read", "look", "give", "append", "upsert"),
        *("post", "put", "publish", "archive", "close", "refund", "replace", "register", "estimate", "measure"),
    ]
)
WRITING_WORDS: Final = ("write", "create", "update", "delete", "send", "insert", "remove")
# What is left of a description when these are taken out must still name something.
EMPTY_WORDS: Final = frozenset(
    [
        *("a", "an", "the", "all", "any", "some", "of", "for", "from", "to", "in", "on", "by", "with", "and", "or"),
        *("this", "that", "these", "it", "its", "is", "are", "be", "can", "will", "use", "used", "uses", "using"),
        *("tool", "function", "endpoint", "api", "method", "call", "calls", "request", "operation", "action"),
        *("data", "information", "info", "stuff", "things", "thing", "something", "anything", "everything", "details"),
        *("result", "results", "response", "output", "value", "values", "item", "items", "record", "records", "object"),
        *("objects", "various", "several", "relevant", "appropriate", "required", "necessary", "etc", "general"),
        *("handle", "handles", "process", "processes", "manage", "manages", "perform", "performs", "do", "does"),
        *("work", "works", "help", "helps", "helper", "query", "queries", "access", "provide", "provides", "you"),
        *("me", "my", "your", "user", "system", "database", "db", "table", "row", "rows", "source", "as", "needed"),
    ]
)


def descriptions(subject: Subject) -> Iterator[Finding]:
    for pointer, tool in subject.tools:
        yield from _description(subject, f"{pointer}/description", tool.description, tool.id)
        if tool.category != "READ" and not any(word in tool.description.lower() for word in WRITING_WORDS):
            yield subject.finding(
                "WRITE_TOOL_DESCRIPTION",
                f"{pointer}/description",
                f"Tool '{tool.id}' is {tool.category}, and its description does not say that it changes something.",
                f"Use one of {', '.join(WRITING_WORDS)}.",
                tool.id,
            )
        verb = destructive_verb(tool.id)
        if verb and tool.destructive is None and tool.category != "READ":
            yield subject.finding(
                "DESTRUCTIVE_NOT_FLAGGED",
                f"{pointer}/id",
                f"Tool '{tool.id}' may {verb} something, and does not say whether that is destructive.",
                'Add "destructive": true, or false if it can be undone.',
                tool.id,
            )
    for pointer, skill in subject.parts.skills:
        yield from _description(subject, f"{pointer}/description", skill.description, skill.id)


def _description(subject: Subject, pointer: str, text: str, about: str) -> Iterator[Finding]:
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(text.strip()) < 15:
        message = f"The description of '{about}' has {len(text.strip())} characters; it takes at least 15."
        yield subject.finding("DESCRIPTION_TOO_SHORT", pointer, message, "Say what one call returns or does.", about)
        return
    first = text.strip().split()[0].strip(".,:").lower()
    if first not in VERBS:
        message = f"The description of '{about}' begins with '{first}', which is no verb of what the tool does."
        yield subject.finding(
            "DESCRIPTION_MISSING_VERB", pointer, message, "Begin with Return, List, Count, Send …", about
        )
    said = [
        word for word in words if word not in EMPTY_WORDS and word not in VERBS and word.removesuffix("s") not in VERBS
    ]
    if not said:
        message = f"The description of '{about}' is vague: it names nothing that is returned or done."
        hint = "Name the things, how they are chosen, and how many come back."
        yield subject.finding("DESCRIPTION_VAGUE", pointer, message, hint, about)
