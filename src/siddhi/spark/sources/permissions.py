"""Check the sources and sinks of an app against its sandbox policy, before Spark opens one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from siddhi.errors import SiddhiAppError
from siddhi.extension.local_files import local_path
from siddhi.planner.bind.locations import Place, is_allowed, is_file_allowed
from siddhi.planner.bind.permissions import refused
from siddhi.query_api.app import SiddhiApp
from siddhi.sandbox import ANY, SandboxPolicy
from siddhi.spark.sources.annotations import Connector
from siddhi.spark.sources.options import reaches_outside

__all__ = ["refuse_connectors"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_PATTERN = re.compile(r"[*?\[]")
_REMOTE = frozenset("abfs abfss ftp gs hdfs http https oss s3 s3a s3n swebhdfs wasb wasbs webhdfs".split())
"""File systems that reach no files of the machines that run Spark."""


def refuse_connectors(
    policy: SandboxPolicy, served: Iterable[Connector], foreign: Iterable[Connector], app: SiddhiApp
) -> None:
    """Reject sources and sinks that the policy does not allow.

    Args:
        policy: the policy of the app.
        served: those that Spark opens.
        foreign: those of other types; a binding or a sink of the host takes their place, so only their type is checked.
        app: the app.

    Raises:
        SiddhiAppCreationError: E340, with the location in the text.
    """
    if policy == SandboxPolicy.trusted():
        return
    try:
        for connector in (*served, *foreign):
            _require_type(policy, connector)
        for connector in served:
            _require_options(policy, connector)
            if connector.type == "file":
                _require_file(policy, connector)
            elif connector.type == "kafka":
                _require_kafka(policy, connector)
    except SiddhiAppError as error:
        error.located(source=app.source, app=app.name)
        raise


def _require_type(policy: SandboxPolicy, connector: Connector) -> None:
    if _prefixes(policy, connector) is None:
        what = f"{connector.direction} '{connector.type}'"
        raise refused(what, connector.span, f"{connector.direction}s={{'{connector.type}': ('*',)}}")


def _require_options(policy: SandboxPolicy, connector: Connector) -> None:
    """Reject options that name files, servers or classes, and those that delete or move the files of a source."""
    if ANY in (_prefixes(policy, connector) or ()) and ANY in policy.folders:
        return
    for name in connector.extra():
        if reaches_outside(name):
            what = f"option '{name}' of {connector.what}"
            allowing = f"{connector.direction}s={{'{connector.type}': ('*',)}}, folders=('*',)"
            raise refused(what, connector.span, allowing)


def _require_file(policy: SandboxPolicy, connector: Connector) -> None:
    uri, folders = connector.options["file.uri"], tuple(map(str, policy.folders))
    what = f"'file.uri' of {connector.what}"
    scheme = _SCHEME.match(uri)
    if scheme is not None and scheme[1].lower() != "file":
        if scheme[1].lower() not in _REMOTE and ANY not in folders:
            raise refused(f"the file system '{scheme[1]}' in {what}", connector.span, "folders=('*',)")
        if not is_allowed(Place.URL, uri, _prefixes(policy, connector) or (), is_whole=True):
            # The hint does not show the location: it may contain a password.
            allowing = f"{connector.direction}s={{'{connector.type}': ('<prefix>',)}}"
            raise refused(f"the location in {what}", connector.span, allowing)
    elif ANY not in folders and not _is_inside(uri, folders):
        hint = (
            "the host can allow it with SandboxPolicy(folders=('<folder>',)); write an absolute path without { } \\ %"
        )
        raise refused(f"the file in {what}", connector.span, None, hint)


def _is_inside(uri: str, folders: tuple[str, ...]) -> bool:
    """Return whether a path, or every file that a pattern finds, is in one of the folders."""
    path = local_path(uri)
    # Hadoop expands braces and removes escapes after this check; both can make '..'.
    if path is None or not path.startswith("/") or set(path) & set("{}\\%"):
        return False
    names = path.split("/")
    fixed = next((n for n, name in enumerate(names) if _PATTERN.search(name)), len(names))
    if ".." in names[fixed:]:
        return False
    return is_file_allowed(Place.FILE, "/".join(names[:fixed]) or "/", folders, is_whole=True)


def _require_kafka(policy: SandboxPolicy, connector: Connector) -> None:
    prefixes = _prefixes(policy, connector) or ()
    if ANY in prefixes:
        return
    allowing = f"{connector.direction}s={{'kafka': ('<server>:<port>', '<topic>')}}"
    for server in connector.options["bootstrap.servers"].split(","):
        if server.strip() not in prefixes:
            raise refused(f"a server in 'bootstrap.servers' of {connector.what}", connector.span, allowing)
    for topic in connector.options["topic"].split(","):
        if not topic.strip().startswith(prefixes):
            raise refused(f"a topic in 'topic' of {connector.what}", connector.span, allowing)


def _prefixes(policy: SandboxPolicy, connector: Connector) -> tuple[str, ...] | None:
    """Return the prefixes allowed for the type of a connector; None: the type is not allowed."""
    types: Mapping[str, Iterable[str]] = policy.sources if connector.direction == "source" else policy.sinks
    found = next((types[name] for name in (connector.type, ANY) if name in types), None)
    return None if found is None else tuple(found)
