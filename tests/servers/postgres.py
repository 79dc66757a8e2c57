"""A private Postgres on a free loopback port in a temporary folder, for tests and benchmarks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from servers.database import DatabaseServer
from servers.process import Folder, NotInstalledError, account, run_as

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


class PostgresServer(DatabaseServer):
    """The superuser is `jackfield`, by password (scram). `run` gives null as `\\N`."""

    name = "Postgres"
    scheme = "postgresql"
    first = "postgres"
    stop_by = "INT"
    drop_options = "WITH (FORCE)"

    def __init__(self) -> None:
        self.bin = programs()
        super().__init__(Folder("pg", account("postgres")))

    def install(self) -> None:
        data = self._folder.path / "data"
        secret = self._folder.write("password", self.password)
        initdb = [str(self.bin / "initdb"), "-D", str(data), "-U", self.user, "--auth=scram-sha-256"]
        initdb += [f"--pwfile={secret}", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"]
        run_as(self._folder.owner, initdb, self._folder.path)

    def command(self) -> list[str]:
        options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        return [str(self.bin / "postgres"), "-D", str(self._folder.path / "data"), *options, "-p", str(self.port)]

    def answers(self) -> bool:
        ready = [str(self.bin / "pg_isready"), "-q", "-h", self.host, "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0

    def client(self, database: str) -> tuple[Sequence[str], Mapping[str, str]]:
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
        command += ["-h", self.host, "-p", str(self.port), "-U", self.user, "-d", database or self.first]
        return command, {"PGPASSWORD": self.password, "PGCLIENTENCODING": "UTF8", "PGTZ": "UTC"}
