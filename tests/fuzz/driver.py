"""Runs cases in a child process: a crash, a hang, or memory without end is a finding there and not the end of the run.

A case is a seed. The child says which one it begins, so that the parent knows whose the crash was, and goes on with the
next one in a new child.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import logging
import os
import random
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from siddhi._core.record.event import live_events

__all__ = ["Finding", "Outcome", "run"]

PATIENCE_S = 20.0
"""A case that takes longer hangs; one takes some milliseconds."""
MEMORY = 2 << 30
"""Bytes that a case may take beyond what its process has at first."""
MOST_FINDINGS = 20
LEAK_EVERY = 50
"""After so many cases the events that are alive are counted."""

Attempt = Callable[[random.Random], None]


@dataclass(frozen=True)
class Finding:
    """A case that failed.

    Attributes:
        kind: of the cases.
        seed: of the case.
        what: a traceback, or how the process ended.
        count: how many cases from ``seed`` on show it.
    """

    kind: str
    seed: int
    what: str
    count: int = 1

    def __str__(self) -> str:
        return f"{self.kind} --seed {self.seed} --count {self.count}\n{self.what}"


@dataclass
class Outcome:
    """What came of a run."""

    kind: str
    seed: int
    tries: int = 0
    findings: list[Finding] = field(default_factory=list)


def run(
    kind: str,
    attempt: Attempt,
    *,
    seed: int,
    count: int | None = None,
    seconds: float = 60.0,
    patience_s: float = PATIENCE_S,
    memory: int = MEMORY,
) -> Outcome:
    """Try the cases ``seed``, ``seed + 1``, ...

    Args:
        kind: goes into the seed of each case, and into findings.
        attempt: makes a case of a generator of random numbers; what it raises is a finding.
        seed: the first one.
        count: how many; None: as many as ``seconds`` allow.
        seconds: after which no case begins, where there is no ``count``.
        patience_s: after which a case hangs.
        memory: bytes a case may take; not looked at under AddressSanitizer, whose own shadow is terabytes of addresses.
    """
    outcome = Outcome(kind, seed)
    until = time.monotonic() + seconds
    while len(outcome.findings) < MOST_FINDINGS:
        left = None if count is None else count - outcome.tries
        if left == 0 or (left is None and time.monotonic() >= until):
            break
        _one_child(outcome, attempt, left, until, patience_s, memory)
    return outcome


def _one_child(
    outcome: Outcome, attempt: Attempt, left: int | None, until: float, patience_s: float, memory: int
) -> None:
    """Fork a child and follow it until it is through, or has a finding."""
    first = outcome.seed + outcome.tries
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.dup2(errors.fileno(), 2)
            try:
                _bound_memory(memory)
                _child(outcome.kind, attempt, first, left, until, writing)
            finally:
                os._exit(0)
        os.close(writing)
        running: int | None = None
        hangs = False
        with os.fdopen(reading, "rb", buffering=0) as lines:
            while (message := _next(lines, patience_s)) is not None:
                if not message:
                    hangs = True
                    os.kill(child, signal.SIGABRT)  # faulthandler writes where it is
                    if _next(lines, 10.0):
                        continue
                    os.kill(child, signal.SIGKILL)
                    break
                if "found" in message:
                    outcome.findings.append(Finding(outcome.kind, message["seed"], message["found"], message["count"]))
                    running = None
                else:
                    running = message["seed"]
                    outcome.tries += running is not None
        _, status = os.waitpid(child, 0)
        ended = os.waitstatus_to_exitcode(status)
        if running is not None or ended:
            errors.seek(0)
            said = errors.read().decode(errors="replace")[-6000:]
            how = f"hangs for {patience_s:g} s" if hangs else f"the process ended with {ended}"
            outcome.findings.append(Finding(outcome.kind, first if running is None else running, f"{how}\n{said}"))


def _next(lines: IO[bytes], patience_s: float) -> dict[str, Any] | None:
    """The next message; an empty one where none comes in time, None at the end."""
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([lines], [], [], patience_s)[0]:
            return {}
        piece = lines.read(1)
        if not piece:
            return None
        line += piece
    found: dict[str, Any] = json.loads(line)
    return found


def _bound_memory(memory: int) -> None:
    import resource

    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no object beyond what is needed
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))


def _child(kind: str, attempt: Attempt, first: int, left: int | None, until: float, writing: int) -> None:
    gc.freeze()  # what is there at first need not be looked at again
    faulthandler.enable()
    warnings.simplefilter("error")
    logging.getLogger("siddhi").addHandler(_Formatting())
    logging.getLogger("siddhi").propagate = False
    logging.raiseExceptions = False
    unseen: list[str] = []
    sys.unraisablehook = lambda hooked: unseen.append(_text(hooked.exc_value))
    threading.excepthook = lambda hooked: unseen.append(_text(hooked.exc_value))

    def say(**message: object) -> None:
        os.write(writing, json.dumps(message).encode() + b"\n")

    seed = first
    alive, counted = live_events(), first
    while seed - first != left and (left is not None or time.monotonic() < until):
        say(seed=seed)
        try:
            attempt(random.Random(f"{kind} {seed}"))
            if unseen:
                raise AssertionError("raised without a handler:\n" + "\n".join(unseen))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
            say(seed=seed, found=_text(error), count=1)
            return  # what is left of the case must not disturb the next one
        seed += 1
        if seed - counted == LEAK_EVERY:
            gc.collect()
            if live_events() > alive:
                say(seed=counted, found=f"{live_events() - alive} events stayed alive", count=LEAK_EVERY)
                return
            counted = seed
    say(seed=None)


def _text(error: BaseException | None) -> str:
    try:
        return "" if error is None else "".join(traceback.format_exception(error))[-6000:]
    except Exception as failure:  # noqa: BLE001 - that of a hostile value may be any
        return f"{type(error).__name__}, which can't be shown: {type(failure).__name__}"


class _Formatting(logging.Handler):
    """Makes the text of each record, which must not fail, and writes it nowhere."""

    def emit(self, record: logging.LogRecord) -> None:
        self.format(record)
