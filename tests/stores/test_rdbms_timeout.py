"""Statement timeout: a database that does not answer blocks neither the app nor its shutdown."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.stores.rdbms_engine import driver_limits
from siddhi.stores.rdbms_timeout import StatementTimeout, seconds_of
from tests.kit import postgres
from tests.kit.connectors import StoppedTime
from tests.kit.stores import App

sa = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

STREAMS = "define stream I (s string, v int);"


class Line:
    """A way to a server: while it is frozen, words on it are lost, and new ones are turned away."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open = threading.Event()
        self._open.set()
        self._ends: list[socket.socket] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def freeze(self) -> None:
        self._open.clear()

    def thaw(self) -> None:
        self._open.set()

    def close(self) -> None:
        self.thaw()
        for end in (self._door, *self._ends):
            end.close()

    def _serve(self) -> None:
        try:
            while True:
                near, _ = self._door.accept()
                if not self._open.is_set():
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()
        except OSError:
            return

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                self._open.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


@pytest.fixture
def time():
    return StoppedTime()


@pytest.fixture
def manager(time) -> Iterator[SiddhiManager]:
    with SiddhiManager(retries=time) as manager:
        yield manager


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line(sa.make_url(postgres.url()).port)
    yield line
    line.close()


def table(line: Line, name: str, options: str = "timeout = '300 millisec'") -> str:
    url = sa.make_url(postgres.url()).set(port=line.port).render_as_string(hide_password=False)
    return f"@store(type = 'rdbms', url = '{url}', table.name = '{name}', {options}) define table T (s string, v int);"


def test_a_statement_without_answer_is_repeated(manager, time, line):
    started = App(manager, f"{STREAMS} {table(line, 'frozen')} from I insert into T;")
    started.send("I", ("a", 1))
    time.on_wait = lambda: line.thaw() if len(time.waits) == 1 else None
    line.freeze()
    started.send_chunk("I", *[(f"k{i}", i) for i in range(100)])
    assert time.waits == [5]
    assert len(started.rows()) == 101
    assert started.errors == []


def test_a_shutdown_ends_waiting(manager, time, line, monkeypatch):
    monkeypatch.setattr("siddhi.stores.rdbms_timeout._GRACE_S", 0.2)
    started = App(manager, f"{STREAMS} {table(line, 'shut', 'timeout = ' + repr('1 min'))} from I insert into T;")
    started.send("I", ("a", 1))
    line.freeze()
    sender = threading.Thread(target=started.send, args=("I", ("b", 2)))
    sender.start()
    ender = threading.Thread(target=started.runtime.shutdown)
    ender.start()
    ender.join(20)
    sender.join(20)
    assert (ender.is_alive(), sender.is_alive()) == (False, False)
    assert ["has not answered" in error or "can't be reached" in error for error in started.errors] == [True]


def test_a_server_that_never_answers_does_not_prevent_the_start(manager, time):
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"postgresql+psycopg://x@127.0.0.1:{server.getsockname()[1]}/d"
        text = f"@store(type = 'rdbms', url = '{url}', timeout = '0.3 sec') define table T (s string, v int);"
        app = App(manager, f"{STREAMS} {text} from I insert into T;")
        assert time.pauses == [5]
        app.runtime.shutdown()


@pytest.mark.parametrize(
    ("url", "given", "limits"),
    [
        ("postgresql+psycopg://h/d", False, {"connect_timeout": 7}),
        ("postgresql+psycopg2://h/d?connect_timeout=2", False, {}),
        ("postgresql+pg8000://h/d", False, {"timeout": 7.0}),
        ("sqlite:///x.db", False, {}),
        ("sqlite:///x.db", True, {"timeout": 7.0}),
        ("sqlite:///x.db?timeout=1", True, {}),
        ("mysql+other://h/d", True, {}),
    ],
)
def test_drivers_get_the_timeout(url, given, limits):
    assert driver_limits(sa.make_url(url), 7.0, given) == limits


def test_statements_within_the_timeout_are_not_cancelled(manager, time, line):
    started = App(manager, f"{STREAMS} {table(line, 'in time')} from I insert into T;")
    for i in range(50):
        started.send("I", ("a", i))
    assert len(started.rows()) == 50
    assert time.waits == []


def test_the_server_cancels_statements_too(manager, line):
    App(manager, f"{STREAMS} {table(line, 'ended too', 'timeout = ' + repr('7 sec'))} from I insert into T;")
    seen: list[str] = []

    def note(connection, cursor, statement, *_) -> None:
        cursor.execute("SHOW statement_timeout")
        seen.append(cursor.fetchone()[0])

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        manager.runtimes[0].query("from T select count() as n")
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    assert seen == ["7s"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 30),
        ("30 sec", 30),
        ("1 minute", 60),
        ("2 min", 120),
        ("500 ms", 0.5),
        ("500 millisec", 0.5),
        ("1.5s", 1.5),
    ],
)
def test_valid_timeouts(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0", "-1 sec", "1 hour", "1 sec 2"])
def test_invalid_timeouts_are_refused(manager, text):
    store = f"@store(type = 'rdbms', url = 'sqlite://', timeout = '{text}')"
    with pytest.raises(SiddhiAppCreationError, match="invalid timeout") as caught:
        manager.create_siddhi_app_runtime(f"{store} define table T (s string);")
    assert caught.value.code == "E326"


def test_a_closed_connection_is_not_closed_again():
    class Closed:
        def fileno(self) -> int:
            raise OSError("closed")

    limit = StatementTimeout(0.05)
    connection = Closed()
    limit.watch(connection)

    def ask() -> None:
        with limit.kept():
            threading.Event().wait(0.5)
            raise OSError("the driver noticed")

    with pytest.raises(ConnectionUnavailableError, match=r"has not answered for 0\.05 s"):
        ask()
    limit.end()
