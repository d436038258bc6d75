"""weir history: what it finds before and after barriers and on other branches, odd queries, and an index that is only a
cache."""

import os
import shutil
import signal
import sqlite3
import subprocess
import threading

import harness
from harness import CliTest, entry, jsonl

BARRIER = {"type": "compaction", "body": {"summary": "so far: a walrus was seen"}}


class HistoryTest(CliTest):
    def say(self, *contents, session="s", head="main"):
        values = [content if isinstance(content, dict) else entry(content) for content in contents]
        return [one["id"] for one in self.answer("append", "--session", session, "--head", head, stdin=jsonl(values))["entries"]]

    def find(self, *args, session="s", code=0, **how):
        """The matches, newest first."""
        begin, lines, end = self.stream("history", "--session", session, *args, code=code, **how)
        self.assertEqual(begin["session"], session)
        self.assertEqual(end["count"], len(lines))
        for line in lines:
            self.assertEqual(sorted(line), ["match", "type"])
            self.assertEqual(line["type"], "match")
            self.assertEqual(sorted(line["match"]), ["before_barrier", "entry", "on_path", "seq", "text", "type"])
        self.assertEqual(code, 0 if lines else 1)
        return [line["match"] for line in lines]

    def seqs(self, *args, **how):
        return [match["seq"] for match in self.find(*args, **how)]

    def index(self, session=1):
        return os.path.join(self.world.store, "history", f"{session}.db")

    def fill(self, count=200, word="line", session="s"):
        self.say(*[f"{word} {i}" for i in range(1, count + 1)], session=session)


class WhereTest(HistoryTest):
    def test_a_word_that_only_stands_before_the_barrier_is_found_there(self):
        self.say("the platypus swims", "nothing here", BARRIER, "after the walrus")
        [match] = self.find("platypus", "--where", "before")
        self.assertEqual((match["seq"], match["before_barrier"], match["on_path"], match["type"]), (1, True, True, "message"))
        self.assertEqual(match["text"], "the platypus swims")
        self.assertEqual(self.find("platypus", "--where", "after", code=1), [])
        self.assertEqual(self.find("walrus", "--where", "before", code=1), [])
        self.assertEqual(self.seqs("walrus", "--where", "after"), [4, 3])  # the barrier itself is after
        self.assertEqual(self.seqs("walrus"), [4, 3])
        self.assertEqual([match["before_barrier"] for match in self.find("the", "--where", "all")], [False, True])

    def test_exit_codes(self):
        self.say("one")
        self.weir("history", "one", "--session", "s")
        self.weir("history", "two", "--session", "s", code=1)
        for args, name in ((["one", "--where", "there"], "USAGE"), ([], "USAGE"), (["a", "b"], "USAGE"), (["one", "--limit", "0"], "INVALID_FIELD"), (["one", "--at", "nowhere"], "NOT_FOUND"), (["one", "--head", "nowhere"], "NOT_FOUND"), (["one", "--limit", "100001"], "LIMIT_EXCEEDED")):  # fmt: skip
            self.refused(name, "history", *args, "--session", "s")
        self.refused("NOT_FOUND", "history", "one", "--session", "t")

    def test_without_a_barrier_everything_is_after_it(self):
        self.say("one walrus", "two")
        self.assertEqual(self.find("walrus", "--where", "before", code=1), [])
        self.assertEqual(self.seqs("walrus", "--where", "after"), [1])

    def test_undo_a_head_before_the_barrier_still_finds_what_lies_behind_it(self):
        first, *_ = self.say("first walrus", "second", BARRIER, "behind the walrus")
        self.weir("head", "move", "main", first, "--session", "s")
        found = self.find("walrus")
        self.assertEqual([(match["seq"], match["on_path"], match["before_barrier"]) for match in found], [(4, False, False), (3, False, False), (1, True, False)])
        self.assertEqual(self.seqs("walrus", "--where", "after"), [1])
        self.assertEqual(self.find("walrus", "--where", "before", code=1), [])

    def test_branches_and_addresses(self):
        ids = self.say("root owl", "main owl")
        self.weir("head", "fork", "side", "--at", ids[0], "--session", "s")
        self.say("side owl", BARRIER, "side after owl", head="side")
        self.say("main again owl")
        told = lambda *args: [(match["seq"], match["on_path"], match["before_barrier"]) for match in self.find("owl", *args)]
        self.assertEqual(told(), [(6, True, False), (5, False, False), (3, False, False), (2, True, False), (1, True, False)])
        self.assertEqual(told("--head", "side"), [(6, False, False), (5, True, False), (3, True, True), (2, False, False), (1, True, True)])
        self.assertEqual(told("--head", "side", "--where", "before"), [(3, True, True), (1, True, True)])
        self.assertEqual(told("--where", "after"), [(6, True, False), (2, True, False), (1, True, False)])
        self.assertEqual(told("--at", ids[0], "--where", "after"), [(1, True, False)])

    def test_branches_of_a_long_session_are_told_apart_by_its_index(self):
        """Every seventh entry starts again from three before it."""
        lines, parent = [], None
        path = {}
        for i in range(1, 301):
            value = entry(f"word{i % 10} all", id=f"id{i:05d}")
            if i > 7 and i % 7 == 0:
                parent = f"id{i - 3:05d}"
            if parent is not None:
                value["parent"] = parent
            path[value["id"]] = parent
            parent = value["id"]
            lines.append(value)
        self.weir("append", "--session", "s", stdin=jsonl(lines))
        for head in ("id00300", "id00150", "id00003"):
            on_path, at = set(), head
            while at is not None:
                on_path.add(at)
                at = path[at]
            found = self.find("all", "--limit", 1000, "--at", head)
            self.assertEqual(len(found), 300)
            self.assertEqual({match["entry"] for match in found if match["on_path"]}, on_path)
            self.assertEqual({match["entry"] for match in self.find("all", "--limit", 1000, "--at", head, "--where", "after")}, on_path)
            self.assertEqual({match["entry"] for match in self.find("--regex", "all", "--limit", 1000, "--at", head, "--where", "after")}, on_path)
        self.assertTrue(os.path.exists(self.index()))


class QueryTest(HistoryTest):
    def test_words_phrases_beginnings_and_expressions(self):
        self.say("the ledger entry is posted", "posted: the ENTRY", "ledgers, nothing posted", "Café Ångström")
        self.assertEqual(self.seqs("posted entry"), [2, 1])
        self.assertEqual(self.seqs('"entry is posted"'), [1])
        self.assertEqual(self.seqs('"posted the"'), [2])
        self.assertEqual(self.seqs("ledger*"), [3, 1])
        self.assertEqual(self.seqs("cafe angstrom"), [4])
        self.assertEqual(self.seqs("--regex", "entry( is|$)"), [2, 1])
        self.assertEqual(self.seqs("--regex", "(?-i)ENTRY"), [2])
        self.assertEqual(self.find("--regex", "(?-i)caf\\w+$", code=1), [])

    def test_all_of_a_body_is_searched_and_its_keys_are_not(self):
        call = {"type": "message", "body": {"role": "assistant", "content": [{"type": "text", "text": "looking"}], "tool_calls": [{"id": "t1", "name": "grepper", "arguments": {"needle_key": "haystack"}}]}}
        result = {"type": "message", "body": {"role": "tool", "tool_call_id": "t1", "name": "grepper", "content": "found nothing"}}
        self.say("hi", call, result, "plain", BARRIER)
        self.assertEqual(self.seqs("grepper"), [3, 2])
        self.assertEqual(self.seqs("haystack looking"), [2])
        self.assertEqual(self.find("needle_key", code=1), [])
        self.assertEqual(self.find("assistant", code=1), [])
        self.assertEqual(self.seqs("walrus", "--type", "compaction"), [5])
        self.assertEqual(self.find("walrus", "--type", "message", code=1), [])
        self.assertEqual(self.seqs("found*", "--type", "message", "--type", "compaction"), [3])

    def test_large_strings_are_searched_in_their_blobs(self):
        self.say("short", "start " + "filler " * 20000 + " zanzibar")
        self.assertEqual(len(self.world.objects()), 1)
        [match] = self.find("zanzibar start")
        self.assertEqual(match["seq"], 2)
        self.assertLess(len(match["text"]), 200)
        self.weir("purge", "--blob", self.world.object_names()[0], "--yes")
        self.assertEqual(self.find("zanzibar", code=1), [])
        self.assertEqual(self.seqs("start"), [2])  # by its preview

    def test_odd_queries_never_are_syntax_errors(self):
        self.say("plain words AND more, OR so; NEAR here", "🎉 party * 2", 'a "quoted" thing', "日本語 text", "x" * 1000)
        for query, wanted in (
            ("AND", [1]), ("words AND more", [1]), ("OR", [1]), ("NOT", []), ("NEAR", [1]), ("NEAR(plain words, 2)", []), ("text:words", []), ("*", [2]), ("**", []), ("🎉", [2]), ("party 🎉", [2]), ('"', [3]), ('"quoted', [3]),
            ('""quoted""', [3]), ("'", []), ("日本語", [4]), ("日本*", [4]), ("語", []), ("-words", [1]), ("^plain", [1]), ("plain -- words", []), ("(words", [1]), ("words)", [1]), ("a:b", []), ("%", []), ("_", []), ("\\", []), (";", [1]),
            ("x" * 1000, [5]), ("x" * 999, []), ("x" * 999 + "*", [5]), ("words\tmore\nso", [1]), ("wo rds", []), ("\u200b", []), ("\u0301", []),
        ):  # fmt: skip
            with self.subTest(query=query[:40]):
                self.assertEqual(self.seqs("--", query, code=0 if wanted else 1), wanted)
        for query in ("", " ", "\n\t ", '""', '" "'):
            self.refused("INVALID_FIELD", "history", "--session", "s", "--", query)
        self.refused("INVALID_FIELD", "history", "--session", "s", b"\xff\xfe")
        for pattern in ("(", "[z-a]", "a**", "(?<=x)y", "\\1"):
            self.refused("INVALID_FIELD", "history", "--session", "s", "--regex", "--", pattern)

    def test_long_queries_are_answered_or_refused_by_a_limit(self):
        self.fill(100)
        self.assertEqual(self.find("word " * 2000, code=1), [])  # the same word, 10 kB of it
        self.assertEqual(self.seqs("line " * 2000 + "7"), [7])
        self.assertEqual(self.find(" ".join(f"w{i}" for i in range(256)), code=1), [])
        self.assertEqual(self.refused("LIMIT_EXCEEDED", "history", "--session", "s", " ".join(f"w{i}" for i in range(2000)))["details"]["name"], "history.terms")
        self.assertEqual(self.refused("LIMIT_EXCEEDED", "history", "--session", "s", "x" * 20000)["details"]["name"], "history.query_bytes")
        self.assertEqual(self.find('"' + "line " * 3000 + '"', code=1), [])

    def test_limit_takes_the_newest(self):
        self.fill(200)
        self.assertEqual(self.seqs("line"), list(range(200, 180, -1)))
        self.assertEqual(self.seqs("line", "--limit", 3), [200, 199, 198])
        self.assertEqual(len(self.seqs("line", "--limit", 500)), 200)
        self.assertEqual(self.seqs("--regex", "line", "--limit", 2), [200, 199])
        ran = self.weir("history", "line", "--session", "s", "--limit", 2)
        self.assertIn("there is more", ran.errors)
        self.assertEqual(self.weir("history", "line", "--session", "s", "--limit", 200).errors, "")

    def test_a_secret_is_not_in_the_index(self):
        secret = "sk-" + "ant-api03-" + "Ab1" * 31 + "AA"
        self.fill(100)
        self.say(f"the key is {secret} really")
        self.assertEqual(self.find(secret, code=1), [])
        self.say(*["more"] * 100)
        self.assertEqual(self.find(secret, code=1), [])
        self.assertEqual(self.seqs("key really"), [101])
        with open(self.index(), "rb") as file:
            self.assertNotIn(b"ab1ab1", file.read().lower())


class OutputTest(HistoryTest):
    def test_people_see_place_and_words_and_colours_only_on_a_terminal(self):
        ids = self.say("the platypus\n\n swims", BARRIER, "another platypus")
        ran = self.weir("history", "platypus", "--session", "s")
        self.assertEqual(ran.lines, [f"      3  {ids[2]}  message", "         another platypus", f"      1  {ids[0]}  message  before the barrier", "         the platypus swims"])
        seen = self.world.terminal("history", "platypus", "--session", "s")
        self.assertIn(b"another \x1b[31mplatypus\x1b[0m", seen.out)
        self.assertEqual(self.weir("history", "nothing", "--session", "s", code=1).out, b"")

    def test_text_from_data_cannot_steer_a_terminal(self):
        self.say("evil \x1b[2J\x07 walrus \u202e ends")
        seen = self.world.terminal("history", "walrus", "--session", "s", "--color", "never")
        self.assertNotIn(b"\x1b", seen.out)
        self.assertNotIn("\u202e".encode(), seen.out)
        self.assertIn(b"\\x1b[2J", seen.out)

    def test_progress_of_a_first_use(self):
        self.fill(2000)
        ran = self.weir("history", "line", "--session", "s", "--progress", "json", "--json")
        self.assertIn('"progress"', ran.errors)
        self.assertEqual(len(self.split_stream(ran)[1]), 20)


class IndexTest(HistoryTest):
    def test_searching_leaves_the_log_as_it_was_and_the_store_sound(self):
        self.fill()
        before = self.world.dump()
        self.assertEqual(self.seqs("line 7"), [7])
        self.assertTrue(os.path.exists(self.index()))
        self.assertEqual(os.stat(self.index()).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.dirname(self.index())).st_mode & 0o777, 0o700)
        self.assertEqual(self.world.dump(), before)
        self.sound()
        self.weir("doctor")
        self.weir("backup", self.world.path("copy"))
        self.assertFalse(os.path.exists(self.world.path("copy", "history")))
        self.assertEqual(self.seqs("line 7", "--store", self.world.path("copy")), [7])

    def test_an_index_that_is_gone_or_damaged_is_made_again_and_is_no_damage_of_the_store(self):
        self.fill()
        for harm in (lambda: os.remove(self.index()), lambda: shutil.rmtree(os.path.dirname(self.index())), lambda: self.overwrite(b"garbage" * 1000), lambda: self.overwrite(b""), lambda: self.drop_table()):
            self.assertEqual(self.seqs("line 7"), [7])
            harm()
            self.sound()
            self.assertEqual(self.seqs("line 7"), [7])
            self.assertEqual(self.mark(), 200)

    def overwrite(self, content):
        with open(self.index(), "wb") as file:
            file.write(content)

    def drop_table(self):
        connection = sqlite3.connect(self.index())
        connection.execute("DROP TABLE jump")
        connection.commit()
        connection.close()

    def mark(self):
        connection = sqlite3.connect(f"file:{self.index()}?mode=ro", uri=True)
        [(seq,)] = connection.execute("SELECT seq FROM mark").fetchall()
        connection.close()
        return seq

    def test_what_others_append_is_caught_up_with(self):
        self.fill()
        self.assertEqual(self.seqs("line 200"), [200])
        self.say("zebra one")
        self.assertEqual(self.seqs("zebra"), [201])
        self.assertEqual(self.mark(), 200)  # one entry is read, not indexed
        self.fill(100, "zebra")
        self.assertEqual(self.seqs("zebra 100"), [301])
        self.assertEqual(self.mark(), 301)

    def test_purge_removes_the_words_of_a_session_and_of_no_other(self):
        self.fill(100, "unforgettable", session="a")
        self.fill(100, "kept", session="b")
        self.assertEqual(len(self.find("unforgettable", session="a")), 20)
        self.assertEqual(len(self.find("kept", session="b")), 20)
        self.assertEqual(sorted(os.listdir(os.path.join(self.world.store, "history"))), ["1.db", "2.db"])
        self.weir("purge", "--session", "a", "--yes", "--dry-run")
        self.assertTrue(os.path.exists(self.index(1)))
        self.weir("purge", "--session", "a", "--yes")
        self.assertEqual(os.listdir(os.path.join(self.world.store, "history")), ["2.db"])
        self.refused("NOT_FOUND", "history", "unforgettable", "--session", "a")
        for folder, _, names in os.walk(self.world.store):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(b"unforgettable", file.read(), name)
        self.fill(100, "again", session="a")
        self.assertEqual(self.find("unforgettable", session="a", code=1), [])
        self.assertEqual(len(self.find("again", session="a")), 20)

    def test_purging_a_blob_drops_every_index_and_gc_what_belongs_to_nobody(self):
        self.fill(100)
        self.say("secretive " * 10000)
        self.say(*["filler"] * 100)
        self.assertEqual(self.seqs("secretive"), [101])
        self.weir("gc")
        self.assertTrue(os.path.exists(self.index()))
        self.weir("purge", "--blob", self.world.object_names()[0], "--yes")
        self.assertFalse(os.path.exists(self.index()))
        self.seqs("line")
        left = self.index(77)
        shutil.copy(self.index(), left)
        self.weir("gc", "--dry-run")
        self.assertTrue(os.path.exists(left))
        self.weir("gc")
        self.assertFalse(os.path.exists(left))
        self.assertTrue(os.path.exists(self.index()))

    def test_where_nothing_can_be_written_the_log_is_read(self):
        self.fill()
        with open(os.path.join(self.world.store, "history"), "w") as file:
            file.write("in the way")
        self.assertEqual(self.seqs("line 7"), [7])
        self.assertEqual(self.find("absent", code=1), [])

    def seqs_mounted(self, mounts, *args, code=0):
        """The same with these mounts made first, which nobody else sees; $0 is the store."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespaces here")
        command = ["unshare", "-m", "sh", "-c", mounts + ' && exec "$@"', self.world.store, harness.BIN, "--json", "history", "--session", "s", *args]
        done = subprocess.run(command, capture_output=True, env=self.world.environment(None), cwd=self.world.cwd)
        ran = harness.Ran(args, done.returncode, done.stdout, done.stderr)
        self.assertEqual(ran.code, code, ran)
        return [line["match"]["seq"] for line in self.split_stream(ran)[1]]

    @harness.needs_root
    def test_a_disk_too_full_for_an_index_does_not_stop_a_search(self):
        self.fill(2000)
        os.mkdir(os.path.dirname(self.index()), 0o700)
        for size in (4, 16, 32, 64):
            full = f'mount -t tmpfs -o mode=700,size={size}k none "$0/history"'
            self.assertEqual(self.seqs_mounted(full, "line 7"), [7])
            self.assertEqual(self.seqs_mounted(full, "line 1999"), [1999])

    @harness.needs_root
    def test_a_store_that_is_read_only_answers_with_and_without_an_index(self):
        read_only = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'
        as_read_only = lambda *args, **how: self.seqs_mounted(read_only, *args, **how)
        self.fill()
        # Only a log that somebody has open can be read where nothing can be written.
        holder = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        self.addCleanup(holder.close)
        holder.execute("SELECT count(*) FROM entry").fetchall()
        self.assertEqual(as_read_only("line 7"), [7])
        self.assertFalse(os.path.exists(self.index()))
        self.assertEqual(self.seqs("line 8"), [8])
        self.fill(100, "zebra")
        self.assertEqual(as_read_only("zebra 7"), [207])
        self.assertEqual(as_read_only("line 7"), [7])
        self.assertEqual(self.mark(), 200)
        self.assertEqual(as_read_only("absent", code=1), [])

    def test_two_first_uses_at_once_and_appends_beside_them(self):
        self.fill(3000)
        processes = [self.world.start("history", "line 77", "--session", "s", "--json") for _ in range(4)]
        writers = [threading.Thread(target=lambda: self.fill(100, "other")) for _ in range(2)]
        for thread in writers:
            thread.start()
        for process in processes:
            _, lines, _ = self.split_stream(self.world.finish(process))
            self.assertEqual([line["match"]["seq"] for line in lines], [77])
        for thread in writers:
            thread.join()
        self.assertEqual(len(self.seqs("other", "--limit", 1000)), 200)
        self.assertEqual(len(self.seqs("line", "--limit", 5000)), 3000)
        self.sound()

    def test_an_interrupt_during_the_first_use_leaves_an_index_that_is_taken_up(self):
        for _ in range(20):
            self.weir("append", "--session", "s", stdin=jsonl([entry(f"line {i} " + "some more words of it " * 40) for i in range(2000)]))
        process = self.world.start("history", "line 77", "--session", "s", "--json", "--progress", "json", stderr=subprocess.PIPE)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        ran = self.world.finish(process)
        self.assertEqual((ran.code, ran.out), (130, b""), ran)
        done = self.mark()
        self.assertGreater(done, 0)
        self.assertLess(done, 40000)
        process = self.world.start("history", "line 77", "--session", "s", "--json", "--progress", "json")
        process.stderr.readline()
        process.kill()
        process.communicate()
        self.assertEqual(self.seqs("line 77", "--limit", 100), list(range(38078, 0, -2000)))
        self.assertEqual(self.mark(), 40000)
        connection = sqlite3.connect(self.index())
        connection.execute("INSERT INTO words(words) VALUES('integrity-check')")
        connection.close()


if __name__ == "__main__":
    harness.main()
