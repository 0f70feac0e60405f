"""Secrets in texts that are shown: hidden, while everything else stays as it is."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi._redaction import excerpt, redacted
from siddhi.errors import SiddhiAppError

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        "basic.auth.password = 'hunter2'",
        "PASSWORD='hunter2'",
        'sasl.passwd="hunter2"',
        "aws.secret.access.key='hunter2'",
        "oauth.token = 'hunter2', url='http://h/'",
        "api-key='hunter2'",
        "basic.auth.users = 'ada:hunter2'",
        "nkey.seed='hunter2'",
        "headers = 'X-Key:hunter2'",
        'metadata="key:hunter2"',
        "headers=\"'Authorization:Bearer hunter2','a:b'\"",
        "optional.configuration='sasl.password:hunter2,linger.ms:5'",
        "url='postgresql://user:hunter2@host/db'",
        "amqp://:hunter2@host",
        "https://host/path?user=me&token=hunter2&x=1",
    ],
)
def test_a_secret_is_hidden(text):
    shown = redacted(text)
    assert SECRET not in shown
    assert len(shown) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "password = 'env:DB_PASSWORD'",
        "tls.key.password='file:/run/secrets/key'",
        "url = 'https://host:8080/a@b'",
        "select token, price from S",
        "unexpected token: 'x'",
        "invalid option 'password' of sink 'mail': expected a text",
        "passes = 'a'",
    ],
)
def test_what_is_not_a_secret_stays(text):
    assert redacted(text) == text


@given(st.text(max_size=80))
def test_the_length_of_a_text_stays(text):
    assert len(redacted(text)) == len(text)
    assert redacted(redacted(text)) == redacted(text)


APP = "@sink(type='tcp', url='{url}', tls.key.password='{password}') define stream S (a int);"


def test_the_line_of_an_app_beside_an_error_shows_no_secret(monkeypatch):
    monkeypatch.setenv("PW", SECRET)
    for url, password in (("nonsense", SECRET), ("nonsense", "${PW}"), ("x://u:hunter2@h", "env:PW")):
        with pytest.raises(SiddhiAppError) as raised:
            SiddhiManager().create_siddhi_app_runtime(APP.format(url=url, password=password))
        assert SECRET not in str(raised.value)
        assert "^^^" in str(raised.value)


def test_a_log_of_a_lost_connection_shows_no_secret(caplog):
    from tests.kit.connectors import FakeConnectors

    fake = FakeConnectors()
    fake.sink.broken = None
    fake.source.down = True
    fake.source.check = lambda: (_ for _ in ()).throw(_unreachable())  # type: ignore[method-assign]
    with (
        caplog.at_level(logging.WARNING, "siddhi"),
        fake.running("@source(type='fake') define stream S (a int);") as runtime,
    ):
        (status,) = runtime.connectors()
    assert "connection refused" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in str(status.error)


def _unreachable() -> Exception:
    from siddhi.errors import ConnectionUnavailableError

    return ConnectionUnavailableError(f"connection refused: amqp://user:{SECRET}@host")


@pytest.mark.parametrize(
    "payload",
    [
        '{"user": "ada", "password": "hunter2"}',
        b'{"api_key":"hunter2"}',
        '{"token": 1234567}'.replace("1234567", SECRET),
        {"user": "ada", "secret": "hunter2"},
        "<login><password>hunter2</password></login>",
        "user=ada&token=hunter2&x=1",
        "Authorization: Bearer hunter2",
        [{"accessToken": "hunter2"}],
        "password:'hunter2'",
    ],
)
def test_an_excerpt_of_a_payload_hides_secrets(payload: object):
    text = excerpt(payload)
    assert SECRET not in text
    assert "*******" in text


def test_an_excerpt_is_bounded_and_tells_the_length():
    assert excerpt("x" * 150) == repr("x" * 150)
    assert excerpt("x" * 5000) == "'" + "x" * 199 + "… (5,000 characters)"
    assert excerpt(b"x" * 5000).endswith("x… (5,000 bytes)")
    assert len(excerpt(["x" * 5000] * 1000)) == 201
    assert "hunt" not in excerpt("x" * 170 + '"password": "hunter2"' + "x" * 5000)
    assert excerpt({"price": 120.5}) == "{'price': 120.5}"


@given(st.text(max_size=1000) | st.binary(max_size=1000))
def test_excerpts_of_all_payloads_are_bounded(payload: str | bytes):
    assert len(excerpt(payload)) <= 201 + len(" (1,000 characters)")
