"""A time-stamping authority that a corpus brings along, so that its prospective epoch can be checked offline.

It answers as an authority of RFC 3161 does, under a certificate for time stamping and a root, but it is no
witness: its keys come from the corpus' seed, and its clock stands at one second for ever. What it lets
anybody check is that tickets cite a token over the manifest, and that a token holds against a root that is
handed to the verifier on another way. A claim about time needs an authority that somebody else runs.

    authority = corpus_authority(seed)
    token = authority.stamp(manifest.digest())
    trust = authority.trust()                       # an input of `verify`

Pure: signatures are made by RFC 6979, so one seed makes the same certificates and tokens, byte for byte.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from agentbeat_receipts.anchors import AnchorTrust
from agentbeat_receipts.anchors.der import encoded, integer, sequence
from agentbeat_receipts.domains.market.streams import derived_seed

__all__ = ["AUTHORITY_NAME", "CorpusAuthority", "corpus_authority"]

AUTHORITY_NAME: Final = "agentbeat-kit corpus, no independent witness"

#: The authority's clock, and for how long its certificates are good.
_STAMPED: Final = b"20260101000000Z"
_FROM: Final = datetime(2025, 1, 1, tzinfo=UTC)
_UNTIL: Final = datetime(2035, 1, 1, tzinfo=UTC)

#: An arc of examples: the policy promises nothing.
_POLICY: Final = "2.999.4"
_SIGNED_DATA: Final = "1.2.840.113549.1.7.2"
_TST_INFO: Final = "1.2.840.113549.1.9.16.1.4"
_CONTENT_TYPE: Final = "1.2.840.113549.1.9.3"
_MESSAGE_DIGEST: Final = "1.2.840.113549.1.9.4"
_SIGNING_CERTIFICATE: Final = "1.2.840.113549.1.9.16.2.47"
_SHA256: Final = "2.16.840.1.101.3.4.2.1"
_ECDSA_SHA256: Final = "1.2.840.10045.4.3.2"

_P256_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True)
class CorpusAuthority:
    """The authority of one corpus.

    Args:
        root: the certificate to be trusted.
        certificate: the one that tokens are signed under.
        key: its private key.
    """

    root: x509.Certificate
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def root_pem(self) -> bytes:
        """The root as a file for `--tsa-root`."""
        return self.root.public_bytes(Encoding.PEM)

    def trust(self) -> AnchorTrust:
        """Trust in this authority's root."""
        return AnchorTrust(roots=(self.root,))

    def stamp(self, manifest: str) -> bytes:
        """A granted response over a manifest's digest.

        Args:
            manifest: `sha256:` and 64 hex digits.
        """
        imprint = bytes.fromhex(manifest.removeprefix("sha256:"))
        info = sequence(
            integer(1),
            _identifier(_POLICY),
            sequence(_algorithm(_SHA256), _octets(imprint)),
            integer(int.from_bytes(imprint[:8])),
            encoded(0x18, _STAMPED),
            sequence(integer(1)),
        )
        signed = sequence(_identifier(_SIGNED_DATA), encoded(0xA0, self._signed_data(info)))
        return sequence(sequence(integer(0)), signed)

    def _signed_data(self, info: bytes) -> bytes:
        content = sequence(_identifier(_TST_INFO), encoded(0xA0, _octets(info)))
        held = sorted(part.public_bytes(Encoding.DER) for part in (self.certificate, self.root))
        return sequence(
            integer(3),
            _set(_algorithm(_SHA256)),
            content,
            encoded(0xA0, b"".join(held)),
            _set(self._signer(info)),
        )

    def _signer(self, info: bytes) -> bytes:
        digest = hashlib.sha256(self.certificate.public_bytes(Encoding.DER)).digest()
        attributes = sorted(
            (
                _attribute(_CONTENT_TYPE, _identifier(_TST_INFO)),
                _attribute(_MESSAGE_DIGEST, _octets(hashlib.sha256(info).digest())),
                _attribute(_SIGNING_CERTIFICATE, sequence(sequence(sequence(_octets(digest))))),
            )
        )
        signature = self.key.sign(_set(*attributes), ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        issuer = self.certificate.issuer.public_bytes()
        return sequence(
            integer(1),
            sequence(issuer, integer(self.certificate.serial_number)),
            _algorithm(_SHA256),
            encoded(0xA0, b"".join(attributes)),
            _algorithm(_ECDSA_SHA256),
            _octets(signature),
        )


def corpus_authority(seed: bytes) -> CorpusAuthority:
    """The authority of the corpus with this seed."""
    root_key, key = _key(seed, "time root"), _key(seed, "time stamping")
    root_name = _name(f"{AUTHORITY_NAME}: root")
    root = _certificate(root_name, root_key, root_name, root_key, serial=1)
    certificate = _certificate(_name(AUTHORITY_NAME), key, root_name, root_key, serial=2)
    return CorpusAuthority(root, certificate, key)


def _key(seed: bytes, label: str) -> ec.EllipticCurvePrivateKey:
    raw = int.from_bytes(derived_seed(seed, "key", label))
    return ec.derive_private_key(1 + raw % (_P256_ORDER - 1), ec.SECP256R1())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    name: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    serial: int,
) -> x509.Certificate:
    is_root = name == issuer
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.BasicConstraints(ca=is_root, path_length=None), critical=True)
    )
    if not is_root:
        purposes = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(purposes, critical=True)
    return builder.sign(issuer_key, hashes.SHA256(), ecdsa_deterministic=True)


def _octets(content: bytes) -> bytes:
    return encoded(0x04, content)


def _set(*parts: bytes) -> bytes:
    return encoded(0x31, b"".join(sorted(parts)))


def _attribute(identifier: str, value: bytes) -> bytes:
    return sequence(_identifier(identifier), _set(value))


def _algorithm(identifier: str) -> bytes:
    # SHA-256 has NULL parameters where it stands alone; ECDSA has none.
    parameters = b"" if identifier == _ECDSA_SHA256 else encoded(0x05, b"")
    return sequence(_identifier(identifier), parameters)


def _identifier(dotted: str) -> bytes:
    """An object identifier."""
    first, second, *rest = map(int, dotted.split("."))
    content = bytearray()
    for arc in (first * 40 + second, *rest):
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.append(arc & 0x7F | 0x80)
        content += bytes(reversed(septets))
    return encoded(0x06, bytes(content))
