"""What a secret looks like when it stands in a file, and what the name of one looks like."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*|[A-Za-z]+[0-9]{0,4}(_[A-Za-z]+[0-9]{0,4}|_[0-9]{1,4})*")

SECRET_FIELD: Final = re.compile(
    r"secret|passw|passphrase|token|api[_-]?key|authori[sz]ation|credential", re.IGNORECASE
)
# Names, not secrets, although they have such a word in them.
HARMLESS_FIELDS: Final = frozenset(
    ("header_name", "cursor_param", "token_url", "max_token_estimate", "page_token_param")
)

KINDS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("a live or test API key", re.compile(r"\b[sr]k_(live|test)_[A-Za-z0-9]{8,}")),
    ("an AWS access key", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("a Slack token", re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}")),
    ("a Google API key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),
    ("an API key", re.compile(r"\bsk-([A-Za-z0-9_-]{20,}|(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{8,})")),
    ("a JSON Web Token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a password in an address", re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:(?!\{\{)[^/\s@{]+@", re.IGNORECASE)),
    ("a password in a DSN", re.compile(r"\bpassword\s*=\s*[^\s{:'\"?$(]{4,}", re.IGNORECASE)),
    ("bearer or basic credentials", re.compile(r"^(bearer|basic)\s+[A-Za-z0-9+/=_.-]{12,}$", re.IGNORECASE)),
)


def names_a_secret(text: str) -> bool:
    """Whether `text` can be the name of a variable, and is not a secret that happens to have such a form."""
    return VARIABLE.fullmatch(text) is not None and not looks_secret(text)


def looks_secret(text: str) -> bool:
    return any(pattern.search(text) for _, pattern in KINDS) or random_looking(text)


def random_looking(text: str) -> bool:
    """Whether a text is long, of one word, and as mixed as keys are."""
    if len(text) < 16 or re.search(r"\s", text) or NAME.fullmatch(text) or text.startswith(":"):
        return False
    counts = Counter(text)
    entropy = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    return entropy > 3.3 and any(character.isdigit() for character in text)
