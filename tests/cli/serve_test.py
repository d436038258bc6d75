"""serve and mcp: how they start, what they say, what they refuse, how they end. What they answer is asked elsewhere."""

import json
import os
import re
import signal
import socket
import stat

import harness
from harness import compact, entry, needs_root, wait_until
from server_case import ServerCase, modern

SNIPPETS = [
    ("pi", "stdio", "weir mcp --host"),
    ("claude-code", "stdio", '{"mcpServers":{"weir":{"type":"stdio","command":"weir","args":["mcp"]}}}'),
    ("codex", "stdio", '[mcp_servers.weir]\ncommand = "weir"\nargs = ["mcp"]'),
    ("opencode", "stdio", '{"mcp":{"weir":{"type":"local","command":["weir","mcp"],"enabled":true}}}'),
    ("gemini", "stdio", '{"mcpServers":{"weir":{"command":"weir","args":["mcp"],"timeout":30000}}}'),
    ("claude-code", "http", '{"mcpServers":{"weir":{"type":"http","url":"%s","headers":{"Authorization":"Bearer ${WEIR_TOKEN}"}}}}'),
]


class StartTest(ServerCase):
    def test_json_says_where_it_is_as_soon_as_it_is_there(self):
        serving = self.serve()
        told = serving.told
        self.assertRegex(told["url"], r"^http://127\.0\.0\.1:[1-9]\d+$")
        self.assertEqual(told["mcp"], told["url"] + "/mcp")
        self.assertEqual(told["token_file"], self.world.path("state", "weir", "token"))
        self.assertEqual((told["store"], told["roots"], told["read_only"], told["conformance"], told["read_token_file"]), (self.world.store, [], False, False, None))
        self.assertEqual(serving.ask("GET", "/healthz", token=False).status, 200)
        ran = serving.end()
        self.assertEqual((ran.code, ran.out, ran.err), (0, b"", b""), ran)

    def test_a_person_is_told_address_token_file_and_what_agents_keep(self):
        running = self.world.start("serve", "--listen", "127.0.0.1:0", env={"XDG_DATA_HOME": ""})
        self.addCleanup(self.stop, running)
        first = running.stdout.readline().decode()
        url = re.fullmatch(r"weir listens on (http://127\.0\.0\.1:\d+)\n", first).group(1)
        running.send_signal(signal.SIGINT)
        text, errors = running.stdout.read().decode(), running.stderr.read()
        self.assertEqual((running.wait(timeout=30), errors), (0, b""), text)
        self.assertIn(f"  mcp    {url}/mcp\n", text)
        self.assertIn("  token  " + self.world.path("state", "weir", "token"), text)
        for _, _, snippet in SNIPPETS:
            for line in (snippet.replace("%s", url + "/mcp")).split("\n"):
                self.assertIn(f"  {line}\n", text)

    def test_the_snippets_are_those_of_the_agents(self):
        serving = self.serve(env={"XDG_DATA_HOME": ""})
        told = [(one["agent"], one["transport"], one["text"]) for one in serving.told["agents"]]
        self.assertEqual(told, [(agent, transport, text.replace("%s", serving.told["mcp"])) for agent, transport, text in SNIPPETS])
        for agent, _, text in told:
            if agent not in ("pi", "codex"):
                json.loads(text)

    def test_the_snippets_name_a_store_that_is_not_the_usual_one(self):
        store = self.world.path("data", "my 'own' \"store\"")
        for how in ({"args": ["--store", store]}, {"env": {"WEIR_STORE": store}}, {"env": {"XDG_DATA_HOME": store}}):
            store = store + "/weir" if "XDG_DATA_HOME" in how.get("env", {}) else store
            serving = self.serve(*how.get("args", []), env=how.get("env"))
            agents = {one["agent"]: one["text"] for one in serving.told["agents"] if one["transport"] == "stdio"}
            self.assertEqual(json.loads(agents["claude-code"])["mcpServers"]["weir"]["args"], ["mcp", "--store", store])
            self.assertEqual(json.loads(agents["opencode"])["mcp"]["weir"]["command"], ["weir", "mcp", "--store", store])
            self.assertEqual(agents["pi"], "weir mcp --host --store '" + store.replace("'", "'\\''") + "'")
            self.assertEqual(json.loads(agents["codex"].split("args = ")[1]), ["mcp", "--store", store])

    def test_it_makes_a_missing_store(self):
        self.serve().end()
        self.assertTrue(os.path.exists(os.path.join(self.world.store, "weir.db")))
        self.sound()

    def test_the_address_comes_from_flag_environment_and_configuration(self):
        for number, (flag, env, config) in enumerate((("127.0.0.1:0", "nowhere", "nowhere"), (None, "127.0.0.1:0", "nowhere"), (None, "", "127.0.0.1:0"))):
            self.world.user_config(f'http.listen = "{config}"\n')
            with self.subTest(number):
                self.assertIn("http://127.0.0.1:", self.serve(listen=flag, env={"WEIR_LISTEN": env}).told["url"])

    def test_an_address_that_cannot_be_had(self):
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        port = taken.getsockname()[1]
        error = self.refused("BUSY", "serve", "--listen", f"127.0.0.1:{port}", unchanged=False)
        self.assertIn("--listen 127.0.0.1:0 takes a free one", error["message"])
        for nowhere in ("nowhere", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", "example.invalid:80", ":", "unix:", "unix:" + "x" * 200):
            ran = self.world.run("serve", "--json", "--listen", nowhere)
            self.assertIn(ran.code, (2, 6, 10), ran)
            self.assertEqual(ran.out, b"", ran)

    def test_common_options_that_say_nothing_to_it_are_refused(self):
        for option in ("session", "head", "at"):
            self.refused("USAGE", "serve", f"--{option}", "x")
        self.refused("USAGE", "mcp", "--at", "x")

    def test_a_configuration_or_a_store_that_is_wrong_stops_it(self):
        self.world.user_config("read.max_lines = 0\n")
        for command in ("serve", "mcp"):
            self.refused("INVALID_FIELD", command, unchanged=False)
        self.world.user_config("")
        self.world.file("occupied/file", "x")
        for command in ("serve", "mcp"):
            self.refused("STORE_UNUSABLE", command, "--store", "occupied")

    def test_a_time_that_is_over_ends_them(self):
        for args in (["serve", "--listen", "127.0.0.1:0", "--json"], ["mcp"]):
            running = self.world.start(*args, "--timeout", "1", stdin=-1)
            self.addCleanup(self.stop, running)
            running.wait(timeout=30)
            self.assertEqual(running.returncode, 0, args)


class OthersTest(ServerCase):
    def test_an_address_beyond_this_machine_is_said_loudly(self):
        for listen in ("0.0.0.0:0", "[::]:0"):
            for quiet in ([], ["--quiet"]):
                ran = self.serve(*quiet, listen=listen).end()
                self.assertEqual(ran.code, 0, ran)
                self.assertRegex(ran.errors, r"^weir: WARNING: .* can be reached from other machines")
                self.assertIn("http.allow_hosts", ran.errors)

    def test_this_machine_is_nothing_to_speak_of(self):
        for listen in ("127.0.0.1:0", "[::1]:0", "unix:here.sock"):
            self.assertEqual(self.serve(listen=listen).end().err, b"")


class UnixTest(ServerCase):
    def test_a_socket_is_for_its_owner_and_gone_afterwards(self):
        serving = self.serve(listen="unix:weir.sock")
        path = os.path.join(self.world.cwd, "weir.sock")
        self.assertEqual(serving.told["url"], "unix:" + path)
        self.assertEqual(serving.told["mcp"], "http://localhost/mcp")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(serving.ask("GET", "/v1/sessions", token=False).status, 401)
        self.assertEqual(serving.ask("GET", "/v1/sessions").status, 200)
        self.assertNotIn("http", [one["transport"] for one in serving.told["agents"]])
        self.assertEqual(serving.end().code, 0)
        self.assertFalse(os.path.exists(path))

    def test_one_left_behind_is_replaced_and_one_in_use_is_not(self):
        serving = self.serve(listen="unix:weir.sock")
        self.refused("BUSY", "serve", "--listen", "unix:weir.sock", unchanged=False)
        serving.process.kill()
        serving.process.wait()
        self.assertEqual(self.serve(listen="unix:weir.sock").ask("GET", "/healthz").status, 200)


class TokenTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.file = self.world.path("state", "weir", "token")

    def test_the_first_start_makes_it_and_the_next_keeps_it(self):
        running = self.serve()
        first = running.token
        self.assertRegex(first, r"^[A-Za-z0-9_-]{43}$")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.file)).st_mode), 0o700)
        running.end()
        self.assertEqual(self.serve().token, first)

    def test_every_request_needs_it(self):
        serving = self.serve()
        for token, status in ((False, 401), ("x" * 43, 401), (serving.token[:-1], 401), (serving.token + "A", 401), (True, 200)):
            self.assertEqual(serving.ask("GET", "/v1/sessions", token=token).status, status)

    def test_a_second_one_only_reads(self):
        self.weir("token", "rotate", "--read", "--yes")
        self.append("x")
        serving = self.serve()
        self.assertEqual(serving.told["read_token_file"], self.file + ".read")
        with open(self.file + ".read", encoding="ascii") as file:
            reading = file.read().strip()
        self.assertEqual(serving.ask("GET", "/v1/sessions", token=reading).status, 200)
        before = self.world.dump()
        refused = serving.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("no")]}, token=reading)
        self.assertEqual((refused.status, refused.json["code"]), (403, "DENIED"))
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(serving.ask("POST", "/v1/sessions/s/entries", {"entries": [entry("yes")]}).status, 201)

    def test_the_same_for_both_is_refused(self):
        self.weir("token", "rotate", "--yes")
        with open(self.file, encoding="ascii") as file, open(os.open(self.file + ".read", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as copy:
            copy.write(file.read())
        self.assertIn("same token", self.refused("STORE_UNUSABLE", "serve", "--listen", "127.0.0.1:0", unchanged=False)["message"])

    def test_files_that_others_may_know_stop_it(self):
        for name in (self.file, self.file + ".read"):
            self.weir("token", "rotate", "--yes")
            self.weir("token", "rotate", "--read", "--yes")
            os.chmod(name, 0o640)
            error = self.refused("STORE_UNUSABLE", "serve", "--listen", "127.0.0.1:0", unchanged=False)
            self.assertEqual(error["details"]["path"], name)
            self.assertIn("weir token rotate", error["message"])

    @needs_root
    def test_somebody_elses_stops_it(self):
        self.weir("token", "rotate", "--yes")
        os.chown(self.file, 12345, 12345)
        self.assertIn("belongs to user 12345", self.refused("STORE_UNUSABLE", "serve", "--listen", "127.0.0.1:0", unchanged=False)["message"])

    def test_it_is_nowhere_but_in_its_file(self):
        self.world.user_config('log.format = "json"\n')
        serving = self.serve("--root", self.world.root, env={"WEIR_LOG": "debug"})
        self.append("x")
        for token in (serving.token, serving.token[:-1] + ("A" if serving.token[-1] != "A" else "B")):
            serving.ask("GET", "/v1/sessions", token=token)
            serving.ask("GET", f"/v1/sessions?token={token}")
            serving.ask("GET", f"/{token}", headers={"X-Token": token, "Cookie": token})
        serving.ask("POST", "/v1/sessions/s/read", {"path": self.file})
        process = f"/proc/{serving.process.pid}"
        for name in ("cmdline", "environ"):
            with open(f"{process}/{name}", "rb") as file:
                self.assertNotIn(serving.token.encode(), file.read())
        metrics = serving.ask("GET", "/metrics")
        self.assertNotIn(serving.token.encode(), metrics.body)
        token = serving.token.encode()
        ran = serving.end()
        self.assertGreater(len(ran.err), 100)
        self.assertNotIn(token, ran.out + ran.err)
        for folder, _, names in os.walk(self.world.store):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(token, file.read(), name)

    def test_no_root_lets_anybody_read_it(self):
        self.weir("token", "rotate", "--read", "--yes")
        os.symlink(self.file, self.world.path("cwd", "innocent"))
        self.append("x")
        serving = self.serve("--root", self.world.root)
        for path in (self.file, self.file + ".read", self.world.path("cwd", "innocent"), self.world.path("cwd", "..", "state", "weir", "token")):
            answer = serving.ask("POST", "/v1/sessions/s/read", {"path": path})
            self.assertEqual((answer.status, answer.json["code"]), (403, "DENIED_BY_POLICY"), answer)
        agent = self.agent("--root", self.world.root, "--session", "s")
        self.assertEqual(agent.refused("read", path=self.file)["code"], "DENIED_BY_POLICY")


class RootsTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.world.file("notes.txt", "one\ntwo\n")
        self.world.file(".env", "KEY=1\n")
        self.append("x")

    def read(self, serving, name):
        answer = serving.ask("POST", "/v1/sessions/s/read", {"path": os.path.join(self.world.cwd, name)})
        return answer.json["text"] if answer.status == 200 else answer.json["code"]

    def test_a_server_reads_nothing_unless_it_is_told(self):
        serving = self.serve()
        self.assertEqual(serving.told["roots"], [])
        self.assertEqual(self.read(serving, "notes.txt"), "OUTSIDE_ROOTS")

    def test_flag_environment_and_configuration_tell_it(self):
        for args, env, config in ((["--root", "."], {}, ""), ([], {"WEIR_ROOTS": self.world.cwd}, ""), ([], {}, f'read.roots = ["{self.world.cwd}"]\n')):
            self.world.user_config(config)
            serving = self.serve(*args, env=env)
            self.assertEqual(serving.told["roots"], [self.world.cwd])
            self.assertEqual(serving.ask("POST", "/v1/sessions/s/read", {"path": os.path.join(self.world.cwd, "notes.txt"), "bypass_cache": True}).json["text"], "one\ntwo\n")
            self.assertEqual(self.read(serving, ".env"), "DENIED_BY_POLICY")
            serving.end()

    def test_a_project_may_open_itself(self):
        self.world.file("src/main.cc", "")
        self.world.project_config('read.roots = ["src", "/"]\n')
        self.assertEqual(self.serve().told["roots"], [os.path.join(self.world.cwd, "src")])

    def test_an_agent_reads_the_working_directory_unless_it_is_told(self):
        os.mkdir(self.world.path("cwd", "src"))
        self.world.file("src/main.cc", "// main\n")
        agent = self.agent()
        self.assertEqual(agent.text("read", path="notes.txt"), "one\ntwo\n")
        self.assertEqual(agent.refused("read", path=".env")["code"], "DENIED_BY_POLICY")
        self.assertEqual(agent.refused("read", path="/etc/passwd")["code"], "OUTSIDE_ROOTS")
        for args, env in ((["--root", "src"], {}), ([], {"WEIR_ROOTS": os.path.join(self.world.cwd, "src")})):
            agent = self.agent(*args, env=env)
            self.assertEqual(agent.text("read", path="src/main.cc"), "// main\n")
            self.assertEqual(agent.refused("read", path="notes.txt")["code"], "OUTSIDE_ROOTS")


class ReadOnlyTest(ServerCase):
    def test_it_needs_a_store_and_leaves_it_as_it_is(self):
        self.refused("STORE_UNUSABLE", "serve", "--read-only", "--listen", "127.0.0.1:0")
        self.assertFalse(os.path.exists(self.world.store))
        self.append("x")
        before = self.world.dump()
        serving = self.serve("--read-only")
        self.assertIs(serving.told["read_only"], True)
        self.assertEqual(serving.ask("GET", "/v1/sessions/s/entries").status, 200)
        for method, path, body in (("POST", "/v1/sessions/s/entries", {"entries": [entry("no")]}), ("POST", "/v1/sessions", {"id": "t"}), ("POST", "/v1/sessions/s/compact", {}), ("DELETE", "/v1/sessions/s?confirm=s", None)):
            answer = serving.ask(method, path, body)
            self.assertEqual((answer.status, answer.json["code"]), (403, "DENIED"), answer)
        self.assertEqual(serving.end().code, 0)
        self.assertEqual(self.world.dump(), before)

    def test_what_others_write_is_seen(self):
        self.append("one")
        serving = self.serve("--read-only")
        self.append("two")
        self.assertEqual(len(serving.ask("GET", "/v1/sessions/s/entries").json["items"]), 2)


class ConformanceTest(ServerCase):
    def test_it_asks_no_token_and_leaves_nothing_behind(self):
        serving = self.serve("--conformance")
        self.assertEqual((serving.told["token_file"], serving.told["store"], serving.told["conformance"], serving.told["agents"]), (None, None, True, []))
        self.assertEqual(serving.ask("GET", "/v1/sessions").json["items"], [])
        self.assertEqual(serving.ask("GET", "/v1/sessions", headers={"Host": "evil.example"}).status, 403)
        self.assertEqual(serving.ask("GET", "/v1/sessions", headers={"Origin": "http://evil.example"}).status, 403)
        self.assertIn("test_simple_text", [tool["name"] for tool in serving.mcp("tools/list")["tools"]])
        self.assertEqual(serving.end().code, 0)
        self.assertFalse(os.path.exists(self.world.store))
        self.assertFalse(os.path.exists(self.world.path("state", "weir")))

    def test_it_refuses_a_store_roots_and_the_world(self):
        for args in (["serve", "--store", "x"], ["serve", "--root", "."], ["serve", "--listen", "0.0.0.0:0"], ["serve", "--listen", "[::]:0"], ["mcp", "--store", "x"]):
            self.refused("USAGE", *args, "--conformance")
        self.assertEqual(os.listdir(self.world.cwd), [])

    def test_it_reads_no_files_whatever_the_configuration_says(self):
        self.world.file("notes.txt", "x\n")
        self.world.user_config(f'read.roots = ["{self.world.cwd}"]\n')
        self.assertEqual(self.serve("--conformance").told["roots"], [])

    def test_an_agent_gets_the_fixtures_too_and_nobody_else_does(self):
        for args, there in ((["--conformance"], True), ([], False)):
            names = [tool["name"] for tool in self.agent(*args).ask("tools/list")["tools"]]
            self.assertEqual("test_simple_text" in names, there)
        agent = self.agent("--conformance", env={"WEIR_STORE": self.world.path("data", "other")})
        agent.ask("tools/list")
        self.assertEqual(agent.end().code, 0)
        self.assertFalse(os.path.exists(self.world.path("data", "other")))


class LinesTest(ServerCase):
    """weir mcp, seen from outside."""

    def test_it_makes_a_store_and_ends_with_its_input(self):
        ran = self.weir("mcp")
        self.assertEqual((ran.out, ran.err), (b"", b""))
        self.assertTrue(os.path.exists(os.path.join(self.world.store, "weir.db")))

    def test_only_json_rpc_reaches_its_output_whatever_is_asked_for(self):
        lines = [modern("tools/list"), modern("nothing/here", number=2), "no json", {"jsonrpc": "2.0", "method": "x"}]
        stdin = "".join((line if isinstance(line, str) else compact(line)) + "\n" for line in lines)
        for extra in ([], ["--json"], ["--verbose"], ["--color", "always"]):
            ran = self.weir("mcp", *extra, stdin=stdin, env={"WEIR_LOG": "debug"})
            self.assertEqual(len(ran.lines), 3, ran)
            for line in ran.lines:
                self.assertEqual(harness.parse_line(line)["jsonrpc"], "2.0")

    def test_signals_end_it_well(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            agent = self.agent()
            agent.ask("tools/list")
            ran = agent.end(number)
            self.assertEqual((ran.code, ran.out, ran.err), (0, b"", b""), ran)

    def test_a_client_that_reads_nothing_more_is_no_accident(self):
        agent = self.agent()
        agent.ask("tools/list")
        agent.process.stdout.close()
        agent.send(modern("tools/list", number=9))
        agent.process.stdin.close()
        self.assertEqual(agent.process.wait(timeout=30), 0)

    def test_the_session_is_named_or_none(self):
        self.append("x")  # the only session there is: nobody's
        agent = self.agent()
        self.assertEqual(agent.refused("status")["code"], "INVALID_FIELD")
        for args, env in ((["--session", "s"], {}), ([], {"WEIR_SESSION": "s"}), (["--session", "s"], {"WEIR_SESSION": "t"})):
            status = json.loads(self.agent(*args, env=env).text("status"))
            self.assertEqual((status["session"], status["head"]), ("s", "main"))
        self.weir("head", "fork", "other", "--session", "s")
        for args, env in ((["--head", "other"], {}), ([], {"WEIR_HEAD": "other"})):
            self.assertEqual(json.loads(self.agent("--session", "s", *args, env=env).text("status"))["head"], "other")
        for option in ("--session", "--head"):
            self.refused("INVALID_FIELD", "mcp", option, "no name")

    def test_host_methods_are_for_hosts(self):
        self.append("x")
        self.assertEqual(self.agent().ask("weir/listSessions")["code"], -32601)
        self.assertEqual([item["id"] for item in self.agent("--host").ask("weir/listSessions")["items"]], ["s"])

    def test_a_person_who_starts_it_is_told_what_it_is(self):
        running = self.world.terminal("mcp", "--timeout", "1")
        self.assertIn(b"speaks JSON-RPC", running.out)


class LogTest(ServerCase):
    def told(self, serving):
        return serving.end().errors.splitlines()

    def test_level_and_format_are_settings(self):
        for config, env, args, pattern in (
            ("", {}, [], None),
            ("", {"WEIR_LOG": "info"}, [], r"\d{4}-\d\d-\d\dT[\d:.]+Z info sandbox "),
            ("", {}, ["--verbose"], r"\d{4}-\d\d-\d\dT[\d:.]+Z info sandbox "),
            ('log.level = "info"\nlog.format = "json"\n', {}, [], r'\{"at":"'),
            ('log.level = "info"\n', {}, ["--quiet"], None),
        ):
            self.world.user_config(config)
            with self.subTest(config=config, env=env, args=args):
                lines = self.told(self.serve(*args, env=env))
                self.assertEqual(bool(lines), pattern is not None)
                for line in lines:
                    self.assertRegex(line, rf"^{pattern if 'sandbox' in line else ''}")

    def test_lines_of_json_are_json(self):
        self.world.user_config('log.level = "debug"\nlog.format = "json"\n')
        serving = self.serve()
        serving.ask("GET", "/v1/sessions")
        lines = [harness.parse_line(line) for line in self.told(serving)]
        self.assertTrue(lines)
        self.assertTrue(all({"at", "level", "event"} <= set(line) for line in lines))


class EndTest(ServerCase):
    def test_signals_end_it_well_and_what_was_acknowledged_is_there(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            serving = self.serve()
            self.assertEqual(serving.ask("POST", f"/v1/sessions/s{number}/entries", {"entries": [entry("kept")]}).status, 201)
            ran = serving.end(number)
            self.assertEqual((ran.code, ran.out, ran.err), (0, b"", b""), ran)
            self.assertEqual(self.tell(f"s{number}"), ["kept"])
        self.sound()

    def test_two_signals_end_it_at_once(self):
        serving = self.serve()
        held = serving.connection()  # half a request, which would keep it
        self.addCleanup(held.close)
        held.putrequest("POST", "/v1/sessions")
        for name, value in (("Authorization", f"Bearer {serving.token}"), ("Content-Type", "application/json"), ("Content-Length", "9")):
            held.putheader(name, value)
        held.endheaders()
        serving.process.send_signal(signal.SIGTERM)
        serving.process.send_signal(signal.SIGINT)
        self.assertTrue(wait_until(lambda: serving.process.poll() is not None, 5))
        self.assertIn(serving.process.returncode, (0, 130, 143))


if __name__ == "__main__":
    harness.main()
