"""weir research ingest: outputs against their contracts, all or none, and what an agent is told to do better."""

import json
import os

import research_case as r
import secrets_made
from harness import compact
from research_case import ResearchCase, output, perspective


class IngestCase(ResearchCase):
    def setUp(self):
        super().setUp()
        self.planned()

    def bad(self, codes, texts, *args, wave=1):
        return self.refuse(codes, "ingest", "--wave", wave, *self.named(texts, "outputs"), *args)

    def back(self, codes, texts, *args, wave=1):
        return self.sent_back(codes, "ingest", "--wave", wave, *self.named(texts, "outputs"), *args)

    def under(self, **contract):
        """Another contract for p1."""
        self.plan(perspective("p1", **contract), "p2")

    def passes(self, text, **contract):
        """The answer for p1, without storing it."""
        if contract:
            self.under(**contract)
        return self.dry("ingest", "--wave", 1, *self.named({"p1": text}, "outputs"))["outputs"][0]

    def codes(self, error):
        """The codes of the failures, one for each run of equal ones."""
        found = []
        for one in error["details"]["failures"]:
            if not found or found[-1] != one["code"]:
                found.append(one["code"])
        return found


class IngestTest(IngestCase):
    def test_the_outputs_of_the_example(self):
        answer = self.do("ingest", "--wave", 1, *(f"{id}={r.EXAMPLE}/wave-1/{id}.md" for id in ("p1", "p2")))
        self.assertEqual((answer["wave"], answer["written_count"], answer["validated_count"], answer["revision"]), (1, 2, 2, 3))
        self.assertEqual([(one["perspective_id"], one["markdown_path"], one["bytes"], one["words"], one["sources"], one["replaces"], one["changed"]) for one in answer["outputs"]],
                         [("p1", "wave-1/p1.md", 253, 37, 2, None, True), ("p2", "wave-1/p2.md", 146, 23, 1, None, True)])  # fmt: skip
        for id in ("p1", "p2"):
            self.assertEqual(self.bytes_of(f"wave-1/{id}.md"), r.example(f"wave-1/{id}.md"))

    def test_an_output_is_an_entry_with_its_whole_text(self):
        self.ingested()
        one = self.bodies("WAVE_OUTPUT_INGESTED")[0]
        self.assertEqual({key: one[key] for key in ("wave", "perspective_id", "path", "text", "bytes", "words", "sources", "tool_usage", "replaces")},
                         {"wave": 1, "perspective_id": "p1", "path": "wave-1/p1.md", "text": r.example("wave-1/p1.md").decode(), "bytes": 253, "words": 37, "sources": 2, "tool_usage": None, "replaces": None})  # fmt: skip
        self.assertEqual(one["sha256"], "sha256:" + r.sha256(r.example("wave-1/p1.md")))
        self.assertEqual(one["warnings"], ["TOOL_USAGE_MISSING"])

    def test_a_report_of_tool_use_is_kept_beside_it(self):
        text = output()
        self.do("ingest", "--wave", 1, "--from", self.outputs_file({"perspective_id": "p1", "markdown": text, "tool_usage": {"search_calls": 4, "fetch_calls": "3"}, "agent_run_id": "a-1", "model": "m", "prompt_digest": "sha256:x"}))
        meta = self.json_of("wave-1/p1.meta.json")
        self.assertEqual(list(meta), ["schema_version", "prompt_digest", "agent_run_id", "ingested_at", "model", "tool_usage"])
        self.assertEqual((meta["schema_version"], meta["prompt_digest"], meta["agent_run_id"], meta["model"]), ("wave-output-meta.v1", "sha256:x", "a-1", "m"))
        self.assertEqual(float(meta["tool_usage"]["fetch_calls"]), 3)
        self.assertEqual(self.last("WAVE_OUTPUT_INGESTED")["warnings"], [])

    def test_case_38_ingesting_again_names_what_it_replaced(self):
        first = {"perspective_id": "p1", "markdown": output(), "tool_usage": {"search_calls": 4}, "agent_run_id": "a-1"}
        self.do("ingest", "--wave", 1, "--from", self.outputs_file(first))
        second = {"perspective_id": "p1", "markdown": output(findings="- Another."), "tool_usage": {"search_calls": 2}, "agent_run_id": "a-2"}
        answer = self.do("ingest", "--wave", 1, "--from", self.outputs_file(second))
        old = "sha256:" + r.sha256(output())
        self.assertEqual(answer["outputs"][0]["replaces"], old)
        body = self.last("WAVE_OUTPUT_INGESTED")
        self.assertEqual((body["replaces"], body["agent_run_id"], body["tool_usage"]), (old, "a-2", {"search_calls": 2}))
        meta = self.json_of("wave-1/p1.meta.json")
        self.assertEqual((meta["agent_run_id"], meta["tool_usage"]), ("a-2", {"search_calls": 2}))
        self.assertEqual(self.text_of("wave-1/p1.md"), output(findings="- Another."))

    def test_case_38_the_same_text_of_another_agent_run_is_recorded(self):
        first = {"perspective_id": "p1", "markdown": output(), "tool_usage": {"search_calls": 4}, "agent_run_id": "a-1"}
        self.do("ingest", "--wave", 1, "--from", self.outputs_file(first))
        self.do("ingest", "--wave", 1, "--from", self.outputs_file({**first, "agent_run_id": "a-2"}))
        self.assertEqual(self.json_of("wave-1/p1.meta.json")["agent_run_id"], "a-2")
        self.assertEqual(self.json_of("wave-1/p1.meta.json")["tool_usage"], {"search_calls": 4})

    def test_case_44_the_same_again_adds_nothing(self):
        self.ingest({"p1": output()})
        answer = self.same("ingest", "--wave", 1, *self.named({"p1": output()}, "outputs"))
        self.assertIs(answer["outputs"][0]["changed"], False)

    def test_several_in_one_call_are_one_revision(self):
        before = self.revision()
        self.ingest({"p1": output(), "p2": output()})
        self.assertEqual((self.revision(), self.kinds()[-2:]), (before + 1, ["WAVE_OUTPUT_INGESTED"] * 2))

    def test_case_6_two_outputs_of_which_one_is_bad_store_neither(self):
        error = self.back("MISSING_REQUIRED_SECTION", {"p1": output(), "p2": "## Findings\nx\n"})
        self.assertEqual(error["details"]["perspective_id"], "p2")
        self.assertEqual([one["perspective_id"] for one in error["details"]["retry"]["directives"]], ["p2"])
        self.assertEqual(self.kinds()[-1], "RETRY_DIRECTED")
        wave = self.at("wave-1")
        self.assertEqual(os.listdir(wave) if os.path.isdir(wave) else [], [])
        self.assertEqual([one["output"] for one in self.status()["perspectives"]], [None, None])

    def test_case_6_two_bad_ones_get_a_directive_each(self):
        error = self.back("MISSING_REQUIRED_SECTION", {"p1": "x\n", "p2": "y\n"})
        self.assertEqual({one["perspective_id"] for one in error["details"]["retry"]["directives"]}, {"p1", "p2"})
        self.assertEqual({one["perspective_id"] for one in error["details"]["failures"]}, {"p1", "p2"})

    def test_case_6_hidden_and_staged_files_are_never_read(self):
        self.leftovers = True
        self.put("wave-1/.p1.md", output())
        self.put("wave-1/.weir-0123456789abcdef", output())
        self.assertEqual([one["output"] for one in self.status()["perspectives"]], [None, None])
        self.assertEqual(self.gate("B", code=8)["metrics"]["missing_count"], 2)

    def test_case_6_a_file_put_there_by_hand_is_no_output(self):
        self.put("wave-1/p1.md", output())
        self.assertEqual(self.gate("B", code=8)["metrics"]["missing_count"], 2)

    def test_case_7_every_failure_is_listed_in_order(self):
        self.under(max_words=5, max_sources=1)
        text = "## Findings\nMany words stand here.\n\n## Sources\n- https://a.example/\n- https://b.example/\nno bullet\n- no url\n"
        error = self.sent_back("MISSING_REQUIRED_SECTION", "ingest", "--wave", 1, "--from", self.outputs_file({"perspective_id": "p1", "markdown": text, "tool_usage": {"search_calls": 5}}))
        self.assertEqual(self.codes(error), ["MISSING_REQUIRED_SECTION", "TOO_MANY_WORDS", "MALFORMED_SOURCES", "TOO_MANY_SOURCES", "TOOL_BUDGET_EXCEEDED"])
        for one in error["details"]["failures"]:
            self.assertEqual(one["perspective_id"], "p1")
            self.assertTrue(one["message"])
        self.assertEqual(error["details"]["section"], "Gaps")
        self.assertEqual(error["details"]["missing_sections"], ["Gaps"])

    def test_case_7_the_details_of_each_failure(self):
        self.under(max_words=12, max_sources=1)
        cases = (
            ("TOO_MANY_WORDS", output(findings="a b c d"), None, {"max_words": 12, "words": 16, "excess": 4}),
            ("MALFORMED_SOURCES", output(sources="- https://a.example/\nodd", findings="", gaps=""), None, {"line": "odd", "line_number": 6, "reason": "NOT_BULLET"}),
            ("MALFORMED_SOURCES", output(sources="- odd", findings="", gaps=""), None, {"line": "- odd", "line_number": 5, "reason": "MISSING_URL"}),
            ("TOOL_BUDGET_EXCEEDED", output(findings="", gaps=""), {"search_calls": 5}, {"tool": "search_calls", "limit": 4, "recorded": 5}),
        )  # fmt: skip
        for code, text, usage, details in cases:
            with self.subTest(code=code):
                one = {"perspective_id": "p1", "markdown": text, **({"tool_usage": usage} if usage else {})}
                found = self.sent_back(code, "ingest", "--wave", 1, "--from", self.outputs_file(one))["details"]
                self.assertEqual({key: found[key] for key in details}, details)

    def test_case_8_a_heading_in_a_fence_does_not_count(self):
        for fence in ("```", "~~~~", "   ```"):
            self.assertEqual(self.back("MISSING_REQUIRED_SECTION", {"p1": f"{fence}\n## Findings\n{fence}\n" + output().replace("## Findings\n", "")})["details"]["missing_sections"], ["Findings"], fence)

    def test_case_8_a_fence_that_never_closes_runs_to_the_end(self):
        self.assertEqual(self.back("MISSING_REQUIRED_SECTION", {"p1": "## Findings\n```\n## Sources\n- https://a.example/\n## Gaps\n"})["details"]["missing_sections"], ["Sources", "Gaps"])

    def test_case_8_what_is_no_heading(self):
        rest = "## Sources\n- https://a.example/\n## Gaps\n"
        for text in ("## Find\nings\n", "##Findings\n", "    ## Findings\n", "####### Findings\n", "## findings\n", "## Findings and more\n", "Findings\n---\n", "**Findings**\n", "##\nFindings\n", "## The Findings\n"):
            with self.subTest(text=text):
                error = self.error("MISSING_REQUIRED_SECTION", "ingest", "--wave", 1, "--dry-run", *self.named({"p1": text + rest}, "outputs"))
                self.assertEqual(error["details"]["missing_sections"], ["Findings"])

    def test_case_8_what_is_one(self):
        rest = "## Sources\n- https://a.example/\n## Gaps\n"
        for text in ("# Findings\n", "###### Findings\n", "## Findings ##\n", "## Findings  \n", "   ## Findings\n", "##\tFindings\n", "##   Findings # \n"):
            with self.subTest(text=text):
                self.passes(text + rest)
        self.passes((("## Findings\n") + rest).replace("\n", "\r\n"))

    def test_case_9_han_characters_are_words(self):
        text = output(findings="水" * 10000)
        self.assertEqual(self.back("TOO_MANY_WORDS", {"p1": text})["details"]["words"], 10000 + 2 + 2 + 2 + 2 + 4)
        self.assertEqual(self.passes(output(findings="水は H2O です"))["words"], 2 + 2 + 1 + 2 + 2 + 2 + 2 + 4)

    def test_case_9_words_of_other_kinds(self):
        base = self.passes(output(findings="x"))["words"] - 1
        for text, words in (("a\u00a0b\u3000c\ufeffd", 4), ("a\u200bb", 1), ("- a", 2), ("ภาษาไทย", 2), ("x水", 2), ("水火", 2), ("ｱｲｳ", 3), ("don't", 1), ("日本2026年", 4)):
            with self.subTest(text=text):
                self.assertEqual(self.passes(output(findings=text))["words"] - base, words)

    def test_case_9_four_urls_in_one_bullet_are_four_sources(self):
        text = output(sources="- https://a.example/ https://b.example/ https://c.example/ https://d.example/")
        self.assertEqual(self.passes(text)["sources"], 4)
        self.under(max_sources=3)
        error = self.back("TOO_MANY_SOURCES", {"p1": text})
        self.assertIn("Keep at most 3 sources; found 4", error["details"]["retry"]["directives"][0]["change_note"])

    def test_case_9_two_bullets_with_one_url_are_two_sources(self):
        self.assertEqual(self.passes(output("https://a.example/", "https://a.example/"))["sources"], 2)

    def test_case_10_a_contract_that_names_sources_in_lower_case(self):
        self.under(must_include_sections=["Findings", "sources"])
        self.ingest({"p1": "## Findings\nx\n## sources\n- https://a.example/x\n"})
        self.assertEqual(self.do("cite", "--extract")["urls"], ["https://a.example/x"])
        self.back("MALFORMED_SOURCES", {"p1": "## Findings\nx\n## sources\nodd\n"})

    def test_no_sources_are_a_warning(self):
        self.assertIn("SOURCES_EMPTY", self.passes("## Findings\n## Sources\n## Gaps\n")["warnings"])

    def test_tool_use_that_was_not_reported_or_has_no_budget_is_a_warning(self):
        self.assertEqual(self.passes(output())["warnings"], ["TOOL_USAGE_MISSING"])
        answer = self.do("ingest", "--wave", 1, "--from", self.outputs_file({"perspective_id": "p1", "markdown": output(), "tool_usage": {"shell_calls": 9999}}))
        self.assertEqual(answer["outputs"][0]["warnings"], ["UNBUDGETED_TOOL"])

    def test_tool_use_that_is_none(self):
        for usage in ([1], {"search_calls": -1}, {"search_calls": "many"}, {"search_calls": None}, {"search_calls": True}, "4", 4):
            with self.subTest(usage=usage):
                error = self.error("INVALID_TOOL_USAGE", "ingest", "--wave", 1, "--dry-run", "--from", self.outputs_file({"perspective_id": "p1", "markdown": output(), "tool_usage": usage}))
                of_a_tool = isinstance(usage, dict)
                self.assertEqual(error["message"], "tool_usage entries must be non-negative numbers" if of_a_tool else "tool_usage must be an object")
                self.assertEqual((error["details"].get("tool"), error["details"]["recorded"]), ("search_calls", usage["search_calls"]) if of_a_tool else (None, usage))


class BadInputTest(IngestCase):
    def test_texts_that_are_no_texts(self):
        offset = self.bad("INVALID_UTF8", {"p1": b"## Findings\n\xff\n"})["details"]
        self.assertEqual(offset["offset"], 12)
        self.bad("INVALID_UTF8", {"p1": b"## Findings\n\x00\n"})
        self.bad("INVALID_UTF8", {"p1": b"\xed\xa0\x80"})
        for text in ("", " \n\t\n", "\u00a0\ufeff\u2028"):
            self.bad("INVALID_ARGS", {"p1": text})

    def test_an_output_over_a_megabyte(self):
        self.bad("INPUT_TOO_LARGE", {"p1": output() + "x" * (1 << 20)})
        room = (1 << 20) - len(output())
        self.assertEqual(self.passes(output() + "x" * room)["bytes"], 1 << 20)

    def test_ids_that_are_wrong(self):
        text = self.world.file("o.md", output())
        self.refuse("PATH_TRAVERSAL", "ingest", "--wave", 1, f"../../evil={text}")
        self.refuse("PATH_TRAVERSAL", "ingest", "--wave", 1, f"a/b={text}")
        self.refuse("PATH_TRAVERSAL", "ingest", "--wave", 1, "--from", self.outputs_file({"perspective_id": "..\\x", "markdown": output()}))
        self.assertEqual(self.refuse("PERSPECTIVE_NOT_FOUND", "ingest", "--wave", 1, f"p9={text}")["details"]["perspective_id"], "p9")
        self.refuse("PERSPECTIVE_NOT_FOUND", "ingest", "--wave", 1, f"P1={text}")
        self.refuse("DUPLICATE_PERSPECTIVE_ID", "ingest", "--wave", 1, f"p1={text}", f"p1={text}")

    def test_arguments_that_are_wrong(self):
        text = self.world.file("o.md", output())
        self.refuse("INVALID_ARGS", "ingest", "--wave", 1)
        self.refuse("INVALID_ARGS", "ingest", "--wave", 1, "--from", self.outputs_file())
        self.refuse("INVALID_ARGS USAGE", "ingest", "--wave", 3, f"p1={text}")
        self.refuse("INVALID_ARGS USAGE", "ingest", "--wave", "x", f"p1={text}")
        self.refuse("INVALID_ARGS USAGE", "ingest", f"p1={text}")
        self.refuse("INVALID_ARGS", "ingest", "--wave", 1, text)
        self.refuse("INVALID_ARGS", "ingest", "--wave", 1, f"={text}")
        self.refuse("NOT_FOUND", "ingest", "--wave", 1, "p1=nowhere.md")
        self.refuse("NOT_FOUND", "ingest", "--wave", 1, "--from", "nowhere.json")
        self.refuse("INVALID_JSON", "ingest", "--wave", 1, "--from", self.world.file("x.json", "{"))
        for value in ([], {}, {"outputs": {}}, {"outputs": [7]}, {"outputs": [{"perspective_id": "p1"}]}, {"outputs": [{"markdown": "x"}]}, {"outputs": [{"perspective_id": 7, "markdown": "x"}]}):
            with self.subTest(value=value):
                self.refuse("INVALID_ARGS SCHEMA_VALIDATION_FAILED", "ingest", "--wave", 1, "--from", self.world.file("x.json", compact(value)))

    def test_a_perspective_of_the_other_wave(self):
        self.plan("g1", wave=2)
        self.bad("PERSPECTIVE_NOT_FOUND", {"g1": output()})
        self.bad("PERSPECTIVE_NOT_FOUND", {"p1": output()}, wave=2)

    def test_before_there_are_perspectives(self):
        self.begun()
        self.bad("MISSING_ARTIFACT NOT_FOUND", {"p1": output()})
        self.planned()
        self.bad("MISSING_ARTIFACT NOT_FOUND PERSPECTIVE_NOT_FOUND", {"g1": output()}, wave=2)

    def test_a_wave_directory_that_is_a_link(self):
        if os.path.isdir(self.at("wave-1")):
            os.rmdir(self.at("wave-1"))
        os.symlink(self.outside, self.at("wave-1"))
        self.bad("WAVE_DIR_SYMLINK", {"p1": output()})
        self.assertEqual(os.listdir(self.outside), [])

    def test_a_wave_directory_that_is_a_link_inside_the_run(self):
        if os.path.isdir(self.at("wave-1")):
            os.rmdir(self.at("wave-1"))
        os.makedirs(self.at("elsewhere"))
        os.symlink("elsewhere", self.at("wave-1"))
        self.bad("WAVE_DIR_SYMLINK", {"p1": output()})

    def test_a_wave_directory_that_is_a_file(self):
        if os.path.isdir(self.at("wave-1")):
            os.rmdir(self.at("wave-1"))
        self.put("wave-1", "x")
        self.bad("INVALID_WAVE_DIR", {"p1": output()})

    def test_a_bad_input_beside_a_bad_text_leaves_no_directive(self):
        text = self.world.file("o.md", "no heading\n")
        self.refuse("PERSPECTIVE_NOT_FOUND", "ingest", "--wave", 1, f"p1={text}", f"p9={text}")

    def test_a_dry_run_of_a_bad_text_leaves_no_directive(self):
        self.refuse("MISSING_REQUIRED_SECTION", "ingest", "--wave", 1, "--dry-run", *self.named({"p1": "x\n"}, "outputs"))

    def test_secrets_are_masked_before_anything_is_stored(self):
        [(_, _, secret)] = secrets_made.bare(1)
        answer = self.ingest({"p1": output(findings=f"- The key is {secret}.")})
        self.assertNotIn(secret, self.text_of("wave-1/p1.md"))
        self.assertEqual(answer["outputs"][0]["bytes"], len(self.bytes_of("wave-1/p1.md")))
        self.assertNotIn(secret, "\n".join(self.world.dump()))
        self.assertFalse(any(secret in ran.text + ran.errors for ran in self.world.runs))

    def test_secrets_behind_what_ends_a_word_are_masked_too(self):
        planted = secrets_made.glued(17, ["\\n", "\\\\u000a", "\x1b[32m", "%0A", "_"])[::3]
        planted = [(family, text, secret) for family, text, secret in planted if family != "pem_private"]  # which would take the rest along
        self.ingest({"p1": output(findings="\n".join(f"- Found {text}" for _, text, _ in planted))})
        kept = self.text_of("wave-1/p1.md") + "\n".join(self.world.dump())
        self.assertEqual([family for family, _, secret in planted if secret in kept], [])


class RetryTest(IngestCase):
    """Section 8, case 43."""

    def bad_output(self, number):
        return {"p1": f"## Findings\ntry {'x' * number}\n"}

    def test_case_43_a_directive_says_what_to_do(self):
        error = self.back("MISSING_REQUIRED_SECTION", self.bad_output(1))
        [one] = error["details"]["retry"]["directives"]
        self.assertEqual({key: one[key] for key in ("perspective_id", "action", "change_note", "blocking_error_code", "gate", "artifact", "attempt", "max_retries")},
                         {"perspective_id": "p1", "action": "retry", "change_note": "Add the missing section(s): Sources, Gaps", "blocking_error_code": "MISSING_REQUIRED_SECTION", "gate": "B",
                          "artifact": "wave-1/p1.md", "attempt": 1, "max_retries": 2})  # fmt: skip
        self.assertEqual(one["refused_sha256"], "sha256:" + r.sha256(self.bad_output(1)["p1"]))
        kept = self.json_of("retry/retry-directives.json")
        self.assertEqual((kept["schema_version"], kept["run_id"], kept["stage"], kept["consumed_at"]), ("retry_directives.v1", r.RUN, "wave1", None))
        self.assertEqual(kept["retry_directives"], [{**one, "consumed": False}])
        self.assertEqual({**self.last("RETRY_DIRECTED")["directives"][0], "consumed": False}, kept["retry_directives"][0])
        self.assertEqual([item["perspective_id"] for item in self.status()["directives"]], ["p1"])

    def test_case_43_counts_rise_until_the_cap(self):
        for attempt in (1, 2):
            error = self.back("MISSING_REQUIRED_SECTION", self.bad_output(attempt))
            self.assertEqual(error["details"]["retry"]["directives"][0]["attempt"], attempt)
            self.assertEqual(self.json_of("manifest.json")["metrics"]["retry_counts"]["B"], attempt)
        error = self.back("MISSING_REQUIRED_SECTION", self.bad_output(3))
        self.exhausted(error, "B", 2)
        self.assertEqual(self.kinds().count("RETRY_DIRECTED"), 2)
        history = self.json_of("manifest.json")["metrics"]["retry_history"]
        self.assertEqual([(one["gate_id"], one["attempt"]) for one in history], [("B", 1), ("B", 2)])
        for one in history:
            self.assertEqual(sorted(one), ["attempt", "change_note", "gate_id", "reason", "ts"])

    def test_case_43_the_same_refused_bytes_are_counted_once(self):
        first = self.back("MISSING_REQUIRED_SECTION", self.bad_output(1))
        count = len(self.kinds())
        again = self.back("MISSING_REQUIRED_SECTION", self.bad_output(1))
        self.assertEqual(again, first)
        self.assertEqual(len(self.kinds()), count)

    def test_case_43_a_valid_output_is_taken_after_the_cap(self):
        for number in range(1, 5):
            self.back("MISSING_REQUIRED_SECTION", self.bad_output(number))
        self.ingest({"p1": output()})
        kept = self.json_of("retry/retry-directives.json")
        self.assertTrue(all(one["consumed"] for one in kept["retry_directives"]))
        self.assertTrue(r.is_time(kept["consumed_at"]))
        self.assertEqual(self.status()["directives"], [])

    def test_case_43_each_artifact_has_its_own_count(self):
        self.back("MISSING_REQUIRED_SECTION", self.bad_output(1))
        self.back("MISSING_REQUIRED_SECTION", self.bad_output(2))
        error = self.back("MISSING_REQUIRED_SECTION", {"p2": "x\n"})
        self.assertEqual(error["details"]["retry"]["directives"][0]["attempt"], 1)
        self.assertEqual(self.json_of("manifest.json")["metrics"]["retry_counts"]["B"], 2)

    def test_a_bad_output_does_not_take_the_place_of_a_good_one(self):
        self.ingest({"p1": output()})
        self.back("MISSING_REQUIRED_SECTION", self.bad_output(1))
        self.assertEqual(self.text_of("wave-1/p1.md"), output())

    def test_the_notes(self):
        self.under(max_words=20, max_sources=2)
        for text, usage, note in (
            (output(findings="w " * 20), {}, "Use at most 20 words; this has 32 (12 too many)"),
            (output(sources="- https://a.example/\nodd"), {}, "Sources line 6 is not a bullet with a URL"),
            (output("https://a.example/", "https://b.example/", "https://c.example/", findings=""), {}, "Keep at most 2 sources; found 3"),
            (output(), {"search_calls": 5}, "search_calls: 5 used, 4 allowed"),
        ):  # fmt: skip
            with self.subTest(note=note):
                error = self.error("TOO_MANY_WORDS MALFORMED_SOURCES TOO_MANY_SOURCES TOOL_BUDGET_EXCEEDED", "ingest", "--wave", 1, "--dry-run", "--from",
                                   self.outputs_file({"perspective_id": "p1", "markdown": text, "tool_usage": usage}))  # fmt: skip
                self.assertEqual(error["details"]["retry"]["directives"][0]["change_note"], note)

    def test_more_failures_are_counted_in_the_note(self):
        self.under(max_words=2)
        error = self.back("MISSING_REQUIRED_SECTION", {"p1": "## Findings\na b c\n"})
        self.assertEqual(error["details"]["retry"]["directives"][0]["change_note"], "Add the missing section(s): Sources, Gaps (+1 more)")

    def test_a_note_has_at_most_200_code_points(self):
        self.under(must_include_sections=[f"Ünïque section {i}" for i in range(40)])
        note = self.back("MISSING_REQUIRED_SECTION", {"p1": "x\n"})["details"]["retry"]["directives"][0]["change_note"]
        self.assertLessEqual(len(note), 200)


class GateBTest(IngestCase):
    def test_gate_b_of_the_example(self):
        self.ingested()
        answer = self.gate("B")
        self.assertEqual((answer["metrics"]["wave_output_rate"], answer["metrics"]["missing_count"], answer["reasons"]), (1, 0, []))

    def test_a_missing_output_fails_under_the_default_rate(self):
        self.ingest({"p1": output()})
        answer = self.gate("B", code=8)
        self.assertEqual((answer["reasons"], answer["metrics"]["missing_count"], answer["metrics"]["wave_output_rate"]), (["WAVE_RATE_BELOW_MIN"], 1, 0.5))

    def test_four_of_five_pass_a_rate_of_eight_tenths(self):
        self.plan("a", "b", "c", "d", "e")
        self.ingest({id: output() for id in "abcd"})
        self.gate("B", code=8)
        self.patch({"limits": {"min_wave_rate": 0.8}})
        self.assertEqual(self.gate("B")["metrics"]["wave_output_rate"], 0.8)

    def test_outputs_are_validated_again_under_todays_contract(self):
        self.ingested()
        self.gate("B")
        self.plan(perspective("p1", max_words=10), "p2")
        self.assertEqual(self.gate("B", code=8)["reasons"], ["OUTPUT_INVALID"])

    def test_a_failed_gate_is_an_answer_and_is_recorded(self):
        self.gate("B", code=8)
        body = self.last("GATE_EVALUATED")
        self.assertEqual((body["gate"], body["status"]), ("B", "fail"))
        self.assertEqual(self.json_of("gates.json")["gates"]["B"]["status"], "fail")
        self.assertEqual(self.json_of("gates.json")["revision"], 2)

    def test_a_declared_second_wave_counts(self):
        self.ingested()
        self.gate("B")
        self.plan("g1", wave=2)
        status = self.status()
        self.assertEqual((status["stage"], status["gates"]["B"]["fresh"]), ("wave2", False))
        self.assertEqual(self.gate("B", code=8)["metrics"]["missing_count"], 1)
        self.ingest({"g1": output()}, wave=2)
        self.assertEqual(self.gate("B")["metrics"]["wave_output_rate"], 1)
        self.assertEqual(self.status()["stage"], "citations")


class MetaTest(IngestCase):
    def test_a_step_that_judges_no_gate_leaves_the_gates_alone(self):
        before = self.bytes_of("gates.json")
        self.ingest({"p1": output()})
        self.assertEqual(self.bytes_of("gates.json"), before)

    def test_a_model_that_is_not_told_is_null(self):
        self.ingest({"p1": output()})
        meta = self.json_of("wave-1/p1.meta.json")
        self.assertEqual((meta["model"], meta["agent_run_id"], meta["tool_usage"]), (None, None, None))
        self.assertTrue(r.is_time(meta["ingested_at"]))
        self.assertEqual(json.dumps(meta, indent=2) + "\n", self.text_of("wave-1/p1.meta.json"))


if __name__ == "__main__":
    r.main()
