"""What the demo runs on: a folder with a connector, an embedded database and a CSV, and a live REST API beside it."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from ..graphs.errors import Code, JackfieldError

CUSTOMERS: Final = 240
ORDERS: Final = 5_000
FIRST_DAY: Final = date(2026, 1, 1)
DAYS: Final = 120
COUNTRIES: Final = ("NO", "SE", "DK", "FI", "DE", "AT", "CH", "PL", "FR", "BE", "NL", "IE", "ES", "PT", "IT", "GR")
NAMES: Final = ("Aas", "Berg", "Costa", "Dubois", "Ekman", "Fischer", "Greco", "Horvat", "Ito", "Jansen")
TOKEN: Final = "demo-token"
MARK: Final = ".jackfield-demo"


def customers() -> list[dict[str, Any]]:
    """The same customers in every run."""
    chance = random.Random(11)
    return [
        {
            "id": number,
            "name": f"{chance.choice(NAMES)} & {chance.choice(NAMES)}",
            "country": chance.choice(COUNTRIES),
            "address": {"postcode": str(chance.randrange(1000, 9999)), "city": f"Town {number % 30}"},
        }
        for number in range(1, CUSTOMERS + 1)
    ]


def lay_workspace(folder: Path) -> None:
    """Write the demo's files into `folder`, which must be new, empty or an earlier demo's. Raises CONFIG_INVALID."""
    if folder.exists() and not (folder / MARK).is_file() and any(folder.iterdir()):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The folder '{folder}' is not empty and was not made by the demo.",
            "Name another folder with --folder.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("This folder was made by `jackfield demo` and may be deleted.\n", "utf-8")
    (folder / "out").mkdir(exist_ok=True)
    _copy(files(__package__) / "demo", folder)
    _write_orders(folder / "data" / "orders.duckdb")


def _copy(source: Traversable, target: Path) -> None:
    for entry in source.iterdir():
        if entry.is_dir():
            (target / entry.name).mkdir(exist_ok=True)
            _copy(entry, target / entry.name)
        else:
            (target / entry.name).write_bytes(entry.read_bytes())


def _write_orders(path: Path) -> None:
    import duckdb
    import pyarrow as pa

    chance = random.Random(12)
    rows = [
        {
            "id": number,
            "customer_id": chance.randint(1, CUSTOMERS),
            "day": FIRST_DAY + timedelta(days=chance.randrange(DAYS)),
            "cents": chance.randrange(500, 25_000),
        }
        for number in range(1, ORDERS + 1)
    ]
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        database.register("made", pa.Table.from_pylist(rows))
        database.execute(
            "CREATE TABLE orders AS "
            "SELECT id, customer_id, day, (cents / 100)::DECIMAL(10, 2) AS total FROM made ORDER BY id"
        )


class _Api(BaseHTTPRequestHandler):
    """`GET /customers?country=&page=&per_page=`: pages of customers, for who shows the token."""

    protocol_version = "HTTP/1.1"
    rows = customers()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path != "/customers":
            return self._answer(404, {"error": "There is only /customers."})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer(401, {"error": "Send the demo's token."})
        query = parse_qs(address.query)
        wanted = {code for value in query.get("country", []) for code in value.split(",")}
        rows = [row for row in self.rows if not wanted or row["country"] in wanted]
        page, size = int(query.get("page", ["1"])[0]), int(query.get("per_page", ["50"])[0])
        return self._answer(200, {"items": rows[(page - 1) * size : page * size], "total": len(rows)})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the demo's terminal shows the answers, not the requests."""


@contextmanager
def live_api(port: int = 0) -> Iterator[str]:
    """The REST API on a loopback port while the block runs; gives its URL."""
    with ThreadingHTTPServer(("127.0.0.1", port), _Api) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
