"""OAuth 2 of sinks: grants, tokens that are kept, refused or out of date."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from siddhi import SiddhiAppRuntime
from siddhi.io.http.oauth import Authorization
from tests.kit.http_server import serving

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]


@pytest.fixture(autouse=True)
def _no_tokens() -> Iterator[None]:
    Authorization._tokens.clear()
    yield
    Authorization._tokens.clear()


class Server:
    """A token endpoint ``/token``, and a resource for the last token."""

    def __init__(self, **answer: object) -> None:
        self.answer = answer
        self.forms: list[dict[str, str]] = []
        self.clients: list[str | None] = []
        self.given: list[str | None] = []
        self.statuses: list[int] = []
        self.refused = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/token":
            self.forms.append({key: str(value) for key, value in (await request.post()).items()})
            self.clients.append(request.headers.get("Authorization"))
            if self.statuses and (status := self.statuses.pop(0)) != 200:
                return web.json_response({"error": "invalid_grant"}, status=status)
            return web.json_response({"access_token": f"t{len(self.forms)}", **self.answer})
        self.given.append(request.headers.get("Authorization"))
        if self.refused:
            self.refused -= 1
            return web.Response(status=401)
        return web.Response()


def run(start: Start, server: Server, options: str, count: int = 2) -> None:
    with serving(server) as port:
        runtime, _ = start(
            f"@sink(type = 'http', publisher.url = 'http://127.0.0.1:{port}/a', token.url = 'http://127.0.0.1:{port}/token', "
            f"{options}, @map(type = 'json')) define stream S (v int);"
        )
        for number in range(count):
            runtime.input_handler("S").send((number,))
        runtime.shutdown()


CLIENT = "consumer.key = 'key', consumer.secret = 'secret'"


def test_the_client_gets_a_token_which_is_kept(start: Start) -> None:
    server = Server(expires_in=3600)
    run(start, server, CLIENT)
    assert server.forms == [{"grant_type": "client_credentials"}]
    assert base64.b64decode((server.clients[0] or "").removeprefix("Basic ")) == b"key:secret"
    assert server.given == ["Bearer t1", "Bearer t1"]


def test_the_client_can_be_named_in_the_body(start: Start) -> None:
    server = Server()
    run(start, server, "body.consumer.key = 'key', body.consumer.secret = 'secret', oauth.scope = 'a b'", 1)
    assert server.forms == [
        {"grant_type": "client_credentials", "client_id": "key", "client_secret": "secret", "scope": "a b"}
    ]
    assert server.clients == [None]


def test_a_user_gets_a_token(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "pw")
    server = Server()
    run(start, server, CLIENT + ", oauth.username = 'ada', oauth.password = 'env:PASSWORD'", 1)
    assert server.forms == [{"grant_type": "password", "username": "ada", "password": "pw"}]


def test_a_refresh_token_is_used_first_and_replaced(start: Start) -> None:
    server = Server(refresh_token="r2", expires_in=0)
    run(start, server, CLIENT + ", refresh.token = 'r1'", 1)
    assert server.forms == [{"grant_type": "refresh_token", "refresh_token": "r1"}]


def test_a_used_up_refresh_token_is_given_up(start: Start) -> None:
    server = Server()
    server.statuses = [400]
    run(start, server, CLIENT + ", refresh.token = 'r1'", 2)
    assert [form["grant_type"] for form in server.forms] == ["refresh_token", "client_credentials"]
    assert server.given == ["Bearer t2", "Bearer t2"]


def test_a_refused_token_is_replaced(start: Start) -> None:
    server = Server()
    server.refused = 1
    run(start, server, CLIENT, 2)
    assert server.given == ["Bearer t1", "Bearer t2", "Bearer t2"]


def test_a_client_that_is_always_refused_fails(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.refused = 3
    run(start, server, CLIENT, 1)
    assert server.given == ["Bearer t1", "Bearer t2", "Bearer t3"]
    assert "answered with status 401" in caplog.text


def test_without_a_token_nothing_is_sent(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.statuses = [401] * 9
    run(start, server, CLIENT, 1)
    assert server.given == []
    assert "status 401, invalid_grant" in caplog.text
    assert "secret" not in caplog.text
