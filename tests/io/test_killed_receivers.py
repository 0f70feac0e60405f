"""Sources that acknowledge nothing to a server, in a process that is killed: what their senders know of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from siddhi import SiddhiManager
from tests.kit.http import free_port
from tests.kit.killed_consumer import ROUNDS, KilledConsumer
from tests.kit.waiting import wait_until

pytest.importorskip("grpc")
pytest.importorskip("google.protobuf")

SERVICE = "org.wso2.grpc.EventService/consume"
TEXT = "@map(type = 'text', regex.A = '(.*)', @attributes(v = 'A[1]'))"
WAITS = "on.error = 'WAIT', retry.initial = '20 ms', retry.max = '100 ms'"


def test_a_killed_receiver_loses_what_is_not_confirmed(tmp_path: Path) -> None:
    """gRPC with ``confirm`` loses nothing; TCP loses what was on its way, and repeats nothing."""
    grpc_port, tcp_port = free_port(), free_port()
    consumer = KilledConsumer(
        f"""@app:name('Killed') @source(type = 'grpc', receiver.url = 'grpc://127.0.0.1:{grpc_port}/{SERVICE}', {TEXT})
        @source(type = 'tcp', host = '127.0.0.1', port = '{tcp_port}', context = 'c', {TEXT}) define stream S (v string);""",
        tmp_path,
    )
    sending = f"""@app:name('Sender')
        @sink(type = 'grpc', publisher.url = 'grpc://127.0.0.1:{grpc_port}/{SERVICE}', confirm = 'true', call.timeout = '5 sec',
            {WAITS}, @map(type = 'text', @payload('grpc {{{{n}}}}'))) define stream ByGrpc (n int);
        @sink(type = 'tcp', url = 'tcp://127.0.0.1:{tcp_port}/c', {WAITS}, @map(type = 'text', @payload('tcp {{{{n}}}}')))
        define stream ByTcp (n int);"""
    sent = 0

    def received(transport: str) -> list[int]:
        return [int(line.split()[1]) for line in consumer.lines if line.startswith(f"{transport} ")]

    try:
        consumer.start()
        with SiddhiManager().create_siddhi_app_runtime(sending) as runtime:
            handlers = [runtime.input_handler(name) for name in ("ByGrpc", "ByTcp")]
            for _ in range(ROUNDS):
                for number in range(sent, sent + 500):
                    for handler in handlers:
                        handler.send((number,))
                wait_until(lambda: received("grpc")[-1:] > [sent] and received("tcp")[-1:] > [sent])  # noqa: B023
                sent += 500
                consumer.kill()
                consumer.start()
            wait_until(lambda: set(received("grpc")) == set(range(sent)))
            wait_until(lambda: not any(status.waiting for status in runtime.connectors()))
            handlers[1].send((sent,))
            wait_until(lambda: received("tcp")[-1:] == [sent])
    finally:
        consumer.kill()
    by_grpc, by_tcp = received("grpc"), received("tcp")
    # Each kill repeats at most the one call that was not answered.
    assert len(by_grpc) <= sent + ROUNDS
    assert list(dict.fromkeys(by_grpc)) == list(range(sent))
    assert by_tcp == sorted(set(by_tcp))
