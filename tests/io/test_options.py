from __future__ import annotations

import pytest

from siddhi import Event
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import DynamicOptions, Option, OptionHolder, Template

TEXTS = (str, lambda value: f"<{value}>")


def test_a_template_is_filled_with_texts_of_attributes():
    assert Template(("a_", 1, "_", 0), TEXTS).render(Event(0, ("x", 7))) == "a_<7>_x"


def test_a_template_of_one_attribute_gives_its_value():
    value = object()
    assert Template((0,), TEXTS, is_value=True).render(Event(0, (value, 7))) is value
    assert Template((1,), TEXTS).render(Event(0, (value, 7))) == "<7>"


def test_a_static_template_needs_no_event():
    template = Template(("plain",))
    assert template.is_static
    assert template.render(None) == "plain"
    with pytest.raises(ValueError, match="needs an event"):
        Template((0,), TEXTS).render(None)


def test_option_names_are_case_insensitive():
    holder = OptionHolder("sink 's'", [Option("Topic", (Template(("t",)),))])
    assert "TOPIC" in holder
    assert holder.static("topic") == "t"
    assert holder.names == ("Topic",)
    assert holder.texts() == {"Topic": "t"}


def test_a_missing_option_is_named():
    holder = OptionHolder("sink 's'")
    assert holder.static("topic", "none") == "none"
    with pytest.raises(SiddhiAppCreationError, match="sink 's' requires the option 'topic'"):
        holder.option("topic")


def test_dynamic_options_depend_on_event_and_destination():
    topic = Option("topic", (Template((0,), TEXTS),))
    each = Option("topic", (Template(("a",)), Template(("b",))))
    holder = OptionHolder("sink 's'", [topic])
    assert holder.dynamic == (topic,)
    assert holder.texts() == {}
    assert topic.value(DynamicOptions(Event(0, ("x", 7)))) == "x"
    assert [each.value(DynamicOptions(None, number)) for number in (0, 1)] == ["a", "b"]
    with pytest.raises(SiddhiAppCreationError, match="can't contain attributes"):
        holder.static("topic")
