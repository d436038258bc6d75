"""weir research gate: what Gate D holds a pack to, when a gate is no longer fresh, and what no caller can do to one."""

import json
import os

import research_case as r
from harness import compact, entry, jsonl
from research_case import C1, C3, ResearchCase, output, perspective, summary

BIG = "x" * 1000


class GateCase(ResearchCase):
    def pack(self):
        return self.json_of("summaries/summary-pack.json")

    def judged(self, pack, code=8):
        """Gate D over a pack put there by hand."""
        self.put("summaries/summary-pack.json", pack)
        return self.do("gate", "D", code=code)

    def stale(self, gate, *changed):
        """bundle refuses because this gate is stale, and names what changed."""
        error = self.refuse("GATE_STALE", "bundle")
        self.assertEqual(error["details"]["gate"], gate)
        self.assertEqual(sorted(error["details"]["changed"]), sorted(changed))
        return error

    def many(self, count, given):
        """A run with so many perspectives, of which so many have a summary in its pack."""
        self.run_id = f"dr_{count}_{given}"
        ids = [f"p{n:02}" for n in range(1, count + 1)]
        self.init("--limit", "max_wave1_agents=20")
        self.plan(*ids)
        self.ingest({id: output() for id in ids})
        self.cite([{"url": r.URL1, "status": "valid"}])
        self.summarize({id: summary() for id in ids[:given]})
        self.do("pack", "--allow-missing")
        return ids


class GateDTest(GateCase):
    def test_section_10_gate_d_of_the_example(self):
        self.packed()
        self.gate("B")
        self.gate("C")
        answer = self.gate("D")
        wanted = json.loads(r.example("gate-d.json"))
        self.assertEqual({key: answer[key] for key in wanted}, wanted)
        self.assertEqual(answer["gates_revision"], 4)

    def test_what_is_recorded_of_an_evaluation(self):
        self.gated()
        body, wanted = self.last("GATE_EVALUATED"), json.loads(r.example("gate-d.json"))
        for key in ("gate", "status", "checks", "reasons", "metrics", "warnings", "inputs", "inputs_digest"):
            self.assertEqual(body[key], wanted[key], key)
        kept = self.json_of("gates.json")
        self.assertEqual((kept["revision"], kept["inputs_digest"]), (4, wanted["inputs_digest"]))
        gate = kept["gates"]["D"]
        self.assertEqual((gate["status"], gate["metrics"], gate["artifacts"], gate["checks"], gate["reasons"], gate["inputs_digest"]),
                         ("pass", wanted["metrics"], ["summaries/summary-pack.json", "summaries"], wanted["checks"], [], wanted["inputs_digest"]))  # fmt: skip
        self.assertEqual(gate["checked_at"], self.entries()[-1]["at"])

    def test_case_25_four_hundred_kilobytes_of_key_claims(self):
        self.packed()
        pack = self.pack()
        pack["summaries"][0]["key_claims"] = [{"claim": f"{n} {BIG}", "citation_cids": [C1], "confidence": 50} for n in range(400)]
        answer = self.judged(pack)
        self.assertEqual((answer["checks"]["bounds"], answer["checks"]["input"]), ("pass", "fail"))
        self.assertIn("PACK_TOO_LARGE", answer["reasons"])
        self.assertIn("SYNTHESIS_INPUT_TOO_LARGE", answer["reasons"])
        self.assertGreater(answer["metrics"]["pack_json_kb"], 400)
        self.assertGreater(answer["metrics"]["synthesis_input_kb"], 400)

    def test_case_25_an_unknown_member_of_the_pack(self):
        self.packed()
        self.patch({"limits": {"max_pack_json_kb": 50, "max_synthesis_input_kb": 50}})
        answer = self.judged({**self.pack(), "zzz": "y" * 50 * 1024})
        self.assertEqual(answer["checks"]["input"], "fail")
        self.assertLessEqual({"PACK_TOO_LARGE", "SYNTHESIS_INPUT_TOO_LARGE"}, set(answer["reasons"]))

    def test_case_25_the_bounds_are_inclusive_and_exact(self):
        self.packed()
        for name, size, reason in (("max_pack_json_kb", 1430, "PACK_TOO_LARGE"), ("max_synthesis_input_kb", 3010, "SYNTHESIS_INPUT_TOO_LARGE")):
            with self.subTest(name=name):
                self.packed()
                self.patch({"limits": {name: size / 1024}})
                answer = self.do("gate", "D", code=8)  # the pack is that of other limits
                self.assertEqual((answer["checks"]["input"], reason in answer["reasons"]), ("pass", False))
                self.patch({"limits": {name: (size - 0.5) / 1024}})
                answer = self.do("gate", "D", code=8)
                self.assertEqual((answer["checks"]["input"], reason in answer["reasons"]), ("fail", True))

    def test_case_27_ten_copies_of_one_do_not_raise_coverage(self):
        self.packed()
        pack = self.pack()
        pack["summaries"] = [pack["summaries"][0]] * 10
        answer = self.judged(pack)
        self.assertEqual((answer["metrics"]["summary_count"], answer["metrics"]["expected_count"], answer["metrics"]["summary_count_ratio"]), (1, 2, 0.5))
        self.assertLessEqual({"COVERAGE_BELOW_MIN", "DUPLICATE_ENTRY"}, set(answer["reasons"]))

    def test_case_27_unknown_ids_do_not_count(self):
        self.packed()
        pack = self.pack()
        pack["summaries"][0]["perspective_id"] = "zz"
        answer = self.judged(pack)
        self.assertEqual(answer["metrics"]["summary_count"], 1)
        self.assertLessEqual({"UNKNOWN_PERSPECTIVE", "COVERAGE_BELOW_MIN"}, set(answer["reasons"]))

    def test_case_27_one_file_under_two_ids(self):
        self.packed()
        pack = self.pack()
        pack["summaries"][1]["summary_md"] = "summaries/p1.md"
        answer = self.judged(pack)
        self.assertIn("DUPLICATE_ENTRY", answer["reasons"])
        self.assertLessEqual(answer["metrics"]["summary_count_ratio"], 1)

    def test_case_27_the_ratio_never_exceeds_one(self):
        self.packed()
        pack = self.pack()
        for n in range(5):
            self.put(f"summaries/x{n}.md", summary())
            pack["summaries"].append({**pack["summaries"][0], "perspective_id": f"x{n}", "summary_md": f"summaries/x{n}.md"})
        answer = self.judged(pack)
        self.assertEqual(answer["metrics"]["summary_count_ratio"], 1)

    def test_case_27_no_perspectives_are_not_found(self):
        self.begun()
        self.put("summaries/summary-pack.json", r.example("summaries/summary-pack.json"))
        self.refuse("NOT_FOUND", "gate", "D")

    def test_no_pack_is_not_found(self):
        self.summarized()
        self.refuse("NOT_FOUND", "gate", "D")

    def test_case_28_nine_of_ten_pass(self):
        self.many(10, 9)
        answer = self.gate("D")
        self.assertEqual((answer["metrics"]["summary_count"], answer["metrics"]["expected_count"], answer["metrics"]["summary_count_ratio"]), (9, 10, 0.9))

    def test_case_28_eight_of_ten_fail(self):
        self.many(10, 8)
        answer = self.gate("D", code=8)
        self.assertEqual((answer["reasons"], answer["checks"]), (["COVERAGE_BELOW_MIN"], {"bounds": "fail", "input": "pass", "integrity": "pass"}))

    def test_case_28_nine_of_ten_and_a_tenth_whose_file_is_missing(self):
        self.many(10, 9)
        pack = self.pack()
        pack["summaries"].append({**pack["summaries"][0], "perspective_id": "p10", "summary_md": "summaries/p10.md"})
        answer = self.judged(pack)
        self.assertEqual((answer["metrics"]["summary_count"], answer["checks"]["bounds"]), (9, "fail"))
        self.assertIn("SUMMARY_MISSING", answer["reasons"])
        self.assertIn("MISSING_SUMMARIES:1", answer["warnings"])

    def test_a_blank_path_is_a_missing_summary(self):
        self.packed()
        pack = self.pack()
        pack["summaries"][1]["summary_md"] = ""
        answer = self.judged(pack)
        self.assertIn("SUMMARY_MISSING", answer["reasons"])

    def test_a_summary_that_is_a_directory_cannot_be_read(self):
        self.packed()
        os.mkdir(self.at("summaries/dir.md"))
        pack = self.pack()
        pack["summaries"][1]["summary_md"] = "summaries/dir.md"
        answer = self.judged(pack)
        self.assertIn("SUMMARY_UNREADABLE", answer["reasons"])
        self.assertEqual(answer["checks"]["bounds"], "fail")

    def test_case_29_no_comparison_reads_the_tokens(self):
        self.packed()
        answer = self.judged({**self.pack(), "total_estimated_tokens": 10**9})
        self.assertEqual((answer["checks"]["bounds"], answer["checks"]["input"]), ("pass", "pass"))
        self.assertNotIn("PACK_TOO_LARGE", answer["reasons"])

    def test_case_29_limits_of_the_manifest_decide(self):
        self.gated()
        self.patch({"limits": {"max_total_summary_kb": 1, "max_pack_json_kb": 10, "max_synthesis_input_kb": 10}})
        gates = self.status()["gates"]
        self.assertEqual((gates["D"]["status"], gates["D"]["fresh"], gates["D"]["changed"]), ("pass", False, ["limits"]))
        self.patch({"limits": {"max_summary_kb": 1}})
        self.assertIs(self.status()["gates"]["D"]["fresh"], False)
        answer = self.do("gate", "D", code=8)
        self.assertIn("PACK_STALE", answer["reasons"])
        self.do("pack")
        self.gate("D")

    def test_limits_of_the_pack_that_differ_are_a_warning(self):
        self.packed()
        pack = self.pack()
        pack["limits"]["max_summary_kb"] = 9999
        self.assertIn("PACK_LIMITS_DIFFER", self.judged(pack)["warnings"])

    def test_a_pack_without_a_claim_fails(self):
        self.cited()
        self.summarize({"p1": "## Findings\nNothing.\n", "p2": "## Findings\nNothing.\n"})
        self.do("pack")
        self.assertEqual(self.gate("D", code=8)["reasons"], ["NO_KEY_CLAIMS"])

    def test_a_changed_summary_is_an_artifact_that_changed(self):
        self.packed()
        self.put("summaries/p1.md", self.text_of("summaries/p1.md") + "\n")
        answer = self.gate("D", code=8)
        self.assertIn("ARTIFACT_CHANGED", answer["reasons"])
        self.assertEqual(answer["checks"]["integrity"], "fail")

    def test_a_summary_over_its_cap_on_disk(self):
        self.packed()
        self.put("summaries/p1.md", r.padded(5121))
        answer = self.gate("D", code=8)
        self.assertEqual((answer["metrics"]["max_summary_kb"], answer["checks"]["bounds"]), (5.000977, "fail"))
        self.assertIn("SUMMARY_TOO_LARGE", answer["reasons"])

    def test_summaries_over_their_sum_on_disk(self):
        self.packed()
        self.patch({"limits": {"max_total_summary_kb": 1}})
        self.put("summaries/p1.md", r.padded(1025 - 163))
        answer = self.gate("D", code=8)
        self.assertIn("TOTAL_TOO_LARGE", answer["reasons"])

    def test_mentions_and_claims_outside_the_pool(self):
        self.packed()
        self.do("cite", r.URL3, "--status", "invalid")
        answer = self.gate("D", code=8)
        self.assertLessEqual({"CLAIM_CID_UNKNOWN", "MENTION_CID_UNKNOWN", "PACK_STALE"}, set(answer["reasons"]))

    def test_a_summary_that_turned_bad_on_disk(self):
        self.packed()
        self.put("summaries/p2.md", "see https://a.example/\n")
        self.assertIn("SUMMARY_INVALID", self.gate("D", code=8)["reasons"])

    def test_a_pack_older_than_its_summaries_is_stale(self):
        self.packed()
        self.summarize({"p1": summary()})
        answer = self.gate("D", code=8)
        self.assertIn("PACK_STALE", answer["reasons"])
        self.assertNotIn("ARTIFACT_CHANGED", answer["reasons"])
        self.do("pack")
        self.gate("D")


class FreshTest(GateCase):
    """Case 30."""

    def setUp(self):
        super().setUp()
        self.gated()

    def test_all_are_fresh_after_they_passed(self):
        status = self.status()
        self.assertEqual([(status["gates"][g]["status"], status["gates"][g]["fresh"], status["gates"][g]["changed"]) for g in "BCD"], [("pass", True, [])] * 3)
        self.assertEqual(status["stage"], "synthesis")
        self.assertEqual([status["gates"][g]["status"] for g in "AEF"], ["not_run"] * 3)

    def test_case_30_one_byte_of_a_summary(self):
        self.put("summaries/p1.md", self.text_of("summaries/p1.md") + "\n")
        self.stale("D", "entries[0]", "synthesis_input")
        self.assertEqual((self.status()["stage"], self.status()["gates"]["D"]["changed"]), ("summaries", ["entries[0]", "synthesis_input"]))

    def test_case_30_one_byte_of_the_pack(self):
        self.put("summaries/summary-pack.json", self.text_of("summaries/summary-pack.json").replace("single", "Single").replace("12% on", "13% on"))
        self.stale("D", "pack", "synthesis_input")

    def test_case_30_the_pool(self):
        self.do("cite", "https://new.example/", "--status", "valid")
        self.assertIn(self.refuse("GATE_STALE", "bundle")["details"]["gate"], ("C", "D"))
        self.assertEqual(self.status()["gates"]["D"]["changed"], ["pool"])

    def test_case_30_a_status_in_the_pool(self):
        self.do("cite", r.URL1, "--status", "paywalled", "--snippet", "Median page load time fell by 12% on mobile links.")
        error = self.refuse("GATE_STALE", "bundle")
        self.assertEqual(error["details"]["gate"], "C")

    def test_case_30_a_limit(self):
        self.patch({"limits": {"max_summary_kb": 6}})
        self.stale("D", "limits")

    def test_case_30_a_new_output(self):
        self.ingest({"p1": output("https://example.com/quic-study?utm_source=feed", "https://example.org/handshake/")})
        error = self.refuse("GATE_STALE", "bundle")
        self.assertEqual(error["details"]["gate"], "B")
        self.assertEqual(self.status()["stage"], "wave1")

    def test_case_30_back_as_it_was_is_fresh_again(self):
        text = self.text_of("summaries/p1.md")
        self.put("summaries/p1.md", text + "\n")
        self.stale("D", "entries[0]", "synthesis_input")
        self.put("summaries/p1.md", text)
        self.do("bundle")

    def test_gates_that_have_not_passed_block(self):
        self.packed()
        self.assertEqual(self.refuse("GATE_BLOCKED", "bundle")["details"]["gates"], ["B", "C", "D"])
        self.gate("C")
        self.gate("D")
        self.assertEqual(self.refuse("GATE_BLOCKED", "bundle")["details"]["gates"], ["B"])

    def test_a_gate_that_failed_last_blocks(self):
        self.do("cite", r.URL2, "--status", "invalid")
        self.gate("C", code=8)
        self.assertIn("C", self.refuse("GATE_BLOCKED GATE_STALE", "bundle")["details"].get("gates", ["C"]))

    def test_evaluating_again_is_a_new_record_of_the_same(self):
        before = self.json_of("gates.json")["revision"]
        first = self.bodies("GATE_EVALUATED")[-1]
        self.gate("D")
        self.assertEqual(self.last("GATE_EVALUATED")["inputs_digest"], first["inputs_digest"])
        self.assertEqual(self.json_of("gates.json")["revision"], before + len(self.bodies("GATE_EVALUATED")) - 3)

    def test_a_dry_gate_records_nothing(self):
        self.assertEqual(self.dry("gate", "D")["status"], "pass")


class ByHandTest(GateCase):
    """Case 42."""

    def test_case_42_a_e_and_f_are_not_evaluated(self):
        self.gated()
        for name in "AEF":
            self.refuse("INVALID_ARGS", "gate", name)
        for name in ("G", "d", "", "BB"):
            with self.subTest(name=name):
                self.refuse("UNKNOWN_GATE_ID INVALID_ARGS USAGE", "gate", name)
        self.assertEqual(self.error("UNKNOWN_GATE_ID", "gate", "G")["code"], "UNKNOWN_GATE_ID")

    def test_case_42_a_and_f_block_nothing(self):
        self.completed()
        gates = self.json_of("gates.json")["gates"]
        self.assertEqual([gates[g]["status"] for g in r.GATES], ["not_run", "pass", "pass", "pass", "pass", "not_run"])

    def test_case_42_a_patch_cannot_set_a_gate(self):
        self.packed()
        self.patch({"gates": {"D": {"status": "pass"}}, "metrics": {"D": "pass"}})
        self.assertEqual(self.status()["gates"]["D"]["status"], "not_run")
        self.refuse("GATE_BLOCKED", "bundle")

    def test_case_42_an_edited_gates_file_passes_nothing(self):
        self.packed()
        kept = self.json_of("gates.json")
        for name in "BCD":
            kept["gates"][name].update({"status": "pass", "checked_at": r.NOW})
        self.put("gates.json", kept)
        self.refuse("GATE_BLOCKED ARTIFACT_CHANGED", "bundle")
        self.refuse("ARTIFACT_CHANGED", "gate", "B")
        self.assertNotEqual(self.status()["gates"]["D"]["status"], "pass")

    def test_case_42_an_entry_appended_by_hand_passes_nothing(self):
        self.summarized()
        self.gate("B")
        self.gate("C")
        body = json.loads(r.example("gate-d.json"))
        ran = self.world.run("--json", "append", "--session", r.RUN, "--type", "GATE_EVALUATED", stdin=compact(body))
        self.assertEqual(ran.code, 6, ran)
        self.assertEqual(self.status()["gates"]["D"]["status"], "not_run")

    def test_a_patch_cannot_set_the_stage(self):
        self.begun()
        self.world.run("--json", "research", "init", "--patch", self.world.file("p.json", '{"stage":{"current":"finalize"}}'), "--run", r.RUN)
        self.assertEqual(self.status()["stage"], "init")


class WaveTwoTest(GateCase):
    """Case 24."""

    def setUp(self):
        super().setUp()
        self.ingested()
        self.plan(perspective("g1", agent_type="GapResearcher"), wave=2)
        self.ingest({"g1": output("https://wave2.example/x")}, wave=2)

    def test_case_24_its_urls_are_extracted(self):
        self.assertIn("https://wave2.example/x", self.do("cite", "--extract")["urls"])
        places = [one for one in self.json_of("citations/found-by.json")["items"] if one["perspective_id"] == "g1"]
        self.assertEqual(places, [{"url_original": "https://wave2.example/x", "wave": "wave-2", "perspective_id": "g1", "source_line": "- https://wave2.example/x", "ordinal": 1}])
        self.cite([{"url": "https://wave2.example/x", "status": "valid"}])
        [one] = [json.loads(line) for line in self.text_of("citations/citations.jsonl").splitlines()]
        self.assertEqual([(place["wave"], place["agent_type"], place["artifact_path"]) for place in one["found_by"]], [(2, "GapResearcher", "wave-2/g1.md")])

    def test_case_24_it_is_in_pack_gate_and_bundle(self):
        self.do("cite", "--extract")
        self.cite([*r.example_records(), {"url": "https://wave2.example/x", "status": "valid"}])
        self.do("summarize", *(f"{id}={r.EXAMPLE}/summaries/{id}.md" for id in ("p1", "p2")))
        self.refuse("NOT_FOUND", "pack")
        self.summarize({"g1": summary(f"A gap was filled [@{r.cid('https://wave2.example/x')}].")})
        self.assertEqual(self.do("pack")["summary_count"], 3)
        entries = self.pack()["summaries"]
        self.assertEqual([(one["perspective_id"], one["source_artifact"]) for one in entries], [("g1", "wave-2/g1.md"), ("p1", "wave-1/p1.md"), ("p2", "wave-1/p2.md")])
        self.gate("B")
        self.gate("C")
        self.assertEqual(self.gate("D")["metrics"]["expected_count"], 3)
        self.assertEqual([one["name"] for one in self.do("bundle")["parts"]], ["query", "pack", "citations", "summary:g1", "summary:p1", "summary:p2"])

    def test_case_24_a_gap_without_an_output_is_not_expected_in_the_pack(self):
        self.plan(perspective("g1", agent_type="GapResearcher"), "g2", wave=2)
        self.cite([*r.example_records(), {"url": "https://wave2.example/x", "status": "valid"}])
        self.summarize({id: summary() for id in ("p1", "p2", "g1")})
        self.do("pack")
        self.assertEqual(self.gate("D")["metrics"]["expected_count"], 3)
        self.assertEqual(self.gate("B", code=8)["reasons"], ["WAVE_RATE_BELOW_MIN"])


class HeadTest(GateCase):
    """Case 46."""

    def place(self, kind):
        return next(one["id"] for one in self.entries() if one["type"] == kind)

    def test_case_46_a_head_moved_back_sees_no_pack_and_no_gate(self):
        self.gated()
        last = self.entries()[-1]["id"]
        self.weir("head", "move", "main", self.place("SUMMARY_PACK_BUILT"), "--before", "--session", r.RUN)
        status = self.status()
        self.assertEqual((status["gates"]["D"]["status"], status["stage"]), ("not_run", "wave1"))
        self.refuse("GATE_BLOCKED", "bundle")
        self.weir("head", "move", "main", last, "--session", r.RUN)
        status = self.status()
        self.assertEqual((status["gates"]["D"]["status"], status["gates"]["D"]["fresh"], status["stage"]), ("pass", True, "synthesis"))
        self.do("bundle")
        self.verified()

    def test_case_46_the_files_follow_the_head(self):
        self.gated()
        last = self.entries()[-1]["id"]
        there = self.tree()
        self.weir("head", "move", "main", self.place("SUMMARY_PACK_BUILT"), "--before", "--session", r.RUN)
        self.gate("B")
        self.assertFalse(os.path.exists(self.at("summaries/summary-pack.json")))
        self.verified()
        self.weir("head", "move", "main", last, "--session", r.RUN)
        self.do("pack")
        self.assertEqual(self.tree(), there)

    def test_another_branch_builds_its_own_pack(self):
        self.gated()
        self.weir("head", "move", "main", self.place("SUMMARY_PACK_BUILT"), "--before", "--session", r.RUN)
        self.summarize({"p2": summary(f"One operator saw no gain [@{C3}].")})
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.verified()

    def test_case_46_a_compaction_changes_no_gate(self):
        self.bundled()
        before = self.status()
        self.answer("append", "--session", r.RUN, stdin=jsonl([entry("hi"), entry("yo", "assistant")]))
        self.answer("compact", "--session", r.RUN)
        after = self.status()
        for key in ("gates", "stage", "revision", "status", "perspectives"):
            self.assertEqual(after[key], before[key], key)
        self.assertIn("BUNDLE_BEFORE_BARRIER", self.check(r.report())["warnings"])
        self.verified()

    def test_case_46_a_bundle_made_after_it_does_not_warn(self):
        self.gated()
        self.answer("append", "--session", r.RUN, stdin=jsonl([entry("hi"), entry("yo", "assistant")]))
        self.answer("compact", "--session", r.RUN)
        self.do("bundle")
        self.assertNotIn("BUNDLE_BEFORE_BARRIER", self.check(r.report())["warnings"])

    def test_a_run_on_another_head(self):
        self.append("talk", session=r.RUN)
        self.weir("head", "fork", "side", "--session", r.RUN)
        self.init("--head", "side")
        self.assertEqual(self.kinds(), ["message"])
        self.assertEqual(self.answer("research", "status", "--run", r.RUN, "--head", "side")["revision"], 1)


class StageTest(GateCase):
    def test_the_stages_of_a_run(self):
        seen = []
        for build in (self.begun, self.planned, self.ingested, self.cited, self.summarized, self.packed, self.gated, self.bundled, self.completed):
            build()
            status = self.status()
            self.assertEqual(status["stage"], self.json_of("manifest.json")["stage"]["current"])
            seen.append((status["stage"], status["status"]))
        self.assertEqual(seen, [("init", "created"), ("wave1", "running"), ("wave1", "running"), ("wave1", "running"), ("wave1", "running"), ("wave1", "running"),
                                ("synthesis", "running"), ("synthesis", "running"), ("finalize", "completed")])  # fmt: skip
        history = self.json_of("manifest.json")["stage"]["history"]
        self.assertEqual([(one["from"], one["to"]) for one in history], [("init", "wave1"), ("wave1", "citations"), ("citations", "summaries"), ("summaries", "synthesis"), ("synthesis", "finalize")])

    def test_every_stage_says_what_is_next(self):
        for build in (self.begun, self.planned, self.ingested, self.cited, self.summarized, self.packed, self.gated, self.bundled):
            build()
            self.assertTrue(self.status()["next"])

    def test_perspectives_are_told_in_the_order_of_the_file(self):
        self.begun()
        self.plan("z", "a", "m")
        self.assertEqual([(one["id"], one["wave"], one["title"]) for one in self.status()["perspectives"]], [("z", 1, "Title z"), ("a", 1, "Title a"), ("m", 1, "Title m")])


if __name__ == "__main__":
    r.main()
