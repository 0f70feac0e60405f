"""Formatting of whole columns as CSV cells and JSON values."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

_NEEDS_CSV_QUOTES = r'[",\r\n]|^$'
_NEEDS_JSON_ESCAPE = r'["\\\x00-\x1f]'
_WHOLE = r"^-?[0-9]+$"


def csv_cells(column: pa.Array) -> pa.Array:
    """Return a column as CSV cells; null stays null. Empty strings are quoted to distinguish them from null."""
    column = _plain(column)
    if not pa.types.is_string(column.type):
        return _scalars(column)
    quotes = pc.match_substring_regex(column, _NEEDS_CSV_QUOTES)
    if not pc.any(quotes).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(quotes, pc.binary_join_element_wise('"', doubled, '"', ""), column)


def json_values(column: pa.Array) -> pa.Array:
    """Return a column as JSON texts without nulls; NaN and infinities, which JSON lacks, are null."""
    column = _plain(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
    if not pa.types.is_string(column.type):
        values = _scalars(column)
    elif pc.any(pc.match_substring_regex(column, _NEEDS_JSON_ESCAPE)).as_py():
        texts = [None if text is None else json.dumps(text, ensure_ascii=False) for text in column.to_pylist()]
        values = pa.array(texts, pa.string())
    else:
        values = pc.binary_join_element_wise('"', column, '"', "")
    return pc.fill_null(values, "null")


def joined(cells: list[pa.Array | str], separator: str) -> pa.Buffer:
    """Join the cells of each row (null as an empty cell), end each row with a line feed, and return all bytes."""
    lines = pc.binary_join_element_wise(*cells, separator, null_handling="replace", null_replacement="")
    ended = pc.binary_join_element_wise(lines, "", "\n")
    return ended.buffers()[2].slice(0, pc.sum(pc.binary_length(ended)).as_py())


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _scalars(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    if not pa.types.is_floating(column.type):
        return texts
    # 3 is written as 3.0, so that readers that infer types recognize the column as floating point.
    whole = pc.match_substring_regex(texts, _WHOLE)
    return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
