"""`jackfield serve` as a process: what it says, what it refuses to do, how it ends."""

from __future__ import annotations

import datetime
import ipaddress
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp.client import Client
from servers.audit import read
from servers.http import Hang, HttpServer
from servers.serve import ServeProcess

from jackfield.surfaces.settings import load

from .conftest import Cli
from .serving import ERAS, connector, zoo
from .test_http_endings import LIST_ROWS


def get(url: str, context: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    with urllib.request.urlopen(url, timeout=10, context=context) as reply:
        return reply.status, reply.read()


@pytest.mark.anyio
async def test_it_says_where_it_listens_what_is_loaded_and_who_may_call(tmp_path: Path) -> None:
    zoo(tmp_path)
    (tmp_path / "broken.connector.json").write_text("{")
    with ServeProcess(tmp_path) as serve:
        for era in ERAS:
            async with Client(f"{serve.url}/mcp", mode=era) as client:
                assert "list_animals" in [tool.name for tool in (await client.list_tools()).tools]
                answer = await client.call_tool("list_animals", {"species": "dog"})
                assert answer.structured_content is not None
                assert answer.structured_content["row_count"] == 1
        assert get(f"{serve.url}/healthz")[0] == 200
        code, said = serve.end()
    assert code == 0
    assert f"serves {serve.url}/mcp" in said
    assert "1 connector, 1 tool, 1 skill" in said
    assert "1 error" in said
    assert "broken.connector.json" in said
    assert "There is no policy: the local principal may do everything, and nobody else anything." in said
    assert "jackfield connect " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_when_it_is_told_to_stop(tmp_path: Path, number: int) -> None:
    with ServeProcess(zoo(tmp_path).parent) as serve:
        assert serve.end(number) == (0, serve.err)
    assert "rror" not in serve.err


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/rows": hang}) as source:
        rows = {"id": "rows", "type": "rest", "url": f"{source.url}/rows"}
        connector(tmp_path, sources=[rows], tools=[LIST_ROWS])
        with ServeProcess(tmp_path, JACKFIELD_SERVE_DRAIN_S="600") as serve:
            calling = threading.Thread(target=call, args=(serve.url,))
            calling.start()
            assert hang.arrived.wait(20)
            serve.process.send_signal(signal.SIGTERM)
            assert closed(serve.port)
            assert serve.process.poll() is None
            assert serve.end(signal.SIGTERM)[0] == 0
            calling.join(10)


def call(url: str, tool: str = "list_rows") -> None:
    body = json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        }},
    }).encode()  # fmt: skip
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool,
    }  # fmt: skip
    with urllib.request.urlopen(urllib.request.Request(f"{url}/mcp", body, headers), timeout=30) as reply:
        reply.read()


def closed(port: int) -> bool:
    """Whether the port comes to be closed."""
    for _ in range(2_000):
        try:
            with socket.create_connection(("127.0.0.1", port), 5):
                pass
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:
            continue
    return False


def test_a_port_that_is_taken_is_named_with_what_to_do(tmp_path: Path) -> None:
    zoo(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused(tmp_path, "--port", port)
    assert code == 1
    assert said.startswith(f"CONFIG_INVALID: Port {port} of 127.0.0.1 cannot be listened on: Address already in use.")
    assert "--port" in said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", "localhost.evil.test"])
def test_a_host_that_is_not_loopback_is_refused(cli: Cli, tmp_path: Path, host: str) -> None:
    outcome = cli("serve", zoo(tmp_path), "--host", host, "--port", 0)
    assert outcome.code == 1
    assert f"CONFIG_INVALID: '{host}' is not a loopback address." in outcome.err
    assert outcome.out == ""


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", *(["::1"] if has_ipv6() else [])])
def test_every_loopback_address_may_be_listened_on(tmp_path: Path, host: str) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, "--host", host) as serve:
        assert get(f"{serve.url}/readyz")[0] == 200
        if host == "localhost":
            assert get(f"http://localhost:{serve.port}/readyz")[0] == 200


def test_two_servers_of_one_workspace_have_a_port_and_an_audit_each(tmp_path: Path) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path) as first:
        call(first.url, "list_animals")
        with ServeProcess(tmp_path) as second:
            for _ in range(2):
                call(second.url, "list_animals")
            with urllib.request.urlopen(f"{second.url}/api/audit", timeout=10) as reply:
                assert len(json.load(reply)["lines"]) == 3
            assert str(tmp_path / ".jackfield" / "audit-2") in second.err
            code, said = refused(tmp_path, "--port", second.port)
            assert (code, f"Port {second.port}" in said) == (1, True)
        assert "audit-2" not in first.err
    assert [len(read(tmp_path / ".jackfield" / name)) for name in ("audit", "audit-2")] == [1, 2]


def test_a_server_starts_beside_an_agent_over_stdio(tmp_path: Path) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, "--stdio"), ServeProcess(tmp_path) as serve:
        assert get(f"{serve.url}/readyz")[0] == 200
        assert "Another process serves this workspace" in serve.err


def refused(folder: Path, *arguments: object) -> tuple[int, str]:
    """The exit code and stderr of a server that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "jackfield.surfaces.cli", "serve", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_tls_by_certificate_and_key(tmp_path: Path) -> None:
    zoo(tmp_path)
    certificate, key = make_certificate(tmp_path)
    with ServeProcess(tmp_path, "--tls-cert", certificate, "--tls-key", key) as serve:
        assert serve.url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(certificate))
        assert get(f"{serve.url}/healthz", trusting)[0] == 200
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            get(f"{serve.url}/healthz", ssl.create_default_context())
        old = ssl.create_default_context(cafile=str(certificate))
        old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(urllib.error.URLError):
            get(f"{serve.url}/healthz", old)
        assert serve.end()[0] == 0


def test_lim_08_half_a_tls_handshake_is_cut_off(tmp_path: Path) -> None:
    zoo(tmp_path)
    certificate, key = make_certificate(tmp_path)
    with ServeProcess(tmp_path, "--tls-cert", certificate, "--tls-key", key, JACKFIELD_SERVE_HEAD_S="0.4") as serve:
        for sent in (b"", b"\x16\x03\x01\x02\x00\x01"):
            with socket.create_connection(("127.0.0.1", serve.port), 10) as half:
                half.sendall(sent)
                assert half.recv(100) == b""
        assert get(f"{serve.url}/healthz", ssl.create_default_context(cafile=str(certificate)))[0] == 200


def test_a_certificate_that_is_none_is_a_clear_error(tmp_path: Path) -> None:
    zoo(tmp_path)
    certificate, key = make_certificate(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    _, foreign = make_certificate(other)
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    for files, said in (
        ((tmp_path / "missing.pem", key), "cannot be read: No such file or directory"),
        ((certificate, tmp_path), "cannot be read: Is a directory"),
        ((nonsense, key), "are no PEM certificate and its key"),
        ((certificate, foreign), "key values mismatch"),
    ):
        code, told = refused(tmp_path, "--port", 0, "--tls-cert", files[0], "--tls-key", files[1])
        assert (code, said in told) == (1, True), told
        assert "BEGIN" not in told
    assert refused(tmp_path, "--port", 0, "--tls-cert", certificate)[0] == 2


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, signed by its own key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jackfield test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ))  # fmt: skip
    return paths


def test_an_empty_workspace_is_served_and_says_how_to_begin(tmp_path: Path) -> None:
    with ServeProcess(tmp_path) as serve:
        code, said = serve.end()
    assert code == 0
    assert "jackfield new NAME" in said


def test_hosts_and_origins_of_the_environment_are_parted_by_commas(tmp_path: Path) -> None:
    settings = load(tmp_path, {"JACKFIELD_SERVE_ORIGINS": "https://a.test, http://b.test:8080"})
    assert settings["serve.origins"] == ("https://a.test", "http://b.test:8080")
