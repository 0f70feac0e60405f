"""Callables of users: their parameters are checked, and asynchronous ones are refused."""

from __future__ import annotations

import functools
import operator
from collections import deque
from unittest.mock import AsyncMock, Mock

import pytest

from siddhi import SiddhiManager, extension
from siddhi.errors import ExtensionError
from siddhi.extension.registry import Registry
from siddhi.io import InMemoryBroker, Sink
from siddhi.types import AttributeType

APP = "define stream S (v int); @info(name = 'q') from S select v insert into Out;"


async def coroutine(*_):
    pass


async def asynchronous_generator(*_):
    yield


def generator(*_):
    yield


class Asynchronous:
    async def __call__(self, *_):
        pass

    async def method(self, *_):
        pass


class Plain:
    def __call__(self, *_):
        pass

    def method(self, *_):
        pass


@functools.wraps(coroutine)
def wrapper(*_):
    pass


@pytest.fixture
def runtime():
    with SiddhiManager().create_siddhi_app_runtime(APP) as running:
        yield running


ATTACH = {
    "stream": (lambda runtime, function: runtime.add_callback("S", function), 1),
    "batch": (lambda runtime, function: runtime.add_batch_callback("S", function), 1),
    "query": (lambda runtime, function: runtime.add_query_callback("q", function), 3),
    "on a stream": (lambda runtime, function: runtime.on("S", function), 1),
    "on a query": (lambda runtime, function: runtime.on("q", function), 3),
    "exception handler": (lambda runtime, function: runtime.handle_exception_with(function), 3),
    "debugger": (lambda runtime, function: runtime.debug().set_debugger_callback(function), 4),
    "broker": (lambda _, function: InMemoryBroker.subscribe("callables", function), 1),
}
every_callable = pytest.mark.parametrize(("attach", "count"), ATTACH.values(), ids=ATTACH)


def taking(count, *, optional=0, keyword=False):
    names = [f"a{i}" for i in range(count)] + [f"b{i}=0" for i in range(optional)] + (["*", "k"] if keyword else [])
    return eval(f"lambda {', '.join(names)}: None")


REFUSED = {
    "nothing": None,
    "text": "print",
    "number": 7,
    "coroutine": coroutine,
    "asynchronous generator": asynchronous_generator,
    "generator": generator,
    "partial of a coroutine": functools.partial(coroutine, 1),
    "asynchronous call": Asynchronous(),
    "asynchronous method": Asynchronous().method,
    "asynchronous mock": AsyncMock(),
}


@every_callable
@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_unsuitable_callables_are_refused(runtime, attach, count, function):
    if function is None and attach is ATTACH["debugger"][0]:
        return  # takes the callback away
    with pytest.raises(TypeError, match=r"must be a function that takes \(|can't be (asynchronous|an? )"):
        attach(runtime, function)


@every_callable
def test_a_function_with_other_parameters_is_refused(runtime, attach, count):
    for function in (taking(count - 1), taking(count + 1), taking(count, keyword=True), lambda *, events: None):
        with pytest.raises(TypeError, match=r"is called with \(.*\), but .* takes \("):
            attach(runtime, function)


@every_callable
def test_any_callable_with_the_parameters_is_accepted(runtime, attach, count):
    functions = [
        taking(count),
        taking(count, optional=2),
        taking(count - 1, optional=1),
        functools.partial(taking(count + 1), 0),
        lambda *_: None,
        wrapper,
        Plain(),
        Plain().method,
        Mock(),
        print,
        operator.itemgetter(0),
        operator.methodcaller("x"),
    ]
    if count == 1:
        functions += [[].append, deque().append, deque().extend, set().add, str, Exception, len]
    for function in functions:
        attach(runtime, function)
        InMemoryBroker.unsubscribe("callables", function)


def test_an_asynchronous_generator_is_told_from_a_coroutine_function(runtime):
    for attach in (runtime.add_callback, runtime.on):
        with pytest.raises(
            TypeError, match=r"can't be an asynchronous generator.* an 'async def' function without yield will do"
        ):
            attach("S", asynchronous_generator)


def test_a_refused_callable_is_not_attached(runtime):
    errors = []
    runtime.handle_exception_with(lambda error, origin, events: errors.append(error))
    for attach in (runtime.add_callback, runtime.add_batch_callback):
        with pytest.raises(TypeError):
            attach("S", coroutine)
    with pytest.raises(TypeError):
        runtime.handle_exception_with(coroutine)
    runtime.add_callback("S", Mock(side_effect=ValueError("told")))
    runtime.input_handler("S").send((1,))
    assert [str(error) for error in errors] == ["told"]


def test_extensions_with_asynchronous_methods_are_refused():
    registry = Registry()
    with pytest.raises(ExtensionError, match=r"can't be asynchronous, since the engine does not await coroutine\(\)"):
        extension.function("t:f", returns=AttributeType.INT, registry=registry)(coroutine)

    class Mail(Sink):
        def init(self, options, context): ...
        async def connect(self): ...
        def disconnect(self): ...
        async def publish(self, payload, options): ...
        async def helper(self): ...

    with pytest.raises(ExtensionError, match=r"sink 't:mail' can't be .* does not await connect and publish\(\)"):
        extension.sink("t:mail", registry=registry)(Mail)

    class Last:
        def __init__(self, context): ...
        async def process(self, event):
            yield event

    with pytest.raises(ExtensionError, match=r"does not await process\(\)"):
        extension.stream_processor("t:last", registry=registry)(Last)
