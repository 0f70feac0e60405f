"""Pictures of lifetimes: bars, arrows, CTIs and labels, from the items alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from siddhi.temporal import MAX, MIN, TemporalEvent, draw

SVG = "{http://www.w3.org/2000/svg}"


def elements(items: Any, kind: str, **options: Any) -> list[ET.Element]:
    root = ET.fromstring(draw(items, **options).svg)
    return list(root.iter(SVG + kind))


def texts(items: Any) -> list[str]:
    return [element.text or "" for element in elements(items, "text")]


def bars(items: Any) -> list[ET.Element]:
    return elements(items, "rect")[1:]  # the first one is the background


def test_the_same_items_give_the_same_text() -> None:
    items = [TemporalEvent("insert", 1, 5, ("a", 1.5)), TemporalEvent("cti", 5, None, None)]
    assert draw(items).svg == draw([tuple(item) for item in items]).svg == draw(iter(items))._repr_svg_()


def test_start_and_end_are_one_bar_and_an_open_one_an_arrow() -> None:
    items = [("start", 1, None, ("a",)), ("start", 1, None, ("a",)), ("end", 1, 5, ("a",)), ("insert", 2, MAX, ("b",))]
    assert len(bars(items)) == 1
    assert len(elements(items, "path")) == 2


def test_points_are_dots_and_retracted_rows_are_struck() -> None:
    items = [("point", 1, 2, ("a",)), ("insert", 5, 9, ("b",)), ("insert", 5, 9, ("b",)), ("retract", 5, 9, ("b",))]
    assert len(elements(items, "circle")) == 1
    struck = [one for one in elements(items, "text") if one.get("text-decoration") == "line-through"]
    assert [one.text for one in struck] == ["b"]


def test_bars_that_overlap_are_in_different_lanes() -> None:
    tops = [
        bar.get("y") for bar in bars([("insert", 0, 10, ("a",)), ("insert", 5, 15, ("b",)), ("insert", 10, 20, ("c",))])
    ]
    assert tops[0] == tops[2] != tops[1]


def test_labels_are_escaped_and_show_null_and_numbers() -> None:
    found = texts([("insert", 0, 1000, ("<a&b>", None, True, 2.50, 7))])
    assert "<a&b>, null, true, 2.5, 7" in found


def test_times_since_1970_are_shown_as_times_of_day() -> None:
    found = texts({"Meter": [("insert", 1_247_649_213_317, 1_247_649_304_987, (1,))]})
    assert found[0] == "Meter"
    assert "09:14:00" in found
    assert "2009-07-15, UTC" in found
    days = texts([("insert", 1_247_649_213_317, 1_247_649_213_317 + 7 * 86_400_000, (1,))])
    assert "2009-07-16" in days


def test_ctis_are_dashed_lines_and_max_is_at_the_right() -> None:
    lines = elements([("insert", 0, 9, ()), ("cti", 4, None, None), ("cti", MAX, None, None)], "line")
    at = [float(one.attrib["x1"]) for one in lines if one.get("stroke-dasharray")]
    assert len(at) == 2
    assert at[0] < at[1] <= 720


@pytest.mark.parametrize("items", [[], {}, [("cti", MAX, None, None)], [("insert", MIN, MAX, (1,))]])
def test_pictures_without_finite_times_have_an_axis(items: Any) -> None:
    assert len(elements(items, "line")) >= 1


def test_no_number_of_ticks_is_too_large() -> None:
    for span in (1, 7, 10**4, 10**9, 10**12, 1 << 61):
        labels = [text for text in texts([("insert", 0, span, ())]) if re.fullmatch(r"[0-9:-]+|day \\d+", text)]
        assert 1 <= len(labels) <= 9


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    draw([("point", 1, 2, (1,))], width=300).save(tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(ValueError, match="at least 240 pixels"):
        draw([], width=100)
