from __future__ import annotations

import ssl

import pytest

from siddhi.errors import SiddhiAppCreationError
from siddhi.io import Option, OptionHolder, Template
from siddhi.io.tls import client_context, server_context

pytest.importorskip("trustme")


def of(**options: object) -> OptionHolder:
    named = {name.replace("_", "."): str(value) for name, value in options.items()}
    return OptionHolder("sink 's'", [Option(name, (Template((text,)),)) for name, text in named.items()])


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Do a handshake in memory; raise what the client raises."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    two = server.wrap_bio(to_server, to_client, server_side=True)
    done = set()
    for _ in range(10):
        for side in (one, two):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
        if len(done) == 2:
            return
    raise AssertionError("no end of the handshake")


def test_a_client_verifies_the_server_by_default(certificates):
    server = server_context(of(tls_certificate_file=certificates.server))
    assert server is not None
    shake_hands(client_context(of(tls_ca_file=certificates.authority)), server)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(client_context(of()), server)
    shake_hands(client_context(of(tls_verify="false")), server)


def test_a_server_can_ask_for_certificates_of_clients(certificates):
    server = server_context(of(tls_certificate_file=certificates.server, tls_ca_file=certificates.authority))
    assert server is not None
    own = client_context(of(tls_ca_file=certificates.authority, tls_certificate_file=certificates.client))
    shake_hands(own, server)
    with pytest.raises(ssl.SSLError):
        shake_hands(client_context(of(tls_ca_file=certificates.authority)), server)


def test_a_server_without_certificate_has_no_tls():
    assert server_context(of()) is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tls_ca_file": "/no/such.pem"}, "tls.ca.file"),
        ({"tls_ca_file": "trust.jks"}, "tls.ca.file"),
        ({"tls_key_file": "key.pem"}, "tls.key.file"),
        ({"tls_certificate_file": "/no/such.pem"}, "tls.certificate.file"),
        ({"tls_certificate_file": "https://host/a.pem"}, "tls.certificate.file"),
    ],
)
def test_a_file_that_is_no_pem_file_is_an_error(options, named):
    for make in (client_context, server_context):
        with pytest.raises(SiddhiAppCreationError, match=f"invalid option '{named}' of sink 's'"):
            make(of(**options))
