"""Mails by SMTP: content, recipients, attachments, TLS, refusals, lost connections, refused options."""

from __future__ import annotations

import gc
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiosmtplib", reason="the extra 'email' is not installed")
pytest.importorskip("aiosmtpd", reason="aiosmtpd is not installed")

from siddhi import SandboxPolicy, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.io.email import sink as email_sink
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit.certificates import Certificates
from tests.kit.proxy import FaultProxy
from tests.kit.servers.mail import Inbox, SmtpServer, tls_front


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        yield made


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    made = SmtpServer()
    made.start()
    yield made
    made.stop()


def text(port: int, more: str = "", *, plain: str = "ssl.enable = 'false', auth = 'false'", to: str = "a@x.org") -> str:
    return (
        f"@app:name('Mail') @sink(type = 'email', host = 'localhost', port = '{port}', {plain}, address = 'me@x.org', "
        f"subject = 'About {{{{s}}}}', to = '{to}' {more}, @map(type = 'text', @payload('{{{{t}}}}'))) "
        "define stream S (s string, t string);"
    )


def started(manager: SiddhiManager, app: str) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, *rows: tuple[Any, ...]) -> None:
    for row in rows:
        runtime.input_handler("S").send(row)


def test_each_payload_is_a_mail(manager: SiddhiManager, server: SmtpServer) -> None:
    runtime = started(manager, text(server.port, ", cc = 'C D <c@x.org>', bcc = 'b@x.org'", to="a@x.org, e@x.org"))
    send(runtime, ("größe", "line ä\nline 2"), ("2", "x"))
    wait_for(lambda: len(server.inbox.mails) == 2)
    first = server.inbox.mails[0]
    assert str(first["Subject"]) == "About größe"
    assert str(first["From"]) == "me@x.org"
    assert str(first["To"]) == "a@x.org, e@x.org"
    assert str(first["Cc"]) == "C D <c@x.org>"
    assert first["Bcc"] is None
    assert first.get_content_type() == "text/plain"
    assert first.get_content().replace("\r\n", "\n") == "line ä\nline 2\n"
    assert server.inbox.recipients[0] == ["a@x.org", "e@x.org", "c@x.org", "b@x.org"]
    assert first["Message-ID"] != server.inbox.mails[1]["Message-ID"]


def test_options_can_contain_attributes(manager: SiddhiManager, server: SmtpServer) -> None:
    runtime = started(manager, text(server.port, ", content.type = '{{t}}'", to="{{s}}"))
    send(runtime, ("a@x.org", "text/html"), ("b@x.org", "text/plain"))
    wait_for(lambda: len(server.inbox.mails) == 2)
    assert server.inbox.recipients == [["a@x.org"], ["b@x.org"]]
    assert [mail.get_content_type() for mail in server.inbox.mails] == ["text/html", "text/plain"]


def test_files_and_folders_are_attached(manager: SiddhiManager, server: SmtpServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1", encoding="utf-8")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.bin").write_bytes(b"\0")
    runtime = started(
        manager, text(server.port, f", attachments = 'a.txt, {{{{s}}}}', attachments.folder = '{tmp_path}'")
    )
    send(runtime, ("more", "x"))
    wait_for(lambda: server.inbox.mails)
    found = [(one.get_filename(), one.get_content_type()) for one in server.inbox.mails[0].iter_attachments()]
    assert found == [("a.txt", "text/plain"), ("b.bin", "application/octet-stream")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("../secret", "x"), "outside of attachments.folder"),
        (("/etc/hostname", "x"), "outside of attachments.folder"),
        (("link", "x"), "outside of attachments.folder"),
        (("nothing", "x"), "can't be attached"),
        (("large", "x"), "more than 10 bytes"),
    ],
)
def test_a_mail_with_a_wrong_attachment_is_an_error_of_the_event(
    manager: SiddhiManager,
    server: SmtpServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    row: tuple[str, str],
    reason: str,
) -> None:
    monkeypatch.setattr(email_sink, "LARGEST_ATTACHMENTS", 10)
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "secret").write_text("1", encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "large").write_text("12345678901", encoding="utf-8")
    runtime = started(manager, text(server.port, f", attachments = '{{{{s}}}}', attachments.folder = '{folder}'"))
    send(runtime, row)
    wait_for(lambda: reason in caplog.text)
    assert server.inbox.mails == []


def test_events_can_not_add_header_fields(
    manager: SiddhiManager, server: SmtpServer, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = started(manager, text(server.port, to="{{t}}"))
    send(runtime, ("a\nBcc: v@x.org", "a@x.org"), ("a", "a@x.org\nBcc: v@x.org"), ("a", "no address"), ("a", ""))
    send(runtime, ("last", "a@x.org"))
    wait_for(lambda: server.inbox.mails)
    assert [str(mail["Subject"]) for mail in server.inbox.mails] == ["About last"]
    assert caplog.text.count("MappingFailedError") + caplog.text.count("dropped") >= 3


def test_connections_are_used_again(manager: SiddhiManager, server: SmtpServer) -> None:
    with FaultProxy(server.port) as proxy:
        runtime = started(manager, text(proxy.port))
        send(runtime, *((str(number), "x") for number in range(20)))
        wait_for(lambda: len(server.inbox.mails) == 20)
        assert proxy.connected == 1
        assert [str(mail["Subject"]) for mail in server.inbox.mails] == [f"About {number}" for number in range(20)]
        runtime.shutdown()


def test_lost_connections_lose_no_mail(
    manager: SiddhiManager, server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultProxy(server.port) as proxy:
        runtime = started(manager, text(proxy.port, ", on.error = 'WAIT', retry.initial = '10 ms'"))
        for number in range(10):
            send(runtime, (f"{number}", "x"))
            wait_for(lambda: len({str(mail["Subject"]) for mail in server.inbox.mails}) == number + 1)  # noqa: B023
            if number == 5:
                server.stop()
                send(runtime, ("down", "x"))
                server.start()
                wait_for(lambda: "About down" in {str(mail["Subject"]) for mail in server.inbox.mails})
                server.inbox.mails = [mail for mail in server.inbox.mails if str(mail["Subject"]) != "About down"]
            else:
                proxy.drop()
        runtime.shutdown()


def test_permanent_refusals_are_errors_of_the_event(
    manager: SiddhiManager, server: SmtpServer, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = started(manager, text(server.port, ", on.error = 'WAIT', retry.initial = '10 ms'", to="{{s}}"))
    server.inbox.refused = {"b@x.org": "550 no such user"}
    server.inbox.answers = ["451 try later", "554 it is spam"]
    send(runtime, ("a@x.org", "1"), ("b@x.org", "2"), ("a@x.org, b@x.org", "3"), ("a@x.org", "4"))
    wait_for(lambda: len(server.inbox.mails) == 2)
    assert "it is spam" in caplog.text
    assert "no such user" in caplog.text
    assert "some recipients" in caplog.text
    assert server.inbox.recipients == [["a@x.org"], ["a@x.org"]]


def test_a_mail_that_is_sent_again_has_the_same_identifier(manager: SiddhiManager, server: SmtpServer) -> None:
    found: list[str] = []
    handle = Inbox.handle_DATA

    async def note(session: Any, one: Any, envelope: Any) -> str:
        found.extend(line for line in envelope.content.decode().splitlines() if line.startswith("Message-ID"))
        return await handle(server.inbox, None, session, envelope)

    server.inbox.handle_DATA = note  # type: ignore[method-assign]
    runtime = started(manager, text(server.port, ", on.error = 'WAIT', retry.initial = '10 ms'"))
    server.inbox.answers = ["451 try later"]
    send(runtime, ("a", "x"))
    wait_for(lambda: server.inbox.mails)
    assert len(found) == 2
    assert len(set(found)) == 1


class Accounts:
    """Accepts one user."""

    def __call__(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> Any:
        from aiosmtpd.smtp import AuthResult

        return AuthResult(success=(data.login, data.password) == (b"me", b"secret"), handled=False)


@pytest.mark.parametrize("implicit", [True, False])
def test_mails_are_sent_with_tls_and_login(
    manager: SiddhiManager,
    certificates: Certificates,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    implicit: bool,
) -> None:
    monkeypatch.setattr(retry, "PAUSES", (60,))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server)
    tls: dict[str, Any] = {"auth_require_tls": False} if implicit else {"tls_context": context}
    server = SmtpServer(authenticator=Accounts(), auth_required=not implicit, **tls)
    server.start()
    with ExitStack() as ends:
        ends.callback(server.stop)
        front = ends.enter_context(tls_front(server.port, certificates.server))
        port = front if implicit else server.port
        plain = f"ssl.enable = '{str(implicit).lower()}', username = 'me'"
        verified = f", tls.ca.file = '{certificates.authority}'"
        runtime = started(manager, text(port, f", password = 'secret' {verified}", plain=plain))
        send(runtime, ("a", "x"))
        wait_for(lambda: server.inbox.mails)
        runtime.shutdown()
        started(manager, text(port, ", password = 'secret'", plain=plain)).shutdown()
        assert "CERTIFICATE_VERIFY_FAILED" in caplog.text
        started(manager, text(port, f", password = 'other7' {verified}", plain=plain)).shutdown()
        assert "SMTPAuthenticationError" in caplog.text
        assert "secret" not in caplog.text
        assert "other7" not in caplog.text


def test_a_password_is_not_sent_without_tls(
    manager: SiddhiManager, server: SmtpServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "PAUSES", (60,))
    plain = "ssl.enable = 'false', username = 'me', password = 'secret'"
    started(manager, text(server.port, plain=plain)).shutdown()
    assert "STARTTLS" in caplog.text


def test_connections_end_without_an_answer_of_the_server(
    manager: SiddhiManager, server: SmtpServer, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(email_sink, "_FAREWELL_S", 0.02)
    with tls_front(server.port, certificates.server) as front, FaultProxy(front) as proxy:
        trusted = f", tls.ca.file = '{certificates.authority}'"
        runtime = started(manager, text(proxy.port, trusted, plain="auth = 'false'"))
        proxy.stall()
        runtime.shutdown()
        gc.collect()  # a connection that is open still is a warning, which fails the test


def test_threads_end_with_the_app(
    manager: SiddhiManager, server: SmtpServer, thread_names: Callable[[], list[str]]
) -> None:
    before = thread_names()
    for _ in range(3):
        runtime = started(manager, text(server.port))
        send(runtime, ("a", "x"))
        runtime.shutdown()
    assert len(server.inbox.mails) == 3
    assert thread_names() == before


@pytest.mark.parametrize(
    ("more", "plain"),
    [
        ("", "ssl.enable = 'true'"),
        (", username = 'me'", "ssl.enable = 'true'"),
        (", username = 'me', password = 'p', access.token = 't'", "ssl.enable = 'true'"),
        (", starttls = 'never'", "auth = 'false'"),
        (", content.type = 'text/xml'", "auth = 'false'"),
        (", attachments = 'a.txt'", "auth = 'false'"),
        (", attachments.folder = '/nowhere/at/all'", "auth = 'false'"),
        (", connection.pool.size = '0'", "auth = 'false'"),
        (", tls.ca.file = 'a.jks'", "auth = 'false'"),
        (", timeout = 'soon'", "auth = 'false'"),
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, more: str, plain: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text(25, more, plain=plain))
    assert caught.value.code == "E326"


def test_a_sandbox_restricts_hosts_and_attachments(tmp_path: Path) -> None:
    policy = SandboxPolicy(sinks={"email": ("localhost",)}, folders=(tmp_path,))
    manager = SiddhiManager(policy=policy)
    manager.validate_siddhi_app(text(25, f", attachments = '{{{{s}}}}', attachments.folder = '{tmp_path}'"))
    with pytest.raises(SiddhiAppError):
        manager.validate_siddhi_app(text(25, ", attachments = '{{s}}', attachments.folder = '/etc'"))
    with pytest.raises(SiddhiAppError):
        manager.validate_siddhi_app(text(25).replace("'localhost'", "'example.org'"))
