"""weir research check: a report against the bundle it was written from, and the loop that ends."""

import json
import os

import research_case as r
from research_case import C1, C2, ResearchCase, cid, report

SPARE, BLOCKED = "https://spare.example/", "https://blocked.example/"


class CheckTest(ResearchCase):
    def setUp(self):
        super().setUp()
        self.bundled()

    def test_a_good_report_passes_and_ends_the_run(self):
        answer = self.check(report())
        self.assertEqual((answer["status"], answer["findings"], answer["warnings"]), ("pass", [], []))
        self.assertEqual(answer["sha256"], "sha256:" + r.sha256(report()))
        self.assertEqual(self.text_of("synthesis/final-synthesis.md"), report())
        self.assertEqual((self.status()["status"], self.status()["stage"], self.status()["gates"]["E"]["status"]), ("completed", "finalize", "pass"))
        body = self.last("SYNTHESIS_CHECKED")
        self.assertEqual((body["status"], body["text"], body["bytes"], body["findings"]), ("pass", report(), len(report().encode()), []))
        self.verified()

    def test_the_metrics(self):
        metrics = self.check(report())["metrics"]
        self.assertEqual({key: metrics[key] for key in ("report_sections_present", "uncited_numeric_claims", "citation_utilization_rate", "duplicate_citation_rate", "numbers_not_in_input")},
                         {"report_sections_present": 100, "uncited_numeric_claims": 0, "citation_utilization_rate": 1, "duplicate_citation_rate": 0, "numbers_not_in_input": 0})  # fmt: skip

    def test_case_32_missing_sections(self):
        answer = self.check(f"## Summary\nx [@{C1}].\n```\n## Evidence\n```\n", "--dry-run", code=8)
        self.assertEqual([one["code"] for one in answer["findings"]], ["MISSING_REQUIRED_SECTION"] * 3)
        self.assertEqual(answer["metrics"]["report_sections_present"], 25)

    def test_case_32_no_citation_at_all(self):
        text = "## Summary\nx\n## Key Findings\ny\n## Evidence\nz\n## Caveats\nw\n"
        self.assertEqual(self.findings(text), ["MISSING_CITATIONS"])

    def test_case_32_a_phantom_cid(self):
        answer = self.check(report(findings=f"- Made up [@cid_{'0' * 64}]."), "--dry-run", code=8)
        [one] = answer["findings"]
        self.assertEqual((one["code"], one["line"], one["in_pool"]), ("UNKNOWN_CID", 7, False))

    def test_case_32_a_cid_of_the_pool_that_is_not_in_the_bundle(self):
        self.cited()
        self.cite({SPARE: "valid", BLOCKED: "blocked"})
        self.do("summarize", *(f"{id}={r.EXAMPLE}/summaries/{id}.md" for id in ("p1", "p2")))
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        answer = self.check(report(findings=f"- Spare [@{cid(SPARE)}] and blocked [@{cid(BLOCKED)}]."), "--dry-run", code=8)
        self.assertEqual([(one["code"], one["in_pool"]) for one in answer["findings"]], [("UNKNOWN_CID", True), ("UNKNOWN_CID", False)])

    def test_case_32_a_raw_url(self):
        for url in ("https://a.example/", "HTTP://A.example", "www.x.org", "ftp://x.example"):
            answer = self.check(report(caveats=f"See {url} for more."), "--dry-run", code=8)
            self.assertEqual([(one["code"], one["line"]) for one in answer["findings"]], [("RAW_URL_NOT_ALLOWED", 13)])

    def test_case_32_everything_at_once_is_all_listed(self):
        found = self.findings("## Summary\nIt costs 7. See https://a.example/ and [@cid_x].\n")
        self.assertEqual(sorted(found), sorted(["MISSING_REQUIRED_SECTION"] * 3 + ["UNKNOWN_CID", "RAW_URL_NOT_ALLOWED", "UNCITED_NUMBER"]))

    def test_case_33_what_is_no_uncited_number(self):
        for text in ("HTTP3 is new.", "v2 is out.", "`99` is code.", "```\n42\n```", "## 2026", "UTF-8 and HTTP/3.", "Version 1.2.3 it is.", "The 3rd one."):
            with self.subTest(text=text):
                answer = self.check(report(caveats=text), "--dry-run")
                self.assertEqual(answer["findings"], [])

    def test_case_33_what_is_one(self):
        for text in ("- costs 7\n- cited [@%s]" % C1, "1. costs 99", "It fell by 12%.", "| a | 5 |\n| - | - |", "Costs 7 [@cid_x].", "In 2026."):
            with self.subTest(text=text):
                self.assertIn("UNCITED_NUMBER", self.findings(report(caveats=text)))
        answer = self.check(report(caveats="- costs 7\n- cited [@%s]" % C1), "--dry-run", code=8)
        self.assertEqual([(one["code"], one["line"]) for one in answer["findings"]], [("UNCITED_NUMBER", 13)])

    def test_warnings_about_the_use_of_citations(self):
        answer = self.check(report(findings=f"- Once [@{C1}].", evidence=f"- Twice [@{C1}]; thrice [@{C1}]."), "--dry-run")
        self.assertEqual((answer["metrics"]["citation_utilization_rate"], answer["metrics"]["duplicate_citation_rate"]), (0.333333, 0.75))
        self.assertEqual(answer["warnings"], ["LOW_UTILIZATION", "HIGH_DUPLICATION"])

    def test_a_number_that_is_nowhere_in_the_bundle_is_a_warning(self):
        answer = self.check(report(findings=f"- It was 4711 [@{C2}]."), "--dry-run")
        self.assertEqual((answer["metrics"]["numbers_not_in_input"], answer["warnings"]), (1, ["NUMBER_NOT_IN_INPUT"]))

    def test_case_34_check_and_gate_e_never_disagree(self):
        for number, text in enumerate(("bad\n", report(findings="- costs 7"), report())):
            ran = self.world.run("--json", "research", "check", self.world.file("r.md", text), "--run", r.RUN)
            answer = json.loads(ran.text)
            self.assertEqual(ran.code, 0 if answer["status"] == "pass" else 8)
            self.assertEqual(self.json_of("gates.json")["gates"]["E"]["status"], answer["status"])
            self.assertEqual(self.status()["gates"]["E"]["status"], answer["status"])
        self.assertEqual(answer["status"], "pass")

    def test_case_34_a_failed_check_keeps_no_text(self):
        self.check("a secret plan\n", code=8)
        self.assertFalse(os.path.exists(self.at("synthesis/final-synthesis.md")))
        self.assertNotIn("text", self.last("SYNTHESIS_CHECKED"))

    def test_case_35_the_same_failing_report_twice_is_one_iteration(self):
        first = self.check("bad\n", code=8)
        self.assertEqual((first["iteration"], first["max_iterations"]), (1, 4))
        [directive] = first["retry"]["directives"]
        self.assertEqual((directive["gate"], directive["attempt"], directive["max_retries"], directive["details"]), ("E", 1, 3, {"section": "Summary"}))
        self.assertEqual([one["details"] for one in directive["failures"]], [{"section": name} for name in ("Summary", "Key Findings", "Evidence", "Caveats")] + [{}])
        self.assertEqual(self.last("RETRY_DIRECTED")["directives"], [{key: value for key, value in directive.items() if key != "consumed"}])
        self.assertTrue(directive["change_note"].startswith("Add the missing section(s): Summary"), directive["change_note"])
        count = len(self.kinds())
        again = self.check("bad\n", code=8)
        self.assertEqual((again["iteration"], len(self.kinds())), (1, count))
        self.assertEqual(self.check("worse\n", code=8)["iteration"], 2)

    def test_case_35_the_fourth_different_one_ends_the_run(self):
        for number, text in enumerate(("a\n", "b\n", "c\n"), 1):
            self.assertEqual(self.check(text, code=8)["iteration"], number)
            self.assertEqual(self.status()["status"], "running")
        error = self.error("REVIEW_CAP_EXCEEDED", "check", self.world.file("r.md", "d\n"))
        self.assertTrue(error["details"]["findings"])
        self.assertEqual(self.status()["status"], "failed")
        terminal = self.json_of("review/terminal-failure.json")
        self.assertIn("MISSING_CITATIONS", json.dumps(terminal))
        self.refuse("INVALID_STATE", "check", self.world.file("r.md", report()))
        self.verified()

    def test_case_35_raising_the_limit_goes_on(self):
        self.failed()
        self.patch({"limits": {"max_review_iterations": 6}, "status": "running"})
        self.assertEqual(self.check("e\n", code=8)["iteration"], 5)
        self.check(report())
        self.assertEqual(self.status()["status"], "completed")
        self.verified()

    def test_case_35_a_good_report_is_taken_at_the_last_try(self):
        for text in ("a\n", "b\n", "c\n"):
            self.check(text, code=8)
        self.assertEqual(self.check(report())["status"], "pass")

    def test_a_limit_of_zero_counts_as_one(self):
        self.patch({"limits": {"max_review_iterations": 0}})
        self.error("REVIEW_CAP_EXCEEDED", "check", self.world.file("r.md", "bad\n"))
        self.assertEqual(self.status()["status"], "failed")

    def test_without_a_bundle(self):
        self.gated()
        self.refuse("MISSING_ARTIFACT", "check", self.world.file("r.md", report()))

    def test_a_bundle_that_is_not_todays(self):
        self.summarize({"p1": r.summary()})
        self.refuse("BUNDLE_STALE GATE_STALE", "check", self.world.file("r.md", report()))
        self.do("pack")
        self.gate("D")
        self.assertEqual(self.refuse("BUNDLE_STALE", "check", self.world.file("r.md", report()))["code"], "BUNDLE_STALE")
        self.do("bundle")
        self.check(report(findings="- Nothing more.", evidence="- Nothing more."))

    def test_a_bundle_edited_by_hand(self):
        self.put("synthesis/input-bundle.txt", self.text_of("synthesis/input-bundle.txt") + "x")
        self.refuse("BUNDLE_STALE ARTIFACT_CHANGED", "check", self.world.file("r.md", report()))

    def test_texts_that_are_no_report(self):
        self.refuse("INVALID_UTF8", "check", self.world.file("r.md", b"\xff"))
        self.refuse("INVALID_UTF8", "check", self.world.file("r.md", b"a\x00b"))
        self.refuse("INPUT_TOO_LARGE", "check", self.world.file("r.md", "x" * ((1 << 20) + 1)))
        self.refuse("NOT_FOUND", "check", "nowhere.md")
        self.refuse("INVALID_ARGS USAGE", "check")

    def test_an_empty_report_is_found_wanting(self):
        self.assertIn("MISSING_CITATIONS", self.findings("\n"))

    def test_render_adds_a_numbered_list_of_urls_to_its_output_alone(self):
        answer = self.check(report(), "--render", "--dry-run")
        for url in (r.URL1, r.URL2, r.URL3):
            self.assertIn(url, answer["rendered"])
        self.assertTrue(answer["rendered"].startswith(report()) or "## Summary" in answer["rendered"])
        self.check(report(), "--render")
        self.assertNotIn("https://", self.text_of("synthesis/final-synthesis.md"))

    def test_render_for_people(self):
        ran = self.weir("research", "check", self.world.file("r.md", report()), "--run", r.RUN, "--render")
        at = [ran.text.index(url) for url in (r.URL1, r.URL2, r.URL3)]
        self.assertEqual(at, sorted(at))

    def test_a_dry_check_records_nothing(self):
        self.dry("check", self.world.file("r.md", report()))
        self.dry("check", self.world.file("r.md", "bad\n"), code=8)
        self.assertEqual(self.check("other\n", code=8)["iteration"], 1)

    def test_gate_e_goes_stale_with_the_bundle_but_a_completed_run_stays(self):
        self.completed()
        self.put("summaries/p1.md", self.text_of("summaries/p1.md") + "\n")
        status = self.status()
        self.assertEqual(status["status"], "completed")
        self.assertIs(status["gates"]["D"]["fresh"], False)

    def test_a_report_from_standard_input(self):
        self.assertEqual(self.do("check", "-", stdin=report())["status"], "pass")

    def test_crlf_is_no_other_report(self):
        self.assertEqual(self.check(report().replace("\n", "\r\n"))["status"], "pass")


class NoDeadEndTest(ResearchCase):
    """Case 34: no sequence of valid inputs leaves a run that can neither advance nor end."""

    def finish(self):
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.check(report(findings="- Done.", evidence="- Done.", caveats="- Done."))
        self.assertEqual(self.status()["status"], "completed")
        self.verified()

    def test_after_every_retry_is_used_up(self):
        self.planned()
        for n in range(4):
            self.error("MISSING_REQUIRED_SECTION", "ingest", "--wave", 1, *self.named({"p1": "x" * (n + 1)}, "o"))
        self.ingest({"p1": r.output(), "p2": r.output()})
        self.gate("C", code=8)
        self.cite([{"url": r.URL1, "status": "invalid"}])
        self.gate("C", code=8)
        self.gate("C", code=8)
        self.cite([{"url": r.URL1, "status": "valid"}])
        for n in range(3):
            self.error("EMPTY_SUMMARY SIZE_CAP_EXCEEDED", "summarize", *self.named({"p1": r.padded(6000 + n)}, "s"))
        self.summarize({"p1": r.summary("It fell by a lot [@%s]." % C1), "p2": r.summary()})
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        for text in ("a\n", "b\n", "c\n"):
            self.check(text, code=8)
        self.check(f"## Summary\nIt fell [@{C1}].\n## Key Findings\n## Evidence\n## Caveats\n")
        self.assertEqual(self.status()["status"], "completed")
        self.verified()

    def test_after_limits_were_lowered_below_what_is_there(self):
        self.packed()
        self.patch({"limits": {"max_summary_kb": 1, "max_total_summary_kb": 1}})
        self.do("pack")
        self.assertEqual(self.gate("D", code=8)["checks"]["input"], "fail")
        self.patch({"limits": {"max_total_summary_kb": 60}})
        self.finish()

    def test_after_a_source_turned_out_blocked(self):
        self.gated()
        self.do("cite", r.URL3, "--status", "blocked")
        self.error("UNKNOWN_CID", "pack")
        self.summarize({"p2": r.summary()})
        self.do("pack")
        self.assertEqual(self.gate("C", code=8)["status"], "fail")
        self.do("cite", r.URL3, "--status", "paywalled")
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.check(f"## Summary\nIt fell [@{C1}].\n## Key Findings\n## Evidence\n## Caveats\n")
        self.assertEqual(self.status()["status"], "completed")

    def test_next_leads_to_the_end(self):
        self.bundled()
        self.assertTrue(any("check" in one for one in self.status()["next"]))
        self.gated()
        self.assertTrue(any("bundle" in one for one in self.status()["next"]))
        self.planned()
        self.assertTrue(any("ingest" in one for one in self.status()["next"]))


if __name__ == "__main__":
    r.main()
