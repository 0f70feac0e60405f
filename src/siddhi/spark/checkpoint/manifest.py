"""What a checkpoint was written for: kept beside it, compared at every start."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from siddhi._version import __version__
from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark._compat import spark_version
from siddhi.spark.checkpoint.evolution import RangeAssignment, assign_key_ranges
from siddhi.spark.checkpoint.key_ranges import KeyRange
from siddhi.spark.checkpoint.location import require_location
from siddhi.spark.checkpoint.schema_changes import rows_at_risk
from siddhi.spark.checkpoint.stored import has_buffered_rows
from siddhi.spark.workers.stateful import LAYOUT_VERSION

__all__ = [
    "Manifest",
    "forget_manifest",
    "mark_closed",
    "mark_closing",
    "new_id",
    "open_again",
    "read_manifest",
    "refuse_lost_rows",
    "refuse_moved_rows",
    "require_open",
    "require_own",
    "updated_manifest",
    "write_manifest",
]

_FORMAT = 2
_CLOSING = "closing: flush"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that state depends on.

    Attributes:
        app: its name, or "".
        slots: of its islands, also of those that were.
        sources: the streams that are read, in the order in which Spark knows them.
        bindings: per stream, what its rows are like: time column, watermark, sequence.
        shards: of an island.
        partitions: of the stateful operator.
        late: what happens to late rows.
        first_batch: what sinks are told of Spark's batch 0.
        id: of the checkpoint, by which sinks know it; "": it has not been begun.
        parents: the ids of those it was migrated from.
        path: of its folder, qualified; "": it was begun before that was kept.
    """

    app: str
    key_ranges: Sequence[KeyRange]
    sources: list[str]
    bindings: dict[str, list[str]]
    shards: int
    partitions: int
    late: str
    first_batch: int = 0
    id: str = ""
    parents: list[str] = field(default_factory=list)
    path: str = ""
    layout: int = LAYOUT_VERSION
    format: int = _FORMAT
    engine: str = __version__
    spark: str = ""

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, where: str) -> Manifest:
        """What :meth:`to_json` wrote.

        Raises:
            SparkRunError: another version of this package wrote it, in a form that this one does not know.
        """
        data: dict[str, Any] = json.loads(text)
        if data.get("format") != _FORMAT or data.get("layout") != LAYOUT_VERSION:
            raise SparkRunError(
                f"checkpoint {where} was written by siddhi {data.get('engine')} in a form that {__version__} does not read "
                f"(format {data.get('format')}, layout {data.get('layout')}): go on with that version, or take a new "
                "checkpoint and the rows from the beginning"
            )
        data["key_ranges"] = [KeyRange.from_json(found) for found in data.pop("slots")]
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


_MUST_AGREE = {
    "sources": "the streams read are",
    "bindings": "the bindings (time, watermark, sequence) are",
    "shards": "shards is",
    "partitions": "tasks is",
    "late": "late is",
}


def read_manifest(spark: SparkSession, checkpoint: str) -> Manifest | None:
    """The manifest of a checkpoint; None where it is new.

    Raises:
        SparkRunError: somebody else wrote the checkpoint, or another version of this package, or it was moved or copied.
    """
    text = files.text_of(spark, _name(checkpoint))
    if text is not None:
        found = Manifest.from_json(text, checkpoint)
        require_location(spark, checkpoint, found.path)
        return found
    if files.exists(spark, f"{checkpoint}/offsets"):
        raise SparkRunError(f"checkpoint {checkpoint} was not written by siddhi: give a folder of its own")
    return None


def updated_manifest(
    checkpoint: str, before: Manifest | None, now: Manifest, *, evolve: bool
) -> tuple[Manifest, list[int]]:
    """The manifest of a checkpoint as it is to be for what runs now, if its state fits that; nothing is written.

    Args:
        before: that of the checkpoint; None: it is new.
        now: what is to run, its islands in slots that are new.
        evolve: whether elements that hold state may come and go.

    Returns:
        The manifest, and by island the number of its slot.

    Raises:
        SparkRunError: it does not fit, or fits with ``evolve``; the message lists what differs.
    """
    now = replace(now, spark=".".join(map(str, spark_version())))
    if before is None:
        return replace(now, id=new_id()), list(range(len(now.key_ranges)))
    require_own(before, now.app, checkpoint)
    differ = [
        f"{told} {_short(getattr(now, key))}, and was {_short(getattr(before, key))}"
        for key, told in _MUST_AGREE.items()
        if getattr(before, key) != getattr(now, key)
    ]
    if bool(before.key_ranges) != bool(now.key_ranges):
        kept = "keeps state, and kept none" if now.key_ranges else "keeps no state, and kept some"
        differ.append(f"the app {kept}, which a stream of Spark can't change to")
    fit = assign_key_ranges(before.key_ranges, now.key_ranges)
    if differ or fit.refused:
        raise SparkRunError(
            f"checkpoint {checkpoint} was written for another form of {_called(now.app)}: {'; '.join(differ + fit.refused)}. "
            f"Start with the old app and options; or take a new checkpoint, with the rows from the beginning{_way_out(before, now)}"
        )
    if fit.changed and not evolve:
        raise SparkRunError(
            f"checkpoint {checkpoint} was written for another form of {_called(now.app)}: {'; '.join(fit.changed)}. "
            f"{_what_fits(before, fit)}"
        )
    made = replace(now, key_ranges=fit.key_ranges, first_batch=before.first_batch)
    return replace(made, id=before.id, parents=before.parents, path=before.path or now.path), fit.indexes


def refuse_lost_rows(spark: SparkSession, checkpoint: str, before: Manifest, now: Manifest) -> None:
    """See to it that no rows wait in what keeps nothing else and is gone.

    Raises:
        SparkRunError: some do.
    """
    both = zip(before.key_ranges, now.key_ranges[: len(before.key_ranges)], strict=True)
    gone = [was for was, key_range in both if key_range.retired and not was.retired and not was.stateful]
    lost = [
        key_range
        for key_range in gone
        if has_buffered_rows(spark, checkpoint, range(key_range.first, key_range.first + key_range.shards))
    ]
    if lost:
        names = ", ".join(f"'{name}'" for key_range in lost for name in key_range.names)
        raise SparkRunError(
            f"rows wait for the watermark in checkpoint {checkpoint} for {names}, and nothing takes them any more: start with the "
            "app and the sinks as they were, or with evolve=True, which leaves them behind"
        )


def refuse_moved_rows(
    spark: SparkSession, checkpoint: str, before: Manifest, fragments: Sequence[KeyRange], indexes: Sequence[int]
) -> None:
    """See to it that no rows wait for queries that stand elsewhere now.

    Args:
        islands: what is to run, in slots that are new.
        places: by island, the number of its slot in the checkpoint.

    Raises:
        SparkRunError: some do.
    """
    for key_range, clause in rows_at_risk(before.key_ranges, fragments, indexes):
        if has_buffered_rows(spark, checkpoint, range(key_range.first, key_range.first + key_range.shards)):
            raise SparkRunError(
                f"rows wait for the watermark in checkpoint {checkpoint}, and would come twice or not at all: {clause}. Start "
                "with the app and options as they were; or finish the stream with them (end_of_input='hold'), and go on with reopen=True"
            )


def new_id() -> str:
    """An id for a checkpoint."""
    return uuid.uuid4().hex


def require_own(before: Manifest, app: str, checkpoint: str) -> None:
    """See to it that a checkpoint belongs to the app of this name ("": it has none).

    Raises:
        SparkRunError: it is another app's.
    """
    if before.app != app:
        raise SparkRunError(
            f"checkpoint {checkpoint} belongs to {_called(before.app)}, and this is {_called(app)}: give each app a folder "
            "of its own; an app that has been renamed goes on under its old name"
        )


def _called(app: str) -> str:
    return f"app '{app}'" if app else "an app without name"


def _what_fits(before: Manifest, fit: RangeAssignment) -> str:
    then = [key_range for key_range in before.key_ranges if key_range.stateful and not key_range.retired]
    now = {
        (key_range.first, name) for key_range in fit.key_ranges if not key_range.retired for name in key_range.stateful
    }
    if any((key_range.first, name) in now for key_range in then for name in key_range.stateful):
        return "The rest of its state fits: start with evolve=True if that is meant"
    return "None of its state fits: take a new checkpoint; with evolve=True all of it is left behind"


def _way_out(before: Manifest, now: Manifest) -> str:
    other = before.shards != now.shards or before.partitions != now.partitions
    return " or the state that migrate() puts there" if other else ""


def write_manifest(spark: SparkSession, checkpoint: str, manifest: Manifest) -> None:
    """Write the manifest of a checkpoint."""
    files.write_text(spark, _name(checkpoint), manifest.to_json())


def forget_manifest(spark: SparkSession, checkpoint: str) -> None:
    """Take the manifest of a checkpoint away that was never begun."""
    files.delete(spark, _name(checkpoint))


def _name(checkpoint: str) -> str:
    return f"{checkpoint}/siddhi/manifest.json"


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {' '.join(map(str, held))}" for key, held in sorted(value.items()))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def mark_closed(spark: SparkSession, checkpoint: str, how: str) -> None:
    """Note that the stream has ended, with 'hold' or 'flush'."""
    files.write_text(spark, _closed(checkpoint), how)


def mark_closing(spark: SparkSession, checkpoint: str) -> None:
    """Note that time is about to go to its end: nothing but what ends the stream can go on from there."""
    files.write_text(spark, _closed(checkpoint), _CLOSING)


def require_open(spark: SparkSession, checkpoint: str, *, reopen: bool = False, closing: bool = False) -> bool:
    """See to it that a stream has not ended, or may go on; whether it is to be opened again.

    Args:
        reopen: whether it may go on where it has ended, if it can.
        closing: whether it is to end, with 'flush': the one thing to do where that has begun.

    Raises:
        SparkRunError: it has, and is not to go on, or can't.
    """
    how = files.text_of(spark, _closed(checkpoint))
    if how is None:
        return False
    if how == _CLOSING:
        if closing:
            return False
        raise SparkRunError(
            f"checkpoint {checkpoint} is being closed: a finish with end_of_input='flush' failed after time had gone to its "
            "end; call it again, nothing else can go on there"
        )
    held = how == "hold"
    if not reopen or not held:
        way = "start with reopen=True to go on" if held else "time has gone to its end there, so it can't go on"
        raise SparkRunError(f"checkpoint {checkpoint} is closed: its stream has ended; {way}")
    return True


def open_again(spark: SparkSession, checkpoint: str) -> None:
    """Forget that the stream has ended."""
    files.delete(spark, _closed(checkpoint))


def _closed(checkpoint: str) -> str:
    return f"{checkpoint}/siddhi/closed"
