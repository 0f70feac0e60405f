"""Interface of stores, which keep the rows of tables outside the process.

@siddhi.extension.store("shelf")
class Shelf(RecordTable): ...

@store(type = 'shelf')
define table T (symbol string, price double);
"""

from __future__ import annotations

from siddhi.stores.expression import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    Constant,
    Expression,
    Function,
    IsNull,
    Not,
    Or,
    Parameter,
    UnsupportedExpressionError,
)
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.stores.record_table import Parameters, Record, RecordTable, TableContext

__all__ = [
    "Aggregate",
    "And",
    "Arithmetic",
    "Attribute",
    "Cast",
    "Comparison",
    "Constant",
    "Expression",
    "Function",
    "IsNull",
    "Not",
    "Or",
    "Parameter",
    "Parameters",
    "QueryableRecordTable",
    "Record",
    "RecordTable",
    "Selection",
    "TableContext",
    "UnsupportedExpressionError",
]
