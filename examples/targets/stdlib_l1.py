"""A Target by hand, with the standard library alone: L1, no secret, correlation headers ignored."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class HandWritten(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"status": "ok", "target_id": "hand-written", "evidence": "L1"})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(
            {
                "schema_version": "target-invocation-v1",
                "run_id": request["run_id"],
                "case_id": request["case_id"],
                "status": "completed",
                "final_response": "Your order has been shipped.",
            }
        )

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8081), HandWritten).serve_forever()
