"""Files over MCP: the path corpus (S1, S4, S5), the deny list (S3), links (S2), over both transports."""

import os
import subprocess
import threading
import sys

import client
from client import NOVEMBER, SHARED_TOOLS, Http, McpTest, needs_tools

LEAKS = ("SECRET", "root:x:", "PATH=")
REFUSALS = {"NOT_FOUND", "IS_DIRECTORY", "ACCESS_DENIED", "NOT_REGULAR", "OUTSIDE_ROOTS", "DENIED_BY_POLICY", "TOO_LARGE", "INVALID_FIELD", "LIMIT_EXCEEDED", "BAD_RANGE_SUFFIX"}

# 30 names of the deny list, as they may be spelled.
DENIED = """.env .env.local .ENV prod.env server.pem server.PEM.bak tls.key tls.key.old a.p12 a.pfx site.crt site.cer site.der a.pk8 a.ppk a.jks a.keystore a.kdbx
id_rsa id_ed25519.bak id_work .npmrc .netrc _netrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .dockercfg credentials credentials.json secrets.yaml kubeconfig
kubeconfig-prod main.tfstate main.tfstate.backup Id_RSA CREDENTIALS""".split()
FOLDERS = (".ssh", ".gnupg", ".aws", ".kube", ".docker", ".SSH")
ALLOWED = (".env.example", ".env.sample", ".env.template", "environment.txt", "keys.txt", "pem.txt", "id_card.txt", "monkey.txt")


class PathsTest(McpTest):
    def setUp(self):
        super().setUp()
        self.base = os.path.realpath(self.world.path("base"))
        self.root = os.path.join(self.base, "root")
        self.traps()

    def inside(self, *names):
        return os.path.join(self.root, *names)

    def write(self, path, content):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def traps(self):
        for path, content in [
            (self.inside("ok.txt"), "OK\n"), (self.inside("sub", "in.txt"), "OK\n"), (os.path.join(self.base, "rootevil", "s.txt"), "SECRET\n"), (os.path.join(self.base, "out", "s.txt"), "SECRET\n"),
            (self.inside("esc.txt"), "\x1b]0;title\x07\x1b[2J"), (self.inside("notutf8.txt"), b"OK\xff\xfe\n"), (self.inside("a", "x"), "OK\n"),
        ]:  # fmt: skip
            self.write(path, content)
        out = os.path.join(self.base, "out")
        for name, target in [
            ("link_abs", out + "/s.txt"), ("link_rel", "../out/s.txt"), ("dirlink", out), ("loop", "loop"), ("loop_a", "loop_b"), ("loop_b", "loop_a"), ("link_inside", "ok.txt"),
            ("link_inside_abs", self.inside("ok.txt")), ("procroot", "/proc/self/root"), ("environ", "/proc/self/environ"), ("zero", "/dev/zero"), ("dangling", "nowhere"), ("stdin", "/dev/stdin"), ("fd", "/proc/self/fd/0"),
        ]:  # fmt: skip
            os.symlink(target, self.inside(name))
        os.symlink("..", self.inside("a", "up"))
        os.mkfifo(self.inside("fifo"))
        with open(self.inside("big"), "wb") as file:
            file.truncate(3 << 30)

    def corpus(self):
        """Path and what is allowed: ok (inside content), no (an error), either."""
        r = self.root + "/"
        return [
            (r + "ok.txt", "ok"), ("ok.txt", "either"), (r + "link_inside", "ok"), (r + "link_inside_abs", "either"), (r + "sub/../ok.txt", "either"), (r + "./ok.txt", "ok"), (r + "/ok.txt", "ok"),
            (r + "ok.txt/", "either"), (r + "esc.txt", "ok"), (r + "notutf8.txt", "either"), (r + "a/up/ok.txt", "either"), (r + "../out/s.txt", "no"), (self.root + "evil/s.txt", "no"), (r + "link_abs", "no"), (r + "link_rel", "no"),
            (r + "dirlink/s.txt", "no"), (r + "loop", "no"), (r + "loop_a", "no"), (r + "procroot/etc/passwd", "no"), (r + "environ", "no"), (r + "zero", "no"), (r + "stdin", "no"), (r + "fd", "no"), (r + "dangling", "no"),
            (r + "a/up/../out/s.txt", "no"), (r + "sub/../../out/s.txt", "no"), ("/etc/passwd", "no"), ("/proc/self/environ", "no"), ("/proc/self/fd/0", "no"), ("/dev/stdin", "no"), (r + "ok.txt\0.png", "no"), (r + "ok.txt\0", "no"),
            (r + "/..//out/s.txt", "no"), (r + "sub", "no"), (self.root, "no"), (r + "A" * 300, "no"), (r + "a/" * 3000 + "x", "no"), ("../out/s.txt", "no"), ("~/x", "no"), ("~root/x", "no"), (r + "%2e%2e/out/s.txt", "no"),
            (r + "..;/out/s.txt", "no"), (r + "..\\out\\s.txt", "no"), (r + "big", "no"), (r + "fifo", "no"), (r + "missing", "no"), ("", "no"), (".", "no"), ("..", "no"), ("/", "no"), ("file://" + r + "ok.txt", "no"),
            (r + "ok.txt\n", "no"), ("\\\\server\\share", "no"), ("@" + r + "../out/s.txt", "no"), (r + "../out/s.txt:1-1", "no"), (r + "link_abs:1", "no"), (r + "\u2025/out/s.txt", "no"), (r + "\uff0e\uff0e/out/s.txt", "no"),
            ("x" * 100000, "no"),
        ]  # fmt: skip

    def peers(self, *args):
        served = self.serve(*args, roots=[self.root])
        return [("stdio", self.mcp("--root", self.root, *args)), ("legacy stdio", self.legacy(NOVEMBER, "--root", self.root, *args)), ("http", Http(served))]

    def check(self, peer, path, allowed, **more):
        result = peer.call("read", path=path, **more)
        text = client.compact(result)
        for leak in LEAKS:
            self.assertNotIn(leak, text)
        if result.get("isError"):
            self.assertIn(peer.failure_in(result)["code"], REFUSALS)
        if allowed != "either":
            self.assertEqual(bool(result.get("isError")), allowed == "no", text[:300])

    def test_s1_the_path_corpus_over_every_face(self):
        for name, peer in self.peers():
            for path, allowed in self.corpus():
                with self.subTest(peer=name, path=path[:120]):
                    self.check(peer, path, allowed)
                    self.check(peer, path, allowed, session="s", bypass_cache=True)
            self.assertLess((peer.served if isinstance(peer, Http) else peer).peak_mb(), 64)  # S5
            peer.alive()

    def test_s1_refresh_tells_nothing_of_what_lies_outside(self):
        for name, peer in self.peers():
            for path, allowed in self.corpus():
                if allowed == "no":
                    text = client.compact(peer.call("refresh", path=path, session="s"))
                    self.assertFalse([leak for leak in LEAKS if leak in text], (name, path[:100]))

    def test_s4_no_root_no_file_over_http_and_the_working_directory_over_stdio(self):
        served = self.serve(roots=[])
        peer = Http(served)
        for path in (self.inside("ok.txt"), "/etc/passwd", self.world.file("a.txt", "A")):
            self.assertEqual(peer.failed("read", path=path)["code"], "OUTSIDE_ROOTS")
        child = self.mcp()
        self.assertEqual(child.text("read", path="a.txt"), "A")
        child.failed("read", "OUTSIDE_ROOTS", path=self.inside("ok.txt"))

    def test_s4_several_roots_and_the_environment(self):
        other = os.path.join(self.base, "other")
        self.write(os.path.join(other, "o.txt"), "OTHER")
        for peer in (self.mcp("--root", self.root, "--root", other), self.mcp(env={"WEIR_ROOTS": f"{self.root}:{other}"})):
            self.assertEqual(peer.text("read", path=self.inside("ok.txt")), "OK\n")
            self.assertEqual(peer.text("read", path=os.path.join(other, "o.txt")), "OTHER")
            peer.failed("read", "OUTSIDE_ROOTS", path=os.path.join(self.base, "out", "s.txt"))

    def test_s4_roots_of_the_client_can_only_narrow(self):
        """A client that declares roots may be asked for them; whatever it says opens nothing."""
        for uri in ("file:///", "file://" + self.base, "file://" + self.inside("sub")):
            peer = self.mcp("--root", self.root)
            peer.handshake(NOVEMBER, {"roots": {"listChanged": True}})
            asked = peer.take(lambda m: isinstance(m, dict) and m.get("method") == "roots/list" and "id" in m, 1)
            if asked:
                peer.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": uri, "name": "r"}]}})
                peer.alive()
            self.assertEqual(peer.text("read", path=self.inside("sub", "in.txt")), "OK\n")
            peer.failed("read", "OUTSIDE_ROOTS", path=os.path.join(self.base, "out", "s.txt"))
            if asked and uri.endswith("sub"):
                peer.failed("read", "OUTSIDE_ROOTS", path=self.inside("ok.txt"))

    def narrowed(self, folder, *args):
        """A peer whose client says that it works in one folder."""
        peer = self.mcp("--root", self.root, *args)
        peer.handshake(NOVEMBER, {"roots": {}})

        def answer():
            while asked := peer.take(lambda m: isinstance(m, dict) and m.get("method") == "roots/list" and "id" in m, 10):
                peer.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file://" + folder}]}})

        threading.Thread(target=answer, daemon=True).start()
        return peer

    def test_s4_what_lies_outside_the_clients_roots_is_not_told_by_refresh_or_status_either(self):
        self.write(self.inside("ok.txt"), "1\n2\n3\n4\n5\n")
        os.symlink(self.inside("ok.txt"), self.inside("link"))
        wide = self.mcp("--root", self.root)
        wide.handshake(NOVEMBER, {})
        wide.text("read", path=self.inside("ok.txt"), session="s")
        for peer in (self.narrowed(self.inside("sub")), self.narrowed(self.inside("sub"), "--host")):
            peer.failed("read", "OUTSIDE_ROOTS", path=self.inside("ok.txt"), session="s")
            for path, more in ((self.inside("ok.txt"), {"start": 2}), (self.inside("ok.txt"), {"start": 2, "end": 900}), (self.inside("ok.txt") + ":2-900", {})):
                scope = peer.data("refresh", path=path, session="s", **more)["scope"]
                self.assertNotIn("5", scope)
            self.assertEqual(peer.data("refresh", path=self.inside("link"), session="s")["path"], self.inside("link"))
            self.assertEqual(peer.data("refresh", path=self.inside("sub", "in.txt"), session="s", start=1, end=9)["scope"], "full")
        for operation, more in (("read", {"path": self.inside("ok.txt")}), ("getReads", {"path": self.inside("link")})):
            reply = peer.ask("weir/" + operation, {"session": "s", **more})
            self.assertNotIn("total_lines", client.compact(reply))
            self.assertNotIn(self.inside("ok.txt") + '","slots', client.compact(reply))

    def test_s4_the_digest_of_what_was_read_looks_at_no_file_outside_the_clients_roots(self):
        self.append("a question")
        for path in (self.inside("ok.txt"), self.inside("sub", "in.txt")):
            self.weir("read", path, "--session", "s", "--root", self.root)
        self.weir("compact", "--session", "s")
        text = self.narrowed(self.inside("sub")).ok("prompts/get", {"name": "resume-work", "arguments": {"session": "s"}})["messages"][0]["content"]["text"]
        self.assertRegex(text, "sub/in.txt.*unchanged since")
        self.assertRegex(text, "/ok.txt.*not checked")

    def test_s3_denied_names_are_not_served_by_name_link_folder_or_case(self):
        self.assertGreaterEqual(len(DENIED), 30)
        cases = []
        for i, name in enumerate(DENIED):
            self.write(self.inside("plain", name), "SECRET")
            os.symlink(os.path.join("plain", name), self.inside(f"innocent{i}.txt"))
            cases += [self.inside("plain", name), self.inside(f"innocent{i}.txt")]
        os.symlink("plain", self.inside("folderlink"))
        cases += [self.inside("folderlink", name) for name in DENIED]
        for i, folder in enumerate(FOLDERS):
            self.write(self.inside("home", folder, "deep", "config"), "SECRET")
            os.symlink(os.path.join("home", folder), self.inside(f"public{i}"))
            cases += [self.inside("home", folder, "deep", "config"), self.inside(f"public{i}", "deep", "config")]
        self.write(self.inside("dots", ".env."), "SECRET")
        self.write(self.inside("dots", ".env "), "SECRET")
        self.write(self.inside("dots", "cre\u0301dentials.pem"), "SECRET")
        cases += [self.inside("dots", name) for name in (".env.", ".env ", "cre\u0301dentials.pem")]
        for name, peer in self.peers():
            for path in cases:
                for more in ({}, {"session": "s"}, {"session": "s", "bypass_cache": True}, {"offset": 1, "limit": 1}):
                    with self.subTest(peer=name, path=path, more=more):
                        result = peer.call("read", path=path, **more)
                        self.assertNotIn("SECRET", client.compact(result))
                        peer.failure_in(result, "DENIED_BY_POLICY")
        self.assertEqual(subprocess.run(["grep", "-rlaF", "SECRET", self.world.store], capture_output=True, text=True).stdout, "")

    def test_s3_names_that_only_look_alike_are_served(self):
        peer = self.mcp("--root", self.root)
        for name in ALLOWED:
            self.write(self.inside("fine", name), "FINE")
            self.assertEqual(peer.text("read", path=self.inside("fine", name)), "FINE", name)

    def test_s3_the_store_itself_is_never_served(self):
        self.append("x" * 70000)
        peer = self.mcp("--root", self.world.root)
        for path in (os.path.join(self.world.store, "weir.db"), self.world.objects()[0]):
            peer.failed("read", "DENIED_BY_POLICY", path=path)

    def test_s3_names_of_the_configuration_are_denied_too(self):
        self.world.user_config('read.deny = ["*.secret"]\n')
        self.write(self.inside("plans.SECRET"), "x")
        self.mcp("--root", self.root).failed("read", "DENIED_BY_POLICY", path=self.inside("plans.SECRET"))

    def test_s2_a_hard_link_is_refused_when_set(self):
        os.link(os.path.join(self.base, "out", "s.txt"), self.inside("hardlink"))
        self.world.user_config('read.hard_links = "refuse"\n')
        for name, peer in self.peers():
            self.assertNotIn("SECRET", client.compact(peer.failed("read", "HARD_LINK", path=self.inside("hardlink"))), name)

    @needs_tools
    def test_s1_the_shared_path_corpus(self):
        for more in ([], ["--extra", '{"bypass_cache":true,"session":"s"}']):
            command = [sys.executable, "-B", os.path.join(SHARED_TOOLS, "race", "cases.py"), "--tool", "read", *more, "--", client.BIN, "mcp", "--root", "{root}"]
            done = subprocess.run(command, capture_output=True, text=True, env=self.world.environment(None), cwd=self.world.cwd, timeout=250)
            self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-500:])


if __name__ == "__main__":
    client.main()
