"""Cases 26, 27, 28 and 6: what never changes may be kept for ever, all else never; the seeds' routes are the same bytes as
the ones under /v1; pages neither repeat nor hide anything."""

import hashlib
import threading

import server
from harness import entry
from server import FOREVER, HttpTest, part

BLOB = hashlib.sha256(b"L" * 70000).hexdigest()


class CachingTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.fill()
        self.run_session()
        self.serve()

    def test_case_28_entry_blob_snapshot_and_narrative_have_an_etag_and_then_304(self):
        for path, digest in [
            ("/v1/sessions/s/entries/m1", self.get("/v1/sessions/s/entries/m1")["digest"]), ("/v1/blobs/" + BLOB, BLOB), ("/v1/sessions/g/snapshots/1", None), ("/v1/sessions/g/snapshots/1/narrative", None),
        ]:  # fmt: skip
            with self.subTest(path=path):
                first = self.ask("GET", path, status=200)
                tag = first.header("ETag", "")
                self.assertRegex(tag, r'^"[^"]+"$', "a strong one")
                if digest:
                    self.assertIn(digest, tag)
                self.assertEqual(first.header("Cache-Control"), FOREVER)
                for given in (tag, f'"other", {tag}', "*", "W/" + tag):
                    kept = self.ask("GET", path, headers={"If-None-Match": given}, status=304)
                    self.assertEqual((kept.body, kept.header("ETag"), kept.header("Cache-Control")), (b"", tag, FOREVER), kept)
                other = self.ask("GET", path, headers={"If-None-Match": '"other"'}, status=200)
                self.assertEqual(other.body, first.body)
                self.assertEqual(self.ask("HEAD", path, headers={"If-None-Match": tag}, status=304).body, b"")

    def test_case_28_an_entry_named_by_its_pointer_is_the_same_one(self):
        whole = self.ask("GET", "/v1/sessions/s/entries/m1")
        pointer = self.ask("GET", "/v1/sessions/s/entries/e" + whole.json["digest"][:16], status=200)
        self.assertEqual((pointer.body, pointer.header("ETag")), (whole.body, whole.header("ETag")))

    def test_case_28_a_changed_head_is_200_with_no_store(self):
        for path in ("/v1/sessions/s", "/v1/sessions/s/heads", "/v1/sessions/s/entries", "/v1/sessions/s/tree"):
            first = self.ask("GET", path, status=200)
            self.assertEqual(first.header("Cache-Control"), "no-store")
            tag = first.header("ETag")
            self.ask("PUT", "/v1/sessions/s/heads/main", {"entry": "m1"}, status=200)
            second = self.ask("GET", path, headers={"If-None-Match": tag} if tag else {}, status=200)
            self.assertNotEqual(first.body, second.body)
            self.ask("PUT", "/v1/sessions/s/heads/main", {"entry": "lab"}, status=200)

    def test_case_28_a_snapshot_of_another_head_is_not_taken_for_this_one(self):
        self.ask("PUT", "/v1/sessions/g/heads/main", {"entry": self.log("g", "--reverse")[0]["id"]}, status=200)
        self.problem("NOT_FOUND", "GET", "/v1/sessions/g/snapshots/1")

    def test_case_26_the_seeds_routes_equal_those_under_v1_byte_for_byte(self):
        for session in ("s", "g"):
            for query in ("", "?head=main", "?full=true", "?full=false", "?profile=weir-1"):
                v1 = self.ask("GET", f"/v1/sessions/{session}/ctrees{query}", status=200)
                alias = self.ask("GET", f"/sessions/{session}/ctrees{query}", status=200)
                self.assertEqual(alias.body, v1.body)
                self.assertEqual(alias.header("Content-Type"), v1.header("Content-Type"))
            for query in ("", "?stage=RAW", "?stage=FROZEN&include_previews=true", "?show=all"):
                self.assertEqual(self.ask("GET", f"/sessions/{session}/ctrees/tree{query}", status=200).body, self.ask("GET", f"/v1/sessions/{session}/ctrees/tree{query}", status=200).body)
            self.assertEqual(self.ask("GET", f"/sessions/{session}/ctrees/events?limit=3", status=200).body, self.ask("GET", f"/v1/sessions/{session}/ctrees/events?limit=3", status=200).body)
            self.assertEqual(self.ask("GET", f"/sessions/{session}/readcache-status", status=200).body, self.ask("GET", f"/v1/sessions/{session}/reads", status=200).body)

    def test_case_26_ctrees_has_the_stages_and_hashes(self):
        for session in ("s", "g"):
            value = self.get(f"/sessions/{session}/ctrees")
            self.assertLessEqual({"RAW", "SPEC", "HEADER", "FROZEN"}, set(value["compiler"]["stages"]))
            self.assertLessEqual({"z1", "z2", "z3"}, set(value["compiler"]["hashes"]))
            self.assertEqual(value["hash_summary"]["compiler"]["z1"], value["compiler"]["hashes"]["z1"])
            tree = self.get(f"/sessions/{session}/ctrees/tree")
            self.assertLessEqual({"selection", "hashes", "nodes", "stage", "root_id"}, set(tree))
            self.assertEqual((tree["stage"], tree["root_id"], tree["source"]), ("FROZEN", "ctrees:root", "log"))

    def test_case_26_an_empty_session_has_the_same_shape(self):
        full = self.get("/v1/sessions/s/ctrees")
        self.post("/v1/sessions", {"id": "empty"}, 201)
        value = self.get("/v1/sessions/empty/ctrees")
        self.assertEqual(set(value), set(full))
        self.assertIsNone(value["last_node"])
        self.assertEqual(value["snapshot"]["node_count"], 0)
        self.assertIsNotNone(full["last_node"])

    def test_case_26_equal_answers_are_equal_bytes_in_two_processes(self):
        paths = ["/v1/sessions/s/ctrees", "/v1/sessions/g/ctrees/tree?show=all", "/v1/sessions/g/snapshots/1", "/v1/sessions/s/entries", "/v1/sessions/s/tree", "/v1/sessions/g/explain"]
        first = [self.ask("GET", path, status=200).body for path in paths]
        self.restart()
        self.assertEqual([self.ask("GET", path, status=200).body for path in paths], first)

    def test_case_27_the_window_is_smaller_after_a_compaction_and_root_before_it(self):
        path = self.world.file("a.txt", "one\ntwo\n")
        self.follow("s")
        for _ in range(3):
            self.post("/v1/sessions/s/read", {"path": path})
        before = self.get("/sessions/s/readcache-status")
        place = self.get("/v1/sessions/s")["head"]
        self.assertEqual((before["boundary"], before["reads"]["full"], before["reads"]["unchanged"]), ("root", 1, 2))
        done = self.post("/v1/sessions/s/compact", {}, 201)
        after = self.get("/sessions/s/readcache-status")
        self.assertLess(after["entries"], before["entries"])
        self.assertEqual((after["boundary"], after["reads"]["unchanged"]), ("compaction:" + done["entry"], 0))
        self.ask("PUT", "/v1/sessions/s/heads/main", {"entry": place}, status=200)
        again = self.get("/sessions/s/readcache-status")
        self.assertEqual((again["boundary"], again["reads"]), ("root", before["reads"]))
        self.assertEqual(self.get(f"/sessions/s/readcache-status?at={place}")["boundary"], "root")

    def test_case_27_readcache_refresh_is_refresh(self):
        path = self.world.file("a.txt", "one\ntwo\n")
        self.follow("s")
        self.post("/v1/sessions/s/read", {"path": path})
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": path})["record"]["mode"], "unchanged")
        gone = self.post("/sessions/s/readcache-refresh", {"path": path}, (200, 201))
        self.assertEqual((gone["path"], gone["scope"]), (path, "full"))
        self.assertEqual(self.post("/v1/sessions/s/read", {"path": path})["record"]["mode"], "full")

    def test_case_06_post_tree_moves_main_and_adds_no_entry(self):
        before = self.get("/v1/sessions/s")["entries"]
        moved = self.post("/sessions/s/tree", {"entry": "m1"})
        self.assertEqual(moved, {"entry": "m1", "name": "main"})
        self.assertEqual(moved, self.ask("PUT", "/v1/sessions/s/heads/main", {"entry": "m1"}, status=200).json)
        self.assertEqual([one["id"] for one in self.log("s", "--reverse")], ["m0", "m1"])
        self.assertEqual({one["id"] for one in self.page_through("/v1/sessions/s/entries")}, {"m0", "m1"})
        self.assertEqual(self.get("/v1/sessions/s")["entries"], before)
        self.weir("tree", "--goto", "lab", "--session", "s")
        self.assertEqual({one["id"] for one in self.page_through("/v1/sessions/s/entries")}, {"m0", "m1", "m2", "m3", "lab"})
        self.problem("NOT_FOUND", "POST", "/sessions/s/tree", {"entry": "nothing"})
        self.problem("INVALID_FIELD", "POST", "/sessions/s/tree", {})


class PagingTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def put_many(self, first, last, session="p"):
        client = self.server.client()
        for start in range(first, last, 500):
            answer = client.ask("POST", f"/v1/sessions/{session}/entries", {"entries": [entry(f"n{i}", id=f"n{i}") for i in range(start, min(last, start + 500))]})
            self.assertEqual(answer.status, 201, answer)
        client.close()

    def test_case_28_paging_10000_entries_while_1000_are_appended(self):
        self.put_many(0, 10000)
        wanted = {f"n{i}" for i in range(10000)}
        stop = threading.Event()

        def append():
            client = self.server.client()
            for i in range(10000, 11000):
                if client.ask("POST", "/v1/sessions/p/entries", {"entries": [entry(f"n{i}", id=f"n{i}")]}).status != 201:
                    break
                if stop.is_set() and i > 10200:
                    break
            client.close()

        for scope in ("path", "all"):
            path = f"/v1/sessions/p/entries?scope={scope}"
            first = self.get(path + "&limit=500")
            items = first["items"]
            writer = threading.Thread(target=append) if scope == "path" else None
            if writer:
                writer.start()
            at, cursor = 1, first["next"]
            while cursor:
                value = self.get(f"{path}&limit=500&cursor={part(cursor)}")
                items += value["items"]
                cursor, at = value.get("next"), at + 1
                if scope == "all" and at == 3:  # a few more behind its back
                    self.put_entries("p", [entry("late", id=f"late{i}") for i in range(50)])
            if writer:
                stop.set()
                writer.join(120)
                first_seen = [one["id"] for one in items]
                self.assertEqual(len(first_seen), len(set(first_seen)))
                self.assertEqual({one for one in first_seen if one in wanted}, wanted)
                self.assertEqual(set(first_seen), wanted, "what was appended later is not of this list")
            else:
                names = [one["id"] for one in items]
                self.assertEqual(len(names), len(set(names)))
                self.assertLessEqual(wanted, set(names))
                self.assertFalse(any(name.startswith("late") for name in names))
            seqs = [one["seq"] for one in items]
            self.assertIn(seqs, (sorted(seqs), sorted(seqs, reverse=True)))

    def test_a_page_of_long_entries_ends_before_its_limit_and_the_next_goes_on(self):
        for i in range(40):
            self.put_entries("s", [entry("", body={"role": "user", "content": [{"type": "text", "text": f"{i} " + "x" * 60000}] * 10}, id=f"n{i}")])
        pages, path, seen = [], "/v1/sessions/s/entries?limit=500", []
        answer = self.ask("GET", path, status=200)
        while True:
            pages.append(len(answer.body))
            seen += [one["id"] for one in answer.json["items"]]
            if "next" not in answer.json:
                break
            answer = self.ask("GET", path + "&cursor=" + part(answer.json["next"]), status=200)
        self.assertEqual(seen, [f"n{i}" for i in range(40)])
        self.assertGreater(len(pages), 2)
        self.assertLess(max(pages), 10 << 20)
        events, offset = [], 0
        while True:
            page = self.get(f"/v1/sessions/s/ctrees/events?limit=1000&offset={offset}")
            events += page["events"]
            offset += len(page["events"])
            self.assertEqual(page["truncated"], page["has_more"])
            if not page["has_more"]:
                break
        self.assertEqual(len(events), 40)

    def test_a_cursor_outlives_a_head_that_moves(self):
        self.put_many(0, 20)
        first = self.get("/v1/sessions/p/entries?limit=5")
        self.ask("PUT", "/v1/sessions/p/heads/main", {"entry": "n3"}, status=200)
        items, cursor = first["items"], first["next"]
        while cursor:
            value = self.get(f"/v1/sessions/p/entries?limit=5&cursor={part(cursor)}")
            items += value["items"]
            cursor = value.get("next")
        self.assertEqual({one["id"] for one in items}, {f"n{i}" for i in range(20)})

    def test_a_foreign_or_broken_cursor_is_invalid_field(self):
        self.put_many(0, 20)
        self.put_many(0, 20, "other")
        good = self.get("/v1/sessions/p/entries?limit=5")["next"]
        sessions = [self.post("/v1/sessions", {}, 201)["id"] for _ in range(3)]
        self.assertEqual(len(sessions), 3)
        foreign = self.get("/v1/sessions?limit=1")["next"]
        changed = good[:-1] + ("A" if good[-1] != "A" else "B")
        for cursor in ("x", "", good + "x", good[:-2], changed, foreign, "0", "-1", "é", "../..", "A" * 4000):
            with self.subTest(cursor=cursor[:40]):
                error = self.problem("INVALID_FIELD", "GET", f"/v1/sessions/p/entries?limit=5&cursor={part(cursor)}")
                self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/cursor"])
        self.problem("INVALID_FIELD", "GET", f"/v1/sessions/other/entries?limit=5&cursor={part(good)}")
        self.problem("INVALID_FIELD", "GET", f"/v1/sessions?cursor={part(good)}")


if __name__ == "__main__":
    server.main()
