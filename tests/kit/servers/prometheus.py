"""The other ends of Prometheus for tests: a target that is scraped, and a gateway that takes what is pushed."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from tests.kit.waiting import wait_until

__all__ = ["CONTENT", "Gateway", "Target"]

CONTENT = """# HELP load the load
# TYPE load gauge
load{job="a",cpu="0"} 1.5
load{job="b",cpu="1"} 2.5
# HELP calls_total calls
# TYPE calls_total counter
calls_total 7
# TYPE time histogram
time_bucket{le="1.0"} 1
time_bucket{le="+Inf"} 2
time_sum 3.5
time_count 2
# TYPE size summary
size{quantile="0.5"} 4
size_sum 8
size_count 2
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # connections are broken by tests
            super().handle_error(request, client_address)


class Target:
    """Answers scrapes."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.status = 200
        self.scrapes = 0
        self.headers: dict[str, str] = {}
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                target.scrapes += 1
                target.headers = dict(self.headers)
                content = target.content.encode()
                self.send_response(target.status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/metrics"
        self.thread = Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def scraped(self) -> None:
        """Wait for two more scrapes: the second one begins when the first has been delivered."""
        before = self.scrapes
        wait_until(lambda: self.scrapes >= before + 2)


class Gateway:
    """Takes what is pushed, and answers with a status."""

    def __init__(self) -> None:
        self.pushed: list[tuple[str, str, str]] = []
        self.statuses: list[int] = []
        self.authorization: str | None = None
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status = gateway.statuses.pop(0) if gateway.statuses else 200
                if status == 200:
                    gateway.pushed.append((self.command, self.path, content))
                gateway.authorization = self.headers["Authorization"]
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_PUT  # noqa: N815 - as the handler calls it

            def log_message(self, *_: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
