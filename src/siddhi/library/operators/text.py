"""The aggregator str:groupConcat."""

from __future__ import annotations

from typing import Any

from siddhi.library.operators.collect import distinct

__all__ = ["GroupConcat"]


class GroupConcat:
    """The texts of the current events, joined; null texts are left out."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.separator, self.is_distinct, self.order = ",", False, ""

    def add(self, text: str | None, separator: str = ",", is_distinct: bool = False, order: str = "") -> None:
        if text is not None:
            self.texts.append(text)
        self.separator, self.is_distinct, self.order = separator, bool(is_distinct), order.upper()

    def remove(self, text: str | None, *_: Any) -> None:
        if text in self.texts:
            self.texts.remove(text)

    def reset(self) -> None:
        self.texts.clear()

    def value(self) -> str:
        texts = distinct(self.texts) if self.is_distinct else self.texts
        if self.order in ("ASC", "DESC"):
            texts = sorted(texts, reverse=self.order == "DESC")
        return self.separator.join(texts)
