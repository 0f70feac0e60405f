"""Places outside that options of connectors name, against the prefixes and folders of a policy."""

from __future__ import annotations

import os
import re
from enum import Enum

from siddhi.sandbox import ANY

__all__ = ["Place", "is_allowed", "is_file_allowed"]


class Place(Enum):
    """What kind of place the value of an option is."""

    URL = "url"  # with a scheme, or a host and port
    NAME = "name"  # such as a topic: what begins alike is alike
    FILE = "file"


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WEB = frozenset({"http", "https", "ws", "wss"})
# Behind a prefix stands nothing that a reader of URLs could take for another host ('@' of a password) or for an escape.
_PATH = r"[A-Za-z0-9._~/+=,:;!$'()*-]*"
_REST = re.compile(rf"{_PATH}\Z")
_WEB_REST = re.compile(rf"{_PATH}(\?[A-Za-z0-9._~/+=,:;!$'()*%&?-]*)?\Z")
# What is not a host without a scheme is a file.
_HOST = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:[0-9]+)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")
_FILES = ("file", "local", "local_file")
_DATABASES = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql")
_IN_MEMORY = ("", "/", "/:memory:")


def is_allowed(kind: Place, value: str, prefixes: tuple[str, ...], *, is_whole: bool) -> bool:
    """Whether a place lies below one of the prefixes; a file needs none, its folder decides.

    Args:
        kind: of place.
        value: as written; of a template the text in front of its first attribute.
        prefixes: of the policy.
        is_whole: whether nothing follows the value. A name alone may go on with what events bring.
    """
    if ANY in prefixes or kind is Place.FILE:
        return True
    if kind is Place.NAME:
        return value.startswith(prefixes)
    return is_whole and any(value == prefix or _is_below(value, prefix) for prefix in prefixes)


def is_file_allowed(kind: Place, value: str, folders: tuple[str, ...], *, is_whole: bool) -> bool:
    """Whether a place is not a file, or one in the folders once symbolic links are followed; arguments as :func:`is_allowed`.

    Relative paths begin in the working directory.
    """
    if ANY in folders or kind is Place.NAME:
        return True
    path = value
    if kind is Place.URL:
        scheme = _SCHEME.match(value)
        if scheme is None:
            return is_whole and (_HOSTS.fullmatch(value) is not None or _is_path_inside(value, folders))
        name, rest = scheme[1].lower().partition("+")[0], value[scheme.end() :]
        if name == "sqlite" and rest in _IN_MEMORY and is_whole:
            return True
        # Without a host it is on this machine: sqlite:///trades.db, postgresql:///trades, file:///data/trades.csv.
        if name not in ("sqlite", *_FILES) and not rest.startswith("/") and rest:
            return True
        # Behind the third slash SQLAlchemy begins a relative path; what others take it for is an absolute one.
        path = rest[1:] if name in _DATABASES else rest
        if not rest.startswith("/") or re.search(r"[?%#\\]|^file:", path):
            return False
    return is_whole and _is_path_inside(path, folders, of_url=kind is Place.URL)


def _is_path_inside(path: str, folders: tuple[str, ...], *, of_url: bool = True) -> bool:
    if not path or "\0" in path or (of_url and ":" in os.path.splitdrive(path)[1]):
        return False
    real = os.path.realpath(path)
    return any(_is_inside(real, os.path.realpath(folder)) for folder in folders)


def _is_below(url: str, prefix: str) -> bool:
    scheme = _SCHEME.match(prefix)
    if scheme is None or not url.startswith(prefix):
        return False
    is_web = scheme[1].lower() in _WEB
    rest = url[len(prefix) :]
    if not prefix.endswith("/") and not rest.startswith(("/", "?") if is_web and "?" not in prefix else "/"):
        return False
    if (_WEB_REST if is_web else _REST).match(rest) is None:
        return False
    # Some servers cut the parameters of a segment off ("..;x") before they resolve it.
    return not any(segment.partition(";")[0] in (".", "..") for segment in rest.partition("?")[0].split("/"))


def _is_inside(path: str, folder: str) -> bool:
    same_drive = os.path.splitdrive(path)[0] == os.path.splitdrive(folder)[0]
    return same_drive and os.path.commonpath((path, folder)) == folder
