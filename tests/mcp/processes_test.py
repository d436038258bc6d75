"""Several processes on one store, input that ends with requests under way (case 25), and a store nobody else may read."""

import os
import select
import signal
import socket
import stat
import subprocess
import threading
import time

import client
from client import NOVEMBER, OLDEST, Http, McpTest, encode, modern, request, wait_until


class ProcessesTest(McpTest):
    def test_three_processes_write_one_session_and_nothing_is_lost(self):
        self.append("begin")
        peers = [self.mcp("--session", "s"), self.legacy(NOVEMBER, "--session", "s"), self.legacy(OLDEST, "--session", "s")]
        made, wrong = [[] for _ in peers], []

        def work(n):
            try:
                for i in range(60):
                    made[n].append(peers[n].data("note", kind="claim", text=f"claim {i} of {n}")["id"])
                    if i % 10 == 0:
                        peers[n].data("note", kind="question", text=f"question {i} of {n}")
                        peers[n].data("history", query="claim")
            except Exception as error:  # noqa: BLE001
                wrong.append(f"{n}: {type(error).__name__} {str(error)[:400]}")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        log = self.log("s", "--reverse", "--limit", "1000")
        claims = [e["body"] for e in log if e["type"] == "CLAIM_PROPOSED"]
        self.assertEqual(sorted(c["statement"] for c in claims), sorted(f"claim {i} of {n}" for n in range(3) for i in range(60)))
        ids = [c["claim_id"] for c in claims]
        self.assertEqual(len(set(ids)), 180)
        self.assertEqual(sorted(ids), sorted(id for part in made for id in part))
        self.assertEqual(sum(e["type"] == "QUESTION_OPENED" for e in log), 18)
        for peer in peers:
            self.assertEqual(peer.finish(), 0)
        self.sound()

    def test_a_server_and_a_child_on_one_store(self):
        self.append("begin")
        http, child = Http(self.serve()), self.mcp()
        for i in range(20):
            http.data("note", kind="claim", text=f"h{i}", session="s")
            child.data("note", kind="claim", text=f"c{i}", session="s")
            self.append(f"m{i}")
        self.assertEqual(child.data("status", session="s")["seq"], 61)
        self.assertEqual(http.data("status", session="s")["seq"], 61)
        self.sound()

    def test_reads_by_several_processes_are_one_readers(self):
        self.world.file("a.txt", "A\n" * 20)
        self.follow("s")
        first, second = self.mcp("--session", "s"), self.mcp("--session", "s")
        first.text("read", path="a.txt")
        # Who has asked for something else has read its answer. The first process knows it at once, the others a moment later.
        first.data("status")
        self.assertTrue(wait_until(lambda: second.data("status")["reads"]["undelivered"] == 0, 10))
        self.assertEqual(second.text("read", path="a.txt"), "[readcache: unchanged, 21 lines]")


    def test_an_answer_that_its_host_left_unread_counts_for_nobody(self):
        """Over pipes, over one socket for both ways, and where only the output is gone."""
        self.follow("s")

        def host(way, ask):
            ours, theirs = socket.socketpair() if way == "a socket" else (None, subprocess.PIPE)
            process = subprocess.Popen([client.BIN, "mcp", "--session", "s"], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=self.world.environment(None), cwd=self.world.cwd)
            put, out = (ours.makefile("wb"), ours.makefile("rb")) if ours else (process.stdin, process.stdout)
            if ours:
                ours.close()
                theirs.close()
            put.write(ask)
            put.flush()
            select.select([out], [], [], 10)
            if way == "output only":
                out.close()
                put.write(encode(modern("tools/list")))
                put.close()
            else:
                put.close()
                out.close()
            process.wait(30)

        for number, way in enumerate(("pipes", "a socket", "output only")):
            with self.subTest(way=way):
                name = f"f{number}.txt"
                self.world.file(name, "A\n" * 20)
                host(way, encode(modern("tools/call", {"name": "read", "arguments": {"path": name}}, id=1)))
                self.assertEqual(self.answer("read", name, "--session", "s")["record"]["mode"], "full")


class EndTest(McpTest):
    def test_case_25_stdin_closed_with_requests_under_way(self):
        self.append("x")
        self.world.file("a.txt", "A\n" * 1000)
        for revision in (None, NOVEMBER, OLDEST):
            for count in (0, 1, 50, 400):
                with self.subTest(revision=revision, count=count):
                    peer = self.mcp("--session", "s")
                    if revision:
                        peer.handshake(revision)
                    data = b"".join(
                        encode(peer.message("tools/call", {"name": tool, "arguments": arguments}, id=f"{i}"))
                        for i, (tool, arguments) in enumerate((
                            ("read", {"path": "a.txt"}), ("status", {}), ("note", {"kind": "question", "text": "why?"}), ("history", {"query": "x"}), ("context", {}),
                        ) * (count // 5 + 1))
                    )[: None if count else 0]  # fmt: skip
                    peer.send(data)
                    self.assertEqual(peer.finish(30), 0)  # which holds every line against JSON
                    ids = [m["id"] for m in peer.inbox if isinstance(m, dict) and "id" in m]
                    self.assertEqual(len(ids), len(set(ids)))
        self.sound()

    def test_case_25_a_last_line_without_newline(self):
        for tail in (b'{"jsonrpc":"2.0","id":1,', encode(modern("tools/list"))[:-1], b"x", b"\xff"):
            peer = self.mcp()
            peer.ok("server/discover")
            peer.send(tail)
            self.assertEqual(peer.finish(), 0)

    def test_an_acknowledged_note_is_there_after_a_kill(self):
        peer = self.mcp("--session", "s")
        for i in range(20):
            peer.data("note", kind="claim", text=f"claim {i}")
        peer.process.kill()
        peer.process.wait()
        self.assertEqual(self.path_types().count("CLAIM_PROPOSED"), 20)
        self.sound()

    def test_nobody_reads_the_output(self):
        """The other side of stdout is gone: it ends, and says nothing that kills it loudly."""
        process = subprocess.Popen([client.BIN, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.world.environment(None), cwd=self.world.cwd)
        process.stdout.close()
        try:
            for i in range(200):
                process.stdin.write(encode(request("ping", id=i)))
            process.stdin.close()
        except OSError:
            pass
        self.assertIn(process.wait(timeout=20), (0, 1, -13, 141))
        process.stderr.close()
        try:
            process.stdin.close()
        except OSError:
            pass

    def test_sigterm_and_sigint_end_it_well(self):
        import signal

        for number in (signal.SIGTERM, signal.SIGINT):
            peer = self.mcp()
            peer.alive()
            peer.process.send_signal(number)
            self.assertIn(peer.wait(), (0,) if number == signal.SIGTERM else (0, 130))

    def test_s6_whatever_the_umask_only_the_owner_can_read_the_store(self):
        store = self.world.path("private")
        peer = self.mcp("--store", store, umask=0)
        self.world.file("a.txt", "A\n" * 9000)
        peer.text("read", path="a.txt", session="s")
        peer.data("note", kind="claim", text="x" * 9000, session="s")
        for folder, names, files in os.walk(store):
            for name in (*names, *files):
                mode = stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode)
                self.assertEqual(mode & 0o077, 0, name)
        self.assertEqual(peer.finish(), 0)


class UnreadOutputTest(McpTest):
    def test_case_25_a_client_that_reads_nothing_does_not_keep_it_from_ending(self):
        """Answers of the thread that reads the input, and of others; the input ends, or a signal comes."""
        self.append("x")
        path = self.world.file("a.txt", "".join(f"line {i} of a long file\n" for i in range(1500)))

        def run(i):
            process = subprocess.Popen([client.BIN, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.world.environment(None), cwd=self.world.cwd)
            arguments = {"path": path, **({"session": "s", "bypass_cache": True} if i % 2 else {})}
            for n in range(12):
                process.stdin.write(client.encode(client.modern("tools/call", {"name": "read", "arguments": arguments}, id=n)))
            process.stdin.flush()
            time.sleep(0.5)
            if i < 2:
                process.stdin.close()
            else:
                os.kill(process.pid, signal.SIGTERM)
            try:
                return process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return "hangs"
            finally:
                process.stdout.close()

        codes = {}
        threads = [threading.Thread(target=lambda i=i: codes.__setitem__(i, run(i))) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(codes, {0: 0, 1: 0, 2: 0, 3: 0})


if __name__ == "__main__":
    client.main()
