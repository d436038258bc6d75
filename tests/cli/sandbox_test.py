"""S18: servers shut themselves in. What they gave up is refused by the kernel, and all they are there for goes on."""

import ctypes
import errno
import json
import os
import platform
import shutil
import struct
import subprocess

import harness
from harness import compact, entry
from server_case import ServerCase, status_of_threads

LANDLOCK, SECCOMP = 444, 317  # numbers of landlock_create_ruleset and seccomp on x86_64


def lacking(*calls):
    """To be called before the program is: these calls fail from then on, as in a kernel that was built without them."""

    def before():
        code = [(0x20, 0, 0, 0)]  # the number of the call
        for call in calls:
            code += [(0x15, 0, 1, call), (0x06, 0, 0, 0x00050000 | errno.ENOSYS)]
        code.append((0x06, 0, 0, 0x7FFF0000))
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
        filtering = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filtering, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter")

    return before


def kernel():
    """What this kernel has, as doctor says it."""
    with harness.tempfile.TemporaryDirectory() as folder:
        env = {"HOME": folder, "PATH": os.environ.get("PATH", "")}
        done = subprocess.run([harness.BIN, "doctor", "--json"], env=env, cwd=folder, capture_output=True, text=True)
    return [check["detail"] for check in json.loads(done.stdout)["checks"] if check["name"] == "sandbox"][0]


KERNEL = kernel()
needs_landlock = harness.unittest.skipUnless("by Landlock" in KERNEL, KERNEL)
needs_seccomp = harness.unittest.skipUnless("by seccomp" in KERNEL, KERNEL)


class ProbeTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.tried = harness.parse_line(self.weir("mcp", env={"WEIR_SANDBOX_PROBE": "1"}).text)

    @needs_seccomp
    def test_no_program_is_run_and_no_process_looked_into(self):
        for act in ("execve", "execveat", "ptrace", "process_vm_readv"):
            self.assertEqual(self.tried[act], "EPERM", act)

    @needs_seccomp
    def test_nothing_goes_out(self):
        for act in ("connect", "socket", "io_uring"):
            self.assertEqual(self.tried[act], "EPERM", act)

    @needs_landlock
    def test_no_other_file_is_opened(self):
        for act in ("open_outside", "open_outside_in_a_thread", "list_outside", "make_outside"):
            self.assertEqual(self.tried[act], "EACCES", act)

    @needs_landlock
    def test_roots_are_for_reading(self):
        self.assertEqual((self.tried["list_inside"], self.tried["write_inside"]), ("done", "EACCES"))
        self.assertEqual(os.listdir(self.world.cwd), [])

    def test_it_is_said_which_of_both_the_kernel_has(self):
        told = self.weir("mcp", "--verbose").errors
        self.assertEqual("landlock=" in told and "not available" not in told.split("landlock=")[1].split("\n")[0], "by Landlock" in KERNEL)
        self.assertEqual('seccomp="on"' in told, "by seccomp" in KERNEL)


@needs_seccomp
class ThreadsTest(ServerCase):
    """No thread was started before the doors were shut, or it would stand outside."""

    def check(self, threads):
        self.assertGreater(len(threads), 1)
        for thread in threads:
            self.assertEqual((thread["Seccomp"], thread["NoNewPrivs"]), ("2", "1"), thread["Name"])

    def test_every_thread_of_a_server(self):
        serving = self.serve()
        serving.ask("GET", "/v1/sessions")
        self.check(serving.threads())

    def test_every_thread_of_an_agents_server(self):
        agent = self.agent()
        agent.ask("resources/list")
        self.check(status_of_threads(agent.process.pid))


@harness.unittest.skipUnless(platform.machine() == "x86_64", "numbers of calls are those of x86_64")
@needs_seccomp
class OlderKernelTest(ServerCase):
    def test_without_landlock_it_is_said_once_and_calls_are_still_refused(self):
        how = {"before": lacking(LANDLOCK), "env": {"WEIR_SANDBOX_PROBE": "1"}}
        ran = self.weir("mcp", **how)
        tried = harness.parse_line(ran.text)
        self.assertEqual((tried["execve"], tried["ptrace"], tried["connect"], tried["open_outside"]), ("EPERM", "EPERM", "EPERM", "done"))
        self.assertRegex(ran.errors, r'^\S+ warn sandbox landlock="not available[^\n]*"\n$')

    def test_without_seccomp_it_is_said_once_and_it_works(self):
        ran = self.weir("mcp", before=lacking(SECCOMP))
        self.assertRegex(ran.errors, r'^\S+ warn sandbox seccomp="not available[^\n]*"\n$')

    def test_doctor_tells_of_both(self):
        self.weir("init")
        for calls, wanted in (([LANDLOCK], "no Landlock, calls by seccomp"), ([LANDLOCK, SECCOMP], "no Landlock, no seccomp")):
            checks = self.answer("doctor", before=lacking(*calls))["checks"]
            self.assertEqual([check["detail"] for check in checks if check["name"] == "sandbox"], [wanted])


class SessionTest(ServerCase):
    """A day's work inside."""

    def test_an_agents_session(self):
        path = self.world.file("src/main.cc", "".join(f"// line {i}\n" for i in range(60)))
        self.follow("s")
        self.append("Do it.", session="s")
        agent = self.agent("--session", "s")
        first = agent.text("read", path="src/main.cc")
        self.assertEqual(first.count("\n"), 60)
        self.assertIn("unchanged", agent.text("read", path="src/main.cc"))
        with open(path, "a", encoding="ascii") as file:
            file.write("// one more\n")
        self.assertIn("+// one more", agent.text("read", path="src/main.cc"))
        agent.text("refresh", path="src/main.cc")
        self.assertTrue(json.loads(agent.text("note", kind="question", text="Why?"))["entry"])
        self.assertEqual(json.loads(agent.text("compact"))["status"], "PASS")
        self.assertEqual(agent.text("read", path="src/main.cc").count("\n"), 61)
        self.assertTrue(json.loads(agent.text("history", query="why"))["matches"])
        self.assertIn("messages", agent.text("context"))
        self.assertEqual(json.loads(agent.text("status"))["session"], "s")
        agent.process.stdin.close()
        self.assertEqual(agent.process.wait(timeout=60), 0)
        self.sound()

    def test_a_long_session_is_searched_by_an_index_of_its_own(self):
        lines = "".join(compact(entry(f"word{i} lorem ipsum " + "dolor " * 30)) + "\n" for i in range(5000))
        self.weir("append", "--session", "s", stdin=lines)
        agent = self.agent("--session", "s")
        for _ in range(2):
            self.assertEqual(len(json.loads(agent.text("history", query="word4999"))["matches"]), 1)

    def test_a_store_is_written_read_emptied_and_vacuumed(self):
        serving = self.serve()
        for number in range(6):
            entries = [entry(f"{number} {i} " + "x" * 4000) for i in range(900)] + [entry("blob" * 30000)]
            self.assertEqual(serving.ask("POST", f"/v1/sessions/s{number}/entries", compact({"entries": entries})).status, 201)
        self.assertEqual(serving.ask("GET", "/v1/sessions/s0/entries?limit=5").status, 200)
        self.assertEqual(serving.ask("GET", "/v1/stats").status, 200)
        self.assertEqual(serving.ask("POST", "/v1/verify", {}).status, 200)
        self.assertEqual(serving.ask("DELETE", "/v1/sessions/s0?confirm=s0").status, 204)
        self.assertEqual(serving.end().code, 0)
        self.sound()
        self.assertEqual(sorted(name for name in os.listdir(self.world.store) if not name.startswith("weir.db")), ["objects"])

    def test_a_research_run_is_begun_where_runs_are_kept(self):
        for env, root in (({}, os.path.join(self.world.home, ".config", "opencode", "research-runs")), ({"WEIR_RUNS_ROOT": self.world.path("runs")}, self.world.path("runs"))):
            serving = self.serve(env=env)
            answer = serving.ask("POST", "/v1/sessions/quic/research/init", {"query": "Is it faster?"})
            self.assertIn(answer.status, (200, 201), answer)
            self.assertTrue(os.path.exists(os.path.join(root, "quic", "manifest.json")), root)
            serving.end()
            shutil.rmtree(self.world.store)


if __name__ == "__main__":
    harness.main()
