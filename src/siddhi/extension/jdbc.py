"""JDBC addresses of databases, as apps for Siddhi write them, as URLs of SQLAlchemy."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

__all__ = ["JdbcUrl", "is_jdbc", "url_of_jdbc"]

_DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}
_EXAMPLE = (
    "jdbc:mysql://host:3306/db, jdbc:mariadb://host/db, jdbc:postgresql://host:5432/db or jdbc:sqlite:/path/trades.db"
)
_OFF = ("false", "0", "no", "disabled", "disable", "preferred")
_MYSQL_TLS = ("usessl", "requiressl", "sslmode", "verifyservercertificate")
_WITHOUT_NEED = ("allowpublickeyretrieval", "autoreconnect", "characterencoding", "servertimezone", "useunicode")
"""Parameters for what the Python drivers do anyway, or do not need."""
_POSTGRESQL = {"applicationname": "application_name", "connecttimeout": "connect_timeout", "sslmode": "sslmode", "sslrootcert": "sslrootcert"}  # fmt: skip


class JdbcUrl(NamedTuple):
    """The URL of SQLAlchemy, and the parameters of the JDBC address that have no effect."""

    url: str
    ignored: tuple[str, ...]


def is_jdbc(text: str) -> bool:
    """Return whether an address is one of JDBC."""
    return text.strip().lower().startswith("jdbc:")


def url_of_jdbc(text: str) -> JdbcUrl:
    """Return a JDBC address of MySQL, MariaDB, PostgreSQL or SQLite as a URL of SQLAlchemy.

    Raises:
        ValueError: it is not such an address, or has a parameter that must not be ignored; the arguments are the message,
            which shows no parameters, and a hint.
    """
    _, _, rest = text.strip().partition(":")
    kind, _, rest = rest.partition(":")
    kind = kind.lower()
    address, _, query = rest.partition("?")
    parameters = parse_qsl(query, keep_blank_values=True)
    if kind == "sqlite":
        path = unquote(address)
        if path.startswith("file:"):
            raise ValueError(
                "invalid JDBC address of SQLite: 'file:' is not supported", "write jdbc:sqlite:/path/trades.db"
            )
        url = "sqlite://" if path in ("", ":memory:") else f"sqlite:///{path}"
        return JdbcUrl(url, tuple(name for name, _ in parameters))
    if kind == "h2":
        raise ValueError(
            "H2 runs in a JVM only: there is no driver for Python",
            "use SQLite instead, jdbc:sqlite:/path/trades.db or jdbc:sqlite::memory:, or a server of MySQL, MariaDB or PostgreSQL",
        )
    if kind not in _DRIVERS:
        raise ValueError(
            f"JDBC addresses of '{kind}' are not supported",
            f"write {_EXAMPLE}; for other databases give a URL of SQLAlchemy with url = '...'",
        )
    if not address.startswith("//"):
        if kind != "postgresql" or address.startswith("/") or ":" in address:
            raise ValueError(f"invalid JDBC address of '{kind}': expected //host:port/database", f"write {_EXAMPLE}")
        address = f"//localhost/{address}"
    server, _, database = address[2:].partition("/")
    user = ""
    if "@" in server:
        user, _, server = server.rpartition("@")
    if "," in server or "(" in server or (server.count(":") > 1 and not server.startswith("[")):
        raise ValueError(f"invalid JDBC address of '{kind}': expected one server", f"write {_EXAMPLE}")
    name, _, password = user.partition(":")
    found, ignored = _parameters(kind, parameters)
    name, password = found.pop("user", name), found.pop("password", password)
    if name or password:
        server = (
            f"{quote(unquote(name), safe='')}{':' + quote(unquote(password), safe='') if password else ''}@{server}"
        )
    options = f"?{urlencode(found)}" if found else ""
    return JdbcUrl(f"{_DRIVERS[kind]}://{server}/{unquote(database)}{options}", ignored)


def _parameters(kind: str, parameters: list[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the parameters of the Python driver, user and password among them, and the names of those without effect."""
    found: dict[str, str] = {}
    ignored = []
    for name, value in parameters:
        key = name.lower()
        if key in ("user", "password"):
            found[key] = quote(value, safe="")
        elif kind == "postgresql":
            if key == "ssl":
                if value.lower() not in _OFF:
                    found.setdefault("sslmode", "verify-full")
            elif key == "currentschema":
                found["options"] = f"-csearch_path={value}"
            elif key in _POSTGRESQL:
                found[_POSTGRESQL[key]] = value
            else:
                ignored.append(name)
        elif key in _MYSQL_TLS:
            if value.lower() not in _OFF:
                raise ValueError(
                    f"parameter '{name}' of a JDBC address needs the certificate of the server's authority",
                    f"write url = '{_DRIVERS[kind]}://host/db?ssl_ca=/path/ca.pem' instead of the JDBC address",
                )
        elif key == "connecttimeout" and value.isdecimal():
            found["connect_timeout"] = str(max(1, int(value) // 1000))
        elif key not in _WITHOUT_NEED:
            ignored.append(name)
    if kind != "postgresql":
        found["charset"] = "utf8mb4"
    return found, tuple(ignored)
