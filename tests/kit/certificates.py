"""Certificates for tests of TLS: an authority, a server ``localhost`` and a client, made anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Certificates", "make_certificates"]


@dataclass(frozen=True)
class Certificates:
    """PEM files: the authority, and certificate and key of a server and a client. ``other`` is an authority nobody uses."""

    authority: Path
    server: Path
    client: Path
    other: Path


def make_certificates(folder: Path) -> Certificates:
    """Write certificates of an authority of their own into a folder."""
    import trustme

    authority, other = trustme.CA(), trustme.CA()
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "client.pem", folder / "other.pem")
    authority.cert_pem.write_to_path(made.authority)
    other.cert_pem.write_to_path(made.other)
    authority.issue_cert("localhost", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(made.server)
    authority.issue_cert("client@example.org").private_key_and_cert_chain_pem.write_to_path(made.client)
    return made
