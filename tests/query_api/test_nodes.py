from __future__ import annotations

import inspect

import pytest

import siddhi.query_api as api
from siddhi._frozen import Frozen, fields
from siddhi.query_api import (
    Annotation,
    Constant,
    Element,
    Filter,
    FunctionCall,
    InsertInto,
    Node,
    OutputAttribute,
    Query,
    Selector,
    SiddhiApp,
    SingleInput,
    Span,
    Variable,
    WindowHandler,
    find_annotation,
)
from siddhi.types import AttributeType

CLASSES = [value for value in vars(api).values() if inspect.isclass(value)]
NODES = [value for value in CLASSES if issubclass(value, Node)]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_nodes_are_frozen_and_slotted_and_have_a_location(node):
    assert issubclass(node, Frozen)
    assert "__dict__" not in dir(node)
    place = next(field for field in fields(node) if field.name == "span")
    assert (place.compare, place.shown, place.default, place.kw_only) == (False, False, None, True)


def test_the_location_is_not_compared():
    here, there = Span(1, 0, 1, 5), Span(2, 3, 2, 8)
    assert Variable("price", span=here) == Variable("price", span=there) == Variable("price")
    assert hash(Variable("price", span=here)) == hash(Variable("price"))


def test_numbers_of_different_types_differ():
    assert Constant(1, AttributeType.INT) != Constant(1, AttributeType.LONG)
    assert Constant(1, AttributeType.LONG) != Constant(1, AttributeType.LONG, is_time=True)


def test_everything_is_exported_in_order():
    assert api.__all__ == sorted(api.__all__)
    public = {name for name, value in vars(api).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert public == set(api.__all__)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_has_a_docstring(cls):
    written = inspect.getsource(cls).split(":\n", 1)[1].lstrip()
    assert written.startswith('"""')


def test_annotation_names_are_case_insensitive():
    info = Annotation("Info", (Element("Name", "q"), Element(None, "x"), Element(None, "y"), Element("name", "later")))
    other = Annotation("info", (Element("name", "other"),))
    assert find_annotation((Annotation("x"), info, other), "INFO") is info
    assert find_annotation((), "info") is None
    assert info.element("NAME") == "q"
    assert info.element("age") is None
    assert info.values() == ("x", "y")


def query(*annotations):
    return Query(
        input=SingleInput("S"), selector=Selector(), output=InsertInto(target="O"), annotations=tuple(annotations)
    )


def test_names_of_apps_and_queries():
    assert query().name is None
    assert query(Annotation("INFO", (Element("Name", "q"),))).name == "q"
    assert query(Annotation("info", (Element("other", "q"),))).name is None
    assert SiddhiApp().name is None
    assert SiddhiApp(annotations=(Annotation("name"),)).name is None
    assert SiddhiApp(annotations=(Annotation("Name", (Element(None, "Stocks"),)),)).name == "Stocks"


def test_the_text_of_an_app_is_not_compared():
    assert SiddhiApp(source="a") == SiddhiApp(source="b")


def test_the_window_is_found_among_the_handlers():
    window = WindowHandler(FunctionCall("length"))
    assert SingleInput("S", (Filter(Variable("a")), window, Filter(Variable("b")))).window is window
    assert SingleInput("S", (Filter(Variable("a")),)).window is None


def test_names_of_output_attributes():
    assert OutputAttribute(Variable("a", "S")).name == "a"
    assert OutputAttribute(Variable("a"), "b").name == "b"
    with pytest.raises(ValueError, match="a name only if"):
        _ = OutputAttribute(Constant(1, AttributeType.INT)).name
