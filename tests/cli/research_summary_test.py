"""weir research summarize and pack: what a summary may hold, its key claims, its size, and where it may be cut."""

import json

import research_case as r
from research_case import C1, C2, C3, ResearchCase, cid, padded, summary

BLOCKED, BAD, LOST = "https://blocked.example/", "https://invalid.example/", "https://lost.example/"


class SummaryCase(ResearchCase):
    def setUp(self):
        super().setUp()
        self.cited()

    def claims(self, text, *args):
        """The key claims of a pack with this summary of p1, as (claim, cids, confidence)."""
        self.summarize({"p1": text}, *args)
        self.do("pack", "--allow-missing")
        [entry] = self.json_of("summaries/summary-pack.json")["summaries"]
        return [(one["claim"], one["citation_cids"], one["confidence"]) for one in entry["key_claims"]]

    def tried(self, codes, text, *args):
        """The error on this summary of p1, not counted."""
        error = self.refuse(codes, "summarize", *self.named({"p1": text}, "summaries"), *args, "--dry-run")
        self.assertEqual(error["details"]["failures"][0]["code"], error["code"])
        return error


class SummarizeTest(SummaryCase):
    def test_the_summaries_of_the_example(self):
        answer = self.do("summarize", *(f"{id}={r.EXAMPLE}/summaries/{id}.md" for id in ("p1", "p2")))
        self.assertEqual([(one["perspective_id"], one["path"], one["bytes"], one["claims"], one["truncated"], one["changed"], one["warnings"]) for one in answer["summaries"]],
                         [("p1", "summaries/p1.md", 364, 2, None, True, []), ("p2", "summaries/p2.md", 163, 1, None, True, [])])  # fmt: skip
        for id in ("p1", "p2"):
            self.assertEqual(self.bytes_of(f"summaries/{id}.md"), r.example(f"summaries/{id}.md"))
        body = self.bodies("SUMMARY_INGESTED")[0]
        self.assertEqual({key: body[key] for key in ("perspective_id", "path", "text", "bytes", "source_artifact", "truncated")},
                         {"perspective_id": "p1", "path": "summaries/p1.md", "text": r.example("summaries/p1.md").decode(), "bytes": 364, "source_artifact": "wave-1/p1.md", "truncated": None})  # fmt: skip
        self.assertEqual(body["source_sha256"], "sha256:" + r.sha256(r.example("wave-1/p1.md")))

    def test_one_bad_summary_keeps_all_out(self):
        self.summary_back("EMPTY_SUMMARY RAW_URL_NOT_ALLOWED", {"p1": summary(), "p2": "see https://a.example/\n"})
        self.assertEqual(self.kinds().count("SUMMARY_INGESTED"), 0)
        self.assertEqual([one["summary"] for one in self.status()["perspectives"]], [None, None])

    def test_the_same_again_adds_nothing(self):
        self.summarize({"p1": summary()})
        self.assertIs(self.same("summarize", *self.named({"p1": summary()}, "summaries"))["summaries"][0]["changed"], False)

    def test_from_a_file(self):
        answer = self.do("summarize", "--from", self.outputs_file({"perspective_id": "p1", "markdown": summary()}, {"perspective_id": "p2", "markdown": summary()}))
        self.assertEqual([one["perspective_id"] for one in answer["summaries"]], ["p1", "p2"])

    def test_ids_that_are_wrong(self):
        path = self.world.file("s.md", summary())
        self.refuse("PERSPECTIVE_NOT_FOUND", "summarize", f"p9={path}")
        self.refuse("PATH_TRAVERSAL", "summarize", f"../x={path}")
        self.refuse("DUPLICATE_PERSPECTIVE_ID", "summarize", f"p1={path}", f"p1={path}")
        self.refuse("NOT_FOUND", "summarize", "p1=nowhere.md")
        self.refuse("INVALID_ARGS", "summarize")
        self.refuse("INVALID_ARGS", "summarize", path)
        self.refuse("INVALID_ARGS USAGE", "summarize", f"p1={path}", "--numbers", "never")

    def test_a_perspective_without_an_output(self):
        self.planned()
        self.refuse("MISSING_ARTIFACT", "summarize", *self.named({"p1": summary()}, "summaries"))

    def test_case_16_cids_outside_the_pool_are_all_named(self):
        self.cite({BLOCKED: "blocked", BAD: "invalid", "https://mismatch.example/": "mismatch"})
        wrong = [cid(BLOCKED), cid(BAD), cid("https://mismatch.example/"), cid(LOST), "cid_x"]
        error = self.tried("UNKNOWN_CID", summary(f"One [@{C1}; @{wrong[0]}].", *(f"Two [@{one}]." for one in wrong[1:])))
        named = json.dumps(error["details"])
        for one in wrong:
            self.assertIn(one, named)
        self.assertNotIn(C1, named.replace(r.sha256(""), ""))

    def test_case_16_a_cid_without_its_prefix_or_in_capitals_is_unknown(self):
        self.tried("UNKNOWN_CID", summary(f"One [@{C1[4:]}]."))
        self.tried("UNKNOWN_CID", summary(f"One [@{C1.upper()}]."))
        self.tried("UNKNOWN_CID", summary(f"One [@{C1[:-1]}]."))

    def test_case_16_a_cid_that_left_the_pool_stops_the_pack(self):
        self.summarized()
        self.do("cite", r.URL3, "--status", "blocked")
        error = self.error("UNKNOWN_CID", "pack")
        self.assertIn(C3, json.dumps(error["details"]))
        self.assertEqual(self.bodies("SUMMARY_PACK_BUILT"), [])

    def test_case_17_raw_urls(self):
        for text in ("https://a.example/", "HTTP://a.example/", "ftp://a.example/x", "www.x.org", "WWW.x.org", "gopher://x", "s3://bucket", "(www.1.example)", "`https://a.example`", "```\nhttps://a.example\n```"):
            with self.subTest(text=text):
                self.tried("RAW_URL_NOT_ALLOWED", f"## Findings\n- A fact [@{C1}].\n\n{text}\n")
        for text in ("www. is a prefix", "a :// b", "awww.", "see www", "http: is a scheme", "www.-x"):
            with self.subTest(text=text):
                self.dry("summarize", *self.named({"p1": f"## Findings\n- A fact [@{C1}].\n\n{text}\n"}, "summaries"))

    def test_case_17_two_cids_in_one_mention(self):
        self.assertEqual(self.claims(summary(f"Both say so [@{C1}; @{C2}].")), [("Both say so.", [C2, C1], 50)])

    def test_case_17_what_is_no_mention_cites_nothing_and_warns(self):
        for text in (f"[@{C1} {C2}]", f"[@{C1},@{C2}]", "[@]", f"[@ {C1}]", f"[@{C1}"):
            with self.subTest(text=text):
                [one] = self.dry("summarize", *self.named({"p1": summary(f"A fact {text}.")}, "summaries"))["summaries"]
                self.assertEqual((one["claims"], "MALFORMED_MENTION" in one["warnings"], "NO_KEY_CLAIMS" in one["warnings"]), (0, True, True))

    def test_case_18_items_sentences_and_rows_that_cite(self):
        text = (
            f"# A heading 7 [@{C1}]\n\n"
            f"First sentence [@{C1}]. Second cites nothing. Third one [@{C2}]! Is it? [@{C3}] Yes.\n\n"
            f"- An item that\n  goes on [@{C1}] over lines. It has two sentences [@{C2}].\n- No cite\n1. Numbered [@{C3}] (confidence: 90)\n\n"
            f"| a | b |\n| --- | --- |\n| row | one [@{C1}] |\n| row | two |\n\n"
            f"```\ncode [@{C1}].\n```\n"
        )  # fmt: skip
        found = self.claims(text)
        self.assertEqual([claim for claim, _, _ in found][:5], ["First sentence.", "Third one!", "Is it?", "An item that goes on over lines. It has two sentences.", "Numbered"])
        self.assertEqual([(cids, confidence) for _, cids, confidence in found][:5], [([C1], 50), ([C2], 50), ([C3], 50), ([C2, C1], 50), ([C3], 90)])
        self.assertEqual(len(found), 6)
        self.assertIn("one", found[5][0])

    def test_case_18_where_a_sentence_ends(self):
        for text, claim in (
            (f"Dr. Smith of the U. S. agrees [@{C1}]. Others do not.", "Dr. Smith of the U. S. agrees."), (f"See Fig. 2 and No. 3 e.g. this [@{C1}].", "See Fig. 2 and No. 3 e.g. this."),
            (f"He said \"stop.\" [@{C1}] Then left.", 'He said "stop."'), (f"Version 1.5 of x.y is out [@{C1}].", "Version 1.5 of x.y is out."), (f"Not before. lower case [@{C1}].", "Not before. lower case."),
            (f"前の文。水は冷たい[@{C1}]。", "水は冷たい。"), (f"A [@{C1}] , b .", "A, b."),
        ):  # fmt: skip
            with self.subTest(text=text):
                self.assertEqual([one[0] for one in self.claims(text + "\n", "--numbers", "warn")], [claim])

    def test_case_18_a_claim_that_is_only_a_mention_is_none(self):
        [one] = self.dry("summarize", *self.named({"p1": f"- [@{C1}]\n- A fact [@{C1}].\n"}, "summaries"))["summaries"]
        self.assertEqual((one["claims"], one["warnings"]), (1, ["EMPTY_CLAIM"]))

    def test_case_18_confidence(self):
        self.assertEqual([one[2] for one in self.claims(summary(f"A [@{C1}]. (confidence: 0)", f"B (confidence: 100) [@{C1}].", f"C [@{C1}]."))], [0, 100, 50])
        for mark in ("101", "900", "-1"):
            self.tried("INVALID_CONFIDENCE", summary(f"A [@{C1}]. (confidence: {mark})"))
        sources = [one["confidence_source"] for one in self.json_of("summaries/summary-pack.meta.json")["claims"]]
        self.assertEqual(sources, ["author", "author", "default"])

    def test_case_19_a_number_that_is_not_in_the_quote(self):
        error = self.tried("NUMBER_NOT_IN_QUOTE", summary(f"Load time fell by 13% [@{C1}]."))
        self.assertEqual((error["details"]["claim"], error["details"]["number"], error["details"]["cids"]), ("Load time fell by 13%.", "13", [C1]))
        self.dry("summarize", *self.named({"p1": summary(f"Load time fell by 12% [@{C1}].", f"It is 12.0 or -012 [@{C1}].")}, "summaries"))

    def test_case_19_without_a_snippet_a_number_is_unchecked(self):
        self.claims(summary(f"It was 13% [@{C2}].", f"It was 12% [@{C1}; @{C2}].", f"It was 13% [@{C1}; @{C2}].", f"No number [@{C1}]."))
        self.assertEqual([one["number_check"] for one in self.json_of("summaries/summary-pack.meta.json")["claims"]], ["unchecked", "pass", "unchecked", "pass"])

    def test_case_19_numbers_warn_is_kept_with_the_summary(self):
        self.claims(summary(f"It was 13% [@{C1}]."), "--numbers", "warn")
        self.assertEqual([one["number_check"] for one in self.json_of("summaries/summary-pack.meta.json")["claims"]], ["warned"])
        self.summarize({"p2": summary()})
        self.do("pack")
        self.assertEqual(self.do("gate", "D")["status"], "pass")

    def test_case_19_what_is_no_number(self):
        for text in ("version 1.2.3", "v2 and 3rd", "HTTP/3", "UTF-8", "`99`", "x_9"):
            with self.subTest(text=text):
                self.dry("summarize", *self.named({"p1": summary(f"About {text} [@{C1}].")}, "summaries"))
        for text in ("1,200", "7.5", "-7", "99%", "$5"):
            with self.subTest(text=text):
                self.tried("NUMBER_NOT_IN_QUOTE", summary(f"About {text} [@{C1}]."))

    def test_case_23_blank_reserved_and_broken_texts(self):
        for text in ("", "\n \t\n", "\u00a0\ufeff\n"):
            self.tried("EMPTY_SUMMARY", text)
        self.tried("RESERVED_LINE", summary() + "<<<weir:end>>>\n")
        self.tried("RESERVED_LINE", summary() + "<<<weir:x\n")
        self.dry("summarize", *self.named({"p1": summary() + " <<<weir:end>>>\n"}, "summaries"))
        offset = self.refuse("INVALID_UTF8", "summarize", *self.named({"p1": b"abc\xff"}, "summaries"))["details"]["offset"]
        self.assertEqual(offset, 3)
        self.refuse("INVALID_UTF8", "summarize", *self.named({"p1": b"abc\x00"}, "summaries"))
        self.refuse("INPUT_TOO_LARGE", "summarize", *self.named({"p1": "x" * ((1 << 20) + 1)}, "summaries"))

    def test_the_order_of_the_checks(self):
        text = f"<<<weir:x\nhttps://a.example/\n- A 13 [@{C1}; @cid_x]. (confidence: 900)\n- B 13 [@{C1}].\n" + "x" * 6000 + "\n"
        found = [one["code"] for one in self.tried("RESERVED_LINE", text)["details"]["failures"]]
        order = ["RESERVED_LINE", "RAW_URL_NOT_ALLOWED", "UNKNOWN_CID", "INVALID_CONFIDENCE", "NUMBER_NOT_IN_QUOTE", "SIZE_CAP_EXCEEDED"]
        self.assertEqual(sorted(set(found), key=found.index), order)

    def test_a_summary_without_a_claim_is_a_warning(self):
        self.assertEqual(self.summarize({"p1": "## Findings\nNothing.\n"})["summaries"][0]["warnings"], ["NO_KEY_CLAIMS"])


class SizeTest(SummaryCase):
    """Cases 20 to 22."""

    def test_case_20_the_cap_is_in_bytes(self):
        self.assertEqual(self.dry("summarize", *self.named({"p1": padded(5120)}, "summaries"))["summaries"][0]["bytes"], 5120)
        details = self.tried("SIZE_CAP_EXCEEDED", padded(5121))["details"]
        self.assertEqual({key: details[key] for key in ("perspective_id", "summary_kb", "max_summary_kb", "bytes", "cap_bytes", "excess_bytes")},
                         {"perspective_id": "p1", "summary_kb": 5.000977, "max_summary_kb": 5, "bytes": 5121, "cap_bytes": 5120, "excess_bytes": 1})  # fmt: skip

    def test_case_20_two_byte_characters(self):
        self.dry("summarize", *self.named({"p1": "é" * 2560}, "summaries"))
        self.tried("SIZE_CAP_EXCEEDED", "é" * 2560 + "\n")

    def test_case_20_a_byte_order_mark_counts(self):
        self.tried("SIZE_CAP_EXCEEDED", "\ufeff" + padded(5118))
        self.dry("summarize", *self.named({"p1": "\ufeff" + padded(5117)}, "summaries"))

    def test_case_20_a_limit_with_a_fraction(self):
        self.patch({"limits": {"max_summary_kb": 1.5}})
        self.dry("summarize", *self.named({"p1": padded(1536)}, "summaries"))
        self.assertEqual(self.tried("SIZE_CAP_EXCEEDED", padded(1537))["details"]["cap_bytes"], 1536)

    def test_case_20_figures_are_rounded_half_up(self):
        for size, figure in ((8, 0.007813), (40, 0.039063)):
            text = "x" * (size - 1) + "\n"
            self.summarize({"p1": text, "p2": summary()})
            self.do("pack")
            pack = self.json_of("summaries/summary-pack.json")
            self.assertEqual(pack["total_estimated_tokens"], max(1, (size + len(summary()) + 2) // 4))
            self.summarize({"p2": text})
            self.do("pack")
            answer = self.do("gate", "D", code=8)
            self.assertEqual(answer["metrics"]["max_summary_kb"], figure)

    def test_case_20_no_summaries_of_many_may_be_over_the_sum(self):
        self.patch({"limits": {"max_total_summary_kb": 2}})
        self.summarize({"p1": padded(1100), "p2": padded(948)})
        self.do("pack")
        self.summarize({"p2": padded(949)})
        details = self.error("SIZE_CAP_EXCEEDED", "pack")["details"]
        self.assertEqual((details["total_summary_kb"], details["max_total_summary_kb"], details["excess_bytes"]), (2.000977, 2, 1))
        self.assertIn("p1", json.dumps(details["largest"]))
        [directive] = self.status()["directives"]
        self.assertEqual((directive["gate"], directive["perspective_id"]), ("D", "p1"))

    def test_case_21_an_oversize_summary_gets_a_directive(self):
        error = self.summary_back("SIZE_CAP_EXCEEDED", {"p1": padded(6200)})
        [one] = error["details"]["retry"]["directives"]
        self.assertEqual((one["gate"], one["artifact"], one["attempt"], one["max_retries"], one["change_note"]),
                         ("D", "summaries/p1.md", 1, 1, "Summary is 6200 bytes, cap 5120: cut at least 1080 bytes"))  # fmt: skip
        self.assertEqual((one["details"]["cap_bytes"], one["details"]["excess_bytes"]), (5120, 1080))

    def test_case_21_a_valid_one_is_taken_afterwards_also_after_the_cap(self):
        self.summary_back("SIZE_CAP_EXCEEDED", {"p1": padded(5121)})
        for size in (5122, 5123):
            error = self.summary_back("SIZE_CAP_EXCEEDED", {"p1": padded(size)})
            self.exhausted(error, "D", 1)
        self.assertEqual(self.json_of("manifest.json")["metrics"]["retry_counts"]["D"], 1)
        self.summarize({"p1": padded(5120)})
        self.assertEqual(self.status()["directives"], [])

    def test_the_notes_of_other_refusals(self):
        for text, note in (
            (summary("A [@cid_x]."), "Cite only pool ids; unknown: cid_x"), ("one\ntwo\nhttps://a.example/\n", "Replace the raw URL on line 3 by [@cid]"),
            (summary(f"It is 13 [@{C1}]."), f"13 is not in the quoted evidence of {C1}"),
        ):  # fmt: skip
            with self.subTest(note=note):
                error = self.tried("UNKNOWN_CID RAW_URL_NOT_ALLOWED NUMBER_NOT_IN_QUOTE", text)
                self.assertEqual(error["details"]["retry"]["directives"][0]["change_note"], note)

    def long(self):
        """Over the cap, with sentences and items to cut at."""
        return "## Findings\n" + "".join(f"- Item {chr(97 + n % 26)} is a fact of some length that is told here [@{C1}].\n" for n in range(50)) + "\n## Later\nA paragraph. " * 3 + "\n"

    def test_case_22_without_truncate_nothing_is_cut(self):
        self.tried("SIZE_CAP_EXCEEDED", self.long())
        self.assertIsNone(self.summarize({"p1": padded(5120)}, "--truncate")["summaries"][0]["truncated"])
        self.assertEqual(self.text_of("summaries/p1.md"), padded(5120))

    def test_case_22_truncate_cuts_at_an_item_and_says_so(self):
        text = self.long()
        [one] = self.summarize({"p1": text}, "--truncate")["summaries"]
        kept = self.text_of("summaries/p1.md")
        self.assertLessEqual(len(kept.encode()), 5120)
        body, marker = kept.rsplit("\n\n", 1)
        self.assertEqual(marker, f"[truncated: kept {one['truncated']['kept']} of {len(text.encode())} bytes]\n")
        self.assertTrue(text.startswith(body) and body.endswith(f"[@{C1}]."), body[-200:])
        self.assertEqual((len(body.encode()), len(text.encode())), (one["truncated"]["kept"], one["truncated"]["of"]))
        self.assertEqual(self.last("SUMMARY_INGESTED")["truncated"], one["truncated"])
        following = text[len(body) :].lstrip("\n").split("\n")[0]
        self.assertGreater(len((body + "\n" + following + f"\n\n[truncated: kept 5000 of {len(text)} bytes]\n").encode()), 5120)
        self.do("pack", "--allow-missing")
        self.assertEqual(self.json_of("summaries/summary-pack.meta.json")["truncated"], ["p1"])

    def test_case_22_the_marker_is_no_claim_and_the_cut_is_the_same_each_time(self):
        text = self.long()
        first = self.dry("summarize", "--truncate", *self.named({"p1": text}, "summaries"))["summaries"][0]
        second = self.dry("summarize", "--truncate", *self.named({"p1": text}, "summaries"))["summaries"][0]
        self.assertEqual(first, second)
        claims = self.claims(text, "--truncate")
        self.assertFalse(any("truncated" in one[0] for one in claims))
        self.same("summarize", "--truncate", *self.named({"p1": text}, "summaries"))

    def test_case_22_sentences_headings_and_fences(self):
        sentences = "".join(f"Sentence {chr(97 + n % 26)} says a thing of some length [@{C1}]. " for n in range(60))
        self.summarize({"p1": sentences + "\n"}, "--truncate")
        body = self.text_of("summaries/p1.md").rsplit("\n\n", 1)[0]
        self.assertTrue(body.endswith(f"[@{C1}]."), body[-90:])
        self.assertTrue(sentences.startswith(body))
        text = f"- A fact [@{C1}].\n\n## Next\n\n```\n" + "code\n" * 2000 + "```\n"
        self.summarize({"p1": text}, "--truncate")
        self.assertEqual(self.text_of("summaries/p1.md").rsplit("\n\n", 1)[0], f"- A fact [@{C1}].")

    def test_case_22_nothing_that_fits(self):
        self.tried("SIZE_CAP_EXCEEDED", f"- {'x' * 6000} [@{C1}].\n", "--truncate")

    def test_case_22_what_else_is_wrong_is_still_wrong(self):
        self.tried("RAW_URL_NOT_ALLOWED", "https://a.example/\n" + self.long(), "--truncate")


class PackTest(SummaryCase):
    def test_the_pack_of_the_example(self):
        self.summarized()
        answer = self.do("pack")
        self.assertEqual((answer["built"], answer["path"], answer["summary_count"], answer["bytes"], answer["total_estimated_tokens"]), (True, "summaries/summary-pack.json", 2, 1430, 132))
        self.assertEqual(answer["digest"], "sha256:0e0a35dff77c38025311ae738638c907d410afe763ff0986b6c48c2de0a273b1")
        made, wanted = self.text_of("summaries/summary-pack.json"), r.example("summaries/summary-pack.json").decode()
        at = json.loads(made)["generated_at"]
        self.assertEqual(made.replace(at, "2026-02-13T12:40:00.000Z"), wanted)
        self.assertEqual(at, self.entries()[-1]["at"])
        body = self.last("SUMMARY_PACK_BUILT")
        self.assertNotIn("generated_at", body["pack"])
        self.assertEqual((body["digest"], body["bytes"]), (answer["digest"], 1430))

    def test_the_meta_file_of_the_example(self):
        self.packed()
        meta = self.json_of("summaries/summary-pack.meta.json")
        self.assertEqual(meta["schema_version"], "summary_pack_meta.v1")
        self.assertEqual([(one["perspective_id"], one["index"], one["line"], one["confidence_source"], one["number_check"]) for one in meta["claims"]],
                         [("p1", 0, 2, "author", "pass"), ("p1", 1, 3, "author", "pass"), ("p2", 0, 2, "default", "pass")])  # fmt: skip
        self.assertEqual((meta["truncated"], meta["warnings"]), ([], []))

    def test_case_44_pack_twice_adds_one_entry(self):
        self.packed()
        answer = self.same("pack")
        self.assertIs(answer["built"], False)

    def test_a_missing_summary(self):
        self.summarize({"p1": summary()})
        self.refuse("NOT_FOUND", "pack")
        answer = self.do("pack", "--allow-missing")
        self.assertEqual(answer["summary_count"], 1)
        self.assertIs(self.last("SUMMARY_PACK_BUILT")["allow_missing"], True)

    def test_without_perspectives_or_citations(self):
        self.begun()
        self.refuse("NOT_FOUND MISSING_ARTIFACT", "pack")
        self.ingested()
        self.refuse("NOT_FOUND", "pack")

    def test_entries_are_in_t_order(self):
        self.run_id = "dr_order"
        self.init()
        ids = ["b1", "b_x", "B2", "a10", "a9"]
        self.plan(*ids)
        self.ingest({id: r.output() for id in ids})
        self.cite([{"url": r.URL1, "status": "valid"}])
        self.summarize({id: summary() for id in ids})
        self.do("pack")
        self.assertEqual([one["perspective_id"] for one in self.json_of("summaries/summary-pack.json")["summaries"]], ["a10", "a9", "b_x", "b1", "B2"])

    def test_a_dry_pack_writes_nothing(self):
        self.summarized()
        self.assertEqual(self.dry("pack")["bytes"], 1430)

    def test_the_limits_in_force_are_in_the_pack(self):
        self.patch({"limits": {"max_total_summary_kb": 30, "max_pack_json_kb": 20}})
        self.summarize({"p1": summary(), "p2": summary()})
        self.do("pack")
        self.assertEqual(self.json_of("summaries/summary-pack.json")["limits"], {"max_summary_kb": 5, "max_total_summary_kb": 30, "max_pack_json_kb": 20, "max_synthesis_input_kb": 60})


if __name__ == "__main__":
    r.main()
