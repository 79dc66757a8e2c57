"""Names out of what was found: identifiers, slugs, one thing and many, and the variables that hold secrets."""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import unquote, urlsplit

LONGEST: Final = 48
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IRREGULAR: Final = {
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "mice": "mouse",
    "statuses": "status",
    "buses": "bus",
    "analyses": "analysis",
    "movies": "movie",
    "cookies": "cookie",
}
_ALIKE: Final = frozenset(("series", "species", "news", "data", "sheep", "fish", "weather"))
# Parts of an address that say nothing of what its records are.
_EMPTY_SEGMENT: Final = re.compile(r"api|rest|public|json|v\d+(\.\d+)*|search|list|index|query|graphql", re.IGNORECASE)


def identifier(text: str, otherwise: str = "rows") -> str:
    """`text` in snake case, as an id of a source, a tool or a parameter: `petIDs v2` → `pet_ids_v2`."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore").decode()
    plain = plain.replace("IDs", "Ids")
    words = re.sub(r"[^A-Za-z0-9]+", "_", _BOUNDARY.sub("_", plain)).strip("_").lower()
    if not words:
        return otherwise
    if words[0].isdigit():
        words = f"{otherwise}_{words}"
    return words[:LONGEST].rstrip("_")


def slug(text: str, otherwise: str = "connector") -> str:
    return identifier(text, otherwise).replace("_", "-")


def title(text: str) -> str:
    """`pet_orders` → `Pet orders`."""
    words = text.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def words(name: str) -> str:
    """A name as it stands in a sentence: `pet_orders` → `pet orders`."""
    return identifier(name).replace("_", " ")


def singular(name: str) -> str:
    """One of what `name` counts: by the last word of an identifier."""
    head, _, last = name.rpartition("_")
    return f"{head}_{_one(last)}" if head else _one(last)


def plural(name: str) -> str:
    head, _, last = name.rpartition("_")
    many = _many(_one(last))
    return f"{head}_{many}" if head else many


def variable(*parts: str) -> str:
    """The name of an environment variable: `pet-store`, `token` → `PET_STORE_TOKEN`."""
    name = "_".join(identifier(part, "x") for part in parts if part).upper()
    return name if not name[:1].isdigit() else f"C{name}"


def name_of_address(url: str) -> str:
    """What the records at an address are called, by its last part that says anything; else by the host."""
    split = urlsplit(url)
    for segment in reversed(unquote(split.path).split("/")):
        stem = segment.partition(".")[0]
        if stem and not stem.isdigit() and not _EMPTY_SEGMENT.fullmatch(stem) and "{" not in stem:
            return identifier(stem)
    labels = [label for label in (split.hostname or "").split(".") if label not in ("www", "api")]
    return identifier(labels[0]) if labels and not labels[0].isdigit() else "rows"


def _one(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _ALIKE or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")):
        return word[:-2]
    return word.removesuffix("s")


def _many(word: str) -> str:
    for many, one in _IRREGULAR.items():
        if word == one:
            return many
    if word in _ALIKE:
        return word
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"
