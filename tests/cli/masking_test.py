"""S7: secrets are masked in every channel before anything is stored, logged or printed. 200 of them go in by bodies,
keys, ids, files, names, errors and configuration; none may be found in any file of the store or in any output."""

import collections
import os
import subprocess

import harness
import secrets_made
from harness import CliTest, compact, entry, jsonl

STAMP = "2026-01-01T00:00:00.000Z"
MARK = "***REDACTED***"


class MaskingCase(CliTest):
    def nowhere(self, planted):
        """In no file of the store, no object, no output so far."""
        patterns = self.world.path("patterns.txt")
        with open(patterns, "w") as file:
            file.write("\n".join(sorted({secret for _, _, secret in planted})) + "\n")
        found = subprocess.run(["grep", "-raoF", "-f", patterns, self.world.path("data"), self.world.path("state")], capture_output=True, text=True)
        self.assertEqual(self.where_it_stands(found.stdout, planted), [], "in the store's files")
        printed = [part for ran in self.world.runs for part in (ran.out, ran.err)]
        printed += [self.world.run("show", name).out for name in self.world.object_names()]
        log = self.world.path("printed.txt")
        with open(log, "wb") as file:
            file.write(b"\n".join(printed))
        found = subprocess.run(["grep", "-aoF", "-f", patterns, log], capture_output=True, text=True)
        self.assertEqual(self.where_it_stands(found.stdout, planted), [], "in what was printed")
        os.remove(patterns)
        os.remove(log)

    def where_it_stands(self, found, planted):
        """Found secrets by number and family, not by themselves."""
        numbers = {secret: f"{i} {family}" for i, (family, _, secret) in enumerate(planted)}
        out = set()
        for line in found.splitlines():
            file, _, secret = line.rpartition(":") if line not in numbers else ("", "", line)
            out.add((os.path.basename(file), numbers.get(secret, numbers.get(line.partition(":")[2], secret[:8]))))
        return sorted(out)

    def look_at_everything(self):
        """Every way to print what is stored."""
        for session in [s["id"] for s in self.answer("session", "list")["sessions"]]:
            for args in (["log"], ["log", "--json"], ["tree", "--all-types"], ["tree", "--json"], ["stats"], ["stats", "--json"], ["export"], ["export", "--format", "pi"], ["session", "show"], ["head", "list"]):
                self.weir(*args, "--session", session)
        self.weir("session", "list")
        self.weir("verify")


class PlantedTest(MaskingCase):
    def test_200_secrets_through_every_channel_are_found_nowhere(self):
        planted = secrets_made.made(200)
        self.assertEqual(len({secret for _, _, secret in planted}), 200)
        self.assertEqual(len({family for family, _, _ in planted}), 30)
        text = lambda i: planted[i][1]
        alone = secrets_made.bare(200)  # besides the 200: what stands without anything that tells of it
        secret = lambda i: alone[i][2]
        # 0 to 59: bodies by append: content, blocks, arguments, deep data, keys, large strings that become blobs.
        lines = []
        for i in range(0, 60, 6):
            lines += [
                entry(text(i)), entry([{"type": "text", "text": text(i + 1)}, {"type": "image", "data": text(i + 2)}]),
                {"type": "message", "body": {"role": "assistant", "content": "", "tool_calls": [{"name": "bash", "arguments": {"command": text(i + 3), "deep": [[[{"x": text(i + 3)}]]]}}]}},
                {"type": "custom", "body": {"custom_type": "x", "data": {text(i + 4): 1, "also": {text(i + 4): text(i + 4)}}}},
                entry("L" * 40000 + "\n" + text(i + 5) + "\n" + "M" * 40000),
            ]  # fmt: skip
        self.weir("append", "--session", "bodies", stdin=jsonl(lines))
        # 60 to 69: values under secret keys, whatever they look like.
        plain = [f"plain-{i}-" + "zqxjv" * 3 for i in range(10)]
        keys = ["password", "Api-Key", "access_token", "AUTHORIZATION", "client.secret", "x-api-key", "refreshToken", "private_key", "Set-Cookie", "credentials"]
        self.weir("append", "--session", "bodies", stdin=jsonl({"type": "custom", "body": {"data": {keys[i]: plain[i], "deep": [{keys[i]: [plain[i], {"y": plain[i]}]}]}}} for i in range(10)))
        planted += [("secret_key", "", value) for value in plain]
        # 60 to 119: an imported file: header, content, details, types, names, ids, parents, malformed lines, torn ends.
        header = {"type": "session", "version": 3, "id": "imported", "timestamp": STAMP, "cwd": text(60), "parentSession": text(61), "note": {text(62): text(63)}}
        rows = [compact(header)]
        for k, i in enumerate(range(64, 112, 8)):
            rows += [
                compact({"type": "message", "id": f"a{k}", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": text(i), "extra": text(i)}}),
                compact({"type": "message", "id": f"b{k}", "parentId": f"a{k}", "timestamp": STAMP, "message": {"role": "toolResult", "toolCallId": "c", "toolName": text(i + 1), "content": [{"type": "text", "text": text(i + 1)}], "details": {"out": text(i + 1)}}}),
                compact({"type": "compaction", "id": f"c{k}", "parentId": f"b{k}", "timestamp": STAMP, "summary": text(i + 2), "firstKeptEntryId": text(i + 2), "details": {"x": text(i + 2)}}),
                compact({"type": f"type-{secret(i + 3)}", "id": f"d{k}", "parentId": f"c{k}", "timestamp": STAMP, "payload": text(i + 3)}),
                compact({"type": "custom", "id": f"id-{secret(i + 4)}", "parentId": f"d{k}", "timestamp": STAMP, "customType": text(i + 4), "data": {text(i + 4): 1}}),
                compact({"type": "label", "id": f"e{k}", "parentId": f"id-{secret(i + 4)}", "timestamp": STAMP, "targetId": f"id-{secret(i + 4)}", "label": text(i + 4)}),
                "{malformed " + text(i + 5).replace("\n", " "),
                '{"type":"x","%s":1,"%s":2}' % ((secret(i + 6),) * 2),
                compact({"type": "message", "id": f"f{k}", "parentId": f"gone-{secret(i + 7)}", "timestamp": STAMP, "message": {"role": "bashExecution", "command": text(i + 7), "output": text(i + 7), "exitCode": 0}}),
            ]  # fmt: skip
        torn = '{"type":"message","id":"torn","parentId":null,"message":{"role":"user","content":"' + secret(112)
        path = self.world.file("session.jsonl", "\n".join(rows) + "\n" + torn)
        self.weir("import", "pi", path)
        self.weir("import", "pi", path, "--as", "again", "--json")
        self.weir("import", "pi", path, "--as", "never", "--strict", code=3)
        self.weir("import", "pi", path, "--as", "never", "--dry-run")
        # 113 to 117: the file's own name.
        for i in range(113, 118):
            named = self.world.file(f"session {secret(i).replace('/', '_')}.jsonl", "\n".join(rows[:3]) + "\n")
            self.weir("import", "pi", named, "--as", f"named-{i}", "--json")
            self.weir("import", "pi", named, "--as", f"named-{i}")
        # 118 to 139: sync: header, bodies, and ids that are refused.
        for i in range(118, 138, 2):
            value = {"format": "pi", "session": "host", "header": {"type": "session", "version": 3, "id": "host", "cwd": text(i)}, "since": None, "entries": [{"type": "message", "id": f"s{i}", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": text(i + 1), "usage": {text(i): text(i + 1)}}}], "leaf": f"s{i}"}
            self.weir("sync", "--format", "pi", stdin=compact(value))
        one = {"type": "message", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": "x"}}
        for i in (138, 139):
            self.refused("INVALID_FIELD", "sync", "--format", "pi", stdin=compact({"session": "host", "since": None, "entries": [{**one, "id": secret(i)}], "leaf": None}))
            self.refused("NOT_FOUND", "sync", "--format", "pi", stdin=compact({"session": "host", "since": secret(i), "entries": [], "leaf": None}))
            self.refused("NOT_FOUND", "sync", "--format", "pi", stdin=compact({"session": "host", "since": None, "entries": [{**one, "id": "zz", "parentId": secret(i)}], "leaf": None}))
        # 140 to 159: names that are shown everywhere and so cannot hold a secret.
        names = [secret(i) for i in range(200) if alone[i][0] in ("github_token", "npm_token", "huggingface", "openai_key", "stripe_key", "gitlab_token")][:12]
        self.assertEqual(len(names), 12)
        for name in names:
            self.refused("INVALID_FIELD", "append", "--session", "bodies", stdin=compact(entry("x", id=name)))
            self.refused("INVALID_FIELD", "append", "--session", name, stdin=compact(entry("x")))
            self.refused("INVALID_FIELD", "session", "new", name)
            self.refused("INVALID_FIELD", "head", "fork", name, "--session", "bodies")
            self.refused("INVALID_FIELD", "append", "--session", "bodies", stdin=compact({"type": name, "body": {}}))
            self.refused("INVALID_FIELD", "import", "pi", path, "--as", name)
            self.refused("INVALID_FIELD", "sync", "--format", "pi", stdin=compact({"session": name, "since": None, "entries": [{**one, "id": "a"}], "leaf": None}))
        bad_header = self.world.file("bad.jsonl", compact({"type": "session", "version": 3, "id": names[0], "timestamp": STAMP, "cwd": "/"}) + "\n")
        self.refused("INVALID_FIELD", "import", "pi", bad_header)
        # 160 to 189: what an error quotes.
        for i in range(160, 190):
            for args, stdin in (
                (["show", secret(i), "--session", "bodies"], b""), (["log", "--session", "bodies", "--at", secret(i)], b""), ([secret(i)], b""), (["log", "--since", secret(i)], b""), (["append", "--session", "bodies", secret(i)], b""),
                (["append", "--session", "bodies", "--expect", secret(i)], compact(entry("x"))), (["append", "--session", "bodies"], compact(entry("x", role=secret(i), at=secret(i), parent=secret(i)))),
                (["append", "--session", "bodies"], '{"%s":1,"%s":2}' % (secret(i), secret(i))), (["config", "show", secret(i)], b""), (["import", secret(i), "x"], b""),
            )[i % 2 :: 2]:  # fmt: skip
                for extra in ([], ["--json"]):
                    self.assertNotEqual(self.world.run(*args, *extra, stdin=stdin).code, 0)
        # 190 to 199: configuration: values that are shown, keys nobody knows, files that are broken.
        for i in range(190, 200):
            value = compact(text(i))
            self.world.user_config(f"read.deny = [{value}]\nhttp.allow_hosts = [{value}]\n")
            self.weir("config", "show", "--origin")
            self.weir("config", "show", "--json")
            self.world.user_config(f'"{secret(i)}" = 1\n')
            for args in (["config", "show"], ["doctor"], ["doctor", "--json"], ["append", "--session", "bodies"]):
                self.assertNotEqual(self.world.run(*args).code, 0)
            self.world.user_config(f"log.level = {value}\n")
            self.world.run("config", "check", "--json"), self.world.run("doctor")
            self.world.user_config("")
            self.world.project_config(f'read.roots = ["/srv/{secret(i)}"]\n')
            self.weir("config", "check", code=3), self.weir("config", "check", "--json", code=3), self.world.run("doctor")
            os.remove(os.path.join(self.world.cwd, ".weir", "config.toml"))
        self.look_at_everything()
        self.weir("backup", self.world.path("data", "copy"))
        self.nowhere(planted + alone)
        # And it was not found because it is marked, not because it is gone.
        _, lines, _ = self.stream("export", "--session", "bodies")
        marked = [line for line in lines if MARK in compact(line["body"]) or "$blob" in compact(line["body"])]
        self.assertEqual(len(marked), len(lines))
        self.sound()

    def test_the_search_finds_what_is_there(self):
        """Or the tests beside this one would prove nothing."""
        planted = secrets_made.made(3)
        for how in (["--no-mask"], ["--no-mask", "--json"]):
            self.weir("append", "--session", "s", *how, stdin=compact(entry(planted[0][1] + "L" * (0 if len(how) == 1 else 70000))))
        with self.assertRaises(AssertionError):
            self.nowhere(planted)
        self.world.runs.clear()
        self.weir("purge", "--session", "s", "--yes")
        self.nowhere(planted)

    def test_while_the_store_is_open_the_wal_holds_none_either(self):
        planted = secrets_made.made(40, seed=11)
        self.append("first")
        reader = self.world.start("log", "--session", "s", "--follow", "--json")
        try:
            reader.stdout.readline()
            self.weir("append", "--session", "s", stdin=jsonl(entry(text) for _, text, _ in planted))
            self.assertGreater(os.path.getsize(os.path.join(self.world.store, "weir.db-wal")), 0)
            self.nowhere(planted)
        finally:
            reader.terminate()
            reader.communicate()


class GluedTest(MaskingCase):
    """A secret is one, whatever ends the word before it, however often it was quoted on its way."""

    def test_of_every_family_behind_everything_that_ends_a_word_none_is_stored_by_append(self):
        planted = secrets_made.glued()
        self.assertEqual({family for family, _, _ in planted}, {family for family, _, _ in secrets_made.made(200)})
        lines = []
        for i, (_, text, _) in enumerate(planted):
            quoted = secrets_made.quoted(text, i % 5)
            lines += [
                entry(quoted), entry([{"type": "text", "text": quoted}]), entry(quoted, "tool"), {"type": "custom", "body": {"custom_type": "x", "data": {quoted: quoted}}},
                {"type": "message", "body": {"role": "assistant", "content": "", "tool_calls": [{"name": "bash", "arguments": {"command": quoted}}, {"name": "bash", "arguments": secrets_made.nested(text, 1 + i % 4)}]}},
            ][i % 5 : i % 5 + 1]  # fmt: skip
        self.weir("append", "--session", "s", stdin=jsonl(lines))
        for depth in secrets_made.DEPTHS:
            self.weir("append", "--session", f"depth-{depth}", stdin=jsonl(entry(secrets_made.quoted(text, depth)) for _, text, _ in planted))
        large = secrets_made.glued(10)[::23]
        self.weir("append", "--session", "s", stdin=jsonl(entry("L" * 40000 + text + "\n" + "M" * 40000) for _, text, _ in large))
        self.weir("history", "REDACTED", "--session", "s")  # makes the index
        self.look_at_everything()
        self.nowhere(planted + large)
        self.sound()

    def test_a_text_that_is_json_stays_json_and_loses_nothing_but_secrets(self):
        planted = secrets_made.glued(11)
        for depth in range(1, 5):
            for session, shape in (("plain", lambda text: text), ("nested", lambda text: secrets_made.nested(text, depth))):  # noqa: B023
                self.weir("append", "--session", f"{session}-{depth}", stdin=jsonl(entry(shape(text)) for _, text, _ in planted))
            plain, nested = ([one["body"]["content"] for one in self.log(f"{kind}-{depth}", "--limit", 5000)] for kind in ("plain", "nested"))
            self.assertEqual(len(nested), len(planted))
            self.assertEqual([secrets_made.inner(text, depth) for text in nested], plain)
        self.nowhere(planted)

    def test_masked_once_it_is_masked_for_good(self):
        texts = [secrets_made.quoted(text, i % 5) for i, (_, text, _) in enumerate(secrets_made.glued(12))]
        self.weir("append", "--session", "once", stdin=jsonl(entry(text) for text in texts))
        once = [one["body"] for one in self.log("once", "--limit", 5000)][::-1]  # oldest first
        answer = self.answer("append", "--session", "twice", stdin=jsonl({"type": "message", "body": body} for body in once))
        self.assertNotIn("masked", answer)
        self.assertEqual([one["body"] for one in self.log("twice", "--limit", 5000)][::-1], once)

    def test_no_imported_log_and_no_sync_brings_one_in(self):
        planted = secrets_made.glued(13)
        rows = [compact({"type": "session", "version": 3, "id": "imported", "timestamp": STAMP, "cwd": "/"})]
        for i, (_, text, _) in enumerate(planted):
            quoted, common = secrets_made.quoted(text, i % 5), {"id": f"a{i}", "parentId": f"a{i - 1}" if i else None, "timestamp": STAMP}
            rows.append(compact([
                {"type": "message", **common, "message": {"role": "user", "content": quoted}},
                {"type": "message", **common, "message": {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [{"type": "text", "text": quoted}]}},
                {"type": "message", **common, "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": quoted}}]}},
                {"type": "custom", **common, "customType": "x", "data": {quoted: secrets_made.nested(text, 1 + i % 4)}},
            ][i % 4]))  # fmt: skip
        self.weir("import", "pi", self.world.file("session.jsonl", "\n".join(rows) + "\n"))
        entries = [{"type": "message", "id": "s1", "parentId": None, "timestamp": STAMP, "message": {"role": "user", "content": "\n".join(text for _, text, _ in planted)}}]
        self.weir("sync", "--format", "pi", stdin=compact({"format": "pi", "session": "host", "header": {"type": "session", "version": 3, "id": "host"}, "since": None, "entries": entries, "leaf": "s1"}))
        self.look_at_everything()
        self.nowhere(planted)
        self.sound()

    def test_of_a_file_with_one_nothing_is_kept(self):
        """What `read` prints is the file's real text, so only the store is looked at."""
        planted = secrets_made.glued(14)[::23]
        for i, (_, text, _) in enumerate(planted):
            path = self.world.file(f"f{i}.txt", f"one\n{text}\nthree\n")
            self.weir("read", path, "--session", "reads")
        self.world.runs.clear()
        self.nowhere(planted)

    def test_a_name_that_holds_one_behind_an_underscore_is_refused(self):
        names = ["x_" + secret for family, _, secret in secrets_made.bare(26) if family in ("github_token", "npm_token", "huggingface", "gitlab_token", "stripe_key", "pypi_token")]
        self.append("first", session="bodies")
        for name in names:
            for args, stdin in (
                (["append", "--session", "bodies"], compact(entry("x", id=name))), (["append", "--session", name], compact(entry("x"))), (["session", "new", name], b""), (["head", "fork", name, "--session", "bodies"], b""),
                (["append", "--session", "bodies"], compact({"type": name, "body": {}})),
            ):  # fmt: skip
                self.refused("INVALID_FIELD", *args, stdin=stdin)
        self.nowhere([("name", "", name[2:]) for name in names])


class ExactTest(MaskingCase):
    def test_the_span_is_replaced_and_nothing_else(self):
        for family, text, secret in secrets_made.made(80, seed=3):
            with self.subTest(family=family):
                answer = self.answer("append", "--session", "s", stdin=compact(entry(text)))
                stored = self.log("s", "--limit", 1)[0]["body"]["content"]
                self.assertIn(family, answer["masked"])
                self.assertIn(MARK, stored)
                self.assertNotIn(secret, stored)
                if family not in ("pem_private", "slack_webhook", "cookie", "jwt"):
                    self.assertEqual(stored, text.replace(secret, MARK))

    def test_of_a_password_in_a_url_nothing_else_is_lost(self):
        self.append("psql postgres://bob:" + "hunter2" + "@db.example:5432/x?y=1#z")
        self.assertEqual(self.tell(), [f"psql postgres://bob:{MARK}@db.example:5432/x?y=1#z"])

    def test_masking_twice_changes_nothing(self):
        first = self.append("api_key=" + "a1b2c3d4e5f6", session="a")
        stored = self.log("a")[0]["body"]
        answer = self.answer("append", "--session", "b", stdin=compact({"type": "message", "body": stored}))
        self.assertNotIn("masked", answer)
        self.assertEqual(self.log("b")[0]["digest"], self.log("a")[0]["digest"])
        self.assertEqual(first, answer["entries"][0]["id"])

    def test_ordinary_code_and_prose_stay_as_they_are(self):
        ordinary = [
            "password: string", "password: z.string().min(8)", "sk-short", "bearer of news", "http://localhost:8080/x", "user@example.com", "3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "class sk-fading-circle-container-element",
            "const token = await getToken();", "Authorization: ${header}", "the secret of the tokens", "git clone https://example.org/a/b.git", "ssh://git@example.org/x", "sha256:" + "0" * 64, "key_value pairs", "password=", "npm_config_registry",
        ]  # fmt: skip
        self.weir("append", "--session", "s", stdin=jsonl(entry(text) for text in ordinary))
        self.assertEqual(self.tell(), ordinary)
        self.assertEqual(self.answer("stats", "--session", "s")["masked"], {})

    def test_counts_are_reported_by_the_command_and_by_stats(self):
        token = "gh" + "p_" + "a1B2" * 9
        answer = self.answer("append", "--session", "s", stdin=jsonl([entry(f"{token} {token}"), {"type": "custom", "body": {"data": {"password": "x", "token": None}}}]))
        self.assertEqual(answer["masked"], {"github_token": 2, "secret_key": 1})
        self.assertEqual(self.answer("stats", "--session", "s")["masked"], {"github_token": 2, "secret_key": 1})
        self.assertIn("github_token", self.weir("stats", "--session", "s").text)

    def test_null_and_booleans_under_a_secret_key_stay(self):
        self.weir("append", "--session", "s", stdin=compact({"type": "custom", "body": {"data": {"token": None, "password": True, "secret": False, "api_key": 5, "cookie": {"a": 1}}}}))
        self.assertEqual(self.log()[0]["body"]["data"], {"token": None, "password": True, "secret": False, "api_key": MARK, "cookie": MARK})

    def test_a_named_option_turns_it_off(self):
        token = "gh" + "p_" + "a1B2" * 9
        for args, stdin in ((["append", "--session", "s", "--no-mask"], compact(entry(token))), (["import", "pi", self.world.file("x.jsonl", jsonl([{"type": "session", "version": 3, "id": "imp"}, {"type": "custom", "id": "a", "parentId": None, "customType": "x", "data": token}])), "--no-mask"], b"")):
            self.weir(*args, stdin=stdin)
        self.assertEqual(self.tell(), [token])
        self.assertEqual(self.log("imp")[0]["body"]["data"], token)

    def test_a_secret_is_masked_before_an_error_quotes_a_part_of_it(self):
        secret = "do" + "p_v1_" + "2d711642b726b044" * 4
        for wrong in ({"type": "message", "body": {"role": secret}}, {"type": "x", "body": {}, "at": secret}, {"type": "x", "body": {}, "parent": secret}):
            ran = self.world.run("append", "--session", "s", stdin=compact(wrong))
            self.assertNotEqual(ran.code, 0)
            self.assertNotIn(secret[:20], ran.errors + ran.text)
            self.assertIn(MARK, ran.errors)

    def test_families_of_the_users_own_are_masked_in_errors_too(self):
        self.world.user_config('[[mask.extra]]\nname = "acme"\npattern = "acme_[0-9a-f]{8}"\n')
        ran = self.world.run("append", "--session", "s", stdin=compact({"type": "message", "body": {"role": "acme_0123abcd"}}))
        self.assertNotIn("0123abcd", ran.errors)
        self.assertIn(MARK, ran.errors)

    def test_the_projects_own_sources_give_at_most_one_false_hit_in_a_thousand_lines(self):
        lines = []
        for folder, names, files in os.walk(os.path.join(harness.SOURCE, "src")):
            names.sort()
            for name in sorted(files):
                if "secret" in name:  # the table itself and its tests
                    continue
                with open(os.path.join(folder, name)) as file:
                    lines += file.read().split("\n")
        hits, at_once = collections.Counter(), 50_000
        for first in range(0, len(lines), at_once):
            some = jsonl({"type": "x", "body": {"line": line}} for line in lines[first : first + at_once])
            hits.update(self.answer("append", "--session", "s", stdin=some).get("masked", {}))
        self.assertGreater(len(lines), 5000)
        self.assertLessEqual(hits.total() * 1000, len(lines), hits)


if __name__ == "__main__":
    harness.main()
