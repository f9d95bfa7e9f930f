"""A time-stamping authority for the tests: a root, certificates, and responses made by OpenSSL's own command.

    token = authority().stamp(manifest_digest)            # as `openssl ts -reply` answers a request of ours
    with serving(authority().answer) as url: ...          # the same over HTTP, on a loopback port

`Authority.sign` puts a token of our wording (`tst_info`) under the authority's signature, for times and
certificates that the command would not choose. Where `openssl` is missing, tests skip; in CI they fail.
"""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from agentbeat_receipts.anchors import AnchorTrust, make_request
from agentbeat_receipts.anchors.der import encoded, integer, sequence

__all__ = ["POLICY", "Authority", "Issued", "authority", "issue", "openssl", "serving", "tst_info"]

#: The policy under which the authority stamps.
POLICY = "1.3.6.1.4.1.55555.1"

_SHA256 = bytes.fromhex("300d06096086480165030402010500")
_TST_INFO = "1.2.840.113549.1.9.16.1.4"
_CONFIG = """
[tsa]
default_tsa = local
[local]
serial = {folder}/serial
crypto_device = builtin
default_policy = {policy}
digests = {digests}
signer_digest = {signer_digest}
clock_precision_digits = {digits}
ess_cert_id_chain = no
{accuracy}
"""


def openssl(*arguments: str, content: bytes | None = None) -> bytes:
    """The standard output of OpenSSL's command."""
    command = shutil.which("openssl")
    if command is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs the openssl command")
    ended = subprocess.run([command, *arguments], input=content, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


@dataclass(frozen=True)
class Issued:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key in PEM."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def issue(
    name: str,
    *,
    by: Issued | None = None,
    ca: bool = False,
    purposes: Sequence[x509.ObjectIdentifier] = (),
    critical: bool = True,
    days: tuple[int, int] = (-3650, 3650),
) -> Issued:
    """A certificate, signed by itself or `by` another; valid from and until so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=days[0]))
        .not_valid_after(now + datetime.timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=critical)
    return Issued(builder.sign(by.key if by else key, hashes.SHA256()), key)


@dataclass(frozen=True)
class Authority:
    """An authority: the root that is trusted, what it signs with, and the certificates between them."""

    root: Issued
    signer: Issued
    between: tuple[Issued, ...] = ()

    @classmethod
    def under(cls, root: Issued, *between: Issued, **signer: object) -> Authority:
        """One whose signing certificate is issued by the last of `between`, or the root."""
        options = {"purposes": [ExtendedKeyUsageOID.TIME_STAMPING], **signer}
        issuer = between[-1] if between else root
        return cls(root, issue("Local time stamping", by=issuer, **options), between)

    def trust(self, **options: object) -> AnchorTrust:
        """Trust in this authority's root."""
        return AnchorTrust(**{"roots": (self.root.certificate,), **options})

    def answer(
        self,
        query: bytes,
        *,
        accuracy: str | None = "secs:1",
        digits: int = 0,
        digests: str = "sha256, sha512, sha3-256",
        signer_digest: str = "sha256",
        chain: bool = True,
    ) -> bytes:
        """The response of `openssl ts -reply` to a request."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            stated = f"accuracy = {accuracy}" if accuracy else ""
            config = _CONFIG.format(
                folder=folder,
                policy=POLICY,
                digests=digests,
                signer_digest=signer_digest,
                digits=digits,
                accuracy=stated,
            )
            written = {"config": config.encode(), "query": query, "serial": b"01\n"}
            files = self._files(folder, chain=chain, **written)
            return openssl(
                *("ts", "-reply", "-config", files["config"], "-queryfile", files["query"]),
                *("-signer", files["signer"], "-inkey", files["key"]),
                *(("-chain", files["chain"]) if chain else ()),
            )

    def stamp(self, manifest: str) -> bytes:
        """A response over a manifest's digest."""
        return self.answer(make_request(manifest).der)

    def sign(self, info: bytes, *, chain: bool = True) -> bytes:
        """A granted response whose token says `info`."""
        with tempfile.TemporaryDirectory() as name:
            files = self._files(Path(name), chain=chain)
            token = openssl(
                *("cms", "-sign", "-binary", "-nodetach", "-nosmimecap", "-outform", "DER", "-md", "sha256"),
                *("-econtent_type", _TST_INFO, "-signer", files["signer"], "-inkey", files["key"]),
                *(("-certfile", files["chain"]) if chain else ()),
                content=info,
            )
        return sequence(sequence(integer(0)), token)

    def _files(self, folder: Path, *, chain: bool, **more: bytes) -> dict[str, str]:
        held = {"signer": self.signer.pem, "key": self.signer.key_pem, **more}
        if chain:
            held["chain"] = b"".join(part.pem for part in (*self.between, self.root))
        for name, content in held.items():
            (folder / name).write_bytes(content)
        return {name: str(folder / name) for name in held}


def tst_info(
    manifest: str,
    *,
    time: str = "20260301100000Z",
    accuracy: bytes = b"",
    nonce: int | None = None,
    policy: str | None = POLICY,
    algorithm: bytes = _SHA256,
) -> bytes:
    """What a token says, in DER.

    Args:
        accuracy: the encoded Accuracy, or nothing.
    """
    imprint = sequence(algorithm, encoded(0x04, bytes.fromhex(manifest.removeprefix("sha256:"))))
    return sequence(
        integer(1),
        b"" if policy is None else _object_identifier(policy),
        imprint,
        integer(7),
        encoded(0x18, time.encode()),
        accuracy,
        b"" if nonce is None else integer(nonce),
    )


def _object_identifier(dotted: str) -> bytes:
    first, second, *rest = map(int, dotted.split("."))
    content = bytearray()
    for arc in (first * 40 + second, *rest):
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.append(arc & 0x7F | 0x80)
        content += bytes(reversed(septets))
    return encoded(0x06, bytes(content))


@cache
def authority() -> Authority:
    """One authority for all tests of a process."""
    return Authority.under(issue("Local root", ca=True))


@contextmanager
def serving(answering: Callable[[bytes], bytes]) -> Iterator[str]:
    """The address at which requests are answered over HTTP, on a loopback port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/timestamp-query"
            body = answering(query)
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/tsr"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
