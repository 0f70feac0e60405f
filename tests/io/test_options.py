from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import DynamicOptions, Option, OptionHolder, Template
from siddhi.io.options import pairs_of

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


def of(**options: str) -> OptionHolder:
    return OptionHolder("sink 's'", [Option(name, (Template((text,)),)) for name, text in options.items()])


@pytest.mark.parametrize("text", ["2.5", "-1", "", "11", "0x3", "1e1", "9" * 20])
def test_an_integer_outside_of_its_limits_is_invalid(text):
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'n' of sink 's'") as raised:
        of(n=text).integer("n", least=0, most=10)
    assert raised.value.hint == "expected an integer from 0 to 10"


def test_numbers_have_defaults_and_ignore_spaces():
    assert of(n=" 7 ").integer("n") == 7
    assert of().integer("n", 3) == 3
    assert of(n="0.25").number("n") == 0.25
    assert of().number("n", 0.5) == 0.5
    for text in ("nan", "inf", "-0.1", "x"):
        with pytest.raises(SiddhiAppCreationError, match="invalid option 'n'"):
            of(n=text).number("n")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1500", 1.5), ("5 sec", 5), ("2 minutes", 120), ("1.5 h", 5400), ("250 millisec", 0.25), ("1 DAY", 86400)],
)
def test_a_duration_has_a_unit_or_is_in_milliseconds(text, seconds):
    assert of(d=text).duration("d") == seconds


def test_a_plain_duration_can_be_in_seconds():
    assert of(d="5").duration("d", unit="sec") == 5


@pytest.mark.parametrize("text", ["", "soon", "5 fortnights", "-1 sec", "400 days", "1e3"])
def test_what_is_not_a_duration_is_invalid(text):
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'd'"):
        of(d=text).duration("d")


def test_a_choice_ignores_case():
    assert of(m="TEXT").choice("m", ("line", "text")) == "text"
    assert of().choice("m", ("line", "text"), "line") == "line"
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'm' of sink 's': 'x'") as raised:
        of(m="x").choice("m", ("line", "text"))
    assert raised.value.hint == "expected one of line, text"


def test_pairs_can_be_quoted_as_in_siddhi():
    assert of(h="'a:1','b: x,y', 'c:http://h:1/'").pairs("h") == {"a": "1", "b": " x,y", "c": "http://h:1/"}
    assert of(h="a:1, b:2:3").pairs("h") == {"a": "1", "b": "2:3"}
    assert of().pairs("h") == {}
    for text in ("a", "'a:1',b", ":1", "'a'"):
        with pytest.raises(SiddhiAppCreationError, match="invalid option 'h'"):
            of(h=text).pairs("h")


@given(st.dictionaries(st.text("abc-", min_size=1, max_size=3), st.text("xy:, =", max_size=5), min_size=1, max_size=4))
def test_quoted_pairs_are_read_back(pairs):
    assert pairs_of(",".join(f"'{name}:{value}'" for name, value in pairs.items())) == pairs


def test_a_secret_can_be_in_the_environment_or_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("TOKEN", "t0p")
    (tmp_path / "secret").write_text("from file\n")
    assert of(s="plain").secret("s") == "plain"
    assert of(s="env:TOKEN").secret("s") == "t0p"
    assert of(s=f"file:{tmp_path}/secret").secret("s") == "from file"
    assert of().secret("s") is None


@pytest.mark.parametrize("text", ["env:NOT_SET_ANYWHERE", "file:/no/such/secret"])
def test_a_secret_that_is_missing_is_an_error(text):
    with pytest.raises(SiddhiAppCreationError, match=r"^\S*:? ?invalid option 's' of sink 's'"):
        of(s=text).secret("s")


def test_a_number_is_finite():
    assert math.isfinite(of(n="1e308").number("n"))
