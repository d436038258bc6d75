"""Import and export of pi's sessions: the mapping, nothing lost, the same again, the rest later."""

import hashlib
import io
import os
import sys

import harness
from harness import CliTest, compact, jsonl, needs_shared

sys.path.insert(0, harness.DATA)
import make_pi_session  # noqa: E402

SAMPLE = os.path.join(harness.DATA, "pi-1.5.0-session.jsonl")
V1, V2, V3, MESSY = (os.path.join(harness.DATA, f"pi-{name}.jsonl") for name in ("v1", "v2", "v3", "messy"))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def values(data):
    """The file's lines as JSON values, integers exact; a line that is none is its text."""
    out = []
    for line in data.split(b"\n"):
        line = line.strip(b" \t\r")
        if not line:
            continue
        try:
            out.append(harness.parse_line(line.decode()))
        except (ValueError, RecursionError):
            out.append(line)
    return out


def damaged_session(size, seed):
    out = io.BytesIO()
    make_pi_session.make(size, seed, out, damage=True, identity=f"made-{seed}")
    return out.getvalue()


class ImportCase(CliTest):
    def import_pi(self, path, *args, **how):
        return self.answer("import", "pi", path, *args, **how)

    def entries(self, session):
        """Every entry of the session, by id."""
        _, lines, end = self.stream("export", "--session", session)
        self.assertEqual(end["count"], len(lines))
        return {line["id"]: line for line in lines}

    def head(self, session):
        return self.answer("session", "show", session)["head"]

    def digests(self, session):
        return [(line["id"], line["parent"], line["type"], line["digest"], line["at"]) for line in self.stream("export", "--session", session)[1]]

    def given_back(self, session, original):
        """Exports as pi and compares with the original, line by line."""
        exported = values(self.weir("export", "--session", session, "--format", "pi").out)
        wanted = values(original)
        self.assertEqual(len(exported), len(wanted))
        for i, (got, want) in enumerate(zip(exported, wanted)):
            self.assertEqual(got, want, f"line {i + 1}")

    def round_trip(self, session, original):
        """Exported and imported again: equal digests."""
        copy = self.world.file("copy.jsonl", self.weir("export", "--session", session, "--format", "pi").out)
        self.import_pi(copy, "--as", "copy")
        self.assertEqual(self.digests("copy"), self.digests(session))


class SampleTest(ImportCase):
    def test_the_sample_has_14_entries_1_compaction_and_main_at_its_leaf(self):
        report = self.import_pi(SAMPLE)
        self.assertEqual(
            report,
            {
                "session": "01a1e0a2-d8f0-7436-8c16-bcfead8309af", "file": SAMPLE, "refused": False, "lines": 15, "entries": 14, "known": 0, "messages": 11,
                "side": 0, "orphans": 0, "branches": 0, "compactions": 1, "torn": 0, "held": 0, "unknown": {}, "malformed": [],
                "requests": {"resolved": 0, "unresolved": 0}, "masked": {},
            },
        )  # fmt: skip
        self.assertEqual(self.head(report["session"]), "4e31d811")
        self.assertEqual(self.answer("session", "show")["barrier"], "compaction:5590613f")
        roles = [line["body"].get("role") for line in self.entries(report["session"]).values() if line["type"] == "message"]
        self.assertEqual({role: roles.count(role) for role in set(roles)}, {"system": 1, "user": 3, "assistant": 5, "tool": 2})
        self.sound()

    def test_the_sample_is_given_back_whole_and_imports_again_with_equal_digests(self):
        session = self.import_pi(SAMPLE)["session"]
        self.given_back(session, read(SAMPLE))
        self.round_trip(session, read(SAMPLE))

    def test_the_samples_digests_never_change(self):
        """They pin mapping, canonical form and hash rules. A change here is a new version of all three."""
        session = self.import_pi(SAMPLE)["session"]
        digests = [f"{line['id']} {line['digest']}" for line in self.stream("export", "--session", session)[1]]
        self.golden("sample_digests", "\n".join(digests) + "\n")

    def test_each_digest_covers_body_parent_digest_and_type_and_nothing_else(self):
        session = self.import_pi(SAMPLE)["session"]
        above = {None: "null"}
        for line in self.stream("export", "--session", session)[1]:
            body = self.weir("show", line["id"], "--session", session, "--raw").text.rstrip("\n")
            hashed = 'weir.entry.v1\0{"body":%s,"parent":%s,"type":"%s"}' % (body, above[line["parent"]], line["type"])
            self.assertEqual(hashlib.sha256(hashed.encode()).hexdigest(), line["digest"])
            above[line["id"]] = '"%s"' % line["digest"]

    def test_the_compaction_keeps_what_the_host_said(self):
        entries = self.entries(self.import_pi(SAMPLE)["session"])
        body = entries["5590613f"]["body"]
        self.assertEqual((body["summary"], body["first_kept"], body["tokens_before"]), ("ENGINE-SUPPLIED-SUMMARY", "28d442a8", 1412))
        self.assertEqual(body["extra"]["details"], {"engine": "x", "snapshot": "snap_1", "sha256": "abc"})
        self.assertIs(body["extra"]["fromHook"], True)


class MappingTest(ImportCase):
    def setUp(self):
        super().setUp()
        self.report = self.import_pi(V3)
        self.all = self.entries("pi-v3")

    def body(self, identity, kind):
        self.assertEqual(self.all[identity]["type"], kind)
        return self.all[identity]["body"]

    def test_counts(self):
        wanted = {"lines": 31, "entries": 30, "messages": 17, "compactions": 1, "branches": 1, "side": 0, "orphans": 0, "torn": 0, "unknown": {}, "malformed": [], "known": 0}
        self.assertEqual({key: self.report[key] for key in wanted}, wanted)
        self.assertEqual(self.head("pi-v3"), "a000001e")

    def test_parents_ids_and_times_are_the_hosts(self):
        for line in values(read(V3))[1:]:
            got = self.all[line["id"]]
            self.assertEqual((got["parent"], got["at"]), (line["parentId"], line["timestamp"]))

    def test_assistant_tool_calls_stand_in_content_and_in_tool_calls(self):
        body = self.body("a0000006", "message")
        self.assertEqual(body["role"], "assistant")
        self.assertEqual([block["type"] for block in body["content"]], ["thinking", "text", "toolCall", "toolCall"])
        self.assertEqual(body["tool_calls"], [{"id": "call_1", "name": "read", "arguments": {"path": "src/ledger/round.cc", "offset": 1}}, {"id": "call_2", "name": "bash", "arguments": {"command": "make test"}}])
        self.assertEqual(sorted(body["extra"]), ["api", "model", "provider", "stopReason", "timestamp", "usage"])

    def test_tool_results_are_messages_of_role_tool(self):
        good, failed = self.body("a0000007", "message"), self.body("a0000008", "message")
        self.assertEqual((good["role"], good["tool_call_id"], good["name"], good["is_error"]), ("tool", "call_1", "read", False))
        self.assertEqual(good["extra"]["details"], {"truncation": {"truncated": False}})
        self.assertEqual((failed["tool_call_id"], failed["name"], failed["is_error"]), ("call_2", "bash", True))

    def test_system_sections_stay_in_extra(self):
        body = self.body("a0000004", "message")
        self.assertEqual((body["role"], body["content"]), ("system", ""))
        self.assertEqual(body["extra"]["sections"]["preamble"], "You are a careful engineer.")

    def test_bash_of_the_user_is_a_user_message_unless_it_is_kept_from_the_model(self):
        body = self.body("a000000a", "message")
        self.assertEqual((body["role"], body["name"]), ("user", "bashExecution"))
        self.assertEqual(body["content"], "Ran `git log --oneline -1`\n```\n1f2e3d4 round once\n\n```")
        failed = self.body("a000000b", "message")["content"]
        self.assertEqual(failed, "Ran `false`\n(no output)\n\nCommand exited with code 1\n\n[Output truncated. Full output: /tmp/out.log]")
        hidden = self.body("a000000c", "custom")
        self.assertEqual(hidden["custom_type"], "pi:bashExecution")
        self.assertEqual(hidden["data"]["message"]["command"], "ls ~")

    def test_custom_messages_are_user_messages_with_a_name(self):
        for identity, name, content in (("a000000d", "reminder", "Tests first."), ("a000000e", "plan", [{"type": "text", "text": "1. read 2. fix"}])):
            body = self.body(identity, "message")
            self.assertEqual((body["role"], body["name"], body["content"]), ("user", name, content))

    def test_labels_summaries_edits_and_compactions_keep_their_type(self):
        self.assertEqual(self.body("a000000f", "label"), {"target": "a0000005", "label": "the question"})
        self.assertEqual(self.body("a000001d", "label"), {"target": "a0000005"})
        summary = self.body("a0000013", "branch_summary")
        self.assertEqual((summary["summary"], summary["from"]), ("Tried the shell; nothing came of it.", "a0000012"))
        self.assertEqual(self.body("a0000017", "context_edit"), {"target": "a0000007", "replacement": None})
        self.assertEqual(self.body("a0000018", "context_edit"), {"target": "a0000008", "replacement": "(a failed call)"})
        compaction = self.body("a0000019", "compaction")
        self.assertEqual((compaction["first_kept"], compaction["tokens_before"]), ("a0000014", 151234))
        self.assertEqual(sorted(compaction["extra"]), ["details", "fromHook", "systemMessage", "usage"])
        self.assertEqual(self.body("a0000003", "session_info"), {"name": "port the ledger"})

    def test_states_of_the_host_are_custom_in_the_tree(self):
        for identity, kind, data in (
            ("a0000001", "pi:model_change", {"provider": "example", "modelId": "example-large"}),
            ("a0000002", "pi:thinking_level_change", {"thinkingLevel": "high"}),
            ("a0000012", "pi:usage", {"usage": {"input": 10, "output": 3}, "source": "summarizer"}),
        ):
            self.assertEqual(self.body(identity, "custom"), {"custom_type": kind, "data": data})
        todo = self.body("a0000011", "custom")
        self.assertEqual((todo["custom_type"], todo["data"]["ticket"]), ("todo", 9007199254740993))

    def test_every_line_is_given_back(self):
        self.given_back("pi-v3", read(V3))
        self.round_trip("pi-v3", read(V3))

    def test_the_header_and_where_it_came_from_are_kept_beside_the_session(self):
        source = self.answer("session", "show", "pi-v3")["source"]
        self.assertEqual((source["format"], source["version"], source["path"], source["lines"], source["entries"]), ("pi", 3, V3, 31, 30))
        self.assertEqual(source["header"]["parentSession"], "/home/user/.pi/agent/sessions/earlier.jsonl")
        self.assertEqual(source["offset"], os.path.getsize(V3))

    def test_no_digest_depends_on_file_name_session_name_or_time_of_import(self):
        other = self.world.file("elsewhere/other-name.jsonl", read(V3))
        self.import_pi(other, "--as", "other")
        self.assertEqual(self.digests("other"), self.digests("pi-v3"))


class PromptTest(ImportCase):
    """An imported session as the next prompt: pi has a call among the blocks of the content, its entry also beside them."""

    def calls_in(self, form, answer):
        if form == "anthropic":
            return [block["name"] for message in answer["messages"] for block in message["content"] if block["type"] == "tool_use"]
        if form == "openai":
            return [call["function"]["name"] for message in answer["messages"] for call in message.get("tool_calls", [])]
        return [call["name"] for message in answer["messages"] for call in message.get("calls", [])]

    def check(self, session):
        """Every call once, in order, and none of them as text."""
        recorded = [call["name"] for e in self.entries(session).values() for call in e["body"].get("tool_calls", [])]
        config = self.world.file("whole.json", compact({"compile": {"scope": "path"}}))
        shown = 0
        for form in ("anthropic", "openai", "plain"):
            answer = self.answer("context", "--dry-run", "--session", session, "--format", form, "--context-config", config)
            self.assertLessEqual(len(self.calls_in(form, answer)), len(recorded))
            shown = max(shown, len(self.calls_in(form, answer)))
            # As text a block would be canonical JSON, inside a string.
            self.assertNotIn('\\"type\\":\\"toolCall\\"}', compact(answer["messages"]))
        return shown

    def test_every_call_stands_once(self):
        shown = 0
        for path, name in ((V1, "v1"), (V2, "v2"), (V3, "v3"), (SAMPLE, "sample")):
            with self.subTest(name=name):
                self.import_pi(path, "--as", name)
                shown += self.check(name)
        self.assertGreater(shown, 0)
        self.sound()

    @needs_shared
    def test_every_call_of_the_long_sessions_stands_once(self):
        for name in ("before-compaction", "large-session"):
            self.import_pi(os.path.join(harness.SHARED, "pi", name + ".jsonl"), "--as", name)
            self.assertGreater(self.check(name), 300)


class OlderVersionsTest(ImportCase):
    def test_version_2_hook_messages_are_custom_messages(self):
        report = self.import_pi(V2)
        self.assertEqual((report["entries"], report["messages"], report["compactions"], report["unknown"]), (5, 4, 1, {}))
        hook = self.entries("pi-v2")["b0000002"]["body"]
        self.assertEqual((hook["role"], hook["name"], hook["content"]), ("user", "guard", "No network today."))

    def test_version_2_is_given_back_as_version_3(self):
        self.import_pi(V2)
        exported, wanted = (values(data) for data in (self.weir("export", "--session", "pi-v2", "--format", "pi").out, read(V2)))
        self.assertEqual(exported[0], {**wanted[0], "version": 3})
        self.assertEqual(wanted[2]["message"]["role"], "hookMessage")
        wanted[2]["message"]["role"] = "custom"
        self.assertEqual(exported[1:], wanted[1:])
        self.round_trip("pi-v2", None)

    def test_a_malformed_line_of_version_1_takes_no_id_of_an_index(self):
        head = {"type": "session", "id": "v1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
        say = lambda text: {"type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": text}}
        kept = {"type": "compaction", "timestamp": "2026-01-01T00:00:00.000Z", "summary": "s", "firstKeptEntryIndex": 5, "tokensBefore": 1}
        lines = [compact(line) for line in (head, say("one"), say("two"))] + ["{broken", "[1]"] + [compact(line) for line in (say("four"), say("five"), kept)]
        self.import_pi(self.world.file("v1.jsonl", "\n".join(lines) + "\n"))
        entries = self.entries("v1")
        self.assertEqual(list(entries), ["l1", "l2", "m4", "m5", "l4", "l5", "l6"])
        self.assertEqual((entries["l6"]["body"]["first_kept"], entries["l5"]["body"]["content"]), ("l5", "five"))

    def test_version_1_is_linear_with_ids_from_its_index(self):
        report = self.import_pi(V1)
        self.assertEqual((report["lines"], report["entries"], report["messages"], report["compactions"]), (12, 11, 7, 2))
        entries = self.entries("pi-v1")
        self.assertEqual(list(entries), [f"l{i}" for i in range(1, 12)])
        self.assertEqual([e["parent"] for e in entries.values()], [None] + [f"l{i}" for i in range(1, 11)])
        self.assertEqual([e["body"]["first_kept"] for e in entries.values() if e["type"] == "compaction"], ["l4", "l9"])
        self.assertEqual(self.head("pi-v1"), "l11")

    def test_version_1_content_is_given_back_as_version_3(self):
        self.import_pi(V1)
        exported, original = values(self.weir("export", "--session", "pi-v1", "--format", "pi").out), values(read(V1))
        self.assertEqual(len(exported), len(original))
        self.assertEqual(exported[0], {**original[0], "version": 3})
        for i, (got, want) in enumerate(zip(exported[1:], original[1:]), start=1):
            self.assertEqual((got.pop("id"), got.pop("parentId")), (f"l{i}", f"l{i - 1}" if i > 1 else None))
            if want["type"] == "compaction":
                self.assertEqual(got.pop("firstKeptEntryId"), f"l{want['firstKeptEntryIndex']}")
            self.assertEqual(got, want)
        self.round_trip("pi-v1", read(V1))

    @needs_shared
    def test_the_long_version_1_sessions(self):
        for name, count, kept in (("before-compaction", 1002, ["l293", "l551"]), ("large-session", 1018, [])):
            path = os.path.join(harness.SHARED, "pi", name + ".jsonl")
            report = self.import_pi(path, "--as", name)
            self.assertEqual((report["entries"], report["malformed"], report["unknown"]), (count, [], {}))
            entries = self.entries(name)
            self.assertEqual([e["body"]["first_kept"] for e in entries.values() if e["type"] == "compaction"], kept)
            errors = [e for e in entries.values() if e["body"].get("is_error") is True]
            self.assertEqual(len(errors), {"before-compaction": 12, "large-session": 19}[name])
            self.round_trip(name, read(path))
            self.weir("purge", "--session", "copy", "--yes")
        self.sound()


class MessyTest(ImportCase):
    def test_every_oddity_is_kept_and_counted(self):
        report = self.import_pi(MESSY)
        self.assertEqual([item["line"] for item in report["malformed"]], [3, 8, 9, 10, 11, 12, 13, 14, 32])
        self.assertEqual((report["lines"], report["entries"], report["torn"], report["orphans"]), (36, 34, 0, 1))
        self.assertEqual((report["unknown"]["hologram"], report["unknown"]["telemetry"]), (1, 1))
        reasons = " | ".join(item["reason"] for item in report["malformed"])
        for word in ("does not end", "not an object", "no type", "'content'", "UTF-8", "64", "no double", "$blob"):
            self.assertIn(word, reasons)
        self.assertNotIn("line 1", reasons)
        self.assertEqual(report["malformed"][0]["reason"], "a string does not end, at column 117")
        self.assertEqual(self.head("pi-messy"), "c000001c")
        self.sound()

    def test_nothing_of_it_is_lost(self):
        self.import_pi(MESSY)
        self.given_back("pi-messy", read(MESSY))

    def test_it_comes_back_byte_for_byte_where_it_was_no_json(self):
        self.import_pi(MESSY)
        exported = self.weir("export", "--session", "pi-messy", "--format", "pi").out.split(b"\n")
        original = [line for line in read(MESSY).split(b"\n") if line.strip()]
        for at in (3, 8, 11, 12, 13, 14, 15):  # lines of the file; 4 is blank
            index = at - 1 if at < 4 else at - 2
            self.assertEqual(exported[index], original[index])

    def test_an_id_met_again_gets_a_number_and_keeps_its_own_in_extra(self):
        self.import_pi(MESSY)
        entries = self.entries("pi-messy")
        self.assertEqual(entries["c0000001~2"]["body"]["extra"]["id"], "c0000001")
        self.assertEqual(entries["c000000d"]["parent"], "c0000001~2")

    def used_again(self, lines):
        header = {"type": "session", "version": 3, "id": "again", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
        return jsonl([header] + [{"type": "custom", "id": i, "parentId": p, "timestamp": "2026-01-01T00:00:00.000Z", "customType": "x", "data": n} for n, (i, p) in enumerate(lines)])

    def test_a_child_hangs_under_the_one_that_stood_before_it_also_when_compared_again(self):
        data = self.used_again([("aaaa", None), ("bbbb", "aaaa"), ("cccc", "aaaa"), ("aaaa", "cccc"), ("dddd", "bbbb"), ("eeee", "aaaa")])
        self.import_pi(self.world.file("again.jsonl", data))
        parents = {e["id"]: e["parent"] for e in self.entries("again").values()}
        self.assertEqual(parents, {"aaaa": None, "bbbb": "aaaa", "cccc": "aaaa", "aaaa~2": "cccc", "dddd": "bbbb", "eeee": "aaaa~2"})
        other_bytes = data.replace('"x","data"', '"x", "data"')
        report = self.import_pi(self.world.file("again.jsonl", other_bytes))
        self.assertEqual((report["entries"], report["known"]), (0, 6))
        self.given_back("again", data.encode())

    def test_an_id_used_very_often_costs_no_more_than_its_lines(self):
        data = self.used_again([("aaaa", "aaaa" if i else None) for i in range(20000)])
        report = self.import_pi(self.world.file("again.jsonl", data), timeout=20)
        self.assertEqual((report["entries"], self.head("again")), (20000, "aaaa~20000"))
        again = self.import_pi(self.world.file("again.jsonl", data.replace('"x","data"', '"x", "data"')), timeout=20)
        self.assertEqual((again["entries"], again["known"]), (0, 20000))
        self.sound()

    def test_an_id_too_long_for_a_number_gets_its_lines(self):
        long = "i" * 256
        data = self.used_again([(long, None), (long, long), ("z", long)])
        self.import_pi(self.world.file("again.jsonl", data))
        self.assertEqual(list(self.entries("again")), [long, "l3", "z"])
        self.given_back("again", data.encode())
        self.sound()

    def test_children_of_an_id_that_cannot_be_used_hang_under_its_entry(self):
        secret = "ghp_" + "a1B2" * 9
        data = self.used_again([("a", None), ("b c", "a"), ("d", "b c"), (secret, "d"), ("e", secret), ("f", "b c"), ("g", "nowhere")])
        report = self.import_pi(self.world.file("again.jsonl", data))
        wanted = {"a": None, "l3": "a", "d": "l3", "l5": "d", "e": "l5", "f": "l3", "g": None}
        self.assertEqual({e["id"]: e["parent"] for e in self.entries("again").values()}, wanted)
        self.assertEqual((report["orphans"], report["branches"]), (1, 1))
        self.given_back("again", data.replace(secret, "***REDACTED***").encode())
        # Line by line it becomes the same, with the same counts.
        lines, orphans, branches = data.splitlines(keepends=True), 0, 0
        for n in range(1, len(lines) + 1):
            report = self.import_pi(self.world.file("slow.jsonl", "".join(lines[:n])), "--as", "slow")
            orphans, branches = orphans + report["orphans"], branches + report["branches"]
        self.assertEqual(self.digests("slow"), self.digests("again"))
        self.assertEqual((orphans, branches), (1, 1))

    def test_a_branch_is_counted_when_it_arrives_later(self):
        data = self.used_again([("a", None), ("b", "a"), ("c", "b"), ("d", "b"), ("e", "c"), ("f", "a"), ("g", "f"), ("h", "f")])
        lines = data.splitlines(keepends=True)
        for compared in (False, True):
            counts = []
            for n in range(2, len(lines) + 1):
                text = "".join(lines[:n])
                if compared and n % 2:  # other bytes: its lines are compared from the beginning
                    text = text.replace('"x","data"', '"x", "data"')
                counts.append(self.import_pi(self.world.file("grows.jsonl", text), "--as", f"grows-{compared}")["branches"])
            self.assertEqual(counts, [0, 0, 0, 1, 0, 1, 0, 1])
        self.assertEqual(self.import_pi(self.world.file("again.jsonl", data))["branches"], 3)

    def test_an_orphan_is_a_root_and_its_parents_name_is_kept(self):
        self.import_pi(MESSY)
        entries = self.entries("pi-messy")
        self.assertIsNone(entries["c000000e"]["parent"])
        self.assertEqual(entries["c000000e"]["body"]["extra"]["parentId"], "nowhere1")
        self.assertEqual(entries["c000000f"]["parent"], "c000000e")

    def test_lines_beside_the_tree_are_leaves_under_the_entry_before_them(self):
        self.import_pi(MESSY)
        entries = self.entries("pi-messy")
        sides = [e for e in entries.values() if e["id"].startswith("l") and e["id"] != "l26"]
        self.assertEqual(len(sides), 11)
        parents = {e["parent"] for e in entries.values()}
        for side in sides:
            self.assertNotIn(side["id"], parents)
        self.assertEqual(entries["l7"]["parent"], "c0000004")
        self.assertEqual(entries["l7"]["body"]["custom_type"], "pi:telemetry")

    def test_a_custom_entry_that_says_side_of_itself_stays_in_the_tree(self):
        header = {"type": "session", "version": 3, "id": "sides", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
        lines = [header]
        for identity, parent in (("aaaa", None), ("bbbb", "aaaa"), ("cccc", "bbbb")):
            lines.append({"type": "custom", "id": identity, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "customType": "x", "data": {"side": True}})
        self.import_pi(self.world.file("sides.jsonl", jsonl(lines)))
        drawn = self.weir("tree", "--session", "sides", "--all-types").text
        self.assertEqual([identity for identity in ("aaaa", "bbbb", "cccc") if identity in drawn], ["aaaa", "bbbb", "cccc"])
        self.assertIn("◀ main", self.weir("tree", "--session", "sides").text)

    def test_no_digest_of_the_conversation_depends_on_what_stands_beside_it(self):
        self.import_pi(MESSY)
        clean = [line for i, line in enumerate(read(MESSY).split(b"\n"), start=1) if i not in (3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 27, 32, 34)]
        self.import_pi(self.world.file("clean.jsonl", b"\n".join(clean)), "--as", "clean")
        main = lambda session: [(e["type"], e["digest"]) for e in self.stream("log", "--session", session)[1]]
        self.assertEqual(main("clean"), main("pi-messy"))

    def test_integers_beyond_2_to_the_53_keep_their_digits(self):
        self.import_pi(MESSY)
        raw = self.weir("show", "c000000c", "--session", "pi-messy", "--raw").text
        self.assertIn("123456789012345678901234567890", raw)
        self.assertIn("-9007199254740993", raw)

    def test_strict_refuses_each_kind_with_3_and_leaves_the_store_alone(self):
        header = {"type": "session", "version": 3, "id": "strict", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
        good = {"type": "message", "id": "a", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "x"}}
        self.weir("init")
        before = self.world.dump()
        for what, line, field in (
            ("unknown", compact({"type": "hologram", "id": "b", "parentId": "a", "timestamp": "2026-01-01T00:00:00.000Z"}), "unknown"),
            ("malformed", "{not json", "malformed"),
            ("orphan", compact({**good, "id": "b", "parentId": "gone"}), "orphans"),
        ):
            with self.subTest(what=what):
                path = self.world.file("strict.jsonl", jsonl([header, good]) + line + "\n" + compact({**good, "id": "c", "parentId": "a"}) + "\n")
                report = self.answer("import", "pi", path, "--strict", code=3)
                self.assertIs(report["refused"], True)
                self.assertTrue(report[field])
                self.assertEqual(self.world.dump(), before)
        clean = self.world.file("strict.jsonl", jsonl([header, good]))
        self.assertIs(self.answer("import", "pi", clean, "--strict")["refused"], False)

    def test_made_sessions_full_of_damage_lose_nothing(self):
        for seed in (1, 2, 3):
            with self.subTest(seed=seed):
                data = damaged_session(300_000, seed)
                report = self.import_pi(self.world.file("made.jsonl", data))
                self.assertTrue(report["malformed"])
                session = f"made-{seed}"
                self.given_back(session, data)
                # The same file adds nothing, also when it has to be compared line by line.
                self.assertEqual(self.import_pi(self.world.file("made.jsonl", data))["entries"], 0)
                # White space between members makes other bytes and the same lines.
                again = self.import_pi(self.world.file("made.jsonl", data.replace(b'{"type":"session",', b'{"type":"session", ', 1)))
                self.assertEqual((again["entries"], again["known"]), (0, report["entries"]))
        self.sound()

    def test_large_outputs_become_blobs_and_come_back(self):
        data = damaged_session(1_500_000, 5)
        self.import_pi(self.world.file("made.jsonl", data))
        self.assertTrue(self.world.objects())
        self.given_back("made-5", data)
        self.assertEqual(self.sound()["blobs"], len(self.world.objects()))


class AgainTest(ImportCase):
    def lines(self):
        return read(SAMPLE).splitlines(keepends=True)

    def test_the_same_file_twice_then_one_line_longer_adds_0_then_1(self):
        path = self.world.file("s.jsonl", b"".join(self.lines()[:-1]))
        self.assertEqual(self.import_pi(path)["entries"], 13)
        before = self.world.dump()
        again = self.import_pi(path)
        self.assertEqual((again["entries"], again["known"]), (0, 13))
        self.assertEqual(self.world.dump(), before)
        self.world.file("s.jsonl", read(SAMPLE))
        longer = self.import_pi(path)
        self.assertEqual((longer["entries"], longer["known"], longer["lines"]), (1, 13, 15))
        self.assertEqual(self.head(longer["session"]), "4e31d811")
        self.import_pi(SAMPLE, "--as", "whole")
        self.assertEqual(self.digests(longer["session"]), self.digests("whole"))

    def test_one_changed_old_line_is_refused_and_named(self):
        path = self.world.file("s.jsonl", read(SAMPLE))
        self.import_pi(path)
        for at, old, new in ((5, b"READ the sample", b"READ the simple"), (13, b"ENGINE-SUPPLIED", b"ENGINE-PROVIDED"), (2, b"fake-model", b"real-model")):
            with self.subTest(line=at):
                lines = self.lines()
                self.assertIn(old, lines[at - 1])
                lines[at - 1] = lines[at - 1].replace(old, new)
                self.world.file("s.jsonl", b"".join(lines))
                error = self.refused("SOURCE_REWRITTEN", "import", "pi", path)
                self.assertEqual((error["details"]["line"], error["details"]["path"]), (at, path))
                self.assertIn(f"line {at} ", error["message"])

    def test_a_line_put_in_between_is_refused_and_named(self):
        path = self.world.file("s.jsonl", read(SAMPLE))
        self.import_pi(path)
        lines = self.lines()
        lines.insert(7, compact({"type": "message", "id": "feedbeef", "parentId": "03b1998a", "timestamp": "2026-11-15T19:15:33.000Z", "message": {"role": "user", "content": "new"}}).encode() + b"\n")
        self.world.file("s.jsonl", b"".join(lines))
        self.assertEqual(self.refused("SOURCE_REWRITTEN", "import", "pi", path)["details"]["line"], 8)

    def test_a_file_cut_short_is_refused(self):
        path = self.world.file("s.jsonl", read(SAMPLE))
        self.import_pi(path)
        self.world.file("s.jsonl", b"".join(self.lines()[:9]))
        self.assertEqual(self.refused("SOURCE_REWRITTEN", "import", "pi", path)["details"]["line"], 10)

    def test_another_header_is_refused(self):
        path = self.world.file("s.jsonl", read(SAMPLE))
        self.import_pi(path)
        self.world.file("s.jsonl", read(SAMPLE).replace(b"/project/pproj", b"/project/other", 1))
        self.assertEqual(self.refused("SOURCE_REWRITTEN", "import", "pi", path)["details"]["line"], 1)

    def test_what_weir_appended_itself_stays_and_main_goes_where_the_file_ends(self):
        path = self.world.file("s.jsonl", b"".join(self.lines()[:-1]))
        session = self.import_pi(path)["session"]
        own = self.append("a note of our own", session=session)
        self.assertEqual(self.head(session), own)
        self.assertEqual(self.import_pi(path)["entries"], 0)
        self.assertEqual(self.head(session), own)
        self.world.file("s.jsonl", read(SAMPLE))
        self.assertEqual(self.import_pi(path)["entries"], 1)
        self.assertEqual(self.head(session), "4e31d811")
        self.assertEqual(self.entries(session)["4e31d811"]["parent"], "8fddd0ce")
        self.assertEqual(self.weir("show", own, "--session", session).code, 0)

    def test_entries_of_weir_go_out_as_custom_lines_and_come_back_as_what_they_were(self):
        self.weir("append", "--session", "own", stdin=jsonl([harness.entry("one"), {"type": "compaction", "body": {"summary": "all"}}, {"type": "label", "body": {"target": "x", "label": "pin"}}, {"type": "ODD_EVENT", "body": {"n": 1}}]))
        exported = values(self.weir("export", "--session", "own", "--format", "pi").out)
        self.assertEqual([line["type"] for line in exported], ["session", "custom", "custom", "custom", "custom"])
        self.assertEqual([line["customType"] for line in exported[1:]], ["weir:message", "weir:compaction", "weir:label", "weir:ODD_EVENT"])
        self.round_trip("own", None)

    def test_a_file_that_was_synced_by_its_host_adds_only_the_rest(self):
        """A host hands over entries by sync; the file that holds the same ones is imported later."""
        lines = values(read(SAMPLE))
        path = self.world.file("s.jsonl", b"".join(self.lines()[:10]))
        session = self.import_pi(path)["session"]
        handed = {"format": "pi", "session": session, "since": lines[9]["id"], "entries": lines[10:13], "leaf": lines[12]["id"]}
        self.assertEqual(self.answer("sync", "--format", "pi", stdin=compact(handed))["accepted"], 3)
        self.world.file("s.jsonl", read(SAMPLE))
        report = self.import_pi(path)
        self.assertEqual((report["entries"], self.head(session)), (2, "4e31d811"))
        self.import_pi(SAMPLE, "--as", "whole")
        self.assertEqual(self.digests(session), self.digests("whole"))
        self.assertEqual(self.import_pi(path)["entries"], 0)

    def test_a_session_known_only_by_sync_takes_its_file(self):
        lines = values(read(SAMPLE))
        for name, extra in (("with-header", {"header": lines[0]}), ("without", {})):
            with self.subTest(header=name):
                handed = {"format": "pi", "session": name, "since": None, "entries": lines[1:6], "leaf": lines[5]["id"], **extra}
                self.assertEqual(self.answer("sync", "--format", "pi", stdin=compact(handed))["accepted"], 5)
                report = self.import_pi(SAMPLE, "--as", name)
                self.assertEqual((report["entries"], report["known"]), (9, 5))
                self.assertEqual(self.head(name), "4e31d811")


    def test_a_file_that_is_behind_what_was_synced_stores_every_entry_once(self):
        lines = values(read(SAMPLE))
        path = self.world.file("s.jsonl", b"".join(self.lines()[:10]))
        session = self.import_pi(path)["session"]
        handed = {"format": "pi", "session": session, "since": lines[9]["id"], "entries": lines[10:13], "leaf": lines[12]["id"]}
        self.answer("sync", "--format", "pi", stdin=compact(handed))
        # The host writes its file late, a line at a time.
        for n in range(10, 16):
            self.world.file("s.jsonl", b"".join(self.lines()[:n]))
            report = self.import_pi(path)
            self.assertEqual((report["entries"], report["known"]), (1, n - 2) if n > 13 else (0, n - 1))
            self.assertEqual(self.head(session), lines[max(n - 1, 12)]["id"])
        self.import_pi(SAMPLE, "--as", "whole")
        self.assertEqual(self.digests(session), self.digests("whole"))

    def test_a_synced_id_that_the_file_uses_twice_or_for_something_else_gets_a_number(self):
        lines = values(read(SAMPLE))
        for name, added, wanted in (
            ("twice", [lines[10], lines[10]], [lines[10]["id"], lines[10]["id"] + "~2"]),
            ("other", [{**lines[10], "message": {"role": "user", "content": "other"}}], [lines[10]["id"], lines[10]["id"] + "~2"]),
        ):
            with self.subTest(name=name):
                path = self.world.file("s.jsonl", b"".join(self.lines()[:10]))
                self.import_pi(path, "--as", name)
                self.answer("sync", "--format", "pi", stdin=compact({"session": name, "since": lines[9]["id"], "entries": lines[10:11], "leaf": None}))
                self.import_pi(path, "--as", name)
                self.world.file("s.jsonl", b"".join(self.lines()[:10]) + jsonl(added).encode())
                self.import_pi(path, "--as", name)
                self.assertEqual(list(self.entries(name))[9:], wanted)


class RefusedImportsTest(ImportCase):
    def test_what_is_no_session_of_pi(self):
        self.weir("init")
        for what, data, code in (
            ("text", b"hello\nworld\n", "UNSUPPORTED_FORMAT"),
            ("binary", bytes(range(256)) * 4 + b"\n", "UNSUPPORTED_FORMAT"),
            ("another header", b'{"type":"message","id":"a"}\n{}\n', "UNSUPPORTED_FORMAT"),
            ("a newer version", b'{"type":"session","version":4,"id":"x"}\n', "UNSUPPORTED_FORMAT"),
            ("version 0", b'{"type":"session","version":0,"id":"x"}\n', "UNSUPPORTED_FORMAT"),
            ("a version that is a text", b'{"type":"session","version":"3","id":"x"}\n', "UNSUPPORTED_FORMAT"),
            ("a header with a key twice", b'{"type":"session","version":3,"id":"x","id":"y"}\n', "UNSUPPORTED_FORMAT"),
            ("an id that cannot name a session", b'{"type":"session","version":3,"id":"../../etc"}\n', "INVALID_FIELD"),
            ("no id", b'{"type":"session","version":3}\n', "INVALID_FIELD"),
            ("a line over 10 MiB", b'{"type":"session","version":3,"id":"x"}\n{"type":"custom","id":"a","parentId":null,"data":"' + b"x" * (10 << 20) + b'"}\n', "LIMIT_EXCEEDED"),
        ):
            with self.subTest(what=what):
                self.refused(code, "import", "pi", self.world.file("bad.jsonl", data))

    def test_missing_files_directories_and_unknown_formats(self):
        self.weir("init")
        self.refused("NOT_FOUND", "import", "pi", "nowhere.jsonl")
        os.symlink(".", self.world.path("cwd", "linked"))
        for folder in (".", "linked", self.world.cwd):
            self.assertEqual(self.refused("INVALID_FIELD", "import", "pi", folder)["details"]["errors"], [{"path": "/file", "message": "is a directory"}])
        for name in ("claude-code", "nonsense"):
            self.assertEqual(self.refused("UNSUPPORTED_FORMAT", "import", name, SAMPLE)["details"]["format"], name)

    def test_no_path_in_a_file_is_ever_opened(self):
        secret = self.world.file("private.txt", "PRIVATE-CONTENT")
        os.mkfifo(self.world.path("cwd", "fifo"))
        header = {"type": "session", "version": 3, "id": "paths", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": self.world.cwd, "parentSession": self.world.path("cwd", "fifo")}
        line = {"type": "message", "id": "a", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "bashExecution", "command": "cat", "output": "", "truncated": True, "fullOutputPath": secret, "exitCode": 0}}
        self.import_pi(self.world.file("paths.jsonl", jsonl([header, line])), timeout=10)
        self.assertNotIn("PRIVATE-CONTENT", "\n".join(self.world.dump()))

    def test_a_line_whose_entry_stays_too_large_is_kept_as_text(self):
        header = {"type": "session", "version": 3, "id": "large", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
        items = [f"item {i:07}" for i in range(120_000)]  # over 1 MiB, and no string of it is large
        big = {"type": "custom", "id": "b", "parentId": "a", "timestamp": "2026-01-01T00:00:00.000Z", "customType": "list", "data": items}
        small = {"type": "custom", "id": "a", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z", "customType": "x", "data": 1}
        child = {"type": "custom", "id": "c", "parentId": "b", "timestamp": "2026-01-01T00:00:00.000Z", "customType": "x", "data": 2}
        data = jsonl([header, small, big, child])
        report = self.import_pi(self.world.file("large.jsonl", data))
        self.assertEqual(([item["line"] for item in report["malformed"]], report["orphans"], report["side"]), ([3], 0, 0))
        self.given_back("large", data.encode())
        # It keeps its place: the path through it is whole.
        self.assertEqual([(e["id"], e["body"]["custom_type"]) for e in self.log("large", "--reverse")], [("a", "x"), ("b", "pi:malformed"), ("c", "x")])
        self.assertIn("c", self.weir("tree", "--session", "large", "--all-types").text)
        self.round_trip("large", None)

    def nested(self, levels):
        return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)

    def test_a_line_as_deep_as_an_edge_allows_can_be_read_again(self):
        head = '{"type":"session","version":3,"id":"deep","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","more":%s}\n' % self.nested(63)
        lines, parent = [head], "null"
        for levels in range(59, 67):
            for kind in ('"customType":"x","data":', '"customType":5,"data":', '"role":', '"message":'):
                identity = f'"{len(lines)}-{levels}"'
                line = '{"type":"%s","id":%s,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z",%s%s}\n'
                lines.append(line % ("custom" if "custom" in kind else "message" if "message" in kind else "hologram", identity, parent, kind, self.nested(levels - 1)))
                parent = identity if levels <= 64 else parent
        lines.append('{"type":"message","id":"end","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}\n' % parent)
        data = "".join(lines)
        report = self.import_pi(self.world.file("deep.jsonl", data))
        self.assertEqual(len(report["malformed"]), 8)  # of 65 and 66 levels
        for args in (["log"], ["log", "--json"], ["tree"], ["export"], ["stats"], ["show", "21-64"], ["show", "22-64", "--resolve"], ["session", "show", "deep"]):
            self.weir(*args, *([] if args[0] == "session" else ["--session", "deep"]))
        self.given_back("deep", data.encode())
        self.round_trip("deep", None)
        self.sound()

    def test_a_body_of_ours_as_deep_as_an_edge_allows_goes_out_and_comes_back(self):
        for levels in (62, 63, 64):
            self.weir("append", "--session", "own", "--type", "custom", stdin='{"custom_type":"x","data":%s}' % self.nested(levels - 1))
        self.weir("append", "--session", "own", stdin=jsonl([harness.entry("last")]))
        self.round_trip("own", None)
        self.assertNotIn("pi:malformed", self.weir("export", "--session", "copy").text)

    def test_an_empty_file_and_one_without_a_whole_line_are_nothing_yet(self):
        self.weir("init")
        before = self.world.dump()
        for data, torn in ((b"", 0), (b"\n\n", 0), (b'{"type":"session","version":3', 1), (b'{"type":"session","version":3,"id":"x"}', 1)):
            with self.subTest(data=data):
                report = self.import_pi(self.world.file("young.jsonl", data))
                self.assertEqual((report["session"], report["entries"], report["torn"]), (None, 0, torn))
                self.assertEqual(self.world.dump(), before)

    def test_a_dry_run_reports_the_same_and_stores_nothing(self):
        self.weir("init")
        before = self.world.dump()
        dry = self.import_pi(MESSY, "--dry-run")
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.import_pi(MESSY), dry)

    def test_several_files_are_several_sessions(self):
        report = self.answer("import", "pi", V1, V2, V3)
        self.assertEqual([item["session"] for item in report["imports"]], ["pi-v1", "pi-v2", "pi-v3"])
        self.refused("USAGE", "import", "pi", V1, V2, "--as", "one")

    def test_files_imported_before_one_that_fails_are_reported(self):
        for form in ("--json", "--quiet"):
            with self.subTest(form=form):
                ran = self.weir("import", "pi", V1, V2, "nowhere.jsonl", V3, form, code=4)
                self.assertIn("NOT_FOUND", ran.errors)
                if form == "--json":
                    self.assertEqual([item["session"] for item in harness.parse_line(ran.text)["imports"]], ["pi-v1", "pi-v2"])
                else:
                    self.assertEqual([line.split()[-1] for line in ran.lines if "session" in line], ["pi-v1", "pi-v2"])
        self.assertEqual([s["id"] for s in self.answer("session", "list")["sessions"]], ["pi-v1", "pi-v2"])

    def test_standard_input_and_pipes_are_read_like_files(self):
        report = self.import_pi("-", stdin=read(V3))
        self.assertEqual((report["session"], report["file"], report["entries"]), ("pi-v3", "-", 30))
        self.assertEqual(self.import_pi("-", stdin=read(V3))["entries"], 0)
        self.assertEqual(self.import_pi("/dev/stdin", "--as", "piped", stdin=read(V3))["entries"], 30)
        self.assertEqual(self.import_pi(V3)["entries"], 0)
        self.refused("USAGE", "import", "pi", "-", "--follow")
        self.refused("USAGE", "import", "pi", "-", "-")


class SharedSamplesTest(ImportCase):
    @needs_shared
    def test_the_committed_sample_is_the_one_beside_the_project(self):
        self.assertEqual(read(SAMPLE), read(os.path.join(harness.SHARED, "pi-1.5.0-session.jsonl")))

    @needs_shared
    def test_the_other_agents_files_are_refused_by_the_importer_of_pi(self):
        self.weir("init")
        for name in sorted(os.listdir(harness.SHARED)):
            if name.endswith((".jsonl", ".json")) and not name.startswith("pi-"):
                self.refused("UNSUPPORTED_FORMAT", "import", "pi", os.path.join(harness.SHARED, name))


if __name__ == "__main__":
    harness.main()
