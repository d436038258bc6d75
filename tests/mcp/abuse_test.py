"""S12: abusive input gets one valid answer each, and the server goes on, small and quick."""

import os
import subprocess
import sys
import time

import client
from client import INVALID, JUNE, METHOD, OLDEST, PARAMS, PARSE, SHARED_TOOLS, Http, McpTest, encode, initialize, modern, modern_headers, needs_tools, request

MIB = 1 << 20
RESULT, NONE = "result", "none"


def line(body):
    return b'{"jsonrpc":"2.0",' + body + b"}\n"


def corpus():
    """Name, bytes, what may come back."""
    ping = b'"method":"ping"'
    nest = lambda n, o=b"[", c=b"]": o * n + c * n
    return [
        ("not JSON", b"hello\n", {PARSE}),
        ("cut short", b'{"jsonrpc":"2.0","id":7,"method":"ping"\n', {PARSE}),
        ("cut inside a text", b'{"jsonrpc":"2.0","id":"7\n', {PARSE}),
        ("two values on a line", b'{"jsonrpc":"2.0","id":7,"method":"ping"} {}\n', {PARSE, INVALID}),
        ("empty line", b"\n", {PARSE, NONE}),
        ("white space", b"  \t \n", {PARSE, NONE}),
        ("a number", b"42\n", {PARSE, INVALID}),
        ("a text", b'"ping"\n', {PARSE, INVALID}),
        ("null", b"null\n", {PARSE, INVALID}),
        ("true", b"true\n", {PARSE, INVALID}),
        ("empty array", b"[]\n", {INVALID}),
        ("empty object", b"{}\n", {INVALID}),
        ("batch of three pings", b"[" + b",".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % i for i in (71, 72, 73)) + b"]\n", {INVALID}),
        ("batch of batches", b"[[[]]]\n", {INVALID}),
        ("no jsonrpc", b'{"id":7,"method":"ping"}\n', {INVALID}),
        ("jsonrpc 1.0", b'{"jsonrpc":"1.0","id":7,"method":"ping"}\n', {INVALID}),
        ("jsonrpc a number", b'{"jsonrpc":2.0,"id":7,"method":"ping"}\n', {INVALID}),
        ("id null", line(b'"id":null,' + ping), {INVALID}),
        ("id object", line(b'"id":{},' + ping), {INVALID}),
        ("id array", line(b'"id":[7],' + ping), {INVALID}),
        ("id true", line(b'"id":true,' + ping), {INVALID}),
        ("id a fraction", line(b'"id":1.5,' + ping), {INVALID}),
        ("id 1e400", line(b'"id":1e400,' + ping), {PARSE, INVALID}),
        ("id of 100 kB", line(b'"id":"' + b"i" * 100000 + b'",' + ping), {INVALID, RESULT}),
        ("method a number", line(b'"id":7,"method":7'), {INVALID}),
        ("method of 100 kB", line(b'"id":7,"method":"' + b"m" * 100000 + b'"'), {METHOD, INVALID}),
        ("no method", line(b'"id":7'), {INVALID, NONE}),
        ("params a text", line(b'"id":7,"params":"x",' + ping), {INVALID, PARAMS}),
        ("params an array", line(b'"id":7,"params":[1],' + ping), {INVALID, PARAMS}),
        ("params null", line(b'"id":7,"params":null,' + ping), {INVALID, PARAMS, RESULT}),
        ("meta a number", line(b'"id":7,"params":{"_meta":7},' + ping), {INVALID, PARAMS, RESULT}),
        ("unknown method", line(b'"id":7,"method":"nope"'), {METHOD}),
        ("unknown tool", line(b'"id":7,"method":"tools/call","params":{"name":"no such tool","arguments":{}}'), {PARAMS, RESULT}),
        ("tool call without params", line(b'"id":7,"method":"tools/call"'), {PARAMS, INVALID}),
        ("key in wrong case", line(b'"id":7,"Method":"ping"'), {INVALID, NONE}),
        ("key twice", line(b'"id":7,"method":"nope",' + ping), {PARSE, INVALID}),
        ("key twice, deep", line(b'"id":7,"params":{"a":{"b":1,"b":2}},' + ping), {PARSE, INVALID}),
        ("same key by escape", line(b'"id":7,"method":"nope","\\u006dethod":"ping"'), {PARSE, INVALID}),
        ("same id twice", line(b'"id":8,' + ping) * 2, {INVALID, RESULT}),
        ("result nobody asked for", line(b'"id":12345,"result":{}'), {NONE, INVALID}),
        ("error nobody asked for", line(b'"id":12345,"error":{"code":1,"message":"x"}'), {NONE, INVALID}),
        ("request and result in one", line(b'"id":7,"result":{},' + ping), {INVALID, RESULT, NONE}),
        ("cancel of an unknown request", line(b'"method":"notifications/cancelled","params":{"requestId":4711}'), {NONE}),
        ("unknown notification", line(b'"method":"notifications/nope"'), {NONE}),
        ("invalid UTF-8", line(b'"id":7,"method":"pi\xff\xfeng"'), {PARSE, INVALID}),
        ("overlong UTF-8", line(b'"id":7,"method":"\xc0\xaf"'), {PARSE, INVALID}),
        ("UTF-8 of a surrogate", line(b'"id":7,"method":"\xed\xa0\x80"'), {PARSE, INVALID}),
        ("lone surrogate", line(b'"id":"\\ud800",' + ping), {PARSE, INVALID}),
        ("NUL bytes", b"\0\0\0\n", {PARSE}),
        ("NUL in a text", line(b'"id":7,"method":"pi\0ng"'), {PARSE}),
        ("escaped NUL", line(b'"id":7,"method":"pi\\u0000ng"'), {METHOD}),
        ("byte order mark", b"\xef\xbb\xbf" + line(b'"id":7,' + ping), {PARSE, RESULT}),
        ("CRLF", line(b'"id":7,' + ping)[:-1] + b"\r\n", {RESULT, PARSE}),
        ("CR alone between", line(b'"id":7,' + ping)[:-1] + b"\r" + line(b'"id":9,' + ping), {PARSE, RESULT, INVALID}),
        ("comment", b"// hi\n", {PARSE}),
        ("trailing comma", line(b'"id":7,"method":"ping",'), {PARSE}),
        ("single quotes", b"{'jsonrpc':'2.0'}\n", {PARSE}),
        ("NaN", line(b'"id":7,"params":{"a":NaN},' + ping), {PARSE}),
        ("leading zero", line(b'"id":007,' + ping), {PARSE}),
        ("depth 65", line(b'"id":7,"params":{"a":' + nest(65) + b"}," + ping), {PARSE, INVALID, PARAMS}),
        ("depth 100000", line(b'"id":7,"params":{"a":' + nest(100000) + b"}," + ping), {PARSE, INVALID, PARAMS}),
        ("objects 100000 deep", line(b'"id":7,"params":{"a":' + nest(100000, b'{"a":', b"}").replace(b":}", b":1}", 1) + b"}," + ping), {PARSE, INVALID, PARAMS}),
        ("open brackets only", b"[" * 1000000 + b"\n", {PARSE, INVALID}),
        ("number of 1 MB", line(b'"id":7,"params":{"a":' + b"9" * 1000000 + b"}," + ping), {PARSE, INVALID, PARAMS, RESULT}),
        ("100000 keys", line(b'"id":7,"params":{' + b",".join(b'"k%d":0' % i for i in range(100000)) + b"}," + ping), {PARSE, INVALID, PARAMS, RESULT}),
        ("batch of 100000", b"[" + b",".join([b"1"] * 100000) + b"]\n", {INVALID}),
        ("9 MiB", line(b'"id":7,"params":{"a":"' + b"x" * 9 * MIB + b'"},' + ping), {RESULT, PARAMS}),
        ("10 MiB and 1", b"x" * (10 * MIB + 1) + b"\n", {PARSE, INVALID}),
        ("11 MiB", line(b'"id":7,"params":{"a":"' + b"x" * 11 * MIB + b'"},' + ping), {PARSE, INVALID}),
        ("200 MB without a newline", None, {PARSE, INVALID}),
    ]  # fmt: skip


class StdioAbuseTest(McpTest):
    def outcomes(self, peer, data):
        """What came back before the ping after it, and a little later."""
        if data is None:
            for _ in range(200):
                peer.send(b"x" * 1000000)
            data = b"\n"
        peer.send(data + encode(request("ping", id="after")))
        self.assertIsNotNone(peer.take(lambda m: isinstance(m, dict) and m.get("id") == "after"), peer.state())
        started = time.monotonic()
        peer.say(request("ping", id="second"))
        peer.reply("second")
        self.quick = time.monotonic() - started
        out, wait = [], 0.15
        while (found := peer.take(lambda m: isinstance(m, list) or "method" not in m, wait)) is not None:
            out.append(found["error"]["code"] if "error" in found else RESULT if "result" in found else "neither")
            if "error" in found:
                self.assertEqual(sorted(found), ["error", "id", "jsonrpc"], found)
        return out or [NONE]

    def test_s12_each_kind_of_abuse_has_one_valid_answer_and_the_server_lives(self):
        cases = corpus()
        self.assertGreaterEqual(len(cases), 38)
        peer = None
        for name, data, accepted in cases:
            with self.subTest(case=name):
                if peer is None or peer.process.poll() is not None:
                    peer = self.legacy(JUNE)
                before = peer.peak_mb()
                got = self.outcomes(peer, data)
                self.assertLessEqual(set(got), accepted, name)
                self.assertLessEqual(len(got), 2)
                self.assertEqual(peer.junk, [])
                self.assertLess(peer.peak_mb() - before, 64)
                self.assertLess(self.quick, 0.5)
        self.assertEqual(peer.finish(), 0)

    def test_s12_the_same_before_any_handshake(self):
        peer = self.mcp()
        for name, data, accepted in corpus():
            if data is not None and len(data) < 200000:
                with self.subTest(case=name):
                    self.assertLessEqual(set(self.outcomes(peer, data)), accepted | {INVALID}, name)
        self.assertEqual(peer.finish(), 0)

    def test_s12_a_line_of_10_mib_and_1_is_refused_and_memory_stays_small(self):
        for size, fits in ((10 * MIB - 1, True), (10 * MIB + 1, False), (64 * MIB, False)):
            with self.subTest(size=size):
                peer = self.legacy(JUNE)
                before = peer.peak_mb()
                head, tail = b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{"a":"', b'"}}'
                data = head + b"x" * (size - len(head) - len(tail)) + tail
                self.assertEqual(len(data), size)
                peer.send(data + b"\n")
                reply = peer.take(lambda m: "method" not in m)
                if fits:
                    self.assertEqual(reply.get("result"), {}, str(reply)[:200])
                else:
                    self.assertIsNone(reply["id"])
                    self.assertIn(reply["error"]["code"], (PARSE, INVALID))
                self.assertLess(peer.peak_mb() - before, 64)
                peer.alive()

    def test_s12_a_large_call_is_answered(self):
        self.append("x")
        peer = self.mcp("--session", "s")
        peer.failed("note", "LIMIT_EXCEEDED", kind="claim", text="x" * (9 * MIB))
        peer.alive()

    def test_s12_lines_that_come_in_pieces(self):
        peer = self.mcp()
        data = encode(modern("tools/list", id="slow"))
        for i in range(0, len(data), 7):
            peer.send(data[i : i + 7])
        self.assertIn("result", peer.reply("slow"))
        # And many in one piece.
        peer.send(b"".join(encode(modern("tools/list", id=i)) for i in range(300)))
        for i in range(300):
            peer.reply(i)

    def test_s12_thousands_of_bad_lines_and_the_server_is_as_small_as_before(self):
        peer = self.mcp()
        peer.alive()
        before = peer.peak_mb()
        for _ in range(20):
            peer.send(b"garbage\n" * 500)
        peer.alive()
        self.assertEqual(sum(b"-32700" in line for line in peer.raw), 10000)
        self.assertLess(peer.peak_mb() - before, 64)

    @needs_tools
    def test_s12_the_shared_abuse_tool(self):
        for protocol in (JUNE, OLDEST):
            command = [sys.executable, "-B", os.path.join(SHARED_TOOLS, "faults", "jsonrpc_abuse.py"), "--protocol", protocol, "--", client.BIN, "mcp", "--root", self.world.cwd]
            done = subprocess.run(command, capture_output=True, text=True, env=self.world.environment(None), cwd=self.world.cwd, timeout=280)
            self.assertEqual(done.returncode, 0, "\n".join(line for line in done.stdout.split("\n") if not line.startswith("ok")) + done.stderr[-500:])


class HttpAbuseTest(McpTest):
    def setUp(self):
        super().setUp()
        self.served = self.serve()

    def test_s12_each_kind_of_abuse_over_http(self):
        legacy = Http(self.served, JUNE)
        for name, data, accepted in corpus():
            if data is None or len(data) > 4 * MIB or b"\n" in data[:-1] or not data.strip():
                continue
            with self.subTest(case=name):
                got = self.served.send("POST", body=data, headers={"Mcp-Session-Id": legacy.session})
                self.assertIn(got.status, (200, 202, 400, 404), got)
                if got.status == 202:
                    self.assertIn(NONE, accepted)
                else:
                    reply = got.json
                    self.assertIn(reply["error"]["code"] if "error" in reply else RESULT, accepted, got)
        legacy.alive()

    def test_s12_the_same_with_modern_headers(self):
        headers = modern_headers(modern("tools/list"))
        for name, data, _ in corpus():
            if data is None or len(data) > 4 * MIB or not data.strip():
                continue
            with self.subTest(case=name):
                got = self.served.send("POST", body=data, headers=headers)
                self.assertIn(got.status, (202, 400), got)
        Http(self.served).alive()

    def test_s12_a_body_over_4_mib_is_413_and_memory_stays_small(self):
        message = modern("tools/list", {"pad": "x" * (4 * MIB)})
        before = self.served.peak_mb()
        try:
            got = self.served.send("POST", body=message, headers=modern_headers(message))
            self.assertEqual(got.status, 413, got)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused by its length before it was all sent
        self.assertLess(self.served.peak_mb() - before, 64)
        fits = modern("tools/list", {"pad": "x" * (4 * MIB - 1000)})
        self.assertEqual(self.served.send("POST", body=fits, headers=modern_headers(fits)).status, 200)
        Http(self.served).alive()

    def test_s10_content_type_host_and_origin_of_mcp(self):
        message = modern("server/discover")
        usual = modern_headers(message)
        for more, status in [
            ({}, 200), ({"Content-Type": "application/json; charset=utf-8"}, 200), ({"Content-Type": "text/plain"}, 415), ({"Content-Type": None}, 415), ({"Content-Encoding": "gzip"}, 415),
            ({"Host": "evil.example"}, 403), ({"Host": f"localhost:{self.served.port}"}, 200), ({"Host": f"127.0.0.1:{self.served.port}"}, 200), ({"Host": f"[::1]:{self.served.port}"}, 200),
            ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "http://localhost:1234"}, 200), ({"Origin": "http://127.0.0.1"}, 200),
            ({"Origin": "http://localhost.evil.example"}, 403), ({"Host": "localhost.evil.example"}, 403), ({"Host": "127.0.0.1.evil.example"}, 403),
        ]:  # fmt: skip
            with self.subTest(more=more):
                got = self.served.send("POST", body=message, headers={**usual, **more})
                self.assertEqual(got.status, status, got)
                self.assertFalse([h for h in got.headers if h.lower().startswith("access-control-")])
        for path in (f"/mcp?token={self.served.token}", "/mcp"):
            self.assertEqual(self.served.send("POST", path, body=message, headers=usual, token=None).status, 401)

    def test_s12_an_initialize_that_never_ends_its_body_hurts_nobody(self):
        import socket

        sockets = []
        for _ in range(30):
            s = socket.create_connection((self.served.host, self.served.port), timeout=5)
            s.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.served.token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode() + encode(initialize(JUNE))[:20])
            sockets.append(s)
        Http(self.served).alive()
        for s in sockets:
            s.close()


if __name__ == "__main__":
    client.main()
