"""sync: a host that owns its log hands over what is new."""

import os
import time

import harness
from harness import CliTest, compact

STAMP = "2026-05-01T08:00:00.000Z"


def line(identity, parent, content=None, **fields):
    return {"type": "message", "id": identity, "parentId": parent, "timestamp": STAMP, "message": {"role": "user", "content": content or identity}, **fields}


class SyncCase(CliTest):
    def request(self, entries, since=None, **fields):
        value = {"format": "pi", "session": "host", "since": since, "entries": entries, **fields}
        if "leaf" not in fields and entries:
            value["leaf"] = entries[-1]["id"]
        return compact(value)

    def sync(self, *args, **fields):
        return self.answer("sync", "--format", "pi", stdin=self.request(*args, **fields))

    def refuse(self, code, *args, **fields):
        return self.refused(code, "sync", "--format", "pi", stdin=self.request(*args, **fields))

    def ids(self):
        return [entry["id"] for entry in self.log("host", "--reverse")]


class SyncTest(SyncCase):
    def test_new_entries_are_accepted_and_main_stands_at_the_leaf(self):
        answer = self.sync([line("a", None), line("b", "a")])
        self.assertEqual(answer, {"accepted": 2, "known": 0, "last": "b", "leaf": "b", "due": False, "pending": 0})
        self.assertEqual(self.ids(), ["a", "b"])
        answer = self.sync([line("c", "b")], since="b")
        self.assertEqual(answer, {"accepted": 1, "known": 0, "last": "c", "leaf": "c", "due": False, "pending": 0})

    def test_an_overlap_is_known_and_adds_nothing(self):
        entries = [line("a", None), line("b", "a"), line("c", "b")]
        self.sync(entries[:2])
        self.assertEqual(self.sync(entries), {"accepted": 1, "known": 2, "last": "c", "leaf": "c", "due": False, "pending": 0})
        before = self.world.dump()
        self.assertEqual(self.sync(entries), {"accepted": 0, "known": 3, "last": "c", "leaf": "c", "due": False, "pending": 0})
        self.assertEqual(self.world.dump(), before)

    def test_an_overlap_that_differs_is_refused_whole(self):
        self.sync([line("a", None), line("b", "a")])
        error = self.refuse("ID_REUSED", [line("b", "a", "another text"), line("c", "b")])
        self.assertEqual((error["details"]["id"], error["details"]["path"]), ("b", "/entries/0"))
        self.refuse("ID_REUSED", [line("c", "b"), line("b", None)])

    def test_entries_out_of_order_name_the_unknown_parent_and_where_to_go_on(self):
        self.sync([line("a", None)])
        error = self.refuse("NOT_FOUND", [line("c", "b"), line("b", "a")], since="a")
        self.assertEqual(error["details"]["last"], "a")
        self.assertIn("'b'", error["message"])
        self.assertEqual(self.sync([line("b", "a"), line("c", "b")], since="a")["accepted"], 2)

    def test_where_to_go_on_is_an_entry_that_is_stored(self):
        self.sync([line("a", None)])
        error = self.refuse("NOT_FOUND", [line("b", "a"), line("z", "y")], since="a")
        self.assertEqual((error["details"]["last"], error["details"]["path"]), ("a", "/entries/1"))

    def test_an_unknown_since_names_the_last_one_known(self):
        error = self.refuse("NOT_FOUND", [line("x", None)], since="never-seen")
        self.assertIsNone(error["details"]["last"])
        self.sync([line("a", None), line("b", "a")])
        error = self.refuse("NOT_FOUND", [line("z", "y")], since="y")
        self.assertEqual(error["details"]["last"], "b")
        # The host sends from there, and is in step again.
        self.assertEqual(self.sync([line("y", "b"), line("z", "y")], since="b")["accepted"], 2)

    def test_a_leaf_moves_main_without_an_entry(self):
        self.sync([line("a", None), line("b", "a"), line("c", "b")])
        self.assertEqual(self.sync([], since="c", leaf="a"), {"accepted": 0, "known": 0, "last": "c", "leaf": "a", "due": False, "pending": 0})
        self.assertEqual(self.ids(), ["a"])
        self.sync([line("d", "a")], since="c")
        self.assertEqual(self.ids(), ["a", "d"])

    def test_a_null_leaf_is_before_the_first_entry(self):
        self.sync([line("a", None)])
        self.assertIsNone(self.sync([], since="a", leaf=None)["leaf"])
        self.assertEqual(self.ids(), [])
        self.assertIsNone(self.answer("session", "show", "host")["head"])
        self.sync([line("b", None)], since="a")
        self.assertEqual(self.ids(), ["b"])

    def test_without_a_leaf_main_stays(self):
        self.sync([line("a", None)])
        request = {"format": "pi", "session": "host", "since": "a", "entries": [line("b", "a")]}
        answer = self.answer("sync", "--format", "pi", stdin=compact(request))
        self.assertEqual((answer["accepted"], answer["last"], answer["leaf"]), (1, "b", "a"))

    def test_a_first_sync_without_a_leaf_leaves_main_at_the_last_of_its_entries(self):
        request = lambda since, *entries: compact({"format": "pi", "session": "host", "since": since, "entries": entries})
        self.assertIsNone(self.answer("sync", "--format", "pi", stdin=request(None))["leaf"])
        answer = self.answer("sync", "--format", "pi", stdin=request(None, line("a", None), line("b", "a"), line("c", "a")))
        self.assertEqual((answer["accepted"], answer["last"], answer["leaf"]), (3, "c", "c"))
        self.assertEqual(self.ids(), ["a", "c"])
        self.assertEqual(self.answer("sync", "--format", "pi", stdin=request("c", line("d", "c")))["leaf"], "c")
        self.sound()

    def test_a_null_leaf_stays_when_entries_follow_without_one(self):
        self.sync([], leaf=None)
        request = {"format": "pi", "session": "host", "entries": [line("a", None)]}
        self.assertIsNone(self.answer("sync", "--format", "pi", stdin=compact(request))["leaf"])

    def test_an_unknown_leaf_is_refused_whole(self):
        self.sync([line("a", None)])
        self.assertEqual(self.refuse("NOT_FOUND", [line("b", "a")], since="a", leaf="nowhere")["details"]["last"], "a")

    def test_the_mapping_is_the_imports(self):
        """The same lines by sync and by file: equal digests."""
        path = os.path.join(harness.DATA, "pi-v3.jsonl")
        with open(path) as file:
            lines = [harness.parse_line(text) for text in file]
        self.answer("sync", "--format", "pi", stdin=compact({"session": "host", "header": lines[0], "since": None, "entries": lines[1:], "leaf": lines[-1]["id"]}))
        self.weir("import", "pi", path)
        fields = lambda session: [(e["id"], e["parent"], e["type"], e["digest"], e["at"]) for e in self.stream("export", "--session", session)[1]]
        self.assertEqual(fields("host"), fields("pi-v3"))
        exported = self.weir("export", "--session", "host", "--format", "pi").lines
        self.assertEqual([harness.parse_line(text) for text in exported], lines)

    def test_one_new_entry_costs_one_entry(self):
        """However long the session is, the request and what it reads stay small."""
        self.sync([line(f"n{i}", f"n{i - 1}" if i else None) for i in range(3000)])
        started = time.monotonic()
        for i in range(3000, 3010):
            self.sync([line(f"n{i}", f"n{i - 1}")], since=f"n{i - 1}")
        self.assertLess(time.monotonic() - started, 5)

    def test_a_file_stdin_and_the_session_option(self):
        path = self.world.file("sync.json", self.request([line("a", None)]))
        self.assertEqual(self.answer("sync", "--file", path)["accepted"], 1)
        self.assertEqual(self.answer("sync", "--file", "-", stdin=self.request([line("b", "a")], since="a"))["accepted"], 1)
        without = compact({"since": None, "entries": [line("a", None)], "leaf": "a"})
        self.assertEqual(self.answer("sync", "--format", "pi", "--session", "other", stdin=without)["accepted"], 1)
        self.refused("INVALID_FIELD", "sync", "--format", "pi", stdin=without)
        self.assertEqual(self.weir("sync", "--file", path).text, "accepted 0  known 1  last b  leaf a\n")

    def test_a_dry_run_answers_the_same_and_stores_nothing(self):
        self.sync([line("a", None)])
        before = self.world.dump()
        request = self.request([line("b", "a", "L" * 70000)], since="a")
        dry = self.answer("sync", "--dry-run", stdin=request)
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.answer("sync", stdin=request), dry)

    def test_many_hosts_at_once(self):
        running = []
        for i in range(6):
            request = {"format": "pi", "session": f"host-{i}", "since": None, "entries": [line(f"{i}-{k}", f"{i}-{k - 1}" if k else None) for k in range(50)], "leaf": f"{i}-49"}
            running.append(self.world.start("sync", "--file", self.world.file(f"{i}.json", compact(request)), "--json"))
        for process in running:
            ran = self.world.finish(process)
            self.assertEqual(ran.code, 0, ran)
            self.assertEqual(harness.parse_line(ran.text)["accepted"], 50)
        self.sound()


class RefusedSyncTest(SyncCase):
    def setUp(self):
        super().setUp()
        self.sync([line("a", None)])

    def test_wrong_fields_are_all_named(self):
        bad = {"format": 5, "session": "bad name", "since": 1, "entries": {}, "leaf": 2, "aborted": 3, "surprise": 4}
        error = self.refused("INVALID_FIELD", "sync", stdin=compact(bad))
        self.assertEqual(sorted(item["path"] for item in error["details"]["errors"]), ["/aborted", "/entries", "/format", "/leaf", "/session", "/since", "/surprise"])
        error = self.refuse("INVALID_FIELD", [{"type": "message", "id": "has space"}, {"id": "b"}], since="unknown", leaf=None, surprise=1)
        self.assertEqual(sorted(item["path"] for item in error["details"]["errors"]), ["/entries/0/id", "/entries/1/type", "/surprise"])

    def test_another_session_than_the_requests_is_refused(self):
        request = self.request([line("b", "a")], since="a")
        self.assertIn("other", self.refused("INVALID_FIELD", "sync", "--session", "other", stdin=request)["message"])
        self.assertEqual(self.answer("sync", "--session", "host", stdin=request, env={"WEIR_SESSION": "other"})["accepted"], 1)
        self.assertEqual(self.answer("sync", stdin=request, env={"WEIR_SESSION": "other"})["known"], 1)

    def test_entries_must_be_lines_with_type_and_id(self):
        error = self.refuse("INVALID_FIELD", [{"id": "x"}, {"type": "message"}, {"type": 5, "id": "has space"}, {"type": "x", "id": None}], leaf=None)
        self.assertEqual([item["path"] for item in error["details"]["errors"]], ["/entries/0/type", "/entries/1/id", "/entries/2/type", "/entries/2/id", "/entries/3/id"])
        self.refuse("INVALID_FIELD", ["text"], leaf=None)
        self.refuse("INVALID_FIELD", [line("x", "a", data={"$blob": "sha256:" + "0" * 64})])

    def test_a_format_nobody_knows(self):
        request = {"format": "codex", "session": "host", "since": None, "entries": []}
        self.assertEqual(self.refused("UNSUPPORTED_FORMAT", "sync", stdin=compact(request))["details"]["format"], "codex")
        del request["format"]
        self.assertEqual(self.refused("UNSUPPORTED_FORMAT", "sync", "--format", "codex", stdin=compact(request))["details"]["format"], "codex")
        self.refused("INVALID_FIELD", "sync", stdin=compact(request))
        self.refused("INVALID_FIELD", "sync", "--format", "codex", stdin=compact({**request, "format": "pi"}))

    def test_what_is_no_json(self):
        for text in ("", "{", "[]", "null", '{"session":"host","session":"host"}', b"\xff"):
            with self.subTest(text=text):
                ran = self.world.run("--json", "sync", stdin=text)
                self.assertEqual(ran.code, 6, ran)
                self.assertEqual(self.ids(), ["a"])

    def test_refused_entries_leave_no_object_behind(self):
        self.refuse("NOT_FOUND", [line("b", "a", "L" * 70000), line("d", "c")], since="a")
        self.assertEqual(self.world.objects(), [])

    def test_a_missing_file(self):
        self.refused("NOT_FOUND", "sync", "--file", "nowhere.json")


if __name__ == "__main__":
    harness.main()
