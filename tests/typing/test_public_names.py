"""The public interface: the names that each module exports."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import pkgutil

import pytest

import siddhi

PUBLIC = {
    "siddhi": [
        "App",
        "AttributeType",
        "Event",
        "EventBatch",
        "InputHandler",
        "Result",
        "SandboxPolicy",
        "SiddhiAppRuntime",
        "SiddhiError",
        "SiddhiManager",
        "__version__",
        "get_include",
        "query",
        "run",
    ],
    "siddhi.compat.pysiddhi": ["DataTypes", "SiddhiLoader", "core", "install"],
    "siddhi.testing.app": ["AppUnderTest"],
    "siddhi.io": [
        "AsyncSink",
        "AsyncSource",
        "AttributeMapping",
        "ConnectionCallback",
        "Connector",
        "ConnectorContext",
        "DistributionStrategy",
        "DynamicOptions",
        "InMemoryBroker",
        "InputEventHandler",
        "Option",
        "OptionHolder",
        "ReplayableSource",
        "Sink",
        "SinkListener",
        "SinkMapper",
        "Source",
        "SourceEventListener",
        "SourceMapper",
        "Template",
    ],
    "siddhi.persistence": [
        "ErrorEntry",
        "ErrorOccurrence",
        "ErrorStore",
        "FileSystemPersistenceStore",
        "InMemoryErrorStore",
        "InMemoryPersistenceStore",
        "PersistenceStore",
        "RdbmsErrorStore",
        "RdbmsPersistenceStore",
        "UnkeptValue",
    ],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_names_of_a_public_module_are_listed(module: str) -> None:
    assert sorted(importlib.import_module(module).__all__) == PUBLIC[module]


def test_dir_shows_only_public_names() -> None:
    assert dir(siddhi) == PUBLIC["siddhi"]


def modules() -> list[str]:
    found = pkgutil.walk_packages(siddhi.__path__, "siddhi.", onerror=lambda name: None)
    return [info.name for info in found if "._core." not in info.name and not info.name.endswith("__main__")]


@pytest.mark.parametrize("name", ["siddhi", *modules()])
def test_all_contains_existing_names(name: str) -> None:
    module = importlib.import_module(name)
    for exported in getattr(module, "__all__", ()):
        assert hasattr(module, exported), exported


def test_every_public_name_has_a_docstring() -> None:
    for name in siddhi.__all__:
        thing = getattr(siddhi, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_the_package_is_marked_as_typed() -> None:
    assert (importlib.resources.files("siddhi") / "py.typed").is_file()
