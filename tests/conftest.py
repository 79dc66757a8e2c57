"""Fixtures that every room's tests share. Servers are in tests/servers, started when a test first asks for one."""

from collections.abc import Iterator

import pytest
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer
from servers.process import NotInstalledError, missing


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A private Postgres; `with postgres.database("CREATE TABLE …") as dsn:` gives a database of one's own."""
    try:
        server = PostgresServer()
    except NotInstalledError as error:
        missing(error)
    with server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDBServer]:
    """A private MariaDB; `with mariadb.database("CREATE TABLE …") as dsn:` gives a database of one's own."""
    try:
        server = MariaDBServer()
    except NotInstalledError as error:
        missing(error)
    with server:
        yield server
