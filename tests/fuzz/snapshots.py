"""Damaged snapshots with a correct checksum: random changes of the bytes that reach the readers.

Each is refused with an error of siddhi's and changes nothing, or it is restored and the app runs on, whatever it holds then.
"""

from __future__ import annotations

import contextlib
import random
import struct
import zlib

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import CannotRestoreStateError, SiddhiError
from siddhi.persistence.envelope import open_envelope, put_into_envelope
from siddhi.runtime.state.blocks import SnapshotBlocks, join_blocks
from siddhi.runtime.state.increments import Increments, assemble
from tests.fuzz.grammar import LEAPS, START, send_some
from tests.fuzz.texts import apps

__all__ = ["attempt"]

NUMBERS = [0, 1, 2, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def attempt(chance: random.Random) -> None:
    """An app with some state, restored from what is nearly a snapshot of it."""
    chance.choice([_restored, _restored, _restored, _restored, _restored, _increment, _piece, _envelope])(chance)


def _restored(chance: random.Random) -> None:
    with SiddhiManager(allow_scripts=False) as manager:
        try:
            runtime = manager.create_sandbox_siddhi_app_runtime(chance.choice(apps()))
        except SiddhiError:
            return
        runtime.enable_playback(True)
        runtime.handle_exception_with(lambda error, origin, events: None)
        runtime.start()
        clock = send_some(chance, runtime, START, 12)
        try:
            state = runtime.snapshot()
        except SiddhiError:
            return  # objects that are not data
        payload = unseal(state)
        for _ in range(4):
            _restore(chance, runtime, seal(changed(chance, payload)), clock)
            runtime.restore(state)


def _restore(chance: random.Random, runtime: SiddhiAppRuntime, hostile: bytes, clock: int) -> None:
    before = runtime.snapshot()
    runtime.restore(before)
    has_order = runtime.snapshot() == before  # sets come back in any order
    try:
        runtime.restore(hostile)
    except CannotRestoreStateError:
        assert not has_order or runtime.snapshot() == before, "refused, and the state is another one"
        return
    send_some(chance, runtime, max(clock, min(runtime.now, 2**61)), 3)
    for name in [*runtime.table_definitions, *runtime.window_definitions]:
        with contextlib.suppress(SiddhiError):
            runtime.query(f"from `{name}` select *")
    with contextlib.suppress(SiddhiError):
        runtime.snapshot()
    runtime.advance_clock(min(runtime.now, 2**61) + chance.choice(LEAPS))


def changed(chance: random.Random, data: bytes) -> bytes:
    """Bytes with something changed: a bit, a number, a part left out, repeated or moved."""
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        place = chance.randrange(len(made)) if made else 0
        end = min(len(made), place + chance.choice([1, 4, 8, 9, 40]))
        way = chance.randrange(8)
        if way < 2 and made:
            made[place] ^= 1 << chance.randrange(8)
        elif way < 5:
            form = chance.choice(["<I", "<Q", "<B"])
            number = struct.pack(form, chance.choice(NUMBERS) % (1 << 8 * struct.calcsize(form)))
            made[place : place + len(number)] = number
        elif way == 5:
            del made[place:end]
        elif way == 6:
            made[place:place] = made[place:end]
        else:
            other = chance.randrange(len(made)) if made else 0
            made[place:end] = made[other : other + end - place]
    return bytes(made)


def _text(chance: random.Random) -> bytes:
    return bytes(chance.getrandbits(8) for _ in range(chance.choice([1, 100, 40_000])))


def _increment(chance: random.Random) -> None:
    increments = Increments()
    whole = _text(chance) + bytes(200_000)
    first, _ = increments.reduce(whole, "1__A")
    second, _ = increments.reduce(whole + _text(chance), "2__A")
    if not second.startswith(b"\x89SIDINC\n"):
        return
    body = changed(chance, second[16:])
    hostile = second[:12] + struct.pack("<I", zlib.crc32(body)) + body
    with contextlib.suppress(CannotRestoreStateError):
        assemble(hostile, lambda revision: first if revision == "1__A" else _missing(revision))


def _missing(revision: str) -> bytes:
    raise CannotRestoreStateError(f"no revision {revision!r}")


def _piece(chance: random.Random) -> None:
    blocks = SnapshotBlocks().cut(_text(chance) + bytes(chance.choice([10, 300_000])), dirty_only=False)
    full = {name: block for name, block in blocks.items() if block is not None}
    head = full[b""]
    body = changed(chance, head[16:])
    full[b""] = head[:12] + struct.pack("<I", zlib.crc32(body)) + body
    with contextlib.suppress(CannotRestoreStateError):
        join_blocks(full)


def _envelope(chance: random.Random) -> None:
    sealed = put_into_envelope("A", "1__A", _text(chance))
    hostile = changed(chance, sealed)
    with contextlib.suppress(CannotRestoreStateError):
        assert hostile == sealed or open_envelope(hostile, "A", "1__A", "here") is None
