"""Fixtures that every room's tests share. Servers are in tests/servers, started when a test first asks for one."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
