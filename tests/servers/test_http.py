"""The test server itself: what other tests stand on."""

import json
import urllib.request

from servers.http import HttpServer, Reply


def test_routes_answer_and_requests_are_logged() -> None:
    with HttpServer(
        {"/items/{id}": lambda seen: {"id": seen.params["id"]}, "POST /items": Reply({"ok": True}, 201)}
    ) as server:
        with urllib.request.urlopen(f"{server.url}/items/7?a=1&a=2") as reply:
            assert json.load(reply) == {"id": "7"}
        with urllib.request.urlopen(f"{server.url}/items", data=b"{}") as reply:
            assert reply.status == 201
        assert [(seen.method, seen.path) for seen in server.requests] == [("GET", "/items/7"), ("POST", "/items")]
        assert server.requests[0].pairs == (("a", "1"), ("a", "2"))
