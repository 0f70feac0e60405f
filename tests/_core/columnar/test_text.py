from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.columns import (
    INTEGERS,
    LONG,
    STRING,
    read,
)

# -- texts ------------------------------------------------------------------------------------------------------------

TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "abcd",
    "abcdefgh",
    "twelve bytes",
    "thirteen bytes",
    "ünï",
    "x" * 300,
    "\0",
    "日本語テキスト",
    None,
    "a",
]
TEXT_FORMS = {
    "utf8": lambda values: pa.array(values, pa.string()),
    "large": lambda values: pa.array(values, pa.large_string()),
    "view": lambda values: pa.array(values, pa.string_view()),
    "polars": lambda values: pl.Series(values, dtype=pl.String),
    "categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "enum": lambda values: pl.Series(values, dtype=pl.Enum(sorted({v for v in values if v is not None}))),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "dictionary of large": lambda values: pa.array(values, pa.large_string()).dictionary_encode(),
    "dictionary of views": lambda values: pa.array(values, pa.string_view()).dictionary_encode(),
    "dictionary with null": lambda values: pa.array(values).dictionary_encode(null_encoding="encode"),
    "pandas": lambda values: pd.Series(values),
    "pandas python": lambda values: pd.Series(values, dtype=pd.StringDtype("python")),
    "numpy objects": lambda values: np.array(values, dtype=object),
    "list": list,
}


@pytest.mark.parametrize("form", TEXT_FORMS.values(), ids=TEXT_FORMS)
def test_texts_of_every_form(form: Any) -> None:
    assert read(form(TEXTS), STRING) == TEXTS


@pytest.mark.parametrize("name", ["utf8", "large", "view", "dictionary", "dictionary with null"])
def test_slices_of_texts(name: str) -> None:
    for offset in range(len(TEXTS)):
        assert read(TEXT_FORMS[name](TEXTS).slice(offset, 5), STRING) == TEXTS[offset : offset + 5]


def test_numpy_texts() -> None:
    assert read(np.array(["a", "bcd", ""]), STRING) == ["a", "bcd", ""]
    if hasattr(np.dtypes, "StringDType"):
        array = np.array(["a", None, "b" * 50], dtype=np.dtypes.StringDType(na_object=None))
        assert read(array, STRING) == ["a", None, "b" * 50]


@pytest.mark.parametrize("kind", INTEGERS)
def test_dictionary_indices_of_every_width(kind: str) -> None:
    words = [f"word {i}" for i in range(100)]
    indices = [3, 99, None, 0, 3]
    array = pa.DictionaryArray.from_arrays(pa.array(indices, pa.from_numpy_dtype(kind)), words)
    want = [None if i is None else words[i] for i in indices]
    assert read(array, STRING) == want
    assert read(array.slice(1, 3), STRING) == want[1:4]
    assert read(pa.DictionaryArray.from_arrays(array.indices, list(range(100))), LONG) == indices


def test_repeated_texts_are_one_object() -> None:
    for form in (TEXT_FORMS["utf8"], TEXT_FORMS["view"], TEXT_FORMS["dictionary"]):
        first, second, third = read(form(["a long symbol", "other", "a long symbol"]), STRING)
        assert first is third
        assert second == "other"


def test_a_dictionary_much_longer_than_its_slice() -> None:
    words = pa.array([f"w{i}" for i in range(10_000)])
    array = pa.DictionaryArray.from_arrays(pa.array([9999, 1]), words)
    assert read(array, STRING) == ["w9999", "w1"]


def test_more_distinct_texts_than_the_cache_holds() -> None:
    words = [f"{i % 3000:08d}-in the middle-{i % 7}" for i in range(10_000)]
    assert read(pa.array(words), STRING) == words


@given(
    st.lists(st.none() | st.text(max_size=20), max_size=40),
    st.integers(0, 10),
    st.sampled_from(["utf8", "large", "view", "dictionary"]),
)
def test_any_texts(values: list[str | None], offset: int, name: str) -> None:
    values = [None if v is None else v.encode("utf-8", "replace").decode() for v in values]
    form = {"utf8": pa.string(), "large": pa.large_string(), "view": pa.string_view(), "dictionary": pa.string()}[name]
    array = pa.array(values, form)
    if name == "dictionary":
        array = array.dictionary_encode()
    assert read(array.slice(min(offset, len(values))), STRING) == values[offset:]


def test_invalid_utf8_is_named() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 3], np.int32).tobytes())
    bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")])
    with pytest.raises(ValueError, match=r"^row 1: column 'x' holds what is not UTF-8") as caught:
        read(bad, STRING)
    assert type(caught.value) is ValueError


def test_truncated_arrays_are_refused() -> None:
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 5]), ["a"], safe=False)
    with pytest.raises(ValueError, match=r"^row 1: column 'x' is torn"):
        read(outside, STRING)
    with pytest.raises(ValueError, match=r"^row 1: column 'x' is torn"):
        read(pa.DictionaryArray.from_arrays(pa.array([0, -1]), [7], safe=False), LONG)
    backwards = pa.py_buffer(np.array([0, 3, 1], np.int32).tobytes())
    with pytest.raises(ValueError, match=r"^row 1: column 'x' is torn"):
        read(pa.Array.from_buffers(pa.string(), 2, [None, backwards, pa.py_buffer(b"abc")]), STRING)
