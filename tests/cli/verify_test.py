"""verify: every damaged place is named, nothing else is, and the exit code says which."""

import json
import os
import shutil
import sqlite3

import harness
from harness import CliTest, entry, jsonl


class VerifyTest(CliTest):
    def setUp(self):
        super().setUp()
        self.weir("append", "--session", "s", stdin=jsonl([entry("one", id="a"), entry("two", id="b"), {"type": "compaction", "id": "c", "body": {"summary": "x"}}, entry("four", id="d"), entry("B" * 70000, id="e")]))
        self.weir("append", "--session", "sound", stdin=jsonl([entry("fine"), entry("C" * 70000)]))
        self.weir("head", "fork", "other", "--at", "b", "--session", "s")

    def change(self, sql, *values):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        changed = connection.execute(sql, values).rowcount
        connection.commit()
        connection.close()
        self.assertGreater(changed, 0, sql)

    def damage(self, *args):
        begin, lines, end = self.stream("verify", *args, code=3)
        found = [line for line in lines if line["type"] == "damage"]
        self.assertEqual((lines[-1]["type"], lines[-1]["damaged"], end["count"]), ("summary", len(found), len(found)))
        for line in found:
            self.assertEqual(sorted(line), ["entry", "object", "session", "type", "what"])
        return found

    def entry_row(self, identity):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        row = connection.execute("SELECT key FROM entry JOIN session ON session.no = entry.session WHERE session.id='s' AND entry.id=?", (identity,)).fetchone()
        connection.close()
        return row[0]

    def test_a_sound_store(self):
        summary = self.sound()
        self.assertEqual({key: summary[key] for key in ("sessions", "entries", "blobs", "purged", "damaged")}, {"sessions": 2, "entries": 7, "blobs": 2, "purged": 0, "damaged": 0})
        self.assertRegex(self.weir("verify").text, r"^sound: 2 sessions, 7 entries, 2 blobs, [\d.]+ kB read\n$")
        self.assertRegex(self.weir("verify", "--quick").text, r" \(rows only\)\n$")
        self.assertRegex(self.weir("verify", "--sample", "5%").text, r" \(sample of 5 %\)\n$")

    def test_a_changed_body_is_named_and_cannot_be_shown(self):
        self.change("UPDATE entry SET body=? WHERE key=?", '{"content":"two!","role":"user"}', self.entry_row("b"))
        found = self.damage()
        self.assertEqual([(line["session"], line["entry"]) for line in found if line["entry"]], [("s", "b")])
        error = self.refused("CORRUPT", "show", "b", "--session", "s")
        self.assertEqual((error["details"]["session"], error["details"]["entry"]), ("s", "b"))
        self.assertEqual(self.weir("show", "a", "--session", "s").code, 0)
        self.assertEqual(self.weir("log", "--session", "sound").code, 0)

    def test_a_session_without_its_main_head_is_no_empty_one(self):
        changes = (
            "DELETE FROM head WHERE name='main' AND session=(SELECT no FROM session WHERE id='s')",
            "UPDATE head SET name=CAST(name AS blob) WHERE name='main' AND session=(SELECT no FROM session WHERE id='s')",
            "UPDATE head SET session=9 WHERE name='main' AND session=(SELECT no FROM session WHERE id='s')",
        )
        whole = os.path.join(self.world.store, "weir.db")
        shutil.copy(whole, whole + ".whole")
        for change in changes:
            with self.subTest(change=change):
                self.change(change)
                for words in (["context", "--dry-run"], ["log"], ["stats"], ["compact", "--dry-run"], ["head", "list"], ["tree"], ["show", "main"], ["session", "show"]):
                    self.assertEqual(self.refused("CORRUPT", *words, "--session", "s")["details"]["session"], "s")
                self.refused("CORRUPT", "diff", "s@main", "s@other")
                self.refused("CORRUPT", "session", "list")
                self.refused("CORRUPT", "append", "--session", "s", stdin=jsonl([entry("more")]))
                self.assertTrue(self.damage())
                shutil.copy(whole + ".whole", whole)

    def test_an_id_that_no_index_finds_is_damage(self):
        self.change("UPDATE entry SET id=CAST(id AS blob) WHERE key=?", self.entry_row("b"))
        self.assertTrue(self.damage())

    def test_a_session_begun_at_another_head_is_sound(self):
        self.weir("append", "--session", "new", "--head", "side", stdin=jsonl([entry("x")]))
        self.assertEqual(self.weir("log", "--session", "new").text, "")
        self.sound()

    def test_what_entries_without_a_session_name_is_not_collected(self):
        self.change("DELETE FROM session WHERE id='sound'")
        self.refused("CORRUPT", "gc")

    def test_changed_columns_are_named(self):
        for column, value in (("parent", 4), ("barrier", 1), ("depth", 9), ("type", "compaction"), ("digest", b"\0" * 32), ("at", 5), ("id", "z")):
            with self.subTest(column=column):
                key = self.entry_row("b")
                connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
                old = connection.execute(f"SELECT {column} FROM entry WHERE key=?", (key,)).fetchone()[0]
                connection.close()
                self.change(f"UPDATE entry SET {column}=? WHERE key=?", value, key)
                self.assertTrue(any(line["session"] == "s" for line in self.damage()))
                self.change(f"UPDATE entry SET {column}=? WHERE key=?", old, key)
                self.sound()

    def test_a_changed_body_is_no_part_of_any_answer(self):
        self.change("UPDATE entry SET body=? WHERE key=?", '{"content":"four!","role":"user"}', self.entry_row("d"))
        for command in (["context", "--dry-run"], ["compile"], ["explain"], ["stats"], ["history", "four"], ["reads"], ["due"], ["compact", "--dry-run"], ["tree"], ["log"], ["export"]):
            with self.subTest(command=command):
                ran = self.world.run("--json", *command, "--session", "s")
                self.assertEqual(ran.code, harness.EXITS["CORRUPT"], ran)
                self.assertNotIn(b"four!", ran.out)
                details = json.loads(ran.err.splitlines()[-1])["error"]["details"]
                self.assertEqual((details["session"], details["entry"]), ("s", "d"))

    def test_a_planted_trigger_is_refused_by_who_writes_and_named(self):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        connection.execute("CREATE TRIGGER swallow BEFORE INSERT ON entry BEGIN SELECT raise(ignore); END")
        connection.commit()
        connection.close()
        error = self.refused("CORRUPT", "append", "--session", "s", stdin=jsonl([entry("lost")]))
        self.assertEqual(error["details"]["object"], "trigger swallow")
        self.assertIn("weir verify", error["message"])
        self.assertEqual([line["object"] for line in self.damage()], ["trigger swallow"])
        self.assertEqual(self.weir("log", "--session", "s").code, 0)

    def test_a_missing_index_is_refused_by_who_reads_too(self):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        connection.execute("DROP INDEX entry_id")
        connection.commit()
        connection.close()
        self.assertEqual(self.refused("CORRUPT", "log", "--session", "s")["details"]["object"], "index entry_id")
        self.assertEqual([line["object"] for line in self.damage()], ["index entry_id"])

    def schema(self, *statements):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def test_a_missing_table_is_damage_whichever_it_is(self):
        kept = self.world.path("kept")
        shutil.copytree(self.world.store, kept)
        for table in ("session", "entry", "head", "checkpoint", "masked", "purged_blob", "purged_session", "undelivered"):
            with self.subTest(table=table):
                self.schema(f"DROP TABLE {table}")
                self.assertIn(f"table {table}", [line["object"] for line in self.damage()])
                for command in (["log", "--session", "s"], ["append", "--session", "s"]):
                    self.assertEqual(self.refused("CORRUPT", *command, stdin=jsonl([entry("x")]))["details"]["object"].split()[-1], table)
            shutil.rmtree(self.world.store)
            shutil.copytree(kept, self.world.store)

    def test_a_version_that_is_not_that_of_the_tables_is_damage(self):
        for version in (0, 1):
            with self.subTest(version=version):
                self.schema(f"PRAGMA user_version={version}")
                before = self.world.run("--json", "append", "--session", "s", stdin=jsonl([entry("x")]))
                self.assertEqual(before.code, harness.EXITS["CORRUPT"], before)

    def test_a_number_that_could_be_given_twice_is_damage(self):
        self.schema("UPDATE sqlite_sequence SET seq=0")
        self.assertEqual([line["object"] for line in self.damage()], ["sqlite_sequence"])

    def test_entries_that_no_head_leads_to_are_no_empty_session(self):
        self.schema("DELETE FROM head")
        for command in (["context", "--dry-run"], ["log"], ["append"], ["stats"], ["compile"]):
            with self.subTest(command=command):
                self.assertEqual(self.refused("CORRUPT", *command, "--session", "s", stdin=jsonl([entry("x")]))["details"]["session"], "s")
        self.assertIn("heads", [line["object"] for line in self.damage()])

    def place_of_damage(self, *words):
        """Session and seq, as the error names them."""
        ran = self.world.run("--json", *words, stdin=b"")
        self.assertEqual(ran.code, harness.EXITS["CORRUPT"], ran)
        details = json.loads(ran.err.splitlines()[-1])["error"]["details"]
        return details["session"], details["seq"]

    def test_a_last_entry_that_is_missing_is_missed_with_its_place(self):
        self.change("DELETE FROM entry WHERE key=?", self.entry_row("e"))
        for words in (["log"], ["context", "--dry-run"], ["show", "main"], ["compact", "--dry-run"], ["stats"], ["tree"]):
            with self.subTest(words=words):
                self.assertEqual(self.place_of_damage(*words, "--session", "s"), ("s", 5))

    def test_a_snapshot_whose_entry_is_missing_or_damaged_says_where(self):
        for i in range(2):
            self.weir("append", "--session", "n", stdin=jsonl([entry(f"part {i}", id=f"n{i}")]))
            self.weir("note", "claim", f"so it is {i}", "--session", "n")
            self.weir("compact", "--session", "n")
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        (key,) = connection.execute("SELECT max(key) FROM entry WHERE type='compaction' AND session=(SELECT no FROM session WHERE id='n')").fetchone()
        connection.close()
        self.change("UPDATE entry SET body=replace(body, 'so it is 0', 'so it is 9') WHERE key=?", key)
        self.append("more", session="n")
        self.assertEqual(self.place_of_damage("compact", "--session", "n"), ("n", key & (1 << 40) - 1))
        self.change("DELETE FROM entry WHERE key=?", key)
        self.assertEqual(self.place_of_damage("snapshot", "list", "--session", "n"), ("n", key & (1 << 40) - 1))

    def test_a_damaged_note_of_a_lost_answer_makes_no_claim(self):
        self.weir("append", "--session", "r", "--type", "session_info", stdin=b'{"barrier_feed":true}')
        path = self.world.file("read.txt", "".join(f"line {i}\n" for i in range(20)))
        with open("/dev/full", "wb") as full:
            self.world.finish(self.world.start("read", path, "--session", "r", stdout=full))
        for column, by in (("path", 256), ("session", 1), ("seq", 1), ("times", 1)):
            with self.subTest(column=column):
                self.change(f"UPDATE undelivered SET {column}={column}+{by}")
                self.assertNotIn(b"unchanged", self.world.run("read", path, "--session", "r").out)
                self.assertTrue(any((line["object"] or "").startswith("undelivered seq ") for line in self.damage()))
                self.change(f"UPDATE undelivered SET {column}={column}-{by}")
        self.sound()

    def test_a_search_ends_where_entries_are_missing(self):
        self.weir("append", "--session", "long", stdin=jsonl([entry(f"line {i}", id=f"l{i}") for i in range(200)]))
        self.change("DELETE FROM entry WHERE id IN ('l90', 'l91', 'l92')")
        error = self.refused("CORRUPT", "history", "line", "--session", "long")
        self.assertEqual((error["details"]["session"], error["details"]["seq"]), ("long", 91))

    def test_a_missing_row_is_named(self):
        self.change("DELETE FROM entry WHERE key=?", self.entry_row("b"))
        self.assertIn(("s", "seq 2"), [(line["session"], line["object"]) for line in self.damage()])

    def test_a_head_that_stands_nowhere_is_named(self):
        self.change("UPDATE head SET seq=99 WHERE name='other'")
        self.assertTrue(any(line["session"] == "s" and "other" in (line["object"] or "") for line in self.damage()))

    def test_damaged_cut_and_missing_objects_are_named_with_the_entry_that_needs_them(self):
        path = [p for p in self.world.objects()]
        names = self.world.object_names()
        wanted = self.answer("show", "e", "--session", "s")["body"]["content"]["$blob"]
        victim = path[names.index(wanted)]
        with open(victim, "rb") as file:
            good = file.read()
        for what, data in (("flipped", good[:12] + bytes([good[12] ^ 1]) + good[13:]), ("cut", good[: len(good) // 2]), ("empty", b""), ("longer", good + b"x"), ("another", b"\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00")):
            with self.subTest(what=what):
                with open(victim, "wb") as file:
                    file.write(data)
                self.assertEqual([(line["session"], line["entry"], line["object"]) for line in self.damage()], [("s", "e", wanted)])
                self.refused("CORRUPT", "show", wanted)
                self.refused("CORRUPT", "show", "e", "--session", "s", "--resolve")
        os.remove(victim)
        self.assertEqual([(line["entry"], line["object"], line["what"]) for line in self.damage()], [("e", wanted, "the blob is missing")])
        self.refused("NOT_FOUND", "show", wanted)

    def test_quick_looks_at_rows_and_a_session_can_be_asked_alone(self):
        self.change("UPDATE head SET seq=99 WHERE name='other'")
        self.assertTrue(self.damage("--quick"))
        self.assertTrue(self.damage("--session", "s"))
        self.stream("verify", "--session", "sound")
        self.refused("NOT_FOUND", "verify", "--session", "none")

    def test_text_names_each_place(self):
        os.remove(self.world.objects()[0])
        text = self.weir("verify", code=3).text
        self.assertRegex(text, r"^damaged session \w+ entry \w+ sha256:[0-9a-f]{64}: the blob is missing\n1 damaged places: ")

    def test_a_flipped_byte_anywhere_in_the_database_is_found_or_harmless(self):
        """Every 97th byte: verify names damage, refuses the file, or the byte means nothing and the data is whole."""
        path = os.path.join(self.world.store, "weir.db")
        self.weir("gc")
        for name in ("weir.db-wal", "weir.db-shm"):
            if os.path.exists(os.path.join(self.world.store, name)):
                self.assertEqual(os.path.getsize(os.path.join(self.world.store, "weir.db-wal")), 0)
                break
        with open(path, "rb") as file:
            good = file.read()
        whole = [self.stream("export", "--session", name)[1] for name in ("s", "sound")]
        seen = set()
        for at in range(0, len(good), 997):
            with open(path, "wb") as file:
                file.write(good[:at] + bytes([good[at] ^ 0x20]) + good[at + 1 :])
            ran = self.world.run("verify", "--json")
            self.assertIn(ran.code, (0, 3, 9, 10), f"byte {at}: {ran}")
            seen.add(ran.code)
            if ran.code == 0:
                self.assertEqual([self.stream("export", "--session", name)[1] for name in ("s", "sound")], whole, f"byte {at}")
        self.assertTrue({0, 3} <= seen, seen)
        with open(path, "wb") as file:
            file.write(good)
        self.sound()


if __name__ == "__main__":
    harness.main()
