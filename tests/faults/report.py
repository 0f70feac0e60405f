"""Counts tries, and keeps what failed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Report"]

MOST = 20


class EnoughError(Exception):
    """More findings than anybody reads."""


@dataclass
class Report:
    """What came of a run."""

    tries: int = 0
    findings: list[str] = field(default_factory=list)

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Record an error raised inside as a finding, and end the try."""
        self.tries += 1
        try:
            yield
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            self.add(what, traceback.format_exc())

    def add(self, what: str, why: str) -> None:
        """Keep a finding."""
        self.findings.append(f"{what}\n{why}")
        print(f"\n*** {self.findings[-1]}", flush=True)  # noqa: T201 - a long run shows them as they come
        if len(self.findings) >= MOST:
            raise EnoughError
