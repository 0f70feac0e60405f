"""A PostgreSQL server for tests, if PostgreSQL is installed."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

DRIVERS = ("psycopg", "psycopg2", "pg8000")


def url() -> str:
    """Return the URL of a database; skip the test, with the reason, if there is none."""
    found = _started()
    if found.startswith("no "):
        pytest.skip(found)
    return found


class Server:
    """Server with its own folder and port, which can be stopped and started again."""

    def __init__(self, programs: Path, driver: str, user: str | None) -> None:
        self._programs = programs
        self._as_user: dict[str, str] = {} if user is None else {"user": user}
        self._folder = tempfile.mkdtemp(prefix="siddhi-postgres-")
        if user is not None:
            shutil.chown(self._folder, user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._data = f"{self._folder}/data"
        self.url = f"postgresql+{driver}://siddhi@127.0.0.1:{self.port}/postgres"
        self._run("initdb", "-D", self._data, "-U", "siddhi", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def start(self) -> None:
        settings = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off -c wal_level=logical"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", f"{self._folder}/server.log", "-o", settings, "start")

    def stop(self) -> None:
        """Stop the server at once, as in a crash."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def fetch(self, query: str) -> list[Any]:
        """Return the rows of a query; needs psycopg."""
        with self._connect() as connection:
            return list(connection.execute(query).fetchall())

    def execute(self, *statements: str) -> None:
        """Execute statements in one transaction; needs psycopg."""
        with self._connect() as connection, connection.transaction():
            for statement in statements:
                connection.execute(statement)

    def _connect(self) -> Any:
        import psycopg

        return psycopg.connect(f"postgresql://siddhi@127.0.0.1:{self.port}/postgres", autocommit=True)

    def _run(self, *command: str) -> None:
        with tempfile.TemporaryFile() as log:
            subprocess.run(
                [self._programs / command[0], *command[1:]],
                check=True,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self._folder,
                **self._as_user,
            )


def server() -> Server:
    """Return a server that is not started; skip the test, with the reason, if there is none."""
    found = _made()
    if isinstance(found, str):
        pytest.skip(found)
    return found


def _made() -> Server | str:
    if find_spec("sqlalchemy") is None:
        return "no SQLAlchemy is installed"
    driver = next((name for name in DRIVERS if find_spec(name) is not None), None)
    if driver is None:
        return f"no driver of PostgreSQL is installed ({', '.join(DRIVERS)})"
    places = [Path(found).parent for name in ("pg_ctl",) if (found := shutil.which(name))]
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    programs = next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)
    if programs is None:
        return "no PostgreSQL is installed (initdb, pg_ctl)"
    user = None
    if os.name == "posix" and os.geteuid() == 0:
        user = next((name for name in ("postgres", "nobody") if _is_user(name)), None)
        if user is None:
            return "no user as whom root could start PostgreSQL, which does not run as root"
    try:
        return Server(programs, driver, user)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no PostgreSQL could be set up: {error}"


def _is_user(name: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@cache
def _started() -> str:
    """Return the URL of a server that runs until the tests end, or the reason why there is none."""
    made = _made()
    if isinstance(made, str):
        return made
    try:
        made.start()
    except (OSError, subprocess.CalledProcessError) as error:
        made.remove()
        return f"no PostgreSQL could be started: {error}"

    def stop() -> None:
        made.stop()
        made.remove()

    atexit.register(stop)
    return made.url
