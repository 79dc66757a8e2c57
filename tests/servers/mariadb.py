"""A private MariaDB on a free loopback port in a temporary folder, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from servers.database import DatabaseServer
from servers.process import Folder, NotInstalledError, account, run_as

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


class MariaDBServer(DatabaseServer):
    """`run` gives null as `NULL`."""

    name = "MariaDB"
    scheme = "mysql"
    first = "test"
    stop_by = "TERM"

    def __init__(self) -> None:
        self._server = program("mariadbd", "mysqld")
        self._install = program("mariadb-install-db", "mysql_install_db")
        self._client = program("mariadb", "mysql")
        super().__init__(Folder("my", account("mysql")))

    def install(self) -> None:
        folder = self._folder
        install = [self._install, "--no-defaults", f"--datadir={folder.path / 'data'}", "--skip-test-db"]
        install += ["--skip-name-resolve", "--auth-root-authentication-method=normal", f"--tmpdir={folder.path}"]
        if folder.owner is not None:
            install.append(f"--user={folder.owner}")
        folder.write(
            "first.sql",
            f"CREATE USER IF NOT EXISTS '{self.user}'@'%' IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO '{self.user}'@'%' WITH GRANT OPTION;\n"
            f"ALTER USER root@localhost IDENTIFIED BY '{self.password}';\n"
            "CREATE DATABASE IF NOT EXISTS test;\n",
        )
        # Whoever we are, the data folder must end up as the server's own.
        run_as(None, install, folder.path)

    def command(self) -> list[str]:
        folder = self._folder.path
        places = [f"--datadir={folder / 'data'}", f"--socket={folder / 'sock'}", f"--pid-file={folder / 'pid'}"]
        places += [f"--tmpdir={folder}", f"--init-file={folder / 'first.sql'}"]
        return [self._server, *OPTIONS, *places, f"--port={self.port}"]

    def answers(self) -> bool:
        if not self.accepts():
            return False
        try:
            self.run("SELECT 1")
        except RuntimeError:
            return False
        return True

    def client(self, database: str) -> tuple[Sequence[str], Mapping[str, str]]:
        command = [self._client, "--no-defaults", "-N", "-B", "--default-character-set=utf8mb4", "--protocol=tcp"]
        command += ["-h", self.host, "-P", str(self.port), "-u", self.user, *([database] if database else [])]
        return command, {"MYSQL_PWD": self.password}
