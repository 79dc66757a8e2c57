"""A private Postgres on a free loopback port in a temporary folder, for tests and benchmarks."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from servers.process import Folder, NotInstalledError, Process, account, free_port, run_as

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",  # the data lives as long as the tests
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "120",
    "autovacuum": "off",
    "timezone": "Europe/Oslo",  # not UTC, so that a forgotten conversion shows
}


def programs() -> Path:
    """The folder of the newest Postgres that is installed. Raises NotInstalledError."""
    found = shutil.which("initdb")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if versions:
        return versions[-1].parent
    if found is None:
        raise NotInstalledError("Postgres is not installed (Debian: apt-get install postgresql)")
    return Path(found).parent


class PostgresServer:
    """`with PostgresServer() as server: server.dsn`. The superuser is `jackfield`, by password (scram)."""

    user = "jackfield"
    password = "p@ss/w:rd"  # needs percent-encoding in a URL, so that every test proves it
    quoted = "p%40ss%2Fw%3Ard"
    host = "127.0.0.1"

    def __init__(self) -> None:
        self.bin = programs()
        self.port = 0
        self._numbers = itertools.count(1)
        self._folder = Folder("pg", account("postgres"))
        self._process: Process | None = None

    @property
    def dsn(self) -> str:
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        return f"postgresql://{self.user}:{self.quoted}@{self.host}:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        data = self._folder.path / "data"
        secret = self._folder.write("password", self.password)
        initdb = [str(self.bin / "initdb"), "-D", str(data), "-U", self.user, "--auth=scram-sha-256"]
        initdb += [f"--pwfile={secret}", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"]
        try:
            run_as(self._folder.owner, initdb, self._folder.path)
            self.start()
        except BaseException:
            self._folder.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.remove()

    def start(self) -> None:
        """Start, or start again on the same port and data."""
        options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.bin / "postgres"), "-D", str(self._folder.path / "data"), *options]
        for _ in range(3):  # another process may take the port between our look and the server's
            self.port = self.port or free_port()
            self._process = Process([*command, "-p", str(self.port)], self._folder, "INT")
            if self._process.wait_ready(self._answers):
                return
            self.stop()
            self.port = 0
        raise RuntimeError(f"Postgres did not start: {(self._folder.path / 'server.log').read_text('utf-8')[-2000:]}")

    def _answers(self) -> bool:
        ready = [str(self.bin / "pg_isready"), "-q", "-h", self.host, "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0

    def stop(self) -> None:
        """A fast shutdown: open connections are ended."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def run(self, sql: str, database: str = "postgres") -> list[list[str]]:
        """Run statements by psql; the rows they give, as text. Null is `\\N`."""
        command = [
            str(self.bin / "psql"),
            "-X",
            "-q",
            "-A",
            "-t",
            "-F",
            "\t",
            "-P",
            "null=\\N",
            "-v",
            "ON_ERROR_STOP=1",
        ]
        done = subprocess.run(
            [*command, "-h", self.host, "-p", str(self.port), "-U", self.user, "-d", database],
            input=sql,
            env={**os.environ, "PGPASSWORD": self.password, "PGCLIENTENCODING": "UTF8", "PGTZ": "UTC"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    @contextmanager
    def database(self, sql: str = "") -> Iterator[str]:
        """The DSN of a database of its own, set up by `sql` and dropped at the end."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        try:
            if sql:
                self.run(sql, name)
            yield self.dsn_of(name)
        finally:
            if self._process is not None:
                self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0
