"""A client that answers what nodes ask with what a test laid down, and remembers what it was asked and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jackfield.nodes.base import Question


@dataclass
class Person:
    """Implements `Client`. `answers` are MCP results by the key of their question; `methods` are what it takes."""

    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    methods: Sequence[str] = ("elicitation/create", "sampling/createMessage", "roots/list")
    asked: list[list[Question]] = field(default_factory=list)
    heard: list[tuple[str, Any, str]] = field(default_factory=list)

    def takes(self, question: Question) -> bool:
        return question.method in self.methods

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, Mapping[str, Any]]:
        self.asked.append(list(questions))
        return {one.key: self.answers[one.key] for one in questions}

    async def log(self, level: str, data: Any, logger: str = "") -> None:
        self.heard.append((level, data, logger))
