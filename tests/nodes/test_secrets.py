"""Secrets from the environment: expanded once, named when missing, hidden wherever they might show."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.secrets import EnvironmentSecrets, redacted, references


def test_each_reference_is_replaced() -> None:
    secrets = EnvironmentSecrets({"HOST": "db.example.com", "PORT": "5432"})
    assert secrets.expand("postgres://{{ env:HOST }}:{{env:PORT}}/x") == "postgres://db.example.com:5432/x"
    assert secrets.expand("no reference, {{ name }}, {{ env: X }}") == "no reference, {{ name }}, {{ env: X }}"


def test_a_value_is_not_expanded_again() -> None:
    secrets = EnvironmentSecrets({"A": "{{ env:B }}", "B": "the other secret"})
    assert secrets.expand("{{ env:A }}") == "{{ env:B }}"


def test_the_variables_of_a_text_are_named_once_each() -> None:
    assert references("{{ env:A }}{{env:B}} {{ env:A }}") == ("A", "B")


@pytest.mark.parametrize(("variables", "found"), [({}, "is not set"), ({"TOKEN": ""}, "is empty")])
def test_a_missing_variable_is_named(variables: dict[str, str], found: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        EnvironmentSecrets(variables).value("TOKEN")
    assert caught.value.code is Code.SECRET_MISSING
    assert caught.value.message == f"The environment variable 'TOKEN' {found}."
    assert caught.value.details == {"variable": "TOKEN"}


@pytest.mark.parametrize("value", ["secret\n", "a\r\nX-Injected: 1", "nul\0"])
def test_auth_12_a_value_that_could_split_a_header_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        EnvironmentSecrets({"TOKEN": value}).expand("Bearer {{ env:TOKEN }}")
    assert caught.value.code is Code.CONFIG_INVALID
    assert value not in str(caught.value.as_json())


def test_what_was_given_is_hidden_in_every_spelling() -> None:
    secret = 'p/s+s "wörd"=='
    secrets = EnvironmentSecrets({"TOKEN": secret, "OTHER": "never asked for"})
    secrets.value("TOKEN")
    spellings = [secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode(), json.dumps(secret)[1:-1]]
    spellings += [json.dumps(json.dumps(secret)[1:-1])[1:-1], json.dumps(secret)[1:-1].replace("/", "\\/")]
    for spelling in spellings:
        assert secrets.redact(f"before {spelling} after") == "before *** after"
    assert secrets.redact("never asked for") == "never asked for"


def test_short_values_are_not_hidden() -> None:
    assert redacted("a door and a port", ["a", "port"]) == "a door and a port"


@given(st.text(min_size=9, alphabet=st.characters(min_codepoint=33, max_codepoint=0x2FF)), st.text(), st.text())
def test_a_secret_inside_base64_of_something_longer_is_hidden(secret: str, before: str, after: str) -> None:
    """As in `Authorization: Basic`, where it follows a user's name."""
    encoded = base64.b64encode(f"{before}{secret}{after}".encode()).decode()
    shown = redacted(encoded, [secret])
    assert shown != encoded


def test_a_secret_is_hidden_in_any_case() -> None:
    """The host of a URL is shown in lower case."""
    assert redacted("https://canaryaa77.invalid/x", ["CanaryAA77"]) == "https://***.invalid/x"
    assert redacted("%2fp%3dx-secret", ["/p=x-secret"]) == "***"


DATA = {
    "BASE": "https://api.example.com/v1",
    "HOST": "db.example.com",
    "REGION": "eu-west-1",
    "KEY": "tok-123456",
    "DSN": "postgresql://ada:pass-word@db.example.com/x",
    "NAMED": "production",
}


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("İstanbul-7", "istanbul-7"),
        ("paſswört9", "PASSWÖRT9"),
        ("abc-Kelvin", "ABC-kelvin"),
        ("caf\u00e9-secret", "CAF\u00c9-SECRET"),
        ("plain-Secret", "PLAIN-SECRET, and é beside it"),
    ],
)
def test_a_secret_is_hidden_in_any_case_of_any_alphabet(secret: str, text: str) -> None:
    assert redacted(f"<{text}>", [secret]).startswith("<***")


def test_data_keeps_addresses_and_plain_words_and_loses_secrets() -> None:
    secrets = EnvironmentSecrets(DATA)
    for name in DATA:
        secrets.expand(f"{{{{ env:{name} }}}}")
    text = "https://api.example.com/v1/orders db.example.com eu-west-1 production"
    assert secrets.conceal(text) == text
    assert not secrets.is_echoed(text.encode())
    assert secrets.is_echoed(b"a tok-123456 b")
    assert secrets.conceal(f"a tok-123456 b {DATA['DSN']}") == "a *** b ***"
    secrets.value("NAMED")
    assert secrets.conceal(text).endswith(" ***")
