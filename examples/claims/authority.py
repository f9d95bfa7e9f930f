"""A time-stamping authority (RFC 3161) for trying out: what `openssl ts` answers, over HTTP.

python examples/claims/authority.py 8813     # tsa.pem, its root certificate, is written here

It runs on your own machine and stamps whatever it is asked to: it is no independent witness.
"""

import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

CONFIG = """
[req]
distinguished_name = dn
[dn]
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[stamping]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = local
[local]
serial = serial
crypto_device = builtin
signer_cert = signer.pem
signer_key = signer.key
signer_digest = sha256
default_policy = 1.3.6.1.4.1.55555.1
digests = sha256
accuracy = secs:1
"""
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30")
folder = Path(tempfile.mkdtemp(prefix="authority-"))


def openssl(*words: str) -> None:
    command = ["openssl", *words, "-config", "openssl.cnf"]
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)  # noqa: S603  # our own words


def certificate(name: str, extensions: str, *signed_by: str) -> None:
    out = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN=For trying out: {name}")
    openssl("req", "-x509", *KEY, *out, "-extensions", extensions, *signed_by)


class Authority(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        (folder / "query.tsq").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
        openssl("ts", "-reply", "-queryfile", "query.tsq", "-out", "reply.tsr")
        self.send_response(200)
        self.send_header("Content-Type", "application/timestamp-reply")
        self.end_headers()
        self.wfile.write((folder / "reply.tsr").read_bytes())


(folder / "openssl.cnf").write_text(CONFIG)
(folder / "serial").write_text("01")
certificate("root", "root")
certificate("signer", "stamping", "-CA", "root.pem", "-CAkey", "root.key")
Path("tsa.pem").write_bytes((folder / "root.pem").read_bytes())
HTTPServer(("127.0.0.1", int(sys.argv[1])), Authority).serve_forever()
