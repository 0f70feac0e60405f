"""Reading beside the engine's work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from siddhi.cli.schema import Chunk


def read_ahead(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Decode the next chunk in a thread while this one is worked on; Arrow's readers let other threads run.

    Order, and what is raised after which chunk, stay the same. Only for inputs that never keep a reader waiting.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="siddhi-read") as reader:
        following = reader.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = reader.submit(next, chunks, None)
            yield chunk
