"""What a checkpoint was written for: kept beside it, compared at every start."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from siddhi._version import __version__
from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark._compat import spark_version
from siddhi.spark.program import IslandProgram
from siddhi.spark.stateful import LAYOUT_VERSION

__all__ = ["Manifest", "check_manifest", "closed", "manifest_of", "mark_closed", "partitions_of"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that state depends on.

    Attributes:
        islands: fingerprints.
        keys: per island, per stream, the text of its key.
        bindings: per stream, what its rows are like: time column, watermark, sequence.
        partitions: of the stateful operator.
    """

    app: str
    islands: list[str]
    keys: list[dict[str, list[str] | None]]
    outputs: list[list[str]]
    bindings: dict[str, list[str]]
    shards: int
    partitions: int
    late: str
    layout: int = LAYOUT_VERSION
    format: int = _FORMAT
    engine: str = __version__
    spark: str = ""

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self), indent=1, sort_keys=True)


_MUST_AGREE = ("islands", "keys", "outputs", "bindings", "shards", "partitions", "layout", "format")


def manifest_of(
    app: str,
    programs: tuple[IslandProgram, ...],
    keys: list[dict[str, list[str] | None]],
    bindings: dict[str, list[str]],
    shards: int,
    partitions: int,
    late: str,
) -> Manifest:
    """The manifest of a stream."""
    return Manifest(
        app,
        [program.fingerprint for program in programs],
        keys,
        [[output.stream for output in program.outputs] for program in programs],
        bindings,
        shards,
        partitions,
        late,
        spark=".".join(map(str, spark_version())),
    )


def check_manifest(spark: SparkSession, checkpoint: str, manifest: Manifest) -> None:
    """Write the manifest of a new checkpoint, or compare it with that of an old one.

    Raises:
        SparkRunError: the checkpoint is of something else; the message lists what differs.
    """
    name = f"{checkpoint}/siddhi/manifest.json"
    if not files.exists(spark, name):
        if files.exists(spark, f"{checkpoint}/offsets"):
            raise SparkRunError(f"checkpoint {checkpoint} was not written by siddhi: give a folder of its own")
        files.write_text(spark, name, manifest.to_json())
        return
    before = json.loads(files.read_text(spark, name))
    now = json.loads(manifest.to_json())
    differ = [key for key in _MUST_AGREE if before.get(key) != now.get(key)]
    if differ:
        told = "; ".join(f"{key} {_short(before.get(key))}, now {_short(now.get(key))}" for key in differ)
        raise SparkRunError(
            f"checkpoint {checkpoint} was written for another form of app '{manifest.app}': {told}. Start with the old "
            "app and options, or with a new checkpoint and the rows from the beginning"
        )


def partitions_of(spark: SparkSession, checkpoint: str) -> int | None:
    """Of the stateful operator, as at the first start; None for a new checkpoint."""
    name = f"{checkpoint}/siddhi/manifest.json"
    if not files.exists(spark, name):
        return None
    return int(json.loads(files.read_text(spark, name))["partitions"])


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def mark_closed(spark: SparkSession, checkpoint: str) -> None:
    """Note that the stream has ended."""
    files.write_text(spark, f"{checkpoint}/siddhi/closed", "")


def closed(spark: SparkSession, checkpoint: str) -> bool:
    """Whether the stream has ended."""
    return files.exists(spark, f"{checkpoint}/siddhi/closed")
