from collections.abc import Sequence
from typing import Any

def columns_of_rows(rows: Sequence[Any], names: tuple[str, ...], timestamp: str | None) -> dict[str, list[Any]]: ...
