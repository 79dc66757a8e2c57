"""What the private database servers share: a folder and a port of their own, one user, databases for single tests."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Self

from servers.process import Folder, Process, free_port


class DatabaseServer(ABC):
    """`with … as server: server.dsn`. The user `jackfield` may do everything, by password."""

    name: ClassVar[str]
    scheme: ClassVar[str]
    first: ClassVar[str]  # the database that is there from the start
    stop_by: ClassVar[str]  # the signal that ends open connections
    drop_options: ClassVar[str] = ""

    user = "jackfield"
    password = "p@ss/w:rd"  # needs percent-encoding in a URL, so that every test proves it
    quoted = "p%40ss%2Fw%3Ard"
    host = "127.0.0.1"

    def __init__(self, folder: Folder) -> None:
        self.port = 0
        self._numbers = itertools.count(1)
        self._folder = folder
        self._process: Process | None = None

    @abstractmethod
    def install(self) -> None:
        """Make the data folder."""

    @abstractmethod
    def command(self) -> list[str]:
        """What runs the server on `port`."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it can be connected to."""

    @abstractmethod
    def client(self, database: str) -> tuple[Sequence[str], Mapping[str, str]]:
        """The command-line client and its environment, for statements on its standard input."""

    @property
    def dsn(self) -> str:
        return self.dsn_of(self.first)

    def dsn_of(self, database: str) -> str:
        return f"{self.scheme}://{self.user}:{self.quoted}@{self.host}:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        try:
            self.install()
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
        for _ in range(3):  # another process may take the port between our look and the server's
            self.port = self.port or free_port()
            self._process = Process(self.command(), self._folder, self.stop_by)
            if self._process.wait_ready(self.answers):
                return
            self.stop()
            self.port = 0
        log = (self._folder.path / "server.log").read_text("utf-8")
        raise RuntimeError(f"{self.name} did not start: {log[-2000:]}")

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

    def accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port)) == 0

    def run(self, sql: str, database: str = "") -> list[list[str]]:
        """Run statements by the client; the rows they give, as text."""
        command, environment = self.client(database)
        done = subprocess.run(
            command, input=sql, env={**os.environ, **environment}, capture_output=True, text=True, check=False
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
                self.run(f"DROP DATABASE {name} {self.drop_options}")
