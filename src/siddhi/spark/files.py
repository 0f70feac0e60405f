"""Small files beside a checkpoint, on whatever file system it lies: through Hadoop's, which Spark uses for the rest."""

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
    "write_new",
    "write_text",
]

_SWAPPING = threading.Lock()
"""Held by who replaces a small file: the watch of idle streams, sinks and users each have a thread."""


def _path(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """The file system of a path, and the path.

    Raises:
        SparkSetupError: Spark lacks it.
    """
    path = _class(spark, "org.apache.hadoop.fs.Path")(name)
    with reaching(spark, name):
        return path.getFileSystem(spark._jsc.hadoopConfiguration()), path


def is_reachable(spark: SparkSession) -> bool:
    """Whether files are reached from here: not over Spark Connect."""
    return "connect" not in type(spark).__module__.split(".")


def qualified(spark: SparkSession, name: str) -> str:
    """A path with its file system, which is the session's where it names none."""
    if not is_reachable(spark):
        return name
    system, path = _path(spark, name)
    return str(system.makeQualified(path).toString())


def is_file(spark: SparkSession, name: str) -> bool:
    """Whether there is such a file, and no folder."""
    system, path = _path(spark, name)
    return bool(system.exists(path) and system.getFileStatus(path).isFile())


def _class(spark: SparkSession, name: str) -> Any:
    """A class of Java; asked for part by part, each part is looked for in all jars, and each in vain but the last."""
    return getattr(spark._jvm, name)


def exists(spark: SparkSession, name: str) -> bool:
    """Whether there is such a file or folder."""
    system, path = _path(spark, name)
    return bool(system.exists(path))


def is_same_folder(spark: SparkSession, one: str, other: str) -> bool:
    """Whether two paths are of one folder; of local ones, also by links, or where the file system does not tell case."""
    paths = [qualified(spark, name) for name in (one, other)]
    if paths[0] == paths[1]:
        return True
    if not all(path.startswith("file:/") for path in paths):
        return False
    try:
        here, there = (Path(path.removeprefix("file:")) for path in paths)
        return here.samefile(there)
    except OSError:  # one is not there any more
        return False


def copy(spark: SparkSession, source: str, target: str) -> None:
    """Copy a folder with all that is in it; the target is not there."""
    system, path = _path(spark, source)
    goal_system, goal = _path(spark, target)
    conf = spark._jsc.hadoopConfiguration()
    _class(spark, "org.apache.hadoop.fs.FileUtil").copy(system, path, goal_system, goal, False, conf)


def delete(spark: SparkSession, name: str) -> None:
    """Delete a file or folder; nothing where it is not there."""
    system, path = _path(spark, name)
    system.delete(path, True)


def make_folder(spark: SparkSession, name: str) -> None:
    """A folder and those above it; nothing where it is there.

    Raises:
        SparkRunError: it can't be made, as where there is a file.
    """
    system, path = _path(spark, name)
    try:
        made = system.mkdirs(path)
    except Py4JJavaError as error:
        raise SparkRunError(f"folder {name} can't be made: {message_of(error)}") from error
    if not made:
        raise SparkRunError(
            f"folder {name} can't be made: is there a file of that name, and may this process write there?"
        )


def names(spark: SparkSession, folder: str) -> list[str]:
    """What is in a folder; nothing where it is not there."""
    system, path = _path(spark, folder)
    if not system.exists(path):
        return []
    return [status.getPath().getName() for status in system.listStatus(path)]


def sizes(spark: SparkSession, folder: str) -> dict[str, int]:
    """What is in a folder, with the bytes of each file; nothing where it is not there."""
    system, path = _path(spark, folder)
    if not system.exists(path):
        return {}
    return {status.getPath().getName(): int(status.getLen()) for status in system.listStatus(path)}


def read_text(spark: SparkSession, name: str) -> str:
    """The text of a small file."""
    system, path = _path(spark, name)
    stream = system.open(path)
    try:
        return bytes(_class(spark, "org.apache.commons.io.IOUtils").toByteArray(stream)).decode()
    finally:
        stream.close()


def text_of(spark: SparkSession, name: str) -> str | None:
    """The text that :func:`write_text` wrote last, also where it was killed on the way to the next; None: there is none.

    Another process may be on that way just now, so the file may be back where it was looked for in vain.
    """
    for place in (name, f"{name}.old", name):
        if exists(spark, place):
            try:
                return read_text(spark, place)
            except Py4JJavaError as error:
                if "FileNotFoundException" not in str(error.java_exception.toString()):
                    raise
    return None


def touch(spark: SparkSession, name: str) -> None:
    """An empty file, which tells by its name."""
    system, path = _path(spark, name)
    system.create(path, True).close()


def write_text(spark: SparkSession, name: str, text: str) -> None:
    """Write a small file whole or not at all, one thread after the other.

    No file system promises to rename over what is there, so what was there stands aside until it has been replaced.

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
    """A small file that is new to its folder, whole or not at all to who reads the folder with Spark.

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
    """Rename a folder. Object stores copy its files one by one: who is killed leaves some of them there, and some here.

    Raises:
        SparkRunError: the file system does not rename.
    """
    system, path = _path(spark, source)
    _, goal = _path(spark, target)
    _rename(system, path, goal)


def _rename(system: Any, source: Any, target: Any) -> None:
    if not system.rename(source, target):  # Hadoop's way to fail
        raise SparkRunError(
            f"{source} can't be renamed to {target}: the file system gives no reason; may this process write there?"
        )
