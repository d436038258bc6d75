"""anchor and verify --anchor: what is gone since is named, and what only grew is consistent."""

import base64
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import harness
from harness import CliTest, compact, entry, jsonl

TABLES = ("entry", "head", "checkpoint", "masked")


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def name_hash(text):
    return sha(b"weir.anchor_name.v1\0", compact(text).encode()).hex()


def tree_root(leaves):
    """RFC 6962, 2.1, as it is written there."""
    if not leaves:
        return sha(b"")
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return sha(b"\x01", tree_root(leaves[:k]), tree_root(leaves[k:]))


class AnchorCase(CliTest):
    def setUp(self):
        super().setUp()
        for session, count in (("alpha", 3), ("beta", 1), ("gamma", 5)):
            self.weir("append", "--session", session, stdin=jsonl([entry(f"{session} {i}", id=f"{session}{i}") for i in range(count)]))

    def anchor(self, *args, name="kept.anchor"):
        path = os.path.join(self.world.cwd, name)
        self.weir("anchor", "--out", path, *args)
        return path

    def compare(self, path, *args, code=0):
        """Findings and verdict."""
        _, lines, end = self.stream("verify", "--anchor", path, *args, code=code)
        found = [line for line in lines if line["type"] == "anchored"]
        (verdict,) = [line for line in lines if line["type"] == "anchor"]
        damaged = [line for line in lines if line["type"] == "damage"]
        self.assertEqual(end["count"], len(found) + len(damaged))
        self.assertEqual(verdict["removed"], len([line for line in found if line["state"] not in ("head_moved", "damaged")]))
        return found, verdict, damaged

    def removed(self, path, *args):
        found, verdict, damaged = self.compare(path, *args, code=3)
        self.assertEqual(verdict["verdict"], "removed")
        self.assertEqual(damaged, [], "the store is sound: only the anchor shows it")
        return [(line["state"], line["session"]) for line in found]

    def consistent(self, path, *args):
        found, verdict, _ = self.compare(path, *args)
        self.assertEqual(verdict["verdict"], "consistent")
        return found, verdict

    def sql(self, *statements):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        for statement, *values in statements:
            connection.execute(statement, values)
        connection.commit()
        connection.close()

    def number(self, session):
        connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
        (no,) = connection.execute("SELECT no FROM session WHERE id=?", (session,)).fetchone()
        connection.close()
        return no


class NoteTest(AnchorCase):
    def test_the_root_is_what_a_few_lines_of_python_make_of_the_log(self):
        self.weir("head", "fork", "side", "--at", "gamma1", "--session", "gamma")
        self.weir("session", "new", "empty")
        leaves = []
        for session in ("alpha", "beta", "empty", "gamma"):
            entries = sorted(self.stream("export", "--session", session)[1], key=lambda line: line["seq"])
            digests = {line["id"]: (line["seq"], line["digest"]) for line in entries}
            heads = [(head["name"], head["entry"]) for head in self.answer("head", "list", "--session", session)["heads"]]
            connection = sqlite3.connect(os.path.join(self.world.store, "weir.db"))
            rows = connection.execute("SELECT name, seq FROM head WHERE session=? ORDER BY name", (self.number(session),)).fetchall()
            connection.close()
            self.assertEqual({name for name, _ in rows} <= {name for name, _ in heads}, True)
            by_seq = {seq: digest for seq, digest in digests.values()}
            value = {
                "entries": len(entries), "heads": [{"digest": by_seq.get(seq), "name": name_hash(name), "seq": seq} for name, seq in rows],
                "last": entries[-1]["digest"] if entries else None, "session": name_hash(session),
            }  # fmt: skip
            leaves.append(sha(b"\x00", b"weir.anchor_leaf.v1\0", compact(value).encode()))
        answer = self.answer("anchor")
        self.assertEqual(answer["root"], base64.b64encode(tree_root(leaves)).decode())
        self.assertEqual((answer["sessions"], answer["entries"]), (4, 9))
        lines = answer["note"].split("\n")
        self.assertEqual(lines[:4], [answer["origin"], "4", answer["root"], "entries 9"])
        self.assertEqual(lines[4], "time " + answer["time"])

    def test_the_key_is_made_once_and_closed_to_others(self):
        verifier = self.answer("anchor")["verifier_key"]
        path = os.path.join(self.world.store, "anchor.key")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(self.weir("anchor", "--verifier-key").text, verifier + "\n")
        self.assertEqual(self.answer("anchor", "--verifier-key"), {"verifier_key": verifier})
        name, identity, key = verifier.split("+", 2)
        public = base64.b64decode(key)
        self.assertEqual(sha(name.encode(), b"\n", public)[:4].hex(), identity)
        os.chmod(path, 0o644)
        self.refused("STORE_UNUSABLE", "anchor")
        self.weir("doctor", "--fix")
        self.assertEqual(self.answer("anchor")["verifier_key"], verifier)

    def test_openssl_finds_the_signature_good(self):
        answer = self.answer("anchor")
        text, signature = answer["note"].split("\n\n")
        dash, name, encoded = signature.removesuffix("\n").split(" ")
        public = base64.b64decode(answer["verifier_key"].split("+", 2)[2])[1:]
        # SubjectPublicKeyInfo of Ed25519 is twelve fixed bytes and the key.
        key = self.world.file("key.der", bytes.fromhex("302a300506032b6570032100") + public)
        message = self.world.file("text", text + "\n")
        signed = self.world.file("signature", base64.b64decode(encoded)[4:])
        self.assertEqual((dash, name), ("\u2014", answer["origin"]))
        done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-keyform", "DER", "-rawin", "-in", message, "-sigfile", signed], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_dry_run_writes_nothing(self):
        path = self.world.path("none.anchor")
        self.weir("anchor", "--out", path, "--dry-run")
        self.assertFalse(os.path.exists(path))
        self.assertFalse(os.path.exists(os.path.join(self.world.store, "anchor.key")))

    def test_the_note_alone_is_the_beginning_of_the_file(self):
        path = self.anchor()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        note, rest = text[: text.index("\n\n", text.index("\u2014")) + 1], text[text.index("\n\n", text.index("\u2014")) + 2 :]
        self.assertEqual([line.split(" ")[:2] for line in rest.splitlines()], [["alpha", "3"], ["beta", "1"], ["gamma", "5"]])
        self.assertEqual(self.weir("anchor", "--out", "-", "--unsigned").text.split("\n\n")[1], rest)
        self.assertNotIn("alpha", note)
        self.consistent(self.world.file("note", note))

    def test_an_anchor_names_no_session_that_is_hidden(self):
        path = self.anchor("--hide-names")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name in ("alpha", "beta", "main"):
            self.assertNotIn(name, text)
        self.assertEqual(text.split("\n")[2], self.answer("anchor")["root"])
        self.consistent(path)
        self.weir("purge", "--session", "beta", "--yes")
        self.assertEqual(self.removed(path), [("gone", "sha256:" + name_hash("beta"))])

    def test_ten_thousand_sessions_are_compared_in_moments(self):
        lines = "".join(f"s{i} 1 {sha(bytes([i % 256, i // 256])).hex()} main=1:{sha(bytes([i % 256, i // 256])).hex()}\n" for i in range(10000))
        leaves = []
        for line in lines.splitlines():
            session, _, last, _ = line.split(" ")
            value = {"entries": 1, "heads": [{"digest": last, "name": name_hash("main"), "seq": 1}], "last": last, "session": name_hash(session)}
            leaves.append(sha(b"\x00", b"weir.anchor_leaf.v1\0", compact(value).encode()))
        note = f"weir\n10000\n{base64.b64encode(tree_root(leaves)).decode()}\nentries 10000\ntime 2026-01-01T00:00:00.000Z\n\n{lines}"
        began = time.monotonic()
        found, verdict, _ = self.compare(self.world.file("many", note), "--unsigned", "--quick", code=3)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual((len(found), verdict["begun_since"], verdict["signature"]), (10000, 3, "unchecked"))


class RemovalTest(AnchorCase):
    def test_a_session_that_grew_and_others_that_were_begun_are_consistent(self):
        old = self.anchor(name="old.anchor")
        self.append("more", session="beta")
        newer = self.anchor(name="newer.anchor")
        self.append("and more", session="beta")
        self.append("another", session="delta")
        self.weir("purge", "--session", "delta", "--yes")
        self.append("another", session="epsilon")
        for path in (old, newer):
            for args in ([], ["--quick"], ["--sample", "50%"]):
                found, verdict = self.consistent(path, *args)
                self.assertEqual((found, verdict["sessions"], verdict["compared"], verdict["begun_since"]), ([], 3, 3, 1))

    def test_a_session_deleted_by_sql_is_named(self):
        path = self.anchor()
        no = self.number("beta")
        self.sql(*[(f"DELETE FROM {table} WHERE session=?", no) for table in TABLES], ("DELETE FROM session WHERE no=?", no))
        self.sound()
        self.assertEqual(self.removed(path), [("gone", "beta")])
        self.assertEqual(self.removed(path, "--quick"), [("gone", "beta")])
        text = self.weir("verify", "--anchor", path, code=3).text
        self.assertIn("gone session beta: the session is gone, with 1 entries\n", text)
        self.assertRegex(text, r"not consistent with the anchor of \S+Z: 1 places\n")

    def test_a_store_put_back_to_an_older_copy_is_seen(self):
        self.weir("anchor")  # so that the copy has the key
        self.weir("backup", self.world.path("copy"))
        self.append("more", session="alpha")
        self.append("new", session="delta")
        path = self.anchor()
        shutil.rmtree(self.world.store)
        shutil.copytree(self.world.path("copy"), self.world.store)
        self.sound()
        self.assertEqual(self.removed(path), [("shorter", "alpha"), ("gone", "delta")])
        # The note alone sees that there is less, too, and says what it cannot name.
        with open(path, encoding="utf-8") as file:
            note = self.world.file("note", "\n\n".join(file.read().split("\n\n")[:2]) + "\n")
        found, verdict, _ = self.compare(note, code=3)
        self.assertEqual([(line["state"], line["session"]) for line in found], [("fewer", None)])
        self.assertIn("3 sessions with 9 entries, anchored were 4 with 11", found[0]["what"])

    def test_an_entry_changed_with_its_chain_computed_anew_is_seen(self):
        path = self.anchor()
        # The same session with another second entry, and everything after it: as sound as the first one.
        self.weir("export", "--session", "gamma", "--output", os.path.join(self.world.cwd, "gamma.jsonl"))
        no = self.number("gamma")
        self.sql(*[(f"DELETE FROM {table} WHERE session=?", no) for table in TABLES], ("DELETE FROM session WHERE no=?", no))
        self.weir("append", "--session", "gamma", stdin=jsonl([entry(f"gamma {i}" if i != 1 else "forged", id=f"gamma{i}") for i in range(6)]))
        self.sound()
        self.assertEqual(self.removed(path), [("changed", "gamma")])
        self.assertIn("the entry at seq 5 has digest", self.weir("verify", "--quick", "--anchor", path, code=3).text)

    def test_a_branch_with_a_head_is_pinned_and_a_head_that_moved_is_told_and_legal(self):
        self.weir("head", "fork", "side", "--at", "gamma1", "--session", "gamma")
        self.append("on a branch", session="gamma", head="side", id="side0")
        path = self.anchor()
        self.consistent(path)
        self.append("more on main", session="gamma")
        self.append("more on the branch", session="gamma", head="side")
        self.assertEqual(self.consistent(path)[0], [])
        self.weir("head", "move", "main", "gamma0", "--session", "gamma")
        self.weir("head", "delete", "side", "--session", "gamma", "--yes")
        found, _ = self.consistent(path)
        self.assertEqual([(line["state"], line["session"]) for line in found], [("head_moved", "gamma")] * 2)
        self.assertIn("stood at seq 5 and is at seq 1", found[0]["what"])
        self.assertIn("head side is gone; the entries are there", found[1]["what"])

    def test_a_purge_is_removal_and_its_record_is_told_and_holds_no_text(self):
        self.weir("append", "--session", "PRIVATE-NAME", stdin=jsonl([entry("PRIVATE-TEXT")]))
        path = self.anchor()
        self.weir("purge", "--session", "PRIVATE-NAME", "--yes")
        found, verdict, _ = self.compare(path, code=3)
        self.assertEqual([(line["state"], line["session"]) for line in found], [("gone", "PRIVATE-NAME")])
        self.assertRegex(found[0]["purged_at"], r"^\d{4}-\d\d-\d\dT")
        self.assertIn("a purge is recorded", found[0]["what"])
        done = subprocess.run(["grep", "-rlaF", "PRIVATE", self.world.store], capture_output=True, text=True)
        self.assertEqual([line for line in done.stdout.split() if not line.endswith("anchor.key")], [])
        # One that is begun anew under the name is no other one's proof.
        self.append("another", session="PRIVATE-NAME")
        found, _, _ = self.compare(path, code=3)
        self.assertIn("another of its name was begun since", found[0]["what"])
        # A copy keeps the record.
        self.weir("backup", self.world.path("copy"))
        found, _, _ = self.compare(path, "--store", self.world.path("copy"), code=3)
        self.assertIsNotNone(found[0]["purged_at"])

    def test_a_damaged_record_of_a_purge_is_named(self):
        self.weir("purge", "--session", "beta", "--yes")
        self.sound()
        self.sql(("UPDATE purged_session SET entries=9",))
        _, lines, _ = self.stream("verify", code=3)
        self.assertEqual([line["object"] for line in lines if line["type"] == "damage"], ["purged sessions"])

    def test_a_record_of_another_purge_explains_nothing(self):
        self.append("short", session="delta")
        self.weir("purge", "--session", "delta", "--yes")
        self.weir("append", "--session", "delta", stdin=jsonl([entry(f"{i}") for i in range(3)]))
        path = self.anchor()
        no = self.number("delta")
        self.sql(*[(f"DELETE FROM {table} WHERE session=?", no) for table in TABLES], ("DELETE FROM session WHERE no=?", no))
        found, _, _ = self.compare(path, code=3)
        self.assertEqual([(line["session"], line["purged_at"]) for line in found], [("delta", None)])

    def test_a_purge_that_went_before_the_anchor_explains_nothing(self):
        """An older and longer session of the same name was purged; the one that was anchored is then taken away, or cut."""
        self.weir("append", "--session", "delta", stdin=jsonl([entry(f"{i}") for i in range(9)]))
        self.weir("purge", "--session", "delta", "--yes")
        self.weir("append", "--session", "delta", stdin=jsonl([entry(f"second {i}", id=f"delta{i}") for i in range(3)]))
        time.sleep(0.01)
        path = self.anchor()
        no = self.number("delta")
        self.sql(("DELETE FROM entry WHERE id='delta2'",))
        found, _, _ = self.compare(path, code=3)
        self.assertEqual([(line["state"], line["session"], line["purged_at"]) for line in found], [("shorter", "delta", None)])
        self.sql(*[(f"DELETE FROM {table} WHERE session=?", no) for table in TABLES], ("DELETE FROM session WHERE no=?", no))
        found, _, _ = self.compare(path, code=3)
        self.assertEqual([(line["state"], line["session"], line["purged_at"]) for line in found], [("gone", "delta", None)])

    def test_a_damaged_store_is_not_anchored(self):
        self.weir("head", "fork", "side", "--at", "gamma1", "--session", "gamma")
        path = os.path.join(self.world.store, "weir.db")
        self.weir("anchor")
        shutil.copy(path, path + ".whole")
        damages = (
            "DELETE FROM session WHERE id='beta'", "DELETE FROM head WHERE name='main' AND session=(SELECT no FROM session WHERE id='gamma')",
            "DELETE FROM entry WHERE id='gamma1'", "DELETE FROM entry WHERE id='gamma4'", "UPDATE entry SET at=at+1 WHERE id='gamma4'",
            "UPDATE session SET created=created+1 WHERE id='beta'",
        )  # fmt: skip
        for damage in damages:
            with self.subTest(damage=damage):
                self.sql((damage,))
                details = self.refused("CORRUPT", "anchor", "--out", os.path.join(self.world.cwd, "none.anchor"))["details"]
                self.assertTrue(details.get("session") or details.get("object"), details)
                self.assertFalse(os.path.exists(os.path.join(self.world.cwd, "none.anchor")))
                shutil.copy(path + ".whole", path)
        os.remove(path + ".whole")

    def test_what_cannot_be_read_is_damaged_and_not_gone(self):
        path = self.anchor()
        with open(path, encoding="utf-8") as file:
            note = self.world.file("note", "\n\n".join(file.read().split("\n\n")[:2]) + "\n")
        database = os.path.join(self.world.store, "weir.db")
        shutil.copy(database, database + ".whole")
        damages = (
            ("UPDATE session SET created=created+1 WHERE id='beta'", "beta"), ("UPDATE session SET id='bete' WHERE id='beta'", "beta"),
            ("UPDATE entry SET at=at+1 WHERE id='beta0'", "beta"), ("UPDATE head SET seq=4 WHERE session=(SELECT no FROM session WHERE id='gamma')", "gamma"),
        )  # fmt: skip
        for damage, session in damages:
            with self.subTest(damage=damage):
                self.sql((damage,))
                found, verdict, named = self.compare(path, code=3)
                self.assertEqual(([(line["state"], line["session"]) for line in found], verdict["verdict"], verdict["removed"]), ([("damaged", session)], "damaged", 0))
                self.assertNotEqual(named, [])
                self.assertIn("is known to be gone", self.weir("verify", "--anchor", path, code=3).text)
                found, verdict, _ = self.compare(note, code=3)
                self.assertEqual((verdict["verdict"], {line["state"] for line in found}), ("damaged", {"damaged"}))
                shutil.copy(database + ".whole", database)
        os.remove(database + ".whole")

    def test_an_empty_store_can_be_anchored(self):
        store = self.world.path("empty")
        self.weir("init", "--store", store)
        path = os.path.join(self.world.cwd, "empty.anchor")
        self.weir("anchor", "--store", store, "--out", path)
        self.assertEqual(self.answer("anchor", "--store", store)["root"], base64.b64encode(sha(b"")).decode())
        _, verdict = self.consistent(path, "--store", store)
        self.assertEqual((verdict["compared"], verdict["begun_since"]), (0, 0))
        self.weir("append", "--store", store, "--session", "first", stdin=jsonl([entry("hello")]))
        _, verdict = self.consistent(path, "--store", store)
        self.assertEqual((verdict["compared"], verdict["begun_since"]), (0, 1))
        self.refused("STORE_UNUSABLE", "anchor", "--store", self.world.path("no-store"))

    def test_the_note_alone_is_undecided_once_the_store_has_changed(self):
        note = self.world.file("note", self.weir("anchor").text)
        self.consistent(note)
        self.append("more", session="beta")
        found, verdict, _ = self.compare(note, code=1)
        self.assertEqual((found, verdict["verdict"]), ([], "undecided"))
        self.assertIn("undecided: ", self.weir("verify", "--quick", "--anchor", note, code=1).text)

    def test_a_main_head_that_is_gone_was_taken_away(self):
        self.weir("head", "fork", "side", "--at", "gamma1", "--session", "gamma")
        path = self.anchor()
        self.sql(("DELETE FROM head WHERE name='main' AND session=?", self.number("gamma")))
        found, verdict, damaged = self.compare(path, code=3)
        self.assertEqual([(line["state"], line["session"]) for line in found], [("gone", "gamma")])
        self.assertEqual([(line["session"], line["object"]) for line in damaged], [("gamma", "heads")])

    def test_entries_missing_at_the_end_are_missing_and_not_changed(self):
        path = self.anchor()
        self.sql(("DELETE FROM entry WHERE id IN ('gamma3', 'gamma4')",))
        found, verdict, damaged = self.compare(path, code=3)
        self.assertEqual([(line["state"], line["what"]) for line in found], [("shorter", "it has 3 entries, anchored were 5")])
        self.assertNotEqual(damaged, [])

    def test_nothing_is_called_consistent_over_damage(self):
        path = self.anchor()
        self.sql(("DELETE FROM entry WHERE id='gamma2'",))
        for args in ([], ["--quick"]):
            found, verdict, damaged = self.compare(path, *args, code=3)
            self.assertEqual((found, verdict["verdict"], len(damaged) > 0), ([], "damaged", True))
            text = self.weir("verify", "--anchor", path, *args, code=3).text
            self.assertIn("damaged: nothing of the anchor", text)
            self.assertNotIn("consistent", text)

    def test_an_anchor_that_came_by_mail_is_one(self):
        path = self.anchor()
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"\n", b"\r\n"))
        self.consistent(path)

    def test_damage_and_removal_are_told_apart(self):
        path = self.anchor()
        self.weir("purge", "--session", "beta", "--yes")
        self.sql(("UPDATE entry SET body='{}' WHERE id='gamma2'",))
        found, verdict, damaged = self.compare(path, code=3)
        self.assertEqual([line["session"] for line in found], ["beta"])
        self.assertEqual([line["entry"] for line in damaged], ["gamma2"])


class TrustTest(AnchorCase):
    def test_a_changed_anchor_is_refused(self):
        path = self.anchor()
        with open(path, encoding="utf-8") as file:
            good = file.read()
        note = good[: good.index("\n\n", good.index("\u2014")) + 1]
        root = good.split("\n")[2]
        other = base64.b64encode(sha(b"x")).decode()
        bad = {
            "the root": good.replace(root, other), "the sessions": good.replace("\n3\n", "\n2\n", 1), "the entries": good.replace("entries 9", "entries 8"),
            "the time": good.replace("time 2", "time 3"), "the origin": good.replace("weir/", "weir/x", 1), "a line of the list": good.replace("beta 1 ", "beta 2 "),
            "a session less": good.replace([line for line in good.splitlines() if line.startswith("beta ")][0] + "\n", ""),
            "no list, but one line": note + "\nalpha\n", "another text": "hello\n", "nothing": "", "no end": good[:20], "half a signature": note[:-30],
            "more behind": good + "\nx\n", "no number": good.replace("\n3\n", "\n03\n", 1), "no signature": note.split("\n\n")[0] + "\n",
            "binary": "\0" * 1000, "a digest cut": good[:-3] + "\n",
        }  # fmt: skip
        for what, text in bad.items():
            with self.subTest(what=what):
                self.refused("INVALID_FIELD", "verify", "--anchor", self.world.file("bad", text))
        # Where nobody asks for signatures, the root still holds the list.
        self.refused("INVALID_FIELD", "verify", "--unsigned", "--anchor", self.world.file("bad", bad["a line of the list"]))
        self.refused("NOT_FOUND", "verify", "--anchor", self.world.path("nowhere"))

    def test_the_key_of_another_store_is_refused_and_the_right_one_can_be_named(self):
        path = self.anchor()
        verifier = self.world.file("verifier", self.weir("anchor", "--verifier-key").text)
        other = self.world.path("other")
        self.weir("init", "--store", other)
        theirs = self.world.file("theirs", self.weir("anchor", "--store", other, "--verifier-key").text)
        error = self.refused("INVALID_FIELD", "verify", "--anchor", path, "--key", theirs)
        self.assertIn("is signed by weir/", error["message"])
        self.consistent(path, "--key", verifier)
        # A store that has lost its key.
        os.remove(os.path.join(self.world.store, "anchor.key"))
        self.refused("NOT_FOUND", "verify", "--anchor", path)
        self.consistent(path, "--key", verifier)
        _, verdict = self.consistent(path, "--unsigned")
        self.assertEqual(verdict["signature"], "unchecked")
        self.refused("INVALID_FIELD", "anchor", "--key", verifier)  # it cannot sign

    def test_a_key_of_ones_own_signs(self):
        self.weir("anchor")
        shutil.move(os.path.join(self.world.store, "anchor.key"), os.path.join(self.world.cwd, "mine"))
        path = self.anchor("--key", "mine")
        self.assertFalse(os.path.exists(os.path.join(self.world.store, "anchor.key")))
        self.consistent(path, "--key", "mine")
        secret = self.world.file("broken", "PRIVATE+KEY+me+00000000+AAAA")
        error = self.refused("INVALID_FIELD", "anchor", "--key", secret)
        self.assertNotIn("AAAA", json.dumps(error))

    def test_an_unsigned_anchor_is_taken_only_if_that_is_said(self):
        path = self.anchor("--unsigned")
        self.assertFalse(os.path.exists(os.path.join(self.world.store, "anchor.key")))
        self.refused("NOT_FOUND", "verify", "--anchor", path)
        self.weir("anchor")
        self.refused("INVALID_FIELD", "verify", "--anchor", path)
        self.consistent(path, "--unsigned")
        for args in (["verify", "--unsigned"], ["verify", "--key", "x"], ["verify", "--anchor", path, "--session", "beta"], ["anchor", "--unsigned", "--key", "x"]):
            self.refused("USAGE", *args)


class PageTest(CliTest):
    """docs/anchor.md, command by command."""

    def test_the_page_says_what_the_program_says(self):
        with open(os.path.join(harness.SOURCE, "docs", "anchor.md"), encoding="utf-8") as file:
            page = file.read()
        programs = self.world.path("programs")
        os.mkdir(programs)
        os.symlink(harness.BIN, os.path.join(programs, "weir"))
        env = self.world.environment({"PATH": programs + ":" + self.world.env["PATH"]})

        def plain(text):
            text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
            return re.sub(r"(\u2014 weir/ORIGIN) \S+", r"\1 SIGNATURE", re.sub(r"weir/[0-9a-f]{16}", "weir/ORIGIN", text))

        steps = [step for block in re.findall(r"```console\n(.*?)```", page, re.S) for step in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]
        self.assertGreater(len(steps), 9)
        for command, printed in steps:
            with self.subTest(command=command):
                done = subprocess.run(["sh", "-c", command], env=env, cwd=self.world.cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual(plain(done.stdout + done.stderr), plain(printed))
        snippet = self.world.file("root.py", re.search(r"```python\n(.*?)```", page, re.S).group(1))
        self.weir("append", "--session", "a", stdin=jsonl([entry("one"), entry("two")]))
        self.weir("session", "new", "b")
        for session in "cde":
            self.append("x", session=session)
        for args in ([], ["--hide-names"], ["--unsigned"]):
            file = self.weir("anchor", "--out", "-", *args).out
            done = subprocess.run([sys.executable, snippet], input=file, capture_output=True, env={**env, "PYTHONUTF8": "1"})
            self.assertEqual((done.stdout, done.stderr), (b"True\n", b""))
            worse = file.replace(b"\nc 1 ", b"\nc 2 ") if b"\nc 1 " in file else file.replace(b" 2 ", b" 3 ")
            done = subprocess.run([sys.executable, snippet], input=worse, capture_output=True, env={**env, "PYTHONUTF8": "1"})
            self.assertEqual(done.stdout, b"False\n")


if __name__ == "__main__":
    harness.main()
