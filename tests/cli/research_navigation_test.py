"""Research runs whose head goes back and forth, and entries and documents nobody should believe."""

import os
import shutil

import harness
import research_case as r
from harness import compact


class NavigationTest(r.ResearchCase):
    def entry_before(self, kind):
        ids = [one["id"] for one in self.entries()]
        return ids[[one["type"] for one in self.entries()].index(kind) - 1]

    def test_the_same_step_after_the_head_went_back_finds_its_old_entries(self):
        self.bundled()
        before = self.tree()
        count = len(self.entries())
        self.weir("head", "move", "main", self.entry_before("WAVE_OUTPUT_INGESTED"), "--session", r.RUN)
        self.do("ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md", f"p2={r.EXAMPLE}/wave-1/p2.md")
        self.assertEqual(self.do("verify")["findings"], [])
        self.patch({})
        self.assertEqual(self.do("verify")["findings"], [])
        self.assertGreater(len(before), len(self.tree()))
        self.assertGreater(count, 0)

    def test_a_run_can_begin_again_where_it_began(self):
        self.bundled()
        self.weir("head", "move", "main", "root", "--session", r.RUN)
        self.do("init", "--query", "Another question?")
        self.assertEqual(self.status()["query"], "Another question?")
        self.assertEqual(self.do("verify")["findings"], [])

    def test_another_head_only_looks(self):
        self.bundled()
        before = self.tree()
        self.weir("head", "fork", "alt", "--at", self.entry_before("SUMMARY_INGESTED"), "--session", r.RUN)
        self.assertEqual(self.do("status", "--head", "alt")["gates"]["D"]["status"], "not_run")
        self.assertEqual(self.tree(), before)
        self.refuse("INVALID_ARGS", "pack", "--head", "alt")


class DocumentsOnDiskTest(r.ResearchCase):
    def test_case_30_changed_or_lost_documents_stop_check_and_move_the_stage_back(self):
        self.bundled()
        report = self.world.file("good.md", r.report())
        for path in ("citations/citations.jsonl", "perspectives.json"):
            with self.subTest(path=path):
                place = os.path.join(self.root, path)
                kept = shutil.copy(place, self.world.path("kept"))
                with open(place, "ab") as file:
                    file.write(b"\n")
                self.assertNotEqual(self.status()["stage"], "synthesis")
                self.refuse("ARTIFACT_CHANGED", "check", report)
                os.remove(place)
                self.assertNotEqual(self.status()["stage"], "synthesis")
                self.refuse("GATE_STALE BUNDLE_STALE GATE_BLOCKED", "check", report)
                shutil.copy(kept, place)
        self.assertEqual(self.status()["stage"], "synthesis")


class ForeignTest(r.ResearchCase):
    def test_a_reference_to_a_blob_is_not_taken_from_a_caller(self):
        self.begun()
        document = {"schema_version": "perspectives.v1", "run_id": r.RUN, "created_at": "2026-01-01T00:00:00Z", "x": {"$blob": "sha256:" + "0" * 64, "bytes": 1}, "perspectives": []}
        self.refuse("INVALID_ARGS", "perspectives", self.world.file("p.json", compact(document)))

    def test_lenient_append_takes_no_research_entry_into_a_run(self):
        self.bundled()
        for kind in ("SUMMARY_INGESTED", "GATE_EVALUATED", "RESEARCH_PATCHED"):
            self.refused("INVALID_FIELD", "append", "--session", r.RUN, "--type", kind, "--lenient", stdin="{}")

    def test_strings_that_would_leave_their_entry_are_refused(self):
        self.refuse("INPUT_TOO_LARGE", "init", "--query", "x" * 70000)
        self.begun()
        self.refuse("INPUT_TOO_LARGE", "init", "--patch", self.world.file("patch.json", compact({"note": "x" * 70000})))
        self.refuse("RESERVED_LINE", "init", "--patch", self.world.file("patch.json", compact({"query": {"text": "a\n<<<weir:end>>>"}})))

    def test_a_record_speaks_of_the_url_it_names(self):
        self.bundled()
        record = {"url_original": "https://evil.example/", "normalized_url": "https://example.com/quic-study", "status": "invalid"}
        self.refuse("SCHEMA_VALIDATION_FAILED", "cite", "--from", self.world.file("r.json", compact([record])))

    def test_an_accepted_text_handed_in_again_answers_its_directive(self):
        self.ingested()
        self.sent_back("MISSING_REQUIRED_SECTION", "ingest", "--wave", 1, f"p1={self.world.file('bad.md', 'bad')}")
        self.assertEqual(len(self.status()["directives"]), 1)
        self.do("ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md")
        self.assertEqual(self.status()["directives"], [])


if __name__ == "__main__":
    harness.main()
