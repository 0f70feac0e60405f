"""Mails by IMAP and POP3: order, searches, actions, positions, lost connections, TLS, refused options."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pymap", reason="pymap is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.io.email import reader
from siddhi.io.email.imap import encode_folder
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit.certificates import Certificates
from tests.kit.faults import kill_under_load
from tests.kit.killed_consumer import ROUNDS
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.mail import PASSWORD, USER, ImapServer, Pop3Server, imap_server, mail, tls_front


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


@pytest.fixture
def server() -> ImapServer:
    """A server without mails."""
    made = imap_server()
    made.clear()
    return made


@pytest.fixture
def pop3() -> Iterator[Pop3Server]:
    made = Pop3Server()
    yield made
    made.stop()


PLAIN = f"ssl.enable = 'false', starttls = 'never', password = '{PASSWORD}'"


def text(
    port: int,
    more: str = "",
    *,
    plain: str = PLAIN,
    pattern: str = "(?s)^(.*?)[[:space:]]*$",
) -> str:
    return (
        f"@app:name('In') @source(type = 'email', host = 'localhost', port = '{port}', username = '{USER}', {plain}, "
        f"polling.interval = '10 ms' {more}, @map(type = 'text', regex.A = '{pattern}', "
        "@attributes(t = 'A[1]', s = 'trp:subject'))) define stream S (t string, s string);"
    )


def started(
    manager: SiddhiManager, app: str, *, restores: bool = False
) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(app)
    rows = collect(runtime, "S")
    if restores:
        runtime.restore_last_revision()
    runtime.start()
    return runtime, rows


def subjects(rows: list[tuple[Any, ...]]) -> list[str]:
    return [row[1] for row in rows]


# --- IMAP


def test_mails_are_received_in_order(manager: SiddhiManager, server: ImapServer) -> None:
    server.deliver(mail("1", "a text ä\nof two lines"))
    _, rows = started(manager, text(server.port))
    wait_for(lambda: rows)
    server.deliver(mail("2"), mail("größe"))
    wait_for(lambda: len(rows) == 3)
    assert rows == [("a text ä\nof two lines", "1"), ("a text", "2"), ("a text", "größe")]
    assert server.subjects(criterion="UNSEEN") == ["1", "2", "größe"]


def test_latest_leaves_out_what_is_there(manager: SiddhiManager, server: ImapServer) -> None:
    server.deliver(mail("old"))
    runtime, rows = started(manager, text(server.port, ", start.from = 'latest'"))
    runtime.persist()
    runtime.shutdown()
    server.deliver(mail("new"))
    _, rows = started(manager, text(server.port, ", start.from = 'latest'"), restores=True)
    wait_for(lambda: rows)
    assert subjects(rows) == ["new"]


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("subject:larm", ["Alarm 1", "Alarm 2"]),
        ("subject:alarm", []),
        ("subject:Alarm, from:b@x.org", ["Alarm 2"]),
        ("from:x.org", ["Alarm 1", "Alarm 2"]),
        ("from:x@x.or", []),
        ("cc:c@x.org", ["other"]),
    ],
)
def test_header_fields_are_searched(manager: SiddhiManager, server: ImapServer, term: str, found: list[str]) -> None:
    for subject, sender, copy in (
        ("Alarm 1", "a@x.org", ""),
        ("Alarm 2", "B <b@x.org>", ""),
        ("other", "a@y.org", "c@x.org"),
    ):
        one = mail(subject)
        one.replace_header("From", sender)
        if copy:
            one["Cc"] = copy
        server.deliver(one)
    _, rows = started(manager, text(server.port, f", search.term = '{term}'"))
    last = mail("Alarm 1")
    last.replace_header("From", "b@x.org")
    last["Cc"] = "c@x.org"
    server.deliver(last)
    if found:
        wait_for(lambda: len(rows) >= len(found))
    assert subjects(rows)[: len(found)] == found


@pytest.mark.parametrize("kind", ["plain", "html"])
def test_one_part_of_a_mail_is_received(manager: SiddhiManager, server: ImapServer, kind: str) -> None:
    one = mail("1", "as text")
    one.add_alternative("<p>as html</p>", subtype="html")
    one.add_attachment(b"x", maintype="image", subtype="png", filename="a.png")
    only_image = EmailMessage()
    only_image["Subject"] = "0"
    only_image.set_content(b"x", maintype="image", subtype="png")
    server.deliver(only_image, one)
    _, rows = started(manager, text(server.port, f", content.type = 'text/{kind}'"))
    wait_for(lambda: rows)
    assert rows == [("as text" if kind == "plain" else "<p>as html</p>", "1")]


@pytest.mark.parametrize(
    ("action", "criterion"), [("SEEN", "UNSEEN"), ("FLAGGED", "UNFLAGGED"), ("ANSWERED", "UNANSWERED")]
)
def test_processed_mails_are_marked(manager: SiddhiManager, server: ImapServer, action: str, criterion: str) -> None:
    server.deliver(mail("1"), mail("2"))
    runtime, rows = started(manager, text(server.port, f", action.after.processed = '{action}'"))
    wait_for(lambda: server.subjects(criterion=criterion) == [])
    runtime.shutdown()
    server.deliver(mail("3"))
    _, again = started(manager, text(server.port, f", action.after.processed = '{action}'"))
    wait_for(lambda: again)
    assert subjects([*rows, *again]) == ["1", "2", "3"]


def test_processed_mails_are_deleted_and_failed_ones_moved(
    manager: SiddhiManager, server: ImapServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.create("TestFailed")
    server.deliver(mail("1", "number 1"), mail("2", "nonsense"), mail("3", "number 3"))
    more = ", action.after.processed = 'DELETE', action.after.failure = 'MOVE', folder.to.move.failure = 'TestFailed'"
    _, rows = started(manager, text(server.port, more, pattern="number ([0-9])"))
    wait_for(lambda: server.subjects() == [])
    assert rows == [("1", "1"), ("3", "3")]
    assert server.subjects("TestFailed") == ["2"]


def test_failed_mails_stay_by_default(manager: SiddhiManager, server: ImapServer) -> None:
    server.deliver(mail("1", "number 1"), mail("2", "nonsense"), mail("3", "number 3"))
    more = ", action.after.processed = 'DELETE'"
    _, rows = started(manager, text(server.port, more, pattern="number ([0-9])"))
    wait_for(lambda: server.subjects() == ["2"])
    assert rows == [("1", "1"), ("3", "3")]


def test_mails_are_acted_upon_after_a_checkpoint(manager: SiddhiManager, server: ImapServer) -> None:
    app = text(server.port, ", action.after.processed = 'DELETE', ack = 'checkpoint'")
    server.deliver(mail("1"), mail("2"))
    runtime, rows = started(manager, app)
    wait_for(lambda: len(rows) == 2)
    runtime.persist()
    wait_for(lambda: server.subjects() == [])
    server.deliver(mail("3"))
    wait_for(lambda: len(rows) == 3)
    runtime.shutdown()
    assert server.subjects() == ["3"]
    _, rows = started(manager, app, restores=True)
    wait_for(lambda: rows)
    assert subjects(rows) == ["3"]


def test_a_restore_continues_after_the_last_mail(manager: SiddhiManager, server: ImapServer) -> None:
    server.deliver(mail("1"))
    runtime, rows = started(manager, text(server.port))
    wait_for(lambda: rows)
    runtime.persist()
    server.deliver(mail("2"))
    wait_for(lambda: len(rows) == 2)
    runtime.restore_last_revision()
    wait_for(lambda: len(rows) == 3)
    runtime.shutdown()
    _, again = started(manager, text(server.port), restores=True)
    wait_for(lambda: again)
    assert subjects([*rows, *again]) == ["1", "2", "2", "2"]


def test_lost_connections_lose_and_repeat_no_mail(manager: SiddhiManager, server: ImapServer) -> None:
    with FaultProxy(server.port) as proxy:
        runtime, rows = started(manager, text(proxy.port, ", action.after.processed = 'SEEN'"))
        for number in range(10):
            server.deliver(mail(f"{2 * number}"))
            proxy.drop()
            server.deliver(mail(f"{2 * number + 1}"))
            wait_for(lambda: len(rows) >= 2 * number + 2)  # noqa: B023 - called at once
        wait_for(lambda: server.subjects(criterion="UNSEEN") == [])
        runtime.shutdown()
    assert subjects(rows) == [str(number) for number in range(20)]


def test_a_server_that_has_stopped_answering_is_found(manager: SiddhiManager, server: ImapServer) -> None:
    with FaultProxy(server.port) as proxy:
        runtime, rows = started(manager, text(proxy.port, ", timeout = '300 ms'"))
        proxy.stall()
        server.deliver(mail("1"))
        wait_for(lambda: proxy.connected > 1)
        proxy.drop()
        proxy.flow()
        wait_for(lambda: rows)
        runtime.shutdown()


def test_a_slow_app_stops_the_reading(manager: SiddhiManager, server: ImapServer) -> None:
    runtime = manager.create_siddhi_app_runtime(text(server.port, ", buffer.payloads = '2'"))
    rows = collect(runtime, "S")
    runtime.start()
    (source,) = runtime.sources["S"]
    source.pause()
    server.deliver(*(mail(f"{number}") for number in range(6)))
    wait_for(lambda: len(source._waiting) == 2)  # type: ignore[attr-defined]
    source.resume()
    wait_for(lambda: len(rows) == 6)


def test_a_mail_that_is_too_large_is_left_out(
    manager: SiddhiManager, server: ImapServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from siddhi.io.email import imap_reader

    monkeypatch.setattr(imap_reader, "LARGEST_MAIL", 1000)
    server.deliver(mail("1", "x" * 2000), mail("2"))
    _, rows = started(manager, text(server.port))
    wait_for(lambda: rows)
    assert subjects(rows) == ["2"]
    assert "is left out: it has" in caplog.text


def test_mails_are_received_with_tls(
    manager: SiddhiManager, server: ImapServer, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    server.deliver(mail("1"))
    with tls_front(server.port, certificates.server) as front:
        plain = f"password = '{PASSWORD}', tls.ca.file = '{certificates.authority}'"
        runtime, rows = started(manager, text(front, plain=plain))
        wait_for(lambda: rows)
        runtime.shutdown()
        runtime, _ = started(manager, text(front, plain=f"password = '{PASSWORD}'"))
        wait_for(lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
        runtime.shutdown()
        runtime, _ = started(manager, text(front, plain=plain.replace(PASSWORD, "other7")))
        wait_for(lambda: caplog.text.count("reconnecting") >= 2)
        runtime.shutdown()
        assert "other7" not in caplog.text


def test_a_connection_changes_to_tls(
    manager: SiddhiManager, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    server = ImapServer("--cert", str(certificates.server))
    try:
        context = ssl.create_default_context(cafile=str(certificates.authority))
        server.client(context).append("INBOX", "", "", mail("mine").as_bytes())
        plain = f"ssl.enable = 'false', password = '{PASSWORD}', tls.ca.file = '{certificates.authority}'"
        runtime, rows = started(manager, text(server.port, plain=plain))
        wait_for(lambda: "mine" in subjects(rows))
        runtime.shutdown()
    finally:
        server.stop()
    plain = f"ssl.enable = 'false', password = '{PASSWORD}'"
    started(manager, text(imap_server().port, plain=plain))
    assert "TLS not supported" in caplog.text


@pytest.mark.parametrize(
    ("name", "encoded"), [("INBOX", '"INBOX"'), ('a "b" & c', '"a \\"b\\" &- c"'), ("Entwürfe", '"Entw&APw-rfe"')]
)
def test_names_of_folders_are_encoded(name: str, encoded: str) -> None:
    assert encode_folder(name) == encoded


def test_threads_end_with_the_app(
    manager: SiddhiManager, server: ImapServer, thread_names: Callable[[], list[str]]
) -> None:
    before = thread_names()
    server.deliver(mail("1"))
    for _ in range(3):
        runtime, rows = started(manager, text(server.port))
        wait_for(lambda: rows)  # noqa: B023 - called at once
        runtime.shutdown()
    assert thread_names() == before


@pytest.mark.parametrize("ack", ["checkpoint", "processed"][: 1 if ROUNDS < 10 else 2])  # some seconds each
def test_a_killed_process_loses_nothing(server: ImapServer, tmp_path: Path, ack: str) -> None:
    app = (
        f"@source(type = 'email', host = 'localhost', port = '{server.port}', username = '{USER}', {PLAIN}, "
        f"polling.interval = '5 ms', action.after.processed = 'DELETE', ack = '{ack}', @map(type = 'csv')) "
        "define stream In (v long);"
    )

    def deliver(numbers: Iterable[int]) -> None:
        server.deliver(*(mail("a number", str(number)) for number in numbers))

    received, sent, counted = kill_under_load(app, tmp_path, deliver, batch=10, counts_all=ack == "checkpoint")
    assert set(received) == set(range(sent))
    if ack == "checkpoint":
        assert counted == sent  # in the state


# --- POP3


def test_pop3_mails_are_received_once(manager: SiddhiManager, pop3: Pop3Server) -> None:
    pop3.deliver("a", mail("1"))
    runtime, rows = started(manager, text(pop3.port, ", store = 'pop3'"))
    wait_for(lambda: rows)
    pop3.deliver("b", mail("2"))
    wait_for(lambda: len(rows) == 2)
    before = pop3.sessions
    wait_for(lambda: pop3.sessions > before + 2)
    runtime.persist()
    runtime.shutdown()
    pop3.deliver("c", mail("3", ".a line\nthat begins with a dot"))
    _, again = started(manager, text(pop3.port, ", store = 'pop3'"), restores=True)
    wait_for(lambda: again)
    assert subjects([*rows, *again]) == ["1", "2", "3"]
    assert again[0][0] == ".a line\nthat begins with a dot"


def test_pop3_mails_are_deleted_unless_they_failed(manager: SiddhiManager, pop3: Pop3Server) -> None:
    for number, body in enumerate(["number 1", "nonsense", "number 3"]):
        pop3.deliver(str(number), mail(str(number), body))
    more = ", store = 'pop3', action.after.processed = 'DELETE'"
    app = text(pop3.port, more, pattern="number ([0-9])").replace("'10 ms'", "'1 hour'")
    _, rows = started(manager, app)
    wait_for(lambda: len(rows) == 2 and list(pop3.mails) == ["1"])


def test_pop3_mails_are_deleted_after_a_checkpoint(manager: SiddhiManager, pop3: Pop3Server) -> None:
    pop3.deliver("a", mail("1"))
    app = text(pop3.port, ", store = 'pop3', action.after.processed = 'DELETE', ack = 'checkpoint'")
    runtime, rows = started(manager, app)
    wait_for(lambda: rows)
    runtime.persist()
    wait_for(lambda: not pop3.mails)
    pop3.deliver("b", mail("2"))
    wait_for(lambda: len(rows) == 2)
    runtime.shutdown()
    assert list(pop3.mails) == ["b"]
    _, again = started(manager, app, restores=True)
    wait_for(lambda: again)
    assert subjects(again) == ["2"]


@pytest.mark.parametrize("command", ["USER", "UIDL", "RETR", "DELE", "QUIT"])
def test_a_pop3_session_that_breaks_is_repeated(manager: SiddhiManager, pop3: Pop3Server, command: str) -> None:
    pop3.fails_at = command
    pop3.deliver("a", mail("1"))
    _, rows = started(manager, text(pop3.port, ", store = 'pop3', action.after.processed = 'DELETE'"))
    wait_for(lambda: not pop3.mails)
    pop3.deliver("b", mail("2"))
    wait_for(lambda: len(rows) >= 2 and not pop3.mails)
    assert subjects(rows) == ["1", "2"]


def test_a_pop3_mail_with_a_line_that_is_too_long_is_left_out(
    manager: SiddhiManager, pop3: Pop3Server, caplog: pytest.LogCaptureFixture
) -> None:
    pop3.mails["a"] = b"Subject: 1\r\n\r\n" + b"x" * 10_000 + b"\r\n"
    pop3.deliver("b", mail("2"))
    _, rows = started(manager, text(pop3.port, ", store = 'pop3'"))
    wait_for(lambda: rows)
    assert subjects(rows) == ["2"]
    assert "a line that is too long" in caplog.text


def test_pop3_mails_are_received_with_tls(manager: SiddhiManager, pop3: Pop3Server, certificates: Certificates) -> None:
    pop3.deliver("a", mail("1"))
    with tls_front(pop3.port, certificates.server) as front:
        plain = f"password = '{PASSWORD}', tls.ca.file = '{certificates.authority}'"
        runtime, rows = started(manager, text(front, ", store = 'pop3'", plain=plain))
        wait_for(lambda: rows)
        runtime.shutdown()


@pytest.mark.parametrize(
    "more",
    [
        ", store = 'maildir'",
        ", search.term = 'body:x'",
        ", search.term = 'subject'",
        ", action.after.processed = 'MOVE'",
        ", folder.to.move = 'a'",
        ", action.after.failure = 'BURN'",
        ", content.type = 'text/xml'",
        ", store = 'pop3', action.after.processed = 'SEEN'",
        ", store = 'pop3', folder = 'a'",
        ", access.token = 't'",
        ", start.from = 'yesterday'",
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, more: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text(1, more))
    assert caught.value.code == "E326"


def test_a_mail_is_read_whatever_its_bytes_are() -> None:
    from siddhi.io.email.mail import parse, payload_of

    for content in (
        b"",
        b"\xff\xfe",
        b"Content-Type: text/plain; charset=nothing\n\n\xe4",
        b"Content-Type: multipart/mixed\n\n",
    ):
        assert isinstance(payload_of(parse(content), "plain"), str)
    assert reader.LARGEST_MAIL > 1_000_000
