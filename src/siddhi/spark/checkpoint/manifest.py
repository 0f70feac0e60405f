"""The manifest of a checkpoint: the app and the options it belongs to, compared at every start."""

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
from siddhi.spark.checkpoint.schema_changes import rows_at_risk
from siddhi.spark.checkpoint.stored import has_buffered_rows
from siddhi.spark.plan.state_keys import EVEN, NUMBERS, StateKeys
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

_FORMAT = 3
_READ_FORMATS = (2, _FORMAT)
"""Format 2 has no ``keys``: they are the numbers of the shards."""
_CLOSING = "closing: flush"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that the state of a checkpoint depends on.

    Attributes:
        app: name of the app, or "".
        key_ranges: of its engine fragments, including retired ones.
        sources: streams that are read, in Spark's order of sources.
        bindings: time column, watermark and sequence by stream.
        shards: number of shards of a fragment.
        partitions: number of tasks of the stateful operator.
        late: policy for late rows.
        first_batch: number that sinks get for Spark's batch 0.
        id: id of the checkpoint, by which sinks know it; "": it has not been started.
        parents: ids of the checkpoints it was migrated from.
        path: qualified path of its folder.
        keys: kind of the state keys, see :class:`StateKeys`.
    """

    app: str
    key_ranges: Sequence[KeyRange]
    sources: list[str]
    bindings: dict[str, list[str]]
    shards: int
    partitions: int
    late: str
    path: str
    first_batch: int = 0
    id: str = ""
    parents: list[str] = field(default_factory=list)
    keys: str = EVEN
    layout: int = LAYOUT_VERSION
    format: int = _FORMAT
    engine: str = __version__
    spark: str = ""

    @property
    def state_keys(self) -> StateKeys:
        """State keys of the shards."""
        return StateKeys(self.keys, self.shards)

    def to_json(self) -> str:
        """Return the manifest as JSON text."""
        data = asdict(self)
        del data["key_ranges"]
        return json.dumps({**data, "slots": [each.to_json() for each in self.key_ranges]}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, checkpoint: str) -> Manifest:
        """Return the manifest that :meth:`to_json` gave.

        Raises:
            SparkRunError: another version of siddhi wrote it, in a format that this one does not read.
        """
        data: dict[str, Any] = json.loads(text)
        if (
            data.get("format") not in _READ_FORMATS
            or data.get("keys", NUMBERS) not in (EVEN, NUMBERS)
            or data.get("layout") != LAYOUT_VERSION
        ):
            raise SparkRunError(
                f"checkpoint {checkpoint} has a format that siddhi {__version__} does not read (format {data.get('format')}, layout "
                f"{data.get('layout')}; written by siddhi {data.get('engine')}): continue with that version, or start a new "
                "checkpoint from the beginning of the input"
            )
        data = {"keys": NUMBERS, **data, "format": _FORMAT}
        return cls(key_ranges=[KeyRange.from_json(each) for each in data.pop("slots")], **data)


_MUST_AGREE = {
    "sources": "the streams read are",
    "bindings": "the bindings (time, watermark, sequence) are",
    "shards": "shards is",
    "partitions": "tasks is",
    "late": "late is",
}


def read_manifest(spark: SparkSession, checkpoint: str) -> Manifest | None:
    """Return the manifest of a checkpoint; None: the checkpoint is new.

    Raises:
        SparkRunError: the checkpoint is not one of siddhi, was written by another version, or was moved or copied.
    """
    text = files.text_of(spark, _name(checkpoint))
    if text is not None:
        found = Manifest.from_json(text, checkpoint)
        if not files.is_same_folder(spark, checkpoint, found.path):
            raise SparkRunError(
                f"checkpoint {checkpoint} was moved or copied from {found.path} (Spark stores absolute paths in a checkpoint): "
                "continue there, or start a new checkpoint from the beginning of the input"
            )
        return found
    if files.exists(spark, f"{checkpoint}/offsets"):
        raise SparkRunError(f"checkpoint {checkpoint} was not written by siddhi: use another folder")
    return None


def updated_manifest(
    checkpoint: str, before: Manifest | None, now: Manifest, *, evolve: bool
) -> tuple[Manifest, list[int]]:
    """Return the manifest of a checkpoint for the app that runs now; write nothing.

    Args:
        before: manifest of the checkpoint; None: the checkpoint is new.
        now: what runs now, its fragments as new key ranges.
        evolve: whether elements that hold state may be added and removed.

    Returns:
        The manifest, and the index of the key range of each fragment.

    Raises:
        SparkRunError: the state does not fit, or fits with ``evolve`` only; the message lists the differences.
    """
    now = replace(now, spark=".".join(map(str, spark_version())))
    if before is None:
        return replace(now, id=new_id()), list(range(len(now.key_ranges)))
    require_own(before, now.app, checkpoint)
    differences = [
        f"{text} {_short(getattr(now, key))}, and was {_short(getattr(before, key))}"
        for key, text in _MUST_AGREE.items()
        if getattr(before, key) != getattr(now, key)
    ]
    if bool(before.key_ranges) != bool(now.key_ranges):
        change = "holds state now, and held none" if now.key_ranges else "holds no state now, and held some"
        differences.append(f"the app {change}, and a Spark stream can't change that")
    found = assign_key_ranges(before.key_ranges, now.key_ranges)
    other_form = f"checkpoint {checkpoint} was written for another form of {_title(now.app)}"
    if differences or found.refused:
        raise SparkRunError(
            f"{other_form}: {'; '.join(differences + found.refused)}. Start with the old app and options, or start a new "
            f"checkpoint from the beginning of the input{_migration_hint(before, now)}"
        )
    if found.changed and not evolve:
        raise SparkRunError(f"{other_form}: {'; '.join(found.changed)}. {_evolve_hint(before, found)}")
    made = replace(now, key_ranges=found.key_ranges, first_batch=before.first_batch, keys=before.keys)
    return replace(made, id=before.id, parents=before.parents, path=before.path), found.indexes


def refuse_lost_rows(spark: SparkSession, checkpoint: str, before: Manifest, now: Manifest) -> None:
    """Check that no stateless fragment that was removed has buffered rows.

    Raises:
        SparkRunError: one has.
    """
    both = zip(before.key_ranges, now.key_ranges[: len(before.key_ranges)], strict=True)
    gone = [was for was, each in both if each.retired and not was.retired and not was.stateful]
    lost = [
        key_range for key_range in gone if has_buffered_rows(spark, checkpoint, key_range.numbers, before.state_keys)
    ]
    if lost:
        names = ", ".join(f"'{name}'" for key_range in lost for name in key_range.names)
        raise SparkRunError(
            f"checkpoint {checkpoint} has buffered rows for {names}, and no sink takes their output any more: start with the app and "
            "the sinks as they were, or discard the rows with evolve=True"
        )


def refuse_moved_rows(
    spark: SparkSession, checkpoint: str, before: Manifest, fragments: Sequence[KeyRange], indexes: Sequence[int]
) -> None:
    """Check that no rows are buffered for queries that run on other shards now.

    Args:
        fragments: the fragments that run now, as new key ranges.
        indexes: index of the key range of each fragment.

    Raises:
        SparkRunError: some are.
    """
    for key_range, clause in rows_at_risk(before.key_ranges, fragments, indexes):
        if has_buffered_rows(spark, checkpoint, key_range.numbers, before.state_keys):
            raise SparkRunError(
                f"checkpoint {checkpoint} has buffered rows that would be processed twice or not at all: {clause}. Start with the "
                "app and options as they were, or finish the stream with them (end_of_input='hold') and start with reopen=True"
            )


def new_id() -> str:
    """Return an id for a checkpoint."""
    return uuid.uuid4().hex


def require_own(before: Manifest, app: str, checkpoint: str) -> None:
    """Check that a checkpoint belongs to the app of this name ("": an app without name).

    Raises:
        SparkRunError: it belongs to another app.
    """
    if before.app != app:
        raise SparkRunError(
            f"checkpoint {checkpoint} belongs to {_title(before.app)}, and this is {_title(app)}: use a folder per app; to rename "
            "an app, start a new checkpoint"
        )


def _title(app: str) -> str:
    return f"app '{app}'" if app else "an app without name"


def _evolve_hint(before: Manifest, found: RangeAssignment) -> str:
    now = {(each.first, name) for each in found.key_ranges if not each.retired for name in each.stateful}
    kept = ((each.first, name) for each in before.key_ranges if not each.retired for name in each.stateful)
    if any(name in now for name in kept):
        return "The rest of the state fits: start with evolve=True to accept this"
    return "None of the state fits: start a new checkpoint, or discard the state with evolve=True"


def _migration_hint(before: Manifest, now: Manifest) -> str:
    other = before.shards != now.shards or before.partitions != now.partitions
    return ", or migrate the checkpoint with migrate()" if other else ""


def write_manifest(spark: SparkSession, checkpoint: str, manifest: Manifest) -> None:
    """Write the manifest of a checkpoint."""
    files.write_text(spark, _name(checkpoint), manifest.to_json())


def forget_manifest(spark: SparkSession, checkpoint: str) -> None:
    """Delete the manifest of a checkpoint whose query never ran."""
    files.delete(spark, _name(checkpoint))


def _name(checkpoint: str) -> str:
    return f"{checkpoint}/siddhi/manifest.json"


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {' '.join(map(str, names))}" for key, names in sorted(value.items()))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def mark_closed(spark: SparkSession, checkpoint: str, how: str) -> None:
    """Record that the stream has ended, with 'hold' or 'flush'."""
    files.write_text(spark, _closed(checkpoint), how)


def mark_closing(spark: SparkSession, checkpoint: str) -> None:
    """Record that a flush has begun: from here on the stream can only be finished."""
    files.write_text(spark, _closed(checkpoint), _CLOSING)


def require_open(spark: SparkSession, checkpoint: str, *, reopen: bool = False, closing: bool = False) -> bool:
    """Check that a stream may continue; return whether it has to be reopened.

    Args:
        reopen: whether a stream that ended with 'hold' may continue.
        closing: whether the start is part of a flush, which is all that may follow an unfinished one.

    Raises:
        SparkRunError: it may not.
    """
    how = files.text_of(spark, _closed(checkpoint))
    if how is None:
        return False
    if how == _CLOSING:
        if closing:
            return False
        raise SparkRunError(
            f"checkpoint {checkpoint} is being closed: a finish with end_of_input='flush' failed after it had moved time to its "
            "end; call finish again"
        )
    continues = how == "hold"
    if not reopen or not continues:
        hint = "start with reopen=True to continue it" if continues else "a stream that was flushed can't continue"
        raise SparkRunError(f"checkpoint {checkpoint} is closed: its stream was finished; {hint}")
    return True


def open_again(spark: SparkSession, checkpoint: str) -> None:
    """Delete the record that the stream has ended."""
    files.delete(spark, _closed(checkpoint))


def _closed(checkpoint: str) -> str:
    return f"{checkpoint}/siddhi/closed"
