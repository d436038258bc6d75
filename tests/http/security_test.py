"""The checklist of section 4 where it concerns HTTP: S3 to S6, S10 to S12, S14, S15, S20, and requests made to be read in two
ways."""

import os
import random
import signal
import socket
import subprocess
import threading
import time
import unittest

import server  # first: it knows the way to tests/cli
import injection_test
import quota_test
from harness import compact, entry
from server import HttpTest, in_threads, part, parse_answers

DENIED = """
.env .env.local .envrc prod.env server.pem server.pem.bak x.key x.key.old x.p12 x.pfx x.crt x.cer x.der x.pk8 x.ppk x.jks x.keystore x.kdbx id_work id_rsa
id_rsa.pub id_ed25519 .npmrc .netrc _netrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .dockercfg credentials credentials.json secrets.yaml kubeconfig
terraform.tfstate
""".split()
THROUGH = os.path.join("/proc/self", "root")  # a link of the kernel to everything
BELOW = [".ssh/config", ".gnupg/pubring", ".aws/config", ".kube/config", ".docker/config.json"]
SEQUENCES = [
    "\x1b[31m", "\x1b[2J", "\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\", "\x1b]52;c;AAAA\x07", "\x1bP+q\x1b\\", "\x1b^pm\x1b\\", "\x1b_apc\x1b\\", "\x1bc", "\x1b[6n", "\x1b[?1049h", "\x1b[9999D",
    "\x9b31m", "\x9d0;x\x9c", "\x90q\x9c", "\x85", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\ufeff",
    "\u2028", "\u2029", "\r", "\r\n2026-01-01T00:00:00.000Z info forged", "\n[31m", "\x00", "\x07\x08\x7f", "\u061c",
]  # fmt: skip


class DoorsTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_s10_requests_over_host_origin_token_content_type_and_method(self):
        port, good = self.server.port, {"Authorization": "Bearer " + self.server.token}
        home, none = f"127.0.0.1:{port}", None
        sessions = "/v1/sessions"
        table = [
            # status, method, path, headers
            (200, "GET", sessions, {"Host": home, **good}), (200, "GET", sessions, {"Host": f"localhost:{port}", **good}), (200, "GET", sessions, {"Host": f"LOCALHOST:{port}", **good}), (200, "GET", sessions, {"Host": f"[::1]:{port}", **good}),
            (200, "GET", sessions, {"Host": "localhost", **good}), (403, "GET", sessions, {"Host": "evil.example", **good}), (403, "GET", sessions, {"Host": f"127.0.0.1.evil.example:{port}", **good}), (403, "GET", sessions, {"Host": f"localhost.evil.example:{port}", **good}),
            (403, "GET", sessions, {"Host": f"evil-localhost:{port}", **good}), (403, "GET", sessions, {"Host": f"127.0.0.2:{port}", **good}), (403, "GET", sessions, {"Host": f"0.0.0.0:{port}", **good}), (403, "GET", "/healthz", {"Host": "evil.example"}), (403, "GET", "/openapi.json", {"Host": "evil.example", **good}),
            (200, "GET", sessions, {"Host": home, "Origin": f"http://localhost:{port}", **good}), (200, "GET", sessions, {"Host": home, "Origin": f"http://127.0.0.1:{port}", **good}), (403, "GET", sessions, {"Host": home, "Origin": "http://evil.example", **good}),
            (403, "GET", sessions, {"Host": home, "Origin": "null", **good}), (403, "GET", sessions, {"Host": home, "Origin": "http://localhost.evil.example", **good}), (403, "GET", sessions, {"Host": home, "Origin": f"http://evil.example/127.0.0.1:{port}", **good}),
            (403, "GET", sessions, {"Host": home, "Origin": f"http://localhost@evil.example:{port}", **good}), (403, "POST", sessions, {"Host": home, "Origin": "http://evil.example", "Content-Type": "application/json", **good}),
            (401, "GET", sessions, {"Host": home}), (401, "GET", sessions, {"Host": home, "Authorization": "Bearer x"}), (401, "GET", sessions, {"Host": home, "Authorization": "Bearer"}), (401, "GET", sessions, {"Host": home, "Authorization": self.server.token}),
            (401, "GET", sessions, {"Host": home, "Authorization": "Basic " + self.server.token}), (401, "GET", sessions, {"Host": home, "Authorization": "Bearer " + self.server.token[:-1]}), (401, "GET", sessions, {"Host": home, "Authorization": "Bearer " + self.server.token + "A"}),
            (401, "GET", sessions + "?token=" + self.server.token, {"Host": home}), (401, "GET", sessions + "?access_token=" + self.server.token, {"Host": home}), (400, "GET", sessions + "?access_token=" + self.server.token, {"Host": home, **good}),
            (401, "POST", sessions, {"Host": home, "Content-Type": "application/json"}), (401, "DELETE", sessions + "/s?confirm=s", {"Host": home}), (401, "POST", "/mcp", {"Host": home, "Content-Type": "application/json"}), (401, "GET", "/nothing", {"Host": home}),
            (415, "POST", sessions, {"Host": home, "Content-Type": "text/plain", **good}), (415, "POST", sessions, {"Host": home, "Content-Type": none, **good}), (415, "POST", sessions, {"Host": home, "Content-Type": "application/x-www-form-urlencoded", **good}),
            (415, "POST", sessions, {"Host": home, "Content-Type": "multipart/form-data; boundary=x", **good}), (415, "POST", sessions, {"Host": home, "Content-Type": "application/jsonp", **good}), (415, "POST", sessions, {"Host": home, "Content-Type": "application/json", "Content-Encoding": "gzip", **good}),
            (201, "POST", sessions, {"Host": home, "Content-Type": "application/json; charset=utf-8", **good}), (201, "POST", sessions, {"Host": home, "Content-Type": "APPLICATION/JSON", **good}), (415, "PUT", sessions + "/s/heads/main", {"Host": home, "Content-Type": "text/plain", **good}),
            (415, "POST", sessions + "/s/import?format=pi", {"Host": home, "Content-Type": "application/json", **good}), (405, "PATCH", sessions, {"Host": home, "Content-Type": "application/json", **good}), (405, "TRACE", sessions, {"Host": home, **good}),
            (405, "OPTIONS", sessions, {"Host": home, "Origin": f"http://localhost:{port}", "Access-Control-Request-Method": "POST", **good}), (403, "OPTIONS", sessions, {"Host": home, "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}),
            (200, "GET", "/healthz", {"Host": home}), (200, "GET", "/readyz", {"Host": home}),
        ]  # fmt: skip
        self.assertGreaterEqual(len(table), 24)
        for status, method, path, headers in table:
            with self.subTest(method=method, path=path[:40], headers={key: value for key, value in headers.items() if key != "Authorization"}):
                lines = [f"{key}: {value}" for key, value in headers.items() if value is not None and key != "Host"] + ["Connection: close"]
                body = b"{}" if method in ("POST", "PUT", "PATCH") else b""
                if body:
                    lines.append(f"Content-Length: {len(body)}")
                answers, _ = self.server.raw_answers(self.server.head(method, path, *lines, token=False, host=headers["Host"]) + body)
                self.assertEqual([one[0] for one in answers], [status], answers)
                kept = answers[0][1]
                self.assertEqual([key for key in kept if key.startswith("access-control")], [])
                self.assertEqual("www-authenticate" in kept, status == 401)

    def test_s10_rebinding_is_403_whatever_else_is_right(self):
        for name in ("attacker.test", "attacker.test.", "localhost.", "127.0.0.1.nip.io", "xn--localhost", "localhost%00.evil", "localhost:80@evil", "2130706433", "0x7f.1", "127.1"):
            with self.subTest(host=name):
                answers, _ = self.server.raw_answers(self.server.head("GET", "/v1/sessions", f"Origin: http://{name}:{self.server.port}", "Connection: close", host=f"{name}:{self.server.port}"))
                self.assertIn(answers[0][0], (400, 403), answers)

    def test_s10_no_host_or_two_are_refused(self):
        token = "Authorization: Bearer " + self.server.token
        home = f"Host: 127.0.0.1:{self.server.port}"
        for lines in (["GET /v1/sessions HTTP/1.1", token], ["GET /v1/sessions HTTP/1.1", home, "Host: evil.example", token], ["GET /v1/sessions HTTP/1.1", "Host: evil.example", home, token], ["GET /v1/sessions HTTP/1.1", home, home, token], ["GET http://evil.example/v1/sessions HTTP/1.1", home, token]):
            with self.subTest(lines=[line for line in lines if line != token]):
                answers, _ = self.server.raw_answers(("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode())
                self.assertIn(answers[0][0], (400, 403), answers)

    def test_s10_two_tokens_are_refused(self):
        for order in ((self.server.token, "x"), ("x", self.server.token)):
            answers, _ = self.server.raw_answers(self.server.head("GET", "/v1/sessions", *[f"Authorization: Bearer {one}" for one in order], "Connection: close", token=False))
            self.assertIn(answers[0][0], (400, 401), answers)

    def test_s10_hosts_and_origins_can_be_allowed(self):
        self.world.user_config('http.allow_hosts = ["weir.test"]\nhttp.allow_origins = ["https://app.test"]\n')
        self.restart()
        self.ask("GET", "/v1/sessions", headers={"Host": "weir.test"}, status=200)
        self.ask("GET", "/v1/sessions", headers={"Origin": "https://app.test"}, status=200)
        self.ask("GET", "/v1/sessions", headers={"Origin": "http://app.test"}, status=403)
        self.ask("GET", "/v1/sessions", headers={"Origin": "https://app.test.evil"}, status=403)
        self.ask("GET", "/v1/sessions", headers={"Host": "other.test"}, status=403)

    def test_s10_the_token_can_be_rotated(self):
        old = self.server.token
        self.weir("token", "rotate", "--yes")
        self.restart()
        self.assertNotEqual(self.server.token, old)
        self.get("/v1/sessions")
        self.ask("GET", "/v1/sessions", headers={"Authorization": "Bearer " + old}, status=401)
        self.assertEqual(self.weir("token", "show", "--yes").text.strip(), self.server.token)

    def test_s10_another_address_is_said_loudly(self):
        self.restart(signal.SIGTERM, listen="0.0.0.0:0")
        self.assertTrue(self.server.errors.strip(), "nothing was said")


class FilesTest(HttpTest):
    def read(self, path, session="s", **more):
        return self.server.ask("POST", f"/v1/sessions/{session}/read", {"path": path, **more})

    def test_s03_denied_names_by_link_directory_link_and_case_are_not_served(self):
        self.serve()
        content = "CANARY=zebra-content\n"
        ways = []
        for i, name in enumerate([*DENIED, *BELOW]):
            real = self.world.file(f"real{i}/{name}", content)
            link = os.path.join(self.world.cwd, f"plain{i}.txt")
            os.symlink(os.path.relpath(real, self.world.cwd), link)
            absolute = os.path.join(self.world.cwd, f"absolute{i}.txt")
            os.symlink(real, absolute)
            folder = os.path.join(self.world.cwd, f"folder{i}")
            os.symlink(os.path.dirname(real), folder)
            ways += [real, link, absolute, os.path.join(folder, os.path.basename(real)), os.path.join(self.world.cwd, f"real{i}", ".", "..", f"real{i}", name), real + ":1-1", "@" + real]
            upper = self.world.file(f"upper{i}/{name.upper()}", content)
            mixed = self.world.file(f"mixed{i}/{name.swapcase()}", content)
            ways += [upper, mixed]
            if "/" not in name:
                ways += [self.world.file(f"dots{i}/{name}.", content), self.world.file(f"space{i}/{name} ", content)]
        self.assertGreater(len(ways), 300)
        client = self.server.client()
        served = []
        for way in ways:
            answer = client.ask("POST", "/v1/sessions/s/read", {"path": way})
            if answer.status == 200 or "zebra" in answer.text:
                served.append((way, str(answer)[:300]))
            else:
                self.assertIn(answer.json["code"], ("DENIED_BY_POLICY", "NOT_FOUND"), answer)
        client.close()
        self.assertEqual(served, [])
        allowed = self.world.file("ok/.env.example", content)
        self.assertEqual(self.read(allowed).status, 200)
        # Weir's own store, even below a root.
        self.restart(signal.SIGTERM, roots=[self.world.root])
        self.put_entries("s", [entry("x" * 70000)])
        for path in (os.path.join(self.world.store, "weir.db"), self.world.objects()[0]):
            self.assertEqual(self.read(path).json["code"], "DENIED_BY_POLICY")
        self.assertEqual(self.read(self.server.told["token_file"]).status, 403)

    def test_s04_no_root_no_file(self):
        path = self.world.file("a.txt", "one\n")
        self.serve(roots=[])
        for way in (path, "/etc/hostname", "/", "~", "/proc/self/environ", "/dev/null"):
            answer = self.read(way)
            self.assertEqual((answer.status, answer.json["code"]), (403, "OUTSIDE_ROOTS"), answer)

    def test_s04_roots_are_absolute_and_opened_once(self):
        inside = self.world.file("in/a.txt", "one\n")
        beside = self.world.file("in2/a.txt", "two\n")
        self.serve(roots=[os.path.dirname(inside)])
        table = [
            (200, inside), (403, beside), (403, os.path.join(self.world.cwd, "in", "..", "in2", "a.txt")), (403, "/etc/hostname"), (403, THROUGH + "/etc/hostname"), (403, f"/proc/{self.server.pid}/environ"), (403, os.path.join(self.world.cwd, "in") + "2/a.txt"),
        ]  # fmt: skip
        # Directories that links lead to are the test's own, and the links go first: whoever clears up must not meet them.
        outside = self.world.path("outside")
        os.mkdir(outside)
        with open(os.path.join(outside, "a.txt"), "w") as file:
            file.write("three\n")
        for name, target in (("out", "/etc/hostname"), ("beside", beside), ("folder", outside), ("magic", "/proc/self")):
            link = os.path.join(self.world.cwd, "in", name)
            os.symlink(target, link)
            self.addCleanup(lambda name=name: [os.unlink(one) for one in (os.path.join(self.world.cwd, "in", name), os.path.join(self.world.cwd, "moved", name)) if os.path.islink(one)])
        for name in ("out", "beside", "folder/a.txt", "magic/environ", "magic" + os.sep + "root/etc/hostname"):
            table.append((403, os.path.join(self.world.cwd, "in", name)))
        for status, path in table:
            with self.subTest(path=path):
                self.assertEqual(self.read(path).status, status)
        # The directory that was opened is the root, not what stands there later.
        os.rename(os.path.join(self.world.cwd, "in"), os.path.join(self.world.cwd, "moved"))
        os.rename(os.path.join(self.world.cwd, "in2"), os.path.join(self.world.cwd, "in"))
        self.assertNotEqual(self.read(inside, "t").body.count(b"two"), 1)

    def test_s04_cwd_of_a_call_opens_nothing(self):
        self.serve()
        for cwd in ("/etc", "/", "..", THROUGH + "/etc"):
            answer = self.read("hostname", cwd=cwd)
            self.assertIn(answer.status, (403, 404, 422), answer)

    def test_s05_sizes_are_bounded_before_anything_is_read(self):
        self.serve()
        sparse = os.path.join(self.world.cwd, "sparse")
        with open(sparse, "wb") as file:
            file.truncate(1 << 40)
        just_over = os.path.join(self.world.cwd, "over")
        with open(just_over, "wb") as file:
            file.truncate((256 << 20) + 1)
        before, began = self.server.memory("VmHWM"), time.monotonic()
        for path in (sparse, just_over):
            answer = self.read(path)
            self.assertEqual((answer.status, answer.json["code"]), (413, "TOO_LARGE"), answer)
        self.assertLess(time.monotonic() - began, 2)
        self.assertLess(self.server.memory("VmHWM") - before, 16 << 20)
        self.assertEqual(self.read("/dev/zero").status, 403)

    def test_s05_a_growing_file_stops_at_its_size(self):
        self.serve()
        path = self.world.file("grows.txt", "".join(f"line {i}\n" for i in range(1000)))
        stop = threading.Event()

        def grow():
            with open(path, "a") as file:
                while not stop.is_set() and file.tell() < 64 << 20:
                    file.write("more and more and more\n" * 100)
                    file.flush()

        thread = threading.Thread(target=grow)
        thread.start()
        before = self.server.memory("VmHWM")
        try:
            for _ in range(20):
                answer = self.read(path, bypass_cache=True)
                self.assertEqual(answer.status, 200, answer)
                self.assertLess(len(answer.body), 1 << 20)
        finally:
            stop.set()
            thread.join(20)
        self.assertLess(self.server.memory("VmHWM") - before, 400 << 20)

    def test_s06_nothing_is_open_to_others_whatever_the_umask(self):
        self.serve(umask=0)
        path = self.world.file("a.txt", "one\n")
        self.put_entries("s", [entry("x" * 70000), entry("one")], headers={"Idempotency-Key": "k"})
        self.read(path)
        self.post("/v1/sessions/s/compact", {}, 201)
        self.ask("POST", "/v1/sessions/i/import?format=pi", b'{"type":"session","version":3,"id":"i","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n', headers={"Content-Type": "application/x-ndjson"})
        for _ in range(2):
            for place in (self.world.store, self.world.path("state", "weir")):
                found = subprocess.run(["find", place, "-perm", "/077"], capture_output=True, text=True)
                self.assertEqual((found.stdout, found.returncode), ("", 0))
            self.server.stop()

    def test_s06_a_store_open_to_others_is_refused(self):
        self.weir("init")
        os.chmod(self.world.store, 0o777)
        ran = self.world.run("--json", "serve", "--listen", "127.0.0.1:0", timeout=20)
        self.assertEqual(ran.code, 10, ran)

    def test_s20_a_quota_refuses_writes_and_reads_go_on(self):
        self.world.user_config("limits.session_entries = 3\n")
        self.serve()
        self.put_entries("s", [entry("1", id="a1"), entry("2")])
        problem = self.problem("LIMIT_EXCEEDED", "POST", "/v1/sessions/s/entries", {"entries": [entry("3"), entry("4")]})
        self.assertEqual(problem["details"], {"name": "limits.session_entries", "limit": 3, "value": 4})
        self.get("/v1/sessions/s/entries/a1")
        self.assertEqual(self.get("/v1/sessions/s")["entries"], 2)
        self.put_entries("t", [entry("another")])

    @unittest.skipUnless(quota_test.can_mount(), "no small file system can be mounted here")
    def test_s20_a_disk_that_fills_while_the_server_runs_takes_no_more_writes(self):
        disk = self.world.path("disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", disk], check=True)
        self.addCleanup(lambda: subprocess.run(["umount", "-l", disk], check=True))
        self.world.store = os.path.join(disk, "weir")
        self.world.env["WEIR_STORE"] = self.world.store
        self.serve()
        self.put_entries("s", [entry("before", id="a1")])

        def percent():
            usage = os.statvfs(disk)
            return 100 * (usage.f_blocks - usage.f_bfree) / usage.f_blocks

        stored = 1
        for i in range(40):
            answer = self.ask("POST", "/v1/sessions/s/entries", {"entries": [entry(os.urandom(600000).hex())]}, headers={"Idempotency-Key": f"k{i}"})
            if answer.status != 201:
                break
            stored += 1
        self.assertEqual((answer.status, answer.json["code"]), (507, "STORAGE"), answer)
        self.assertGreaterEqual(answer.json["details"]["percent"], 95)
        self.assertLess(percent(), 99)
        full = percent()
        for _ in range(40):
            self.problem("STORAGE", "POST", "/v1/sessions/s/entries", {"entries": [entry("more")]}, headers={"Idempotency-Key": "again"})
            self.problem("STORAGE", "POST", "/v1/sessions", {"id": "more"})
        self.assertEqual(self.get("/v1/sessions/s")["entries"], stored)
        self.assertEqual(self.get("/v1/sessions/s/history?q=before")["matches"][0]["entry"], "a1")
        self.assertLessEqual(percent(), full + 1)
        self.assertEqual(self.ask("GET", "/readyz", token=False).json, {"reasons": ["disk"]})
        self.ask("DELETE", "/v1/sessions/s?confirm=s")
        self.put_entries("t", [entry("there is room again")])


class CrossTest(HttpTest):
    def test_s11_200_clients_with_equal_ids_and_random_payloads_0_crossed(self):
        self.serve()

        def work(i):
            chance = random.Random(i)
            client = self.server.client(60)
            wrong = []
            for n in range(4):
                payload = "".join(chance.choice("abcdefghijklmnopqrstuvwxyz ") for _ in range(chance.randint(10, 5000)))
                answer = client.ask("POST", f"/v1/sessions/c{i}/entries", {"entries": [entry(payload, id=f"e{n}")]})
                if answer.status != 201 or answer.json["entries"][0]["id"] != f"e{n}":
                    wrong.append(str(answer)[:300])
                got = client.ask("GET", f"/v1/sessions/c{i}/entries/e{n}")
                if got.status != 200 or got.json["body"]["content"] != payload:
                    wrong.append(str(got)[:300])
                miss = client.ask("GET", f"/v1/sessions/c{i}/entries/none-{i}-{n}")
                if miss.status != 404 or miss.json["details"].get("entry") != f"none-{i}-{n}":
                    wrong.append(str(miss)[:300])
            client.close()
            return wrong

        self.assertEqual([wrong for wrong in in_threads(200, work) if wrong], [])
        self.sound()

    def test_s11_answers_on_one_connection_come_in_order(self):
        self.serve()
        self.put_entries("s", [entry(f"n{i}", id=f"n{i}") for i in range(50)])
        data = b"".join(self.server.head("GET", f"/v1/sessions/s/entries/n{i}", *(["Connection: close"] if i == 49 else [])) for i in range(50))
        answers, closed = self.server.raw_answers(data, timeout=20)
        self.assertEqual([server.parse_line(body.decode())["id"] for _, _, body in answers], [f"n{i}" for i in range(50)])
        self.assertTrue(closed)


class BodiesTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_s12_malformed_json_of_all_kinds_one_problem_each(self):
        path = "/v1/sessions/s/entries"
        body = lambda text: b'{"entries":[{"type":"message","body":{"role":"user","content":' + text + b"}}]}"  # noqa: E731
        bad = [
            b" ", b"{", b"}", b"[", b"]", b"[1", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b'{"a":1,}', b"[1,]", b"[,1]", b'{"a" 1}', b"{a:1}", b"{'a':1}", b'{"a":1}{"b":2}', b'{"a":1} x', b"nul", b"tru", b"True", b"NaN", b"Infinity", b"-", b"+1", b"01", b"1.", b".5", b"1e", b"0x1",
            b'"\\x"', b'"\\u12"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\x01"', b'"\t"', b'"a\nb"', b'"', b'"\\', b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"{\x00}", b"// x\n{}", b"/* */{}", b"\x00", b"\xc0\xaf", b'{"entries":[],"entries":[]}', b'{"entries":[],"\\u0065ntries":[]}',
            body(b'"\xff"'), body(b'"\xc0\x80"'), body(b'"\xed\xa0\x80"'), body(b'"\xf4\x90\x80\x80"'), body(b'"\xe2\x82"'), body(b'"x","content":"y"'), body(b"[" * 70 + b"]" * 70), body(b"[" * 100000 + b"]" * 100000), b"[" * 1000000, b'{"a":' * 500000, body(b'{"a":' * 64 + b"1" + b"}" * 64),
        ]  # fmt: skip
        client = self.server.client()
        for one in bad:
            with self.subTest(body=one[:60]):
                answer = client.ask("POST", path, one)
                self.is_problem(answer, "INVALID_JSON")
        self.assertLess(self.server.memory("VmHWM"), 500 << 20)
        self.ask("GET", "/v1/sessions/s", status=404)

    def test_s12_json_of_the_wrong_shape_is_invalid_field(self):
        for one in (b"1", b"null", b"true", b'"x"', b"[]", b"{}", b'{"entries":{}}', b'{"entries":null}', b'{"entries":[1]}', b'{"entries":[[]]}', b'{"Entries":[]}', b'{"ENTRIES":[{}]}', b'{"entries":[],"Head":"x"}', b'{"entries":[{"Type":"message","Body":{}}]}', b'{"entries":[{"type":"message","body":[]}]}',
                    b'{"entries":[{"type":"","body":{}}]}', b'{"entries":[{"type":"message","body":{"role":"user","content":"x"},"colour":1}]}', b'{"entries":[{"type":"x","body":{}}],"colour":1}', b'{"entries":[{"type":"x","body":{},"at":"yesterday"}]}', b'{"entries":[{"type":"x","body":{}}],"lenient":"yes"}'):  # fmt: skip
            with self.subTest(body=one):
                self.problem("INVALID_FIELD", "POST", "/v1/sessions/s/entries", one)
        self.ask("GET", "/v1/sessions/s", status=404)

    def test_s12_a_body_over_4_mib_is_refused_before_it_is_read(self):
        for size in ((4 << 20) + 1, 1 << 30, 1 << 50, 9223372036854775807):
            for more in ([], ["Expect: 100-continue"]):
                with self.subTest(size=size, more=more):
                    began = time.monotonic()
                    answers, closed = self.server.raw_answers(self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", f"Content-Length: {size}", *more), timeout=4)
                    self.assertEqual([one[0] for one in answers], [413], answers)
                    self.assertTrue(closed)
                    self.assertLess(time.monotonic() - began, 3)
        self.ask("POST", "/v1/sessions/s/entries", b'{"entries":[{"type":"message","body":{"role":"user","content":"' + b"a" * ((4 << 20) - 100) + b'"}}]}', status=201)

    def test_s12_an_endless_body_in_chunks_is_refused_and_not_kept(self):
        before = self.server.memory()
        sock = self.server.connect(10)
        sock.sendall(self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        got, chunk = [], b"10000\r\n" + b" " * 65536 + b"\r\n"

        def listen():
            try:
                while not got or got[-1]:
                    got.append(sock.recv(65536))
            except OSError:
                pass

        reader = threading.Thread(target=listen)
        reader.start()
        until = time.monotonic() + 10
        try:
            while time.monotonic() < until:
                sock.sendall(chunk)
        except OSError:
            pass
        self.assertLess(time.monotonic(), until, "it went on and on")
        reader.join(10)
        self.assertTrue(b"".join(got).startswith(b"HTTP/1.1 413"), got[:1])
        sock.close()
        self.assertLess(self.server.memory() - before, 64 << 20)
        self.get("/v1/sessions")

    def test_s12_a_line_of_an_import_over_10_mib_is_refused(self):
        head = b'{"type":"session","version":3,"id":"i","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
        long_line = b'{"type":"custom","id":"a","parentId":null,"customType":"x","data":"' + b"a" * (10 << 20) + b'"}\n'
        answer = self.ask("POST", "/v1/sessions/i/import?format=pi", head + long_line, headers={"Content-Type": "application/x-ndjson"})
        self.is_problem(answer, "LIMIT_EXCEEDED")
        self.assertEqual(answer.json["details"]["limit"], 10 << 20)
        self.ask("GET", "/v1/sessions/i", status=404)

    def test_s12_chunks_are_a_body(self):
        body = compact({"entries": [entry("in chunks", id="a1")]}).encode()
        data = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7)) + b"0\r\nTrailer: x\r\n\r\n"
        answers, _ = self.server.raw_answers(self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close") + data)
        self.assertEqual([one[0] for one in answers], [201], answers)
        self.assertEqual(self.get("/v1/sessions/s/entries/a1")["body"]["content"], "in chunks")

    def test_s12_expect_100_continue(self):
        sock = self.server.connect(5)
        body = compact({"entries": [entry("x", id="a1")]}).encode()
        sock.sendall(self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close"))
        self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 100"))
        sock.sendall(body)
        got = b""
        while True:
            more = sock.recv(65536)
            if not more:
                break
            got += more
        self.assertEqual([one[0] for one in parse_answers(got)], [201])
        sock.close()

    def test_requests_made_to_be_read_in_two_ways_get_one_refusal_and_the_connection_is_closed(self):
        hidden = self.server.head("GET", "/smuggled")
        post = lambda *lines: self.server.head("POST", "/v1/sessions/s/entries", "Content-Type: application/json", *lines)  # noqa: E731
        home = f"Host: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer {self.server.token}\r\n".encode()
        get = b"GET /v1/sessions HTTP/1.1\r\n" + home
        chunked = b"0\r\n\r\n"
        corpus = {
            "length and chunked": post("Content-Length: 5", "Transfer-Encoding: chunked") + chunked + hidden, "chunked and length": post("Transfer-Encoding: chunked", "Content-Length: 5") + chunked + hidden,
            "two lengths": post("Content-Length: 2", "Content-Length: 3") + b"{}" + hidden, "a list of lengths": post("Content-Length: 2, 3") + b"{}" + hidden, "a signed length": post("Content-Length: +2") + b"{}" + hidden, "a negative length": post("Content-Length: -2") + b"{}" + hidden,
            "a hexadecimal length": post("Content-Length: 0x2") + b"{}" + hidden, "a length with a space in it": post("Content-Length: 2 0") + b"{}" + hidden, "an empty length": post("Content-Length:") + b"{}" + hidden, "a length that overflows": post("Content-Length: 18446744073709551618") + b"{}" + hidden,
            "a length of letters": post("Content-Length: two") + b"{}" + hidden, "a length with a point": post("Content-Length: 2.0") + b"{}" + hidden, "an unknown coding": post("Transfer-Encoding: xchunked") + chunked + hidden, "chunked, identity": post("Transfer-Encoding: chunked, identity") + chunked + hidden,
            "identity": post("Transfer-Encoding: identity") + hidden, "gzip, chunked": post("Transfer-Encoding: gzip, chunked") + chunked + hidden, "chunked twice": post("Transfer-Encoding: chunked, chunked") + chunked + hidden, "two codings": post("Transfer-Encoding: chunked", "Transfer-Encoding: identity") + chunked + hidden,
            "a quoted coding": post('Transfer-Encoding: "chunked"') + chunked + hidden, "a vertical tab": post("Transfer-Encoding: \x0bchunked") + chunked + hidden, "a space before the colon": post("Transfer-Encoding : chunked") + chunked + hidden, "a space before the colon of a length": post("Content-Length : 2") + b"{}" + hidden,
            "a space before a name": get + b" Content-Length: 2\r\n\r\n{}" + hidden, "a folded line": post("X: a\r\n b") + hidden, "a folded coding": post("Transfer-Encoding:\r\n chunked") + chunked + hidden, "a bare carriage return": get + b"X: a\rContent-Length: 2\r\n\r\n{}" + hidden, "NUL in a value": get + b"X: a\x00b\r\n\r\n" + hidden,
            "NUL in a name": get + b"X\x00: a\r\n\r\n" + hidden, "a name that is none": get + b"X(y): a\r\n\r\n" + hidden, "no name": get + b": a\r\n\r\n" + hidden, "no colon": get + b"nothing\r\n\r\n" + hidden, "a chunk size that is none": post("Transfer-Encoding: chunked") + b"zz\r\n{}\r\n0\r\n\r\n" + hidden,
            "a negative chunk": post("Transfer-Encoding: chunked") + b"-2\r\n{}\r\n0\r\n\r\n" + hidden, "a chunk of 0x2": post("Transfer-Encoding: chunked") + b"0x2\r\n{}\r\n0\r\n\r\n" + hidden, "a chunk that overflows": post("Transfer-Encoding: chunked") + b"10000000000000002\r\n{}\r\n0\r\n\r\n" + hidden,
            "a chunk with a space": post("Transfer-Encoding: chunked") + b" 2\r\n{}\r\n0\r\n\r\n" + hidden, "a chunk longer than it says": post("Transfer-Encoding: chunked") + b"2\r\n{}xx\r\n0\r\n\r\n" + hidden, "an empty chunk size": post("Transfer-Encoding: chunked") + b"\r\n{}\r\n0\r\n\r\n" + hidden,
            "chunks ended by a bare line feed": post("Transfer-Encoding: chunked") + b"2\n{}\n0\n\n" + hidden, "HTTP/0.9": b"GET /v1/sessions\r\n" + hidden, "HTTP/2.0": b"GET /v1/sessions HTTP/2.0\r\n" + home + b"\r\n" + hidden, "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.10": b"GET /v1/sessions HTTP/1.10\r\n" + home + b"\r\n" + hidden,
            "http in lower case": b"GET /v1/sessions http/1.1\r\n" + home + b"\r\n" + hidden, "two spaces": b"GET  /v1/sessions HTTP/1.1\r\n" + home + b"\r\n" + hidden, "a tab": b"GET\t/v1/sessions\tHTTP/1.1\r\n" + home + b"\r\n" + hidden, "a space in the target": b"GET /v1/ses sions HTTP/1.1\r\n" + home + b"\r\n" + hidden,
            "a raw byte in the target": b"GET /v1/\xff HTTP/1.1\r\n" + home + b"\r\n" + hidden, "NUL in the target": b"GET /v1/\x00 HTTP/1.1\r\n" + home + b"\r\n" + hidden, "a fragment": b"GET /v1/sessions#x HTTP/1.1\r\n" + home + b"\r\n" + hidden, "no slash": b"GET v1/sessions HTTP/1.1\r\n" + home + b"\r\n" + hidden,
            "a method that is none": b"G(T /v1/sessions HTTP/1.1\r\n" + home + b"\r\n" + hidden, "nothing at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 60 + b"\r\n\r\n", "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", "a length for HTTP/1.0 in chunks": b"POST /v1/sessions HTTP/1.0\r\n" + home + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + hidden,
        }  # fmt: skip

        def one(i):
            name = sorted(corpus)[i]
            out, closed = self.server.raw(corpus[name], timeout=4)
            return name, parse_answers(out), closed

        wrong = []
        for name, answers, closed in in_threads(len(corpus), one):
            statuses = [status for status, _, _ in answers]
            if len(statuses) > 1 or any(not 400 <= status < 600 for status in statuses) or 500 in statuses or any(b"smuggled" in body for _, _, body in answers) or not closed:
                wrong.append((name, statuses, "closed" if closed else "left open"))
        self.assertEqual(wrong, [])
        self.assertNotIn("smuggled", self.server.errors)
        self.ask("GET", "/v1/sessions/s", status=404)
        self.assertEqual(self.get("/v1/sessions")["items"], [])

    def test_a_get_may_have_a_body_that_is_not_taken_for_a_request(self):
        hidden = self.server.head("GET", "/smuggled")
        answers, _ = self.server.raw_answers(self.server.head("GET", "/v1/sessions", f"Content-Length: {len(hidden)}") + hidden, timeout=2)
        self.assertEqual(len(answers), 1, answers)

    def test_a_refused_body_is_not_taken_for_a_request(self):
        hidden = self.server.head("GET", "/smuggled")
        size = f"Content-Length: {len(hidden)}"
        heads = [
            self.server.head("POST", "/v1/sessions", "Content-Type: text/plain", size), self.server.head("POST", "/v1/sessions", "Content-Type: application/json", size, token=False), self.server.head("POST", "/nothing", "Content-Type: application/json", size),
            self.server.head("POST", "/v1/sessions", "Content-Type: application/json", size, host="evil.example"), self.server.head("PATCH", "/v1/sessions", "Content-Type: application/json", size),
        ]  # fmt: skip
        for answers, _ in in_threads(len(heads), lambda i: self.server.raw_answers(heads[i] + hidden, timeout=2)):
            self.assertEqual(len(answers), 1, answers)
            self.assertGreaterEqual(answers[0][0], 400)


class LogTest(HttpTest):
    def test_s14_no_raw_control_byte_reaches_the_log(self):
        for form in ("text", "json"):
            with self.subTest(form=form):
                self.world.user_config(f'log.format = "{form}"\n')
                self.serve(env={"WEIR_LOG": "debug"})
                self.throw_everything()
                self.server.stop()
                with open(self.server.errors_path, "rb") as file:
                    data = file.read()
                self.assertIn(b"\n", data, "a log that says nothing proves nothing")
                text = data.decode("utf-8")  # and only UTF-8
                bad = {hex(ord(c)) for c in text if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F or c in "\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")}
                self.assertEqual(bad, set())
                self.assertEqual([line for line in text.splitlines() if line.startswith("2026-01-01T00:00:00.000Z info forged")], [])
                if form == "json":
                    for line in text.splitlines():
                        self.assertIsInstance(server.parse_line(line), dict)
                os.remove(self.server.errors_path)

    def throw_everything(self):
        for code in range(256):
            raw = bytes([code])
            for data in (b"GET /v1/x" + raw + b"y HTTP/1.1\r\n", b"G" + raw + b"T /v1/sessions HTTP/1.1\r\n"):
                self.quick(data + f"Host: localhost\r\nAuthorization: Bearer {self.server.token}\r\nConnection: close\r\n\r\n".encode())
            self.quick(self.server.head("GET", "/v1/sessions").removesuffix(b"\r\n") + b"User-Agent: a" + raw + b"b\r\ntraceparent: " + raw + b"\r\nConnection: close\r\n\r\n")
        client = self.server.client()
        for text in [chr(code) for code in range(256)] + SEQUENCES:
            client.ask("GET", "/v1/sessions/" + part(text))
            client.ask("GET", f"/v1/sessions/s/entries?{part(text)}=1")
            client.ask("POST", "/v1/sessions/s/notes", {"kind": text})
            client.ask("POST", "/v1/sessions/s/entries", {"entries": [{"type": text, "id": text, "body": {text: text}}]})
        for text in SEQUENCES:
            client.ask("PUT", "/v1/sessions/s/heads/" + part(text), {"entry": text})
            client.ask("POST", "/v1/sessions/s/read", {"path": text})
            raw = text.encode()
            self.quick(self.server.head("GET", "/v1/sessions", "X: ").removesuffix(b"\r\n\r\n") + raw + b"\r\nConnection: close\r\n\r\n")
            self.quick(b"GET /v1/sessions HTTP/1.1\r\nHost: " + raw + b"\r\nConnection: close\r\n\r\n")
            self.quick(b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://" + raw + b"\r\nConnection: close\r\n\r\n")
        client.close()

    def quick(self, data):
        sock = self.server.connect(3)
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1 << 16):
                pass
        except OSError:
            pass
        finally:
            sock.close()


class InjectionTest(HttpTest):
    def test_s15_injection_strings_as_every_filter_and_id_are_data(self):
        self.answer("append", "--session", "s", stdin=server.jsonl([entry("one", id="aaaa1"), entry("two", id="aaaa2"), {"type": "compaction", "id": "cccc1", "body": {"summary": "x"}}]))
        self.serve()
        before = self.world.dump()
        client = self.server.client()
        for text in injection_test.STRINGS:
            one = part(text)
            with self.subTest(text=text):
                for path in (
                    f"/v1/sessions/{one}", f"/v1/sessions/{one}/entries", f"/v1/sessions/s/entries/{one}", f"/v1/sessions/s/entries?head={one}", f"/v1/sessions/s/entries?at={one}", f"/v1/sessions/s/entries?cursor={one}", f"/v1/sessions/s/entries?scope={one}", f"/v1/sessions/s/entries?since={one}",
                    f"/v1/sessions/s/entries?limit={one}", f"/v1/sessions/s/ctrees?profile={one}", f"/v1/sessions/s/ctrees/tree?stage={one}", f"/v1/sessions/s/ctrees/tree?show={one}", f"/v1/sessions/s/stages/{one}", f"/v1/sessions/s/diff?a={one}&b=main", f"/v1/sessions/s/snapshots/{one}", f"/v1/sessions/s/snapshots/{one}/narrative",
                    f"/v1/sessions/s/history?q=x&where={one}", f"/v1/sessions/s/export?format={one}", f"/v1/blobs/{one}", f"/v1/sessions/s/events?types={one}", f"/sessions/{one}/ctrees", f"/sessions/{one}/readcache-status", f"/v1/sessions?cursor={one}", f"/v1/sessions?limit={one}",
                ):  # fmt: skip
                    answer = client.ask("GET", path)
                    self.assertIn(answer.status, (400, 404, 415, 422, 200) if text in ("0", "1", "-1", "1e9", "null") else (400, 404, 415, 422), answer)
                    if answer.status >= 400:
                        self.assertIn(answer.json["code"], ("NOT_FOUND", "INVALID_FIELD", "USAGE", "UNSUPPORTED_FORMAT"), answer)
                answer = client.ask("GET", f"/v1/sessions/s/entries?type={one}")
                self.assertIn(answer.status, (200, 422), answer)
                if answer.status == 200:
                    self.assertEqual(answer.json["items"], [], answer)
                answer = client.ask("GET", f"/v1/sessions/s/history?q={one}")
                self.assertIn(answer.status, (200, 422), answer)
                for method, path, body in (
                    ("PUT", f"/v1/sessions/s/heads/{one}", {"entry": "nope0"}), ("PUT", "/v1/sessions/s/heads/main", {"entry": text}), ("PUT", "/v1/sessions/s/heads/main", {"entry": "aaaa1", "expect": text}), ("DELETE", f"/v1/sessions/s/heads/{one}", None), ("DELETE", f"/v1/sessions/s?confirm={one}", None),
                    ("DELETE", f"/v1/sessions/{one}?confirm={one}", None), ("POST", "/v1/sessions/s/entries", {"entries": [{"type": "x", "body": {}, "parent": text}]}), ("POST", "/v1/sessions/s/entries", {"entries": [entry("x")], "expect": text}), ("POST", "/v1/sessions/s/notes", {"kind": text}), ("POST", "/sessions/s/tree", {"entry": text}),
                    ("POST", f"/v1/sessions/s/import?format={one}", None),
                ):  # fmt: skip
                    answer = client.ask(method, path, body)
                    self.assertIn(answer.status, (400, 403, 404, 409, 415, 422), answer)
        client.close()
        self.assertEqual([line for line in self.world.dump() if "idempotency" not in line.split(" ")[0]], [line for line in before if "idempotency" not in line.split(" ")[0]])
        # As ids they are ids.
        usable = [text for text in injection_test.STRINGS if not any(c.isspace() for c in text)]
        self.put_entries("odd", [entry(f"content of {text}", id=text) for text in usable])
        for text in usable:
            if text in (".", ".."):
                continue
            self.assertEqual(self.get("/v1/sessions/odd/entries/" + part(text))["body"]["content"], f"content of {text}")
        self.sound()


if __name__ == "__main__":
    server.main()
