"""Whatever the text of an app is put together from: under a closed policy nothing outside of it is touched.

The interpreter itself says what is: every file that is opened to write, every connection and every process is an audit event.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SandboxPolicy, SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import SiddhiAppError
from siddhi.persistence import InMemoryErrorStore

if TYPE_CHECKING:
    from collections.abc import Iterator

_watched: list[tuple[str, tuple[Any, ...]]] | None = None
_HOOKED: list[bool] = []
_OUTSIDE = (
    "ctypes.dlopen",
    "os.exec",
    "os.mkdir",
    "os.posix_spawn",
    "os.putenv",
    "os.remove",
    "os.rename",
    "os.system",
    "socket.connect",
    "socket.getaddrinfo",
    "sqlite3.connect",
    "subprocess.Popen",
)


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if _watched is None:
        return
    writes = event == "open" and isinstance(args[1], str) and not set(args[1]).isdisjoint("wax+")
    if writes or event in _OUTSIDE:
        _watched.append((event, args[:2]))


@contextmanager
def watched() -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """List what reaches outside meanwhile. The bytecode of modules imported meanwhile is not written."""
    global _watched  # noqa: PLW0603 - a hook can't be taken away, only told to look away
    if not _HOOKED:
        sys.addaudithook(_watch)
        _HOOKED.append(True)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _watched = found = []
    try:
        yield found
    finally:
        _watched = None
        sys.dont_write_bytecode = written


ANNOTATIONS = (
    "@source(type = 'inMemory', topic = 'sandbox-{n}')",
    "@source(type = 'inMemory', topic = 'sandbox-{n}', ref = 'prod')",
    "@source(ref = 'prod')",
    "@sink(type = 'inMemory', topic = 'sandbox-{n}', on.error = 'STORE')",
    "@sink(type = 'inMemory', @distribution(strategy = 'broadcast', @destination(ref = 'prod')))",
    "@sink(type = 'log')",
    "@sink(type = 'http', url = 'http://127.0.0.1:9/')",
    "@store(type = 'rdbms', url = 'sqlite:///sandbox-{n}.db')",
    "@store(type = 'rdbms')",
    "@store(ref = 'prod')",
    "@store(ref = 'prod', url = 'sqlite:///sandbox-{n}.db')",
    "@OnError(action = 'store')",
    "@async(workers = '2')",
    "@primaryKey('k')",
)
DEFINITIONS = (
    "define stream S{n} (k string, v int);",
    "define table T{n} (k string, v int);",
    "define window W{n} (k string, v int) length(2);",
    "define trigger G{n} at 'start';",
    "define aggregation A{n} from S select sum(v) as s aggregate every sec;",
    "define function f{n}[python] return int { open('sandbox-{n}', 'w').close(); return 1 };",
)
QUERIES = (
    "from S#log('{n}') select k, v insert into L{n};",
    "from S select k, '${HOME}' as home insert into H{n};",
    "from S select k, sum(v) as s group by k insert into Sums{n};",
    "from S select f0(v) as x insert into F{n};",
    "from S select package{n}:f(v) as x insert into P{n};",
    "from S#window.expression(k) select k insert into X{n};",
    "from S select k, v insert into T0;",
    "from S select k, v insert into S0;",
    "partition with (k of S) begin from S select k, v insert into Parts{n}; end;",
)
NUMBERS = st.integers(0, 2).map(str)


def pieces(texts: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.builds(lambda text, n: text.replace("{n}", n), st.sampled_from(texts), NUMBERS)


APPS = st.builds(
    lambda defined, queries: "\n".join(["define stream S (k string, v int);", *defined, *queries]),
    st.lists(
        st.builds("{} {}".format, st.lists(pieces(ANNOTATIONS), max_size=2).map(" ".join), pieces(DEFINITIONS)),
        max_size=3,
    ),
    st.lists(pieces(QUERIES), max_size=3),
)


@given(APPS, st.booleans())
@settings(max_examples=200)
def test_no_outside_resource_is_accessed(text: str, stripped: bool) -> None:
    errors = InMemoryErrorStore()
    with SiddhiManager(policy=SandboxPolicy()) as manager, watched() as reached:
        manager.set_error_store(errors)
        manager.set_config_manager(
            InMemoryConfigManager(references={"prod.type": "rdbms", "prod.url": "sqlite:///sandbox-prod.db"})
        )
        create = manager.create_sandbox_siddhi_app_runtime if stripped else manager.create_siddhi_app_runtime
        with suppress(SiddhiAppError):
            runtime = create(text)
            assert not any(forbidden in text for forbidden in ("${", "[python]", "package", "#log"))
            runtime.handle_exception_with(lambda *_: None)
            runtime.start()
            runtime.input_handler("S").send(("package9:f(v) == 1", 1))
    assert reached == []
    assert errors.count() == 0


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("@store(type = 'rdbms', url = 'sqlite:///sandbox.db') define table T (k string);", "sqlite3.connect"),
        ("define function f[python] return int { open('sandbox', 'w').close(); return 1 };", "open"),
    ],
)
def test_the_audit_hook_detects_access_of_a_trusted_app(
    text: str, event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, trusted: the watch above is not a blind one."""
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    query = "from S select f() as x insert into O;" if "f[" in text else ""
    with SiddhiManager() as manager, watched() as reached:
        runtime = manager.create_siddhi_app_runtime(f"define stream S (v int); {text} {query}")
        runtime.start()
        runtime.input_handler("S").send((1,))
    assert event in {name for name, _ in reached}
