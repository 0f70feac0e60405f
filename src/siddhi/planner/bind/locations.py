"""Check the locations in connector options against the prefixes and folders of a sandbox policy."""

from __future__ import annotations

import os
import re
from enum import Enum

from siddhi.extension.local_files import local_path
from siddhi.sandbox import ANY

__all__ = ["Place", "is_allowed", "is_file_allowed"]


class Place(Enum):
    """The kind of location in an option."""

    URL = "url"  # with a scheme, or a host and port
    NAME = "name"  # such as a topic: a prefix matches as text
    FILE = "file"


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WEB = frozenset({"http", "https", "ws", "wss"})
# After a prefix, no character may change the host ('@' after a password) or begin an escape sequence.
_PATH = r"[A-Za-z0-9._~/+=,:;!$'()*-]*"
_PATH_ONLY = re.compile(rf"{_PATH}\Z")
_PATH_AND_QUERY = re.compile(rf"{_PATH}(\?[A-Za-z0-9._~/+=,:;!$'()*%&?-]*)?\Z")
# A location without a scheme is a file unless it is a host.
_HOST = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:[0-9]+)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")
_FILES = ("file", "local", "local_file")
_DATABASES = ("sqlite", "postgresql", "mysql", "mariadb", "oracle", "mssql")
_IN_MEMORY = ("", "/", "/:memory:")


def is_allowed(kind: Place, value: str, prefixes: tuple[str, ...], *, is_whole: bool) -> bool:
    """Return whether a prefix allows a location; files are allowed by folder instead.

    Args:
        kind: the kind of location.
        value: the text of the option; for a template, the text before its first attribute.
        prefixes: the prefixes of the policy.
        is_whole: whether the value is complete. Only a name can continue with attribute values.
    """
    if ANY in prefixes or kind is Place.FILE:
        return True
    if kind is Place.NAME:
        return value.startswith(prefixes)
    return is_whole and any(value == prefix or _is_below(value, prefix) for prefix in prefixes)


def is_file_allowed(kind: Place, value: str, folders: tuple[str, ...], *, is_whole: bool) -> bool:
    """Return whether a location is not a file, or a file inside the folders after resolving symbolic links.

    Relative paths start in the working directory. The arguments are those of :func:`is_allowed`.
    """
    if ANY in folders or kind is Place.NAME:
        return True
    path = value
    if kind is Place.FILE:
        found = local_path(value)
        if found is None:
            return False
        path = found
    if kind is Place.URL:
        scheme = _SCHEME.match(value)
        if scheme is None:
            return is_whole and (_HOSTS.fullmatch(value) is not None or _is_path_inside(value, folders))
        name, after_scheme = scheme[1].lower().partition("+")[0], value[scheme.end() :]
        if name == "sqlite" and after_scheme in _IN_MEMORY and is_whole:
            return True
        # A URL without a host is local: sqlite:///trades.db, postgresql:///trades, file:///data/trades.csv.
        if name not in ("sqlite", *_FILES) and not after_scheme.startswith("/") and after_scheme:
            return True
        # After the third slash, SQLAlchemy expects a relative path; others include the slash in an absolute path.
        path = after_scheme[1:] if name in _DATABASES else after_scheme
        if not after_scheme.startswith("/") or re.search(r"[?%#\\]|^file:", path):
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
    suffix = url[len(prefix) :]
    if not prefix.endswith("/") and not suffix.startswith(("/", "?") if is_web and "?" not in prefix else "/"):
        return False
    if (_PATH_AND_QUERY if is_web else _PATH_ONLY).match(suffix) is None:
        return False
    # Some servers remove the parameters of a segment ("..;x") before they resolve it.
    return not any(segment.partition(";")[0] in (".", "..") for segment in suffix.partition("?")[0].split("/"))


def _is_inside(path: str, folder: str) -> bool:
    same_drive = os.path.splitdrive(path)[0] == os.path.splitdrive(folder)[0]
    return same_drive and os.path.commonpath((path, folder)) == folder
