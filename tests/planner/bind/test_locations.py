from __future__ import annotations

from pathlib import Path

import pytest

from siddhi.planner.bind.locations import Place, is_allowed, is_file_allowed

WEB = "https://api.example.com"


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        (WEB, WEB),
        (f"{WEB}/v1/orders", WEB),
        (f"{WEB}/v1/orders?since=3&x=%20", f"{WEB}/v1"),
        (f"{WEB}/v1/orders", f"{WEB}/v1/"),
        (f"{WEB}/?q=a", f"{WEB}/"),
        ("postgresql://db:5432/trades", "postgresql://db:5432/"),
        ("broker:9092", "broker:9092"),
    ],
)
def test_a_url_below_a_prefix_is_allowed(url: str, prefix: str) -> None:
    assert is_allowed(Place.URL, url, ("other", prefix), is_whole=True)


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        (f"{WEB}.evil.net/", WEB),
        (f"{WEB}@evil.net/", WEB),
        (f"{WEB}:8080/", WEB),
        (f"{WEB}/v10", f"{WEB}/v1"),
        (f"{WEB}/v1/../admin", f"{WEB}/v1/"),
        (f"{WEB}/v1/%2e%2e/admin", f"{WEB}/v1/"),
        (f"{WEB}/v1/..\\admin", f"{WEB}/v1/"),
        (f"{WEB}/v1/a\nHost: evil", f"{WEB}/v1/"),
        (f"{WEB}/v1/a#@evil.net", f"{WEB}/v1/"),
        (f" {WEB}/v1/", f"{WEB}/v1/"),
        ("HTTPS://api.example.com/v1/", f"{WEB}/v1/"),
        (f"{WEB}/find?q=a&key=b", f"{WEB}/find?q=a"),
        # SQLAlchemy takes 'db' for the user, '5432/x' for the password and 'evil' for the host.
        ("postgresql://db:5432/x@evil/trades", "postgresql://db:5432/"),
        ("postgresql://db:5432/trades?host=evil", "postgresql://db:5432/"),
        ("postgresql://db:5432/trades?host=evil", "postgresql://db:5432/trades"),
        ("broker:9092,evil:9092", "broker:9092"),
        ("broker:9092.evil.net:9092", "broker:9092"),
        ("", WEB),
    ],
)
def test_a_url_that_only_shares_the_prefix_is_not_allowed(url: str, prefix: str) -> None:
    assert not is_allowed(Place.URL, url, (prefix,), is_whole=True)


def test_an_event_may_complete_a_file_name_but_not_a_url() -> None:
    assert is_allowed(Place.NAME, "orders-", ("orders-",), is_whole=False)
    assert not is_allowed(Place.NAME, "orders", ("orders-",), is_whole=False)
    assert not is_allowed(Place.NAME, "", ("orders-",), is_whole=False)
    assert not is_allowed(Place.URL, f"{WEB}/", (f"{WEB}/",), is_whole=False)
    assert is_allowed(Place.URL, f"{WEB}/", ("*",), is_whole=False)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "https://evil.net/x", "broker:9092"])
def test_a_url_that_is_not_a_file_needs_no_folder(url: str) -> None:
    assert is_file_allowed(Place.URL, url, (), is_whole=True)


@pytest.mark.parametrize(
    "pattern",
    [
        "sqlite:///{other}/x.db",
        "sqlite+pysqlite:///{other}/x.db",
        "SQLITE:///{other}/x.db",
        "sqlite:///{inside}/../x.db",
        "sqlite:///{inside}/link/x.db",
        "sqlite:///file:{inside}/x.db?uri=true",
        "sqlite:///file:{inside}/x.db",
        "sqlite:///{inside}/x.db?mode=rwc",
        "sqlite:///{inside}/%2e%2e/x.db",
        "sqlite://host/{inside}/x.db",
        "sqlite://?uri=true",
        "sqlite:///x.db",
        " sqlite:///{inside}/x.db",
        "duckdb:///{other}/x",
        "postgresql:///trades",
        "postgresql://",
        "file://{other}/x",
        "file://host{inside}/x",
        "file:{inside}/x",
    ],
)
def test_a_url_of_a_file_elsewhere_is_refused(pattern: str, tmp_path: Path) -> None:
    inside, other = tmp_path / "inside", tmp_path / "other"
    inside.mkdir()
    other.mkdir()
    (inside / "link").symlink_to(other)
    url = pattern.format(inside=inside, other=other)
    assert not is_file_allowed(Place.URL, url, (str(inside),), is_whole=True)
    assert is_file_allowed(Place.URL, url, ("*",), is_whole=True)


@pytest.mark.parametrize("pattern", ["sqlite:///{}/x.db", "sqlite:///{}/a/b.db", "duckdb:///{}/x", "file://{}/x.csv"])
def test_a_url_of_a_file_in_a_folder_is_allowed(pattern: str, tmp_path: Path) -> None:
    url = pattern.format(tmp_path)
    assert is_file_allowed(Place.URL, url, ("/nowhere", str(tmp_path)), is_whole=True)
    assert not is_file_allowed(Place.URL, url, (str(tmp_path),), is_whole=False)


def test_a_relative_file_is_searched_in_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = (str(tmp_path / "inside"),)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside2").mkdir()
    monkeypatch.chdir(tmp_path)
    assert is_file_allowed(Place.FILE, "inside/a.csv", folders, is_whole=True)
    assert is_file_allowed(Place.FILE, str(tmp_path / "inside" / "a.csv"), folders, is_whole=True)
    for path in ("inside2/a.csv", "a.csv", "inside/../a.csv", "", "inside/a\0.csv", str(tmp_path)):
        assert not is_file_allowed(Place.FILE, path, folders, is_whole=True)
    assert not is_file_allowed(Place.FILE, "inside/", folders, is_whole=False)


@pytest.mark.parametrize(
    "value",
    [
        "/etc/passwd",
        "../../etc/passwd",
        "C:\\x",
        "URL:file:/etc/passwd",
        "<URL:file:///etc/passwd>",
        "local://etc/passwd",
        "local:///etc/passwd",
    ],
)
@pytest.mark.parametrize("folders", [(), (".",)])
def test_a_url_that_may_be_a_file_is_treated_as_one(value: str, folders: tuple[str, ...]) -> None:
    assert not is_file_allowed(Place.URL, value, folders, is_whole=True)


def test_host_and_port_are_not_a_file_but_a_path_without_scheme_is(tmp_path: Path) -> None:
    for hosts in ("broker", "localhost:9092", "a.example.com:9092,b.example.com:9092"):
        assert is_file_allowed(Place.URL, hosts, (), is_whole=True)
    assert is_file_allowed(Place.URL, str(tmp_path / "a.csv"), (str(tmp_path),), is_whole=True)


def test_a_segment_with_parameters_is_resolved_as_without_them() -> None:
    assert not is_allowed(Place.URL, "https://api.example.com/v1/..;/x", ("https://api.example.com/v1",), is_whole=True)
