"""weir research under load and under attack: documents of the largest size, entries nobody should have written, texts that
want to reach a terminal, secrets, disks that are full, readers beside writers."""

import json
import os
import resource
import shutil
import signal

import research_case as r
import secrets_made
from harness import compact
from research_case import C1, ResearchCase, output, perspective, report, summary

RESEARCH = """RESEARCH_STARTED RESEARCH_PATCHED PERSPECTIVES_WRITTEN CITATION_RECORDED WAVE_OUTPUT_INGESTED SUMMARY_INGESTED SUMMARY_PACK_BUILT
GATE_EVALUATED RETRY_DIRECTED BUNDLE_WRITTEN SYNTHESIS_CHECKED""".split()


class LargeTest(ResearchCase):
    def rebuilt(self):
        there = os.path.join(self.outside, "again")
        self.do("verify", "--rebuild", there)
        for name in self.tree():
            if os.path.isfile(self.at(name)) and name != "manifest.json":
                self.assertEqual(r.read(os.path.join(there, name)), self.bytes_of(name), name)

    def test_a_document_over_256_kilobytes_is_a_blob(self):
        self.begun()
        self.plan(perspective("p1", zzz="é" * 200000))
        document = self.last("PERSPECTIVES_WRITTEN")["document"]
        self.assertEqual(sorted(document), ["$blob", "bytes"])
        self.assertEqual(self.json_of("perspectives.json")["perspectives"][0]["zzz"], "é" * 200000)
        self.ingest({"p1": output()})
        self.rebuilt()
        self.verified()

    def test_records_that_are_large_go_on_in_a_further_entry(self):
        self.planned()
        before = self.revision()
        self.cite([{"url": f"https://e.example/{n}", "status": "valid", "evidence_snippet": "x" * 2000} for n in range(400)])
        bodies = self.bodies("CITATION_RECORDED")
        self.assertEqual(sum(len(body["records"]) for body in bodies), 400)
        for body in bodies:
            self.assertLessEqual(len(r.canonical(body["records"]).encode()), 262144)
        self.assertEqual(self.revision(), before + 1)
        self.rebuilt()
        self.verified()

    def test_a_pack_over_256_kilobytes(self):
        self.cited()
        self.patch({"limits": {"max_summary_kb": 1000, "max_total_summary_kb": 4000, "max_pack_json_kb": 4000, "max_synthesis_input_kb": 8000}})
        text = "## Findings\n" + "".join(f"- Fact number {chr(97 + n % 26)}{chr(97 + n // 26 % 26)} of many [@{C1}].\n" for n in range(5000))
        self.summarize({"p1": text, "p2": summary()})
        self.do("pack")
        self.assertGreater(len(self.bytes_of("summaries/summary-pack.json")), 262144)
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.rebuilt()
        self.verified()

    def test_blobs_of_a_run_are_not_swept_away(self):
        self.begun()
        self.plan(perspective("p1", zzz="é" * 200000))
        self.ingest({"p1": output() + "x" * 100000})
        self.ingest({"p1": output() + "y" * 100000})
        before = self.world.object_names()
        self.weir("gc")
        self.assertEqual(self.world.object_names(), before)
        self.rebuilt()
        self.verified()

    def test_a_report_with_twenty_thousand_findings(self):
        self.bundled()
        answer = self.check("- costs 7\n" * 20000, code=8)
        self.assertEqual(answer["metrics"]["uncited_numeric_claims"], 20000)
        self.assertEqual(self.check(report())["status"], "pass")
        self.verified()

    def test_a_hundred_perspectives(self):
        self.run_id = "dr_hundred"
        self.init("--limit", "max_wave1_agents=100", "--limit", "max_total_summary_kb=500")
        ids = [f"p{n}" for n in range(100)]
        self.plan(*ids)
        self.ingest({id: output(f"https://e.example/{id}") for id in ids})
        self.do("cite", "--extract")
        self.cite([{"url": f"https://e.example/{id}", "status": "valid"} for id in ids])
        self.summarize({id: summary(f"A fact [@{r.cid(f'https://e.example/{id}')}].") for id in ids})
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.assertEqual(len(self.do("bundle")["parts"]), 103)
        self.verified()

    def test_a_summary_of_long_lines_and_deep_marks_ends_soon(self):
        self.cited()
        self.patch({"limits": {"max_summary_kb": 1000}})
        for text in ("[@" * 200000, "(confidence: " * 50000, "- " * 200000, "|" * 300000, "`" * 300001, "#" * 300000, "1" * 300000, "1." * 200000, "1,000" * 100000, f"a [@{C1}] " * 5000, ". " * 200000):
            with self.subTest(text=text[:10]):
                ran = self.world.run("--json", "research", "summarize", "--dry-run", *self.named({"p1": text + "\n"}, "summaries"), "--run", r.RUN, timeout=30)
                self.assertIn(ran.code, (0, 6), ran)
        for text in ("- https://" + "a." * 200000, "- https://x.example/?" + "a=b&" * 100000, "- https://x.example/" + "../" * 100000, "- https://x.example/" + "(" * 200000):
            with self.subTest(text=text[:25]):
                ran = self.world.run("--json", "research", "ingest", "--wave", "1", "--dry-run", *self.named({"p1": output(sources=text)}, "o"), "--run", r.RUN, timeout=30)
                self.assertIn(ran.code, (0, 6), ran)


class ForeignEntryTest(ResearchCase):
    """Entries that did not come from `weir research`: appended by hand, or in a session file from elsewhere."""

    def appended(self, kind, body):
        return self.world.run("--json", "append", "--session", r.RUN, "--type", kind, stdin=compact(body))

    def exported(self):
        """The run as a session file, line by line."""
        return [json.loads(line) for line in self.weir("export", "--format", "pi", "--session", r.RUN).lines]

    def imported(self, lines):
        """Takes the session file into another store, which the test goes on with; its directory is empty."""
        for number, line in enumerate(lines):
            line["id"] = line["id"] if number == 0 else f"x{number}"
            if number:
                line["parentId"] = f"x{number - 1}" if number > 1 else None
        there = self.world.path(f"data{len(self.world.runs)}")
        os.mkdir(there)
        self.world.env["XDG_DATA_HOME"], self.world.store = there, os.path.join(there, "weir")
        shutil.rmtree(self.root, ignore_errors=True)
        return self.world.run("--json", "import", "pi", self.world.file("session.jsonl", "".join(compact(line) + "\n" for line in lines)))

    def custom(self, kind, body):
        return {"type": "custom", "id": "x", "parentId": None, "timestamp": r.NOW, "customType": f"weir:{kind}", "data": body}

    def test_no_research_entry_can_be_appended_by_hand(self):
        self.packed()
        for kind in RESEARCH:
            before = self.world.dump()
            ran = self.appended(kind, json.loads(r.example("gate-d.json")))
            self.assertEqual(ran.code, 6, ran)
            self.assertEqual(self.world.dump(), before)

    def test_a_run_that_was_exported_and_imported_is_the_same_run(self):
        self.gated()
        before = self.status()
        ran = self.imported(self.exported())
        self.assertEqual(ran.code, 0, ran)
        after = self.status()
        for key in ("revision", "stage", "status", "limits"):
            self.assertEqual(after[key], before[key], key)
        self.do("verify", "--rebuild", os.path.join(self.outside, "again"))
        self.assertEqual(r.read(os.path.join(self.outside, "again", "summaries", "p1.md")), r.example("summaries/p1.md"))

    def test_entries_nobody_should_have_written_break_nothing(self):
        bodies = ({}, {"run_id": "evil", "query": 7}, {"patch": {"run_id": "evil", "limits": "none"}, "reason": None}, {"patch": 7}, {"wave": 99, "document": [], "sha256": 1}, {"wave": 1, "document": {"perspectives": [{"id": "../../evil"}]}},
                  {"records": [{"cid": "x"}, 7]}, {"records": {}}, {"records": [{"normalized_url": "https://a.example/", "cid": C1, "status": "valid"}]},
                  {"wave": 1, "perspective_id": "../../evil", "path": "../../evil.md", "text": "evil"}, {"wave": 1, "perspective_id": "p1", "path": "wave-1/../../evil.md", "text": "evil", "sha256": "sha256:0", "bytes": 4},
                  {"perspective_id": "p1", "path": "/etc/evil", "text": "evil", "claims": 7}, {"perspective_id": "p1", "path": "summaries/evil\u0000.md", "text": {"$blob": "sha256:" + "0" * 64, "bytes": 9}}, {"pack": [], "digest": 7},
                  {"pack": {"summaries": [None]}, "digest": "x", "bytes": 1}, {"gate": "D", "status": "pass"}, {"gate": "Z", "status": "pass", "inputs": {}, "metrics": []}, {"directives": [{"gate": "B"}]}, {"directives": 7},
                  {"sha256": "x", "bytes": -1, "parts": 7}, {"sha256": "x", "status": "pass", "text": "evil", "findings": [], "iteration": 1}, {"extra": 7}, {"extra": {"head": 7, "manifest": [], "stage": {}, "numbers": 3}})  # fmt: skip
        for kind in RESEARCH:
            with self.subTest(kind=kind):
                self.packed()
                self.world.env["XDG_DATA_HOME"], self.world.store = self.world.path("data"), self.world.path("data", "weir")
                self.packed()
                lines = self.exported()
                self.imported(lines + [self.custom(kind, body) for body in bodies])
                for args in (("status",), ("verify",), ("cite", "--list"), ("gate", "B"), ("gate", "D"), ("pack",), ("bundle",), ("init", "--patch", self.world.file("p.json", "{}"))):
                    ran = self.world.run("--json", "research", *args, "--run", r.RUN)
                    self.assertIn(ran.code, (0, 3, 4, 5, 6, 8, 9), ran)
                self.assertFalse([name for name in r.tree(r.ResearchCase._base) if "evil" in os.path.basename(name) and not name.startswith("runs/" + r.RUN)])
                self.assertEqual(r.tree(self.outside), {})

    def test_case_42_a_pass_that_was_forged_in_a_session_file_writes_no_bundle(self):
        """The pack lists a summary of one of two perspectives: Gate D fails, and the file says it passed."""
        self.cited()
        self.summarize({"p1": summary()})
        self.do("pack", "--allow-missing")
        self.gate("B")
        self.gate("C")
        self.gate("D", code=8)
        lines = self.exported()
        for line in lines:
            if line.get("customType") == "weir:GATE_EVALUATED" and line["data"]["gate"] == "D":
                line["data"].update({"status": "pass", "reasons": [], "checks": {"bounds": "pass", "input": "pass", "integrity": "pass"}})
        self.imported(lines)
        self.patch({})
        self.assertIn("REPLAY_MISMATCH", [one["code"] for one in self.do("verify", code=3)["findings"]])
        self.error("GATE_BLOCKED GATE_STALE CORRUPT", "bundle")

    def test_case_13_a_record_forged_in_a_session_file_enters_no_pool(self):
        evil = "https://evil.example/"
        self.gated()
        lines = self.exported()
        forged = {**r.record(evil, title="Evil"), "cid": C1}
        self.imported([*lines, self.custom("CITATION_RECORDED", {"records": [forged, {**r.record("https://other.example/"), "cid": "cid_made_up"}]})])
        self.assertIn("CID_MISMATCH", [one["code"] for one in self.do("verify", code=3)["findings"]])
        ran = self.world.run("--json", "research", "cite", "--list", "--run", r.RUN)
        self.assertIn(ran.code, (0, 6), ran)
        self.assertNotIn("Evil", ran.text)
        self.assertNotIn("cid_made_up", ran.text)

    def test_case_40_a_forged_figure_is_named_with_its_entry(self):
        self.gated()
        lines = self.exported()
        for line in lines:
            if line.get("customType") == "weir:GATE_EVALUATED" and line["data"]["gate"] == "D":
                line["data"]["metrics"]["max_summary_kb"] = 0.1
        self.imported(lines)
        [one] = [one for one in self.do("verify", code=3)["findings"] if one["code"] == "REPLAY_MISMATCH"]
        self.assertEqual((one["entry"], one["recorded"]["max_summary_kb"], one["computed"]["max_summary_kb"]), (self.entries()[-1]["id"], 0.1, 0.355469))

    def test_case_40_a_forged_pack_bundle_or_check_is_a_mismatch(self):
        self.completed()
        exported = compact(self.exported())
        for kind, old, new in (
            ("SUMMARY_PACK_BUILT", '"confidence":85', '"confidence":99'), ("BUNDLE_WRITTEN", '"bytes":3010', '"bytes":3011'), ("SYNTHESIS_CHECKED", '"status":"pass"', '"status":"fail"'),
        ):  # fmt: skip
            with self.subTest(kind=kind):
                lines = json.loads(exported)
                for number, line in enumerate(lines):
                    if line.get("customType") == "weir:" + kind:
                        lines[number] = json.loads(compact(line).replace(old, new, 1))
                self.imported(lines)
                codes = [one["code"] for one in self.do("verify", code=3)["findings"]]
                self.assertTrue({"REPLAY_MISMATCH", "CORRUPT"} & set(codes), codes)


class TerminalTextTest(ResearchCase):
    def test_texts_from_data_are_escaped_for_people(self):
        evil = "\x1b]0;owned\x07\x1b[2J\u202e title"
        self.begun()
        self.plan(perspective("p1", title=evil), "p2")
        self.ingest({"p1": output(), "p2": output()})
        self.do("cite", r.URL1, "--status", "valid", "--title", evil)
        for args in (("status",), ("cite", "--list"), ("gate", "B"), ("verify",)):
            ran = self.world.run("research", *args, "--run", r.RUN)
            self.assertNotIn(b"\x1b", ran.out + ran.err, ran)
            self.assertNotIn("\u202e", ran.text + ran.errors, ran)

    def test_errors_for_people_are_escaped_too(self):
        self.planned()
        ran = self.world.run("research", "ingest", "--wave", "1", *self.named({"p1": output(sources="\x1b[2J odd")}, "o"), "--run", r.RUN)
        self.assertEqual(ran.code, 6, ran)
        self.assertNotIn(b"\x1b", ran.out + ran.err)


class SecretTest(ResearchCase):
    def everywhere(self):
        return "\n".join(self.world.dump()) + "".join(r.read(self.at(name)).decode("utf-8", "replace") for name in self.tree() if os.path.isfile(self.at(name)))

    def test_secrets_of_every_family_are_nowhere(self):
        found = secrets_made.bare(8)
        self.begun()
        self.plan(perspective("p1", note=f"key {found[0][2]}"), "p2")
        self.ingest({"p1": output(findings=f"- key {found[1][2]}"), "p2": output()})
        self.do("cite", r.URL1, "--status", "valid", "--title", f"key {found[2][2]}", "--snippet", f"key {found[3][2]}")
        self.summarize({"p1": summary(f"A key {found[4][2]} [@{C1}]."), "p2": summary()}, "--numbers", "warn")
        self.patch({"note": f"key {found[5][2]}"}, "--reason", f"key {found[6][2]}")
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.check(f"## Summary\nIt is {found[7][2]} [@{C1}].\n## Key Findings\n## Evidence\n## Caveats\n")
        seen = self.everywhere()
        places = ("a perspective", "an output", "a title", "a snippet", "a summary", "a patch", "a reason", "a report")
        self.assertEqual([place for place, (_, _, secret) in zip(places, found) if secret in seen], [])
        self.verified()

    def test_a_secret_in_the_query(self):
        [(_, _, secret)] = secrets_made.bare(1)
        self.init(query=f"What opens with {secret}?")
        self.assertNotIn(secret, self.everywhere())
        self.assertIs(self.init(query=f"What opens with {secret}?")["created"], False)

    def test_what_was_refused_is_not_kept(self):
        self.planned()
        self.sent_back("MISSING_REQUIRED_SECTION", "ingest", "--wave", 1, *self.named({"p1": "a text of its own kind\n"}, "o"))
        self.assertNotIn("a text of its own kind", self.everywhere())


class RefusingDiskTest(ResearchCase):
    def limited(self, size):
        def before():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return before

    def test_a_full_disk_leaves_the_state_before(self):
        self.planned()
        path = self.world.file("o.md", output() + "x" * 300000)
        files = lambda: {name: what for name, what in self.tree().items() if os.path.isfile(self.at(name))}  # noqa: E731
        before, kinds = files(), self.kinds()
        ran = self.world.run("--json", "research", "ingest", "--wave", "1", f"p1={path}", "--run", r.RUN, before=self.limited(100000))
        self.assertEqual(ran.code, 12, ran)
        self.assertIn(json.loads(ran.errors)["error"]["code"], ("WRITE_FAILED", "STORAGE"))
        self.assertEqual((files(), self.kinds()), (before, kinds))
        self.do("ingest", "--wave", 1, f"p1={path}")
        self.verified()


class ReadersTest(ResearchCase):
    def test_readers_beside_writers_always_get_an_answer(self):
        self.packed()
        running = []
        for n in range(8):
            running.append(self.world.start("--json", "research", "init", "--patch", self.world.file(f"p{n}.json", compact({f"n{n}": n})), "--run", r.RUN))
            running.append(self.world.start("--json", "research", "status", "--run", r.RUN))
        ran = [self.world.finish(one) for one in running]
        self.assertEqual([one.code for one in ran], [0] * len(ran), [str(one) for one in ran if one.code])

    def test_verify_beside_writers_raises_no_false_alarm(self):
        self.packed()
        running = []
        for n in range(8):
            running.append(self.world.start("--json", "research", "gate", "B", "--run", r.RUN))
            running.append(self.world.start("--json", "research", "verify", "--run", r.RUN))
        ran = [self.world.finish(one) for one in running]
        self.assertEqual([one.code for one in ran], [0] * len(ran), [str(one) for one in ran if one.code])


class PlaceTest(ResearchCase):
    def test_a_runs_root_that_is_a_link_is_the_users_own(self):
        real = os.path.join(self.outside, "real")
        os.mkdir(real)
        os.symlink(real, os.path.join(self.runs, "link"))
        self.world.env["WEIR_RUNS_ROOT"] = os.path.join(self.runs, "link")
        self.init()
        self.do("perspectives", os.path.join(r.EXAMPLE, "perspectives.json"))
        self.ingest({"p1": output()})
        self.assertTrue(os.path.isfile(os.path.join(real, r.RUN, "wave-1", "p1.md")))

    def test_a_relative_root_is_made_absolute(self):
        self.world.env["WEIR_RUNS_ROOT"] = "relative"
        self.assertEqual(self.init()["root"], os.path.join(self.world.cwd, "relative", r.RUN))

    def test_inputs_that_are_no_files(self):
        self.planned()
        self.refuse("NOT_FOUND INVALID_ARGS IS_DIRECTORY NOT_REGULAR STORAGE", "perspectives", self.world.cwd)
        self.refuse("NOT_FOUND INVALID_ARGS IS_DIRECTORY NOT_REGULAR STORAGE", "ingest", "--wave", 1, f"p1={self.world.cwd}")
        self.refuse("NOT_FOUND INVALID_ARGS IS_DIRECTORY NOT_REGULAR STORAGE", "check", self.world.cwd)

    def test_two_runs_in_one_store_do_not_meet(self):
        self.packed()
        before = self.tree()
        self.run_id = "dr_second"
        self.init(query="Another?")
        self.plan("p1")
        self.ingest({"p1": output("https://other.example/")})
        self.run_id = r.RUN
        self.assertEqual(self.tree(), before)
        self.verified()

    def test_a_run_whose_directory_is_gone_comes_back(self):
        self.packed()
        before, revision = self.tree(), self.revision()
        shutil.rmtree(self.root)
        status = self.status()
        self.assertEqual((status["revision"], [one["id"] for one in status["perspectives"]]), (revision, ["p1", "p2"]))
        self.patch({})
        for name in before:
            if name not in ("manifest.json", "gates.json") and os.path.splitext(name)[1]:
                self.assertEqual(self.tree().get(name), before[name], name)

    def test_a_blank_reason_is_refused_by_every_command(self):
        self.packed()
        for args in (("pack",), ("gate", "B"), ("cite", "--extract"), ("perspectives", os.path.join(r.EXAMPLE, "perspectives.json")), ("summarize", f"p1={r.EXAMPLE}/summaries/p1.md"), ("ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md")):
            with self.subTest(args=args[0]):
                self.refuse("INVALID_ARGS", *args, "--reason", "  ")

    def test_times_in_the_files_are_those_of_the_log(self):
        self.gated()
        last = self.entries()[-1]["at"]
        self.assertEqual(self.json_of("manifest.json")["updated_at"], last)
        self.assertEqual(self.json_of("gates.json")["updated_at"], last)
        self.assertEqual(self.json_of("manifest.json")["created_at"], self.entries()[0]["at"])

    def test_a_perspective_that_was_dropped_is_no_longer_expected(self):
        self.packed()
        self.plan("p1")
        self.assertEqual(self.do("pack")["summary_count"], 1)
        self.assertEqual(self.gate("D")["metrics"]["expected_count"], 1)
        self.gate("B")
        self.verified()


if __name__ == "__main__":
    r.main()
