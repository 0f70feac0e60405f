"""Reads inputs in parallel with the engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from siddhi.cli.inputs.source import Source
from siddhi.cli.schema import Chunk


def chunks_of(source: Source) -> Iterator[Chunk]:
    """Yield the events of an input; files are read ahead."""
    is_file = source.total_bytes is not None
    return read_ahead(source.chunks()) if is_file else source.chunks()


def read_ahead(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Read the next chunk in a thread while the current one is processed; Arrow's readers release the GIL.

    The order of chunks and errors stays the same. Use only for inputs that never block.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="siddhi-read") as reader:
        following = reader.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = reader.submit(next, chunks, None)
            yield chunk
