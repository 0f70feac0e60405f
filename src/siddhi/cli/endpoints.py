"""Command-line arguments ``Stream=file``: stream, file and format."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import click

STANDARD = "-"
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


class Format(Enum):
    """A file format; the value is its file name suffix."""

    CSV = ".csv"
    JSONL = ".jsonl"
    PARQUET = ".parquet"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A stream with its file, or with standard input or output (path ``-``, always JSON lines)."""

    stream: str
    path: str
    format: Format
    compression: str | None = None

    @property
    def is_standard(self) -> bool:
        """Whether this is standard input or output."""
        return self.path == STANDARD


def read_inputs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[Endpoint]:
    """Parse ``--input`` (Click callback); .csv and .jsonl may be compressed."""
    return [_endpoint(value, compressions=_COMPRESSIONS) for value in values]


def read_outputs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[Endpoint]:
    """Parse ``--output`` (Click callback)."""
    return [_endpoint(value, compressions={}) for value in values]


def read_output_file(_: click.Context, __: click.Parameter, value: str) -> Endpoint:
    """Parse an ``--output`` without stream (Click callback)."""
    return _file("", value, compressions={})


def _endpoint(value: str, *, compressions: dict[str, str]) -> Endpoint:
    stream, separator, path = value.partition("=")
    if not (stream and separator and path):
        raise click.BadParameter(f"invalid value '{value}': expected Stream=file, for example Trades=trades.csv")
    return _file(stream, path, compressions=compressions)


def _file(stream: str, path: str, *, compressions: dict[str, str]) -> Endpoint:
    if path == STANDARD:
        return Endpoint(stream, path, Format.JSONL)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compression = compressions.get(suffixes[-1]) if suffixes else None
    if compression:
        suffixes.pop()
    for form in Format:
        # Parquet compresses its own pages and is read from its end, which a compressed file does not allow.
        if suffixes[-1:] == [form.value] and not (form is Format.PARQUET and compression):
            return Endpoint(stream, path, form, compression)
    known = ", ".join(form.value for form in Format)
    also = f" (the first two optionally with {', '.join(compressions)})" if compressions else ""
    raise click.BadParameter(f"unknown file format of '{path}': expected a name ending in {known}{also}, or '-'")
