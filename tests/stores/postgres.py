"""A PostgreSQL of the tests' own, where the machine has one."""

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

import pytest

DRIVERS = ("psycopg", "psycopg2", "pg8000")


def url() -> str:
    """The URL of a database; where there can be none, the test is skipped, with the reason."""
    found = _started()
    if found.startswith("no "):
        pytest.skip(found)
    return found


@cache
def _started() -> str:
    """The URL of a server that runs until the tests end, or why there is none."""
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
    folder = tempfile.mkdtemp(prefix="siddhi-postgres-")
    as_user: dict[str, str] = {}
    if os.geteuid() == 0:
        # PostgreSQL does not run as root.
        try:
            shutil.chown(folder, "postgres")
        except LookupError:
            return "no user 'postgres', as whom root could start PostgreSQL"
        as_user = {"user": "postgres"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(*command: str) -> None:
        with (Path(folder) / f"{command[0]}.log").open("wb") if not as_user else tempfile.TemporaryFile() as log:
            subprocess.run(
                [programs / command[0], *command[1:]],
                check=True,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=folder,
                **as_user,
            )

    data = f"{folder}/data"
    try:
        run("initdb", "-D", data, "-U", "siddhi", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-D", data, "-w", "-l", f"{folder}/server.log", "-o", settings, "start")
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return f"no PostgreSQL could be started: {error}"

    def stop() -> None:
        run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return f"postgresql+{driver}://siddhi@127.0.0.1:{port}/postgres"
