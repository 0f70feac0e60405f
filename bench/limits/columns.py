"""Input and output of the loops with tables: the part that runs once per table, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

CAPACITY = 1024
"""Most different symbols a loop can hold; the same number stands in ``symbols.pxd``."""


class Output:
    """Columns of one callback: ``len()``, ``timestamps``, one numpy array per name.

    A column named in *dictionaries* holds positions in the list of strings given there.
    """

    __slots__ = ("_columns", "_dictionaries", "timestamps")

    def __init__(
        self, timestamps: np.ndarray, columns: dict[str, np.ndarray], dictionaries: Mapping[str, Any] | None = None
    ) -> None:
        self.timestamps = timestamps
        self._columns = columns
        self._dictionaries = dictionaries or {}

    def __len__(self) -> int:
        return len(self.timestamps)

    def row(self, position: int) -> tuple[int, list[Any]]:
        """One row as ``(timestamp, values)`` with plain Python values."""
        values = []
        for name, column in self._columns.items():
            value = column[position].item()
            if name in self._dictionaries:
                entry = self._dictionaries[name][value]
                value = entry if isinstance(entry, str) else entry.as_py()
            values.append(value)
        return int(self.timestamps[position]), values


class TableReader:
    """Takes the four columns of a trades table without copying them, and remembers the symbols' dictionary.

    *ids* maps a symbol to the small integer which a loop knows it by; symbols not met before are added.
    """

    __slots__ = ("_address", "_kept", "_mapping", "codes", "dictionary", "ids", "price", "ts", "volume")

    def __init__(self, ids: dict[str, int] | None = None) -> None:
        self.ids = {} if ids is None else ids
        self._address = -1
        self._mapping = np.empty(0, dtype=np.int32)

    def read(self, table: pa.Table, timestamp: str) -> None:
        symbols = table.column("symbol").chunk(0)
        self.codes = symbols.indices.to_numpy()
        self.dictionary = symbols.dictionary
        self.price = table.column("price").chunk(0).to_numpy()
        self.volume = table.column("volume").chunk(0).to_numpy()
        self.ts = table.column(timestamp).chunk(0).to_numpy()

    def mapping(self) -> np.ndarray:
        """The id of every dictionary position; made anew only when the dictionary is another one."""
        address = self.dictionary.buffers()[2].address
        if address != self._address:
            ids = self.ids
            entries = [ids.setdefault(symbol, len(ids)) for symbol in self.dictionary.to_pylist()]
            if len(ids) > CAPACITY:
                raise ValueError(f"these loops hold at most {CAPACITY} symbols, not {len(ids)}")
            self._mapping = np.array(entries, dtype=np.int32)
            self._address, self._kept = address, self.dictionary  # kept alive, so that the address stays its own
        return self._mapping

    def mapping_position(self, symbol: str) -> int:
        """Where *symbol* stands in the present dictionary, -1 when it does not."""
        identifier = self.ids.setdefault(symbol, len(self.ids))
        found = np.flatnonzero(self.mapping() == identifier)
        return int(found[0]) if len(found) else -1

    def names(self) -> list[str]:
        """The symbols in the order of their ids."""
        return list(self.ids)
