"""A schema registry with the REST interface of Confluent's, on a free port of the loopback interface."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Registry", "schema_registry"]


class Registry:
    """Answers by path, and the requests so far: path and ``Authorization``."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, str | None]] = []

    def add(self, id_: int, schema: Any, **more: Any) -> None:
        """Register a schema."""
        self.answers[f"/schemas/ids/{id_}"] = {"schema": json.dumps(schema), **more}


@contextmanager
def schema_registry() -> Iterator[Registry]:
    """Run a registry."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.requests.append((self.path, self.headers.get("Authorization")))
            found = registry.answers.get(self.path)
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
