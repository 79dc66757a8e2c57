"""Which texts are nearest to a question, by the words they share (BM25, with a weight for each part of a text)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")
HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SATURATION: Final = 1.2  # how soon a word said again counts for no more
LENGTH: Final = 0.75  # how much a long text is held against its words
BEGINNING: Final = 0.5  # what a word counts that only begins as the one asked for does
SHORTEST_BEGINNING: Final = 3


class Index:
    """Texts by name, each of parts with a weight. Made once, asked often."""

    def __init__(self, texts: Mapping[str, Sequence[tuple[float, str]]]) -> None:
        self._words = {name: _weighed(parts) for name, parts in texts.items()}
        self._lengths = {name: sum(words.values()) for name, words in self._words.items()}
        self._average = sum(self._lengths.values()) / (len(texts) or 1) or 1.0
        self._holders: dict[str, list[str]] = {}
        for name, words in self._words.items():
            for word in words:
                self._holders.setdefault(word, []).append(name)

    def nearest(self, question: str) -> list[str]:
        """The names of texts that share a word with the question, the nearest first."""
        scores: Counter[str] = Counter()
        for word in dict.fromkeys(words_of(question)):
            for known, weight in self._known(word):
                self._add(scores, known, weight)
        return sorted(scores, key=lambda name: (-scores[name], name))

    def _known(self, word: str) -> Iterable[tuple[str, float]]:
        if word in self._holders:
            return ((word, 1.0),)
        if len(word) < SHORTEST_BEGINNING:
            return ()
        return [(known, BEGINNING) for known in self._holders if known.startswith(word)]

    def _add(self, scores: Counter[str], word: str, weight: float) -> None:
        holders = self._holders[word]
        rarity = math.log(1 + (len(self._words) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name in holders:
            often = self._words[name][word]
            long = 1 - LENGTH + LENGTH * self._lengths[name] / self._average
            scores[name] += weight * rarity * often * (SATURATION + 1) / (often + SATURATION * long)  # type: ignore[assignment]


def _weighed(parts: Sequence[tuple[float, str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for weight, text in parts:
        for word in words_of(text):
            found[word] = found.get(word, 0.0) + weight
    return found


def words_of(text: str) -> list[str]:
    """`listOpenOrders` → list, open, order: plurals count as the one thing."""
    return [_singular(part.casefold()) for word in WORD.findall(text) for part in HUMP.split(word)]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
