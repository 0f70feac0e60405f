"""Small files of a checkpoint on any file system, through Hadoop's API."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark.failures import message_of
from siddhi.spark.file_systems import reaching

__all__ = [
    "copy",
    "delete",
    "exists",
    "is_file",
    "is_reachable",
    "is_same_folder",
    "make_folder",
    "names",
    "qualified",
    "read_text",
    "rename",
    "sizes",
    "text_of",
    "touch",
    "uri",
    "write_new",
    "write_text",
]

_SWAPPING = threading.Lock()
"""Guards the replacement of small files: idle watch, sinks and users have a thread each."""


def _path(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path.

    Raises:
        SparkSetupError: Spark lacks the file system.
    """
    path = _class(spark, "org.apache.hadoop.fs.Path")(name)
    with reaching(spark, name):
        return path.getFileSystem(spark._jsc.hadoopConfiguration()), path


def is_reachable(spark: SparkSession) -> bool:
    """Return whether this process can reach files: not over Spark Connect."""
    return "connect" not in type(spark).__module__.split(".")


def qualified(spark: SparkSession, name: str) -> str:
    """Return a path with its file system, by default that of the session."""
    if not is_reachable(spark):
        return name
    system, path = _path(spark, name)
    return str(system.makeQualified(path).toString())


def uri(spark: SparkSession, name: str) -> str:
    """Return a path as Spark's readers show it: with its file system, and with escapes."""
    if not is_reachable(spark):
        return name
    system, path = _path(spark, name)
    return str(system.makeQualified(path).toUri().toString())


def is_file(spark: SparkSession, name: str) -> bool:
    """Return whether a file exists at a path."""
    system, path = _path(spark, name)
    return bool(system.exists(path) and system.getFileStatus(path).isFile())


def _class(spark: SparkSession, name: str) -> Any:
    """Return a Java class; py4j would search all jars for each part of a dotted name."""
    return getattr(spark._jvm, name)


def exists(spark: SparkSession, name: str) -> bool:
    """Return whether a file or folder exists."""
    system, path = _path(spark, name)
    return bool(system.exists(path))


def is_same_folder(spark: SparkSession, one: str, other: str) -> bool:
    """Return whether two paths name one folder; local paths are compared through links and by the case rules of the disk."""
    paths = [qualified(spark, name) for name in (one, other)]
    if paths[0] == paths[1]:
        return True
    if not all(path.startswith("file:/") for path in paths):
        return False
    try:
        here, there = (Path(path.removeprefix("file:")) for path in paths)
        return here.samefile(there)
    except OSError:  # one no longer exists
        return False


def copy(spark: SparkSession, source: str, target: str) -> None:
    """Copy a folder to a path that does not exist."""
    system, path = _path(spark, source)
    goal_system, goal = _path(spark, target)
    conf = spark._jsc.hadoopConfiguration()
    _class(spark, "org.apache.hadoop.fs.FileUtil").copy(system, path, goal_system, goal, False, conf)


def delete(spark: SparkSession, name: str) -> None:
    """Delete a file or folder, if it exists."""
    system, path = _path(spark, name)
    system.delete(path, True)


def make_folder(spark: SparkSession, name: str) -> None:
    """Make a folder and its parents, if missing.

    Raises:
        SparkRunError: it can't be made, for example because a file has its name.
    """
    system, path = _path(spark, name)
    try:
        made = system.mkdirs(path)
    except Py4JJavaError as error:
        raise SparkRunError(f"folder {name} can't be made: {message_of(error)}") from error
    if not made:
        raise SparkRunError(
            f"folder {name} can't be made: check that no file has this name and that this process may write there"
        )


def names(spark: SparkSession, folder: str) -> list[str]:
    """Return the names in a folder; none if it does not exist."""
    system, path = _path(spark, folder)
    if not system.exists(path):
        return []
    return [status.getPath().getName() for status in system.listStatus(path)]


def sizes(spark: SparkSession, folder: str) -> dict[str, int]:
    """Return the sizes of the files in a folder by name; none if it does not exist."""
    system, path = _path(spark, folder)
    if not system.exists(path):
        return {}
    return {status.getPath().getName(): int(status.getLen()) for status in system.listStatus(path)}


def read_text(spark: SparkSession, name: str) -> str:
    """Return the text of a small file."""
    system, path = _path(spark, name)
    stream = system.open(path)
    try:
        return bytes(_class(spark, "org.apache.commons.io.IOUtils").toByteArray(stream)).decode()
    finally:
        stream.close()


def text_of(spark: SparkSession, name: str) -> str | None:
    """Return the text that :func:`write_text` wrote last, even if a kill interrupted the next write; None: there is none.

    Another process may be writing right now, so a missing file is looked up again.
    """
    for candidate in (name, f"{name}.old", name):
        if exists(spark, candidate):
            try:
                return read_text(spark, candidate)
            except Py4JJavaError as error:
                if "FileNotFoundException" not in str(error.java_exception.toString()):
                    raise
    return None


def touch(spark: SparkSession, name: str) -> None:
    """Make an empty file, whose name is its content."""
    system, path = _path(spark, name)
    system.create(path, True).close()


def write_text(spark: SparkSession, name: str, text: str) -> None:
    """Write a small file atomically, one thread at a time.

    No file system guarantees a rename over an existing file, so the old file is moved aside until it has been replaced.

    Raises:
        SparkRunError: the file system does not rename.
    """
    (system, path), (_, fresh), (_, old) = (_path(spark, f"{name}{end}") for end in ("", ".new", ".old"))
    with _SWAPPING:
        stream = system.create(fresh, True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        if system.exists(path):
            system.delete(old, False)
            _rename(system, path, old)
        _rename(system, fresh, path)
        system.delete(old, False)


def write_new(spark: SparkSession, folder: str, name: str, data: bytes) -> None:
    """Add a small file to a folder; Spark's readers see it whole or not at all.

    Raises:
        SparkRunError: the file system does not rename.
    """
    (system, fresh), (_, path) = (_path(spark, f"{folder}/{each}") for each in (f"_{name}", name))
    stream = system.create(fresh, True)
    try:
        stream.write(bytearray(data))
    finally:
        stream.close()
    _rename(system, fresh, path)


def rename(spark: SparkSession, source: str, target: str) -> None:
    """Rename a folder. Object stores copy file by file: a kill leaves some files in each folder.

    Raises:
        SparkRunError: the file system does not rename.
    """
    system, path = _path(spark, source)
    _, goal = _path(spark, target)
    _rename(system, path, goal)


def _rename(system: Any, source: Any, target: Any) -> None:
    if not system.rename(source, target):  # how Hadoop reports failure
        raise SparkRunError(
            f"{source} can't be renamed to {target}: the file system gives no reason; check that this process may write there"
        )
