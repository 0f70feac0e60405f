"""JDBC addresses as URLs of SQLAlchemy."""

from __future__ import annotations

import pytest

from siddhi.extension.jdbc import url_of_jdbc

MYSQL = "charset=utf8mb4"


@pytest.mark.parametrize(
    ("address", "url", "ignored"),
    [
        ("jdbc:mysql://host:3306/db?useSSL=false", f"mysql+pymysql://host:3306/db?{MYSQL}", ()),
        ("JDBC:MySQL://host/db", f"mysql+pymysql://host/db?{MYSQL}", ()),
        ("jdbc:mysql://host/db?useSSL=false&serverTimezone=UTC&foo=1", f"mysql+pymysql://host/db?{MYSQL}", ("foo",)),
        ("jdbc:mysql://host/db?user=ann&password=a@b/c", f"mysql+pymysql://ann:a%40b%2Fc@host/db?{MYSQL}", ()),
        ("jdbc:mysql://ann:a%40b@host/db", f"mysql+pymysql://ann:a%40b@host/db?{MYSQL}", ()),
        ("jdbc:mysql://host/db?connectTimeout=5000", f"mysql+pymysql://host/db?connect_timeout=5&{MYSQL}", ()),
        ("jdbc:mariadb://[::1]:3307/db", f"mariadb+pymysql://[::1]:3307/db?{MYSQL}", ()),
        ("jdbc:postgresql://host:5432/db", "postgresql+psycopg://host:5432/db", ()),
        ("jdbc:postgresql:db", "postgresql+psycopg://localhost/db", ()),
        ("jdbc:postgresql://host/db?ssl=true", "postgresql+psycopg://host/db?sslmode=verify-full", ()),
        ("jdbc:postgresql://host/db?ssl=false", "postgresql+psycopg://host/db", ()),
        ("jdbc:postgresql://host/db?currentSchema=s", "postgresql+psycopg://host/db?options=-csearch_path%3Ds", ()),
        ("jdbc:sqlite:trades.db", "sqlite:///trades.db", ()),
        ("jdbc:sqlite:/data/trades.db", "sqlite:////data/trades.db", ()),
        ("jdbc:sqlite::memory:", "sqlite://", ()),
        ("jdbc:sqlite:", "sqlite://", ()),
    ],
)
def test_an_address_becomes_a_url(address: str, url: str, ignored: tuple[str, ...]) -> None:
    assert url_of_jdbc(address) == (url, ignored)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("jdbc:h2:./database/TEST_DB", "H2 runs in a JVM only"),
        ("jdbc:oracle:thin:@host:1521/secret", "addresses of 'oracle' are not supported"),
        ("jdbc:mysql:replication://host/secret", "expected //host:port/database"),
        ("jdbc:mysql://a,b/secret", "expected one server"),
        ("jdbc:mysql://host/db?useSSL=true&password=secret", "parameter 'useSSL' .* needs the certificate"),
        ("jdbc:sqlite:file:secret.db", "'file:' is not supported"),
        ("jdbc:", "addresses of '' are not supported"),
    ],
)
def test_other_addresses_are_refused_without_secrets(address: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        url_of_jdbc(address)
    assert len(caught.value.args) == 2
    assert "secret" not in str(caught.value.args)
