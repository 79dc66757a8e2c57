"""A private MariaDB on a free loopback port in a temporary folder, for tests and benchmarks."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from servers.process import Folder, NotInstalledError, Process, account, free_port, run_as

OPTIONS = (
    "--no-defaults",
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--innodb-flush-log-at-trx-commit=0",  # the data lives as long as the tests
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=16M",
    "--max-connections=120",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",  # the usual default: case-insensitive, trailing blanks ignored
    "--default-time-zone=+02:00",  # not UTC, so that a forgotten conversion shows
    "--local-infile=0",
)


def program(*names: str) -> str:
    """The first of `names` that is installed. Raises NotInstalledError."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    raise NotInstalledError("MariaDB is not installed (Debian: apt-get install mariadb-server)")


class MariaDBServer:
    """`with MariaDBServer() as server: server.dsn`. The user `jackfield` may do everything, by password."""

    user = "jackfield"
    password = "p@ss/w:rd"
    quoted = "p%40ss%2Fw%3Ard"
    host = "127.0.0.1"

    def __init__(self) -> None:
        self._server = program("mariadbd", "mysqld")
        self._install = program("mariadb-install-db", "mysql_install_db")
        self._client = program("mariadb", "mysql")
        self.port = 0
        self._numbers = itertools.count(1)
        self._folder = Folder("my", account("mysql"))
        self._process: Process | None = None

    @property
    def dsn(self) -> str:
        return self.dsn_of("test")

    def dsn_of(self, database: str) -> str:
        return f"mysql://{self.user}:{self.quoted}@{self.host}:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        data = self._folder.path / "data"
        install = [self._install, "--no-defaults", f"--datadir={data}", "--skip-test-db", "--skip-name-resolve"]
        install += ["--auth-root-authentication-method=normal", f"--tmpdir={self._folder.path}"]
        if self._folder.owner is not None:
            install.append(f"--user={self._folder.owner}")
        self._folder.write(
            "first.sql",
            f"CREATE USER IF NOT EXISTS '{self.user}'@'%' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO '{self.user}'@'%' WITH GRANT OPTION;\n"
            f"ALTER USER root@localhost IDENTIFIED BY '{self.password}';\n"
            "CREATE DATABASE IF NOT EXISTS test;\n",
        )
        try:
            # Whoever we are, the data folder must end up as the server's own.
            run_as(None, install, self._folder.path)
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
        folder = self._folder.path
        places = [f"--datadir={folder / 'data'}", f"--socket={folder / 'sock'}", f"--pid-file={folder / 'pid'}"]
        places += [f"--tmpdir={folder}", f"--init-file={folder / 'first.sql'}"]
        for _ in range(3):  # another process may take the port between our look and the server's
            self.port = self.port or free_port()
            command = [self._server, *OPTIONS, *places, f"--port={self.port}"]
            self._process = Process(command, self._folder, "TERM")
            if self._process.wait_ready(self._answers):
                return
            self.stop()
            self.port = 0
        raise RuntimeError(f"MariaDB did not start: {(folder / 'server.log').read_text('utf-8')[-2000:]}")

    def _answers(self) -> bool:
        if not self.accepts():
            return False
        try:
            self.run("SELECT 1")
        except RuntimeError:
            return False
        return True

    def accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def run(self, sql: str, database: str = "") -> list[list[str]]:
        """Run statements by the command-line client; the rows they give, as text. Null is `NULL`."""
        command = [self._client, "--no-defaults", "-N", "-B", "--default-character-set=utf8mb4", "--protocol=tcp"]
        command += ["-h", self.host, "-P", str(self.port), "-u", self.user]
        done = subprocess.run(
            [*command, *([database] if database else [])],
            input=sql,
            env={**os.environ, "MYSQL_PWD": self.password},
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
                self.run(f"DROP DATABASE {name}")
