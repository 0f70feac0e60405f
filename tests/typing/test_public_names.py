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
        "AttributeType",
        "Event",
        "EventBatch",
        "InputHandler",
        "SandboxPolicy",
        "SiddhiAppRuntime",
        "SiddhiError",
        "SiddhiManager",
        "__version__",
        "get_include",
        "run",
    ],
    "siddhi.io": [
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
def test_the_names_of_a_public_module_are_these(module: str) -> None:
    assert sorted(importlib.import_module(module).__all__) == PUBLIC[module]


def test_looking_around_shows_public_names_only() -> None:
    assert dir(siddhi) == PUBLIC["siddhi"]


def modules() -> list[str]:
    found = pkgutil.walk_packages(siddhi.__path__, "siddhi.", onerror=lambda name: None)
    return [info.name for info in found if "._core." not in info.name and not info.name.endswith("__main__")]


@pytest.mark.parametrize("name", ["siddhi", *modules()])
def test_all_lists_what_is_there(name: str) -> None:
    module = importlib.import_module(name)
    for exported in getattr(module, "__all__", ()):
        assert hasattr(module, exported), exported


def test_everything_public_says_what_it_does() -> None:
    for name in siddhi.__all__:
        thing = getattr(siddhi, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_the_package_says_that_it_is_typed() -> None:
    assert (importlib.resources.files("siddhi") / "py.typed").is_file()
