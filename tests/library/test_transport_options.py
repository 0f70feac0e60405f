"""Rules that the options of all connectors keep."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata, StoreMetadata
from siddhi.library import connectors
from siddhi.planner.bind import connector_options

METADATA = [
    metadata
    for metadata in connectors.CONNECTORS
    if isinstance(metadata, (SourceMetadata, SinkMetadata, StoreMetadata))
]
TIMES = [
    (metadata, option)
    for metadata in METADATA
    for option in (*metadata.options, *(metadata.common if metadata.name in ("grpc", "tcp") else ()))
    if option.unit
]
NAMED_LIKE_TIMES = re.compile(r"(^|\.)(timeout|interval|expiry|idle|heartbeat|wait|pause|time)$")
NO_DURATIONS = {
    "time.between.eviction.runs",
    "max.wait.time",
    "test.while.idle",
    "event.time",
    "tcp keep.alive",
    "file timeout",
}
"""Without effect, a flag, or a time itself."""
BESIDE = {
    "cdc polling.interval": "mode = 'polling'",
    "cdc missed.record.waiting.timeout": "mode = 'polling', wait.on.missed.record = 'true'",
    "file file.polling.interval": "tailing = 'true'",
    "file dir.polling.interval": "dir.uri = '/tmp'",
    "file file.read.wait.timeout": "dir.uri = '/tmp'",
    "grpc keep.alive.timeout": "keep.alive.time = '30'",
    "grpc-call keep.alive.timeout": "keep.alive.time = '30'",
    "mqtt session.expiry": "version = '5', clean.session = 'false', client.id = 'c'",
    "mqtt message.expiry": "version = '5'",
    "sqs delay.interval": "queue = 'alerts'",
    "nats ack.wait": "jetstream = 'true', durable.name = 'd'",
    "redis-stream claim.idle": "group = 'g', consumer = 'c'",
}
"""What an option needs beside it, by connector and option."""


def named(metadata: ConnectorMetadata, option: ConnectorOption) -> str:
    return f"{metadata.title} {metadata.name} {option.name}"


def key_of(metadata: ConnectorMetadata, option: ConnectorOption) -> str:
    return f"{metadata.name} {option.name}"


@pytest.mark.parametrize(("metadata", "option"), TIMES, ids=[named(*case) for case in TIMES])
def test_a_duration_says_its_unit(metadata: ConnectorMetadata, option: ConnectorOption):
    expected = r"\bms\b|milliseconds" if option.unit == "ms" else r"\bseconds\b"
    assert re.search(expected, option.description), option.description


def test_all_options_with_times_are_declared_as_durations():
    missing = [
        named(metadata, option)
        for metadata in METADATA
        for option in metadata.options
        if option.unit is None
        and (NAMED_LIKE_TIMES.search(option.name) or re.search("seconds", option.description))
        and not {option.name, key_of(metadata, option)} & NO_DURATIONS
        and "since 1970" not in option.description
        and option.name not in ("optional.configuration", "start.timestamp")
    ]
    assert missing == []


def app(metadata: ConnectorMetadata, option: ConnectorOption, value: str) -> str:
    """Return the example of a connector with an option more."""
    more = ", ".join(filter(None, (BESIDE.get(key_of(metadata, option)), f"{option.name} = '{value}'")))
    text = metadata.example
    for name in re.findall(r"([\w.]+) = '", more):
        text = re.sub(rf"\b(?<![\w.]){re.escape(name)} = '[^']*',\s*", "", text)
    if option.name == "delay.interval":
        text = re.sub(r"message\.group\.id = '[^']*',\s*", "", text)
    if "dir.uri" in more:
        text = re.sub(r"file\.uri = '[^']*',\s*", "", text)
    return re.sub(rf"type = '{metadata.name}'", f"type = '{metadata.name}', {more}", text, count=1)


@pytest.mark.parametrize(("metadata", "option"), TIMES, ids=[named(*case) for case in TIMES])
def test_a_duration_is_checked_and_can_be_a_time_constant(
    metadata: ConnectorMetadata, option: ConnectorOption, monkeypatch
):
    if not all(find_spec(package.partition(".")[0]) for package in metadata.packages):
        pytest.skip(f"{metadata.packages} are not installed")
    monkeypatch.setenv("MAIL_PASSWORD", "x")
    with SiddhiManager() as manager:
        with pytest.raises(SiddhiAppError, match=r"(?s)invalid.*'soon'.*duration"):
            manager.create_siddhi_app_runtime(app(metadata, option, "soon"))
        manager.create_siddhi_app_runtime(app(metadata, option, "5 sec"))


EXTRAS = [metadata for metadata in METADATA if metadata.packages]


@pytest.mark.parametrize("metadata", EXTRAS, ids=[f"{metadata.title} {metadata.name}" for metadata in EXTRAS])
def test_a_missing_package_is_an_error_that_names_the_extra(metadata: ConnectorMetadata, monkeypatch):
    monkeypatch.setattr(connector_options, "_is_installed", lambda package: False)
    with pytest.raises(SiddhiAppError, match=rf"(?s)requires the package .*siddhi\[{metadata.extra}\]") as caught:
        SiddhiManager().create_siddhi_app_runtime(metadata.example)
    assert caught.value.code == "E301"
    project = Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^{metadata.extra} = \[", project)
