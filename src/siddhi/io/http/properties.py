"""Transport properties of requests (``trp:``)."""

from __future__ import annotations

from collections.abc import Callable

from siddhi.io.http.messages import Request

__all__ = ["property_of"]

_OWN: dict[str, Callable[[Request], object]] = {
    "to": lambda request: request.target.decode("latin-1"),
    "http_method": lambda request: request.method,
    "remote_host": lambda request: request.client.peer,
    "messageid": lambda request: request.id,
}


def property_of(name: str) -> Callable[[Request], object]:
    """Return the function that finds a property of a request.

    It is the header of this name (any case); else ``TO`` (path and query), ``HTTP_METHOD``, ``REMOTE_HOST`` or ``messageId``;
    else, for a name ``_name``, the query parameter ``name``; else None. ``messageId`` is always the one of the request.
    """
    header = name.lower().encode()
    own = _OWN.get(name.lower())
    if own is _OWN["messageid"]:
        return own

    def find(request: Request) -> object:
        value = request.header(header)
        if value is not None:
            return value
        if own is not None:
            return own(request)
        return request.parameter(name[1:]) if name.startswith("_") else None

    return find
