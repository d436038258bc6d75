"""The research model against the worked example of the contract (to the byte and the digest), the recorded cases, and the
facts the contract states in its acceptance list."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import research_model as model  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "research-cases")
TIME = "2026-02-13T12:40:00.000Z"
LIMITS = {"max_wave1_agents": 6, "max_wave2_agents": 6, "max_summary_kb": 5, "max_total_summary_kb": 60, "max_review_iterations": 4}
C1 = "cid_563f70b5435c9c87eda7fd9b549b3199fdbeff877132f6d4f609171829675817"
C2 = "cid_4cd78ab7f2450cbcd182459d5edc2418e0196a141be4e4f2e2048d8a6bc44508"
C3 = "cid_c88643dbb7faf859dd08bae2723bd98fcd5e08e1185b6890ebca2fc509e5cd43"


def cases(family):
    with open(os.path.join(DATA, family + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def example(path):
    with open(os.path.join(DATA, "example", path), "rb") as file:
        return file.read()


def example_run():
    records = [json.loads(line) for line in example("citations/citations.jsonl").splitlines()]
    summaries = {name: example(f"summaries/{name}.md") for name in ("p1", "p2")}
    return {
        "run_id": "dr_20260213_001",
        "query": "Does HTTP/3 shorten page loads on mobile networks?",
        "limits": LIMITS,
        "perspectives": json.loads(example("perspectives.json"))["perspectives"],
        "outputs": {name: example(f"wave-1/{name}.md") for name in ("p1", "p2")},
        "records": records,
        "summaries": summaries,
        "files": {f"summaries/{name}.md": data for name, data in summaries.items()},
        "pack": example("summaries/summary-pack.json"),
    }


def record(cid, snippet=None, status="valid"):
    return dict({"cid": cid, "status": status}, **({} if snippet is None else {"evidence_snippet": snippet}))


class Example(unittest.TestCase):
    """Section 10"""

    def test_outputs_and_gate_b(self):
        run = example_run()
        counted = []
        for item in run["perspectives"]:
            data = run["outputs"][item["id"]]
            answer = model.check_output(data.decode(), item["prompt_contract"])
            counted.append((len(data), answer["words"], answer["sources"], answer["failures"]))
        self.assertEqual(counted, [(253, 37, 2, []), (146, 23, 1, [])])
        answer = model.gate_b(run, [example("perspectives.json")])
        self.assertEqual((answer["status"], answer["metrics"]["wave_output_rate"]), ("pass", 1))

    def test_urls_and_gate_c(self):
        run = example_run()
        outputs = [(1, item["id"], run["outputs"][item["id"]].decode(), item["prompt_contract"]) for item in run["perspectives"]]
        urls = [item["url"] for _, _, text, contract in outputs for item in model.source_urls(text, contract)]
        self.assertEqual(urls, ["https://example.com/quic-study?utm_source=feed", "https://example.org/handshake/", "https://example.net/operator-report"])
        self.assertEqual([model.normalise(url)["cid"] for url in urls], [C1, C2, C3])
        self.assertEqual(model.gate_c(run)["metrics"], {"validated_url_rate": 1, "invalid_url_rate": 0, "uncategorized_url_rate": 0})
        self.assertEqual(model.gate_c(run)["status"], "pass")

    def test_claims(self):
        run = example_run()
        claims = []
        for name in ("p1", "p2"):
            answer = model.check_summary(run["summaries"][name].decode(), name, run["records"], 5)
            self.assertEqual((answer["failures"], answer["warnings"]), ([], []))
            claims += [(c["claim"], c["citation_cids"], c["confidence"], c["confidence_source"], c["number_check"]) for c in answer["claims"]]
        self.assertEqual(claims, [
            ("Median load time fell by 12% on mobile links.", [C1], 85, "author", "pass"),
            ("Most of the gain comes from faster connection setup.", [C2, C1], 70, "author", "pass"),
            ("One operator saw no gain below 1% packet loss.", [C3], 50, "default", "pass"),
        ])

    def test_pack_to_the_byte(self):
        built = model.build_pack(example_run())
        self.assertEqual(model.pack_bytes(built["pack"], TIME), example("summaries/summary-pack.json"))
        self.assertEqual(built["pack"]["total_estimated_tokens"], 132)

    def test_bundle_to_the_byte(self):
        run = example_run()
        pack = json.loads(run["pack"])
        stream, parts, cids = model.build_bundle(run, pack, run["files"])
        self.assertEqual(stream, example("synthesis/input-bundle.txt"))
        self.assertEqual(model.sha256(stream), "sha256:a585eaee17e07170d6f05271da361787fb036d0548c0efde445bff0bd96a9121")
        self.assertEqual([part["offset"] for part in parts], [101, 254, 1744, 2361, 2832])
        gate_d = model.gate_d(run)["inputs_digest"]
        index = model.bundle_index(run, pack, stream, parts, cids, gate_d)
        self.assertEqual(model.file_text("bundle", index).encode(), example("synthesis/input-bundle.json"))

    def test_gate_d_to_the_digest(self):
        answer = model.gate_d(example_run())
        self.assertEqual(answer, json.loads(example("gate-d.json")))
        self.assertEqual(answer["inputs_digest"], "sha256:18ec573b1fd24e08d1069cf8bf0c8a7b5e2af50bcd1ce53535e11ef63a4f4c3f")

    def test_one_more_byte_makes_gate_d_stale(self):
        before, run = model.gate_d(example_run()), example_run()
        run["files"]["summaries/p1.md"] += b" "
        self.assertEqual(model.changed_members(before["inputs"], model.gate_d(run)["inputs"]), ["entries[0]", "synthesis_input"])

    def test_one_byte_over_the_cap(self):
        answer = model.check_summary("a" * 5121, "p1", [], 5)
        details = answer["failures"][0]["details"]
        self.assertEqual((details["summary_kb"], details["cap_bytes"], details["excess_bytes"]), (5.000977, 5120, 1))
        self.assertEqual(model.record_retry([], "D", "summaries/p1.md", "sha256:1", LIMITS), {"attempt": 1, "retry_count": 1, "max_retries": 1})

    def test_files_lie_in_layout(self):
        for kind, path in (("perspectives", "perspectives.json"), ("pack", "summaries/summary-pack.json"), ("bundle", "synthesis/input-bundle.json")):
            self.assertEqual(model.file_text(kind, json.loads(example(path))).encode(), example(path))
        lines = example("citations/citations.jsonl").decode().splitlines(keepends=True)
        self.assertEqual([model.file_text("citation", json.loads(line)) for line in lines], lines)
        documents = [("perspectives", json.loads(example("perspectives.json"))), ("pack", json.loads(example("summaries/summary-pack.json")))]
        documents += [("citation", json.loads(line)) for line in lines]
        for kind, value in documents:
            self.assertEqual(model.check_document(kind, value, "write", "dr_20260213_001"), [])


class Recorded(unittest.TestCase):
    """The recorded cases. `weir` says where the answer is another one; each such case is named here."""

    def each(self, family, skip=()):
        for case in cases(family):
            if case["weir"] != "same" and case["weir"]["answer"] == "n/a":
                continue
            if case["id"] in skip:
                continue
            with self.subTest(family=family, case=case["id"]):
                yield case

    def test_perspectives(self):
        refused = {"accepted_id_path_traversal": "$.perspectives[0].id", "accepted_created_at_not_iso": "$.created_at"}
        for case in self.each("perspectives"):
            errors = model.check_document("perspectives", case["args"]["value"], "write")
            if case["id"] in refused:
                self.assertEqual([error["path"] for error in errors], [refused[case["id"]]])
                self.assertEqual(model.check_document("perspectives", case["args"]["value"], "read"), [])
            else:
                self.check_first(case["result"].get("error"), errors)

    def check_first(self, error, errors):
        if error is None:
            self.assertEqual(errors, [])
            return
        first = errors[0]
        self.assertEqual((first["code"], first["message"], first["path"]), (error["code"], error["message"], error["details"]["path"]))

    def test_gates_and_manifest(self):
        for family in ("gates", "manifest"):
            for case in self.each(family):
                value = json.loads(json.dumps(case["args"]["value"]).replace("$RUN", "/run"))
                self.check_first(case["result"]["by_validator"]["schema_v1"], model.check_document(family, value))

    def test_wave_output_validate(self):
        for case in self.each("wave_output_validate"):
            document = json.loads(case["files"]["perspectives.json"])
            self.assertEqual(model.check_document("perspectives", document), [])
            named = [item for item in document["perspectives"] if item["id"] == case["args"]["perspective_id"]]
            error = case["result"].get("error")
            if not named:
                self.assertEqual(error["code"], "PERSPECTIVE_NOT_FOUND")
                continue
            meta = json.loads(case["files"].get("wave-1/p1.meta.json", "{}"))
            answer = model.check_output(case["files"]["wave-1/p1.md"], named[0]["prompt_contract"], meta.get("tool_usage"))
            if error is None:
                self.assertEqual(answer["failures"], [])
                self.assertEqual((answer["words"], answer["sources"]), (case["result"]["words"], case["result"]["sources"]))
            else:
                first = answer["failures"][0]
                self.assertEqual(first["code"], error["code"])
                details = {name: value for name, value in error["details"].items() if name != "sidecar_path"}
                self.assertEqual({name: first["details"].get(name) for name in details}, details)
            if case["id"] == "tool_usage_unbudgeted_tool_ignored":
                self.assertEqual(answer["warnings"], ["UNBUDGETED_TOOL"])

    def test_wave_output_ingest(self):
        for case in self.each("wave_output_ingest"):
            perspectives = json.loads(case["files"]["perspectives.json"])["perspectives"]
            answer = model.check_ingest(case["args"]["outputs"], perspectives)
            if case["result"]["ok"]:
                self.assertIsNone(answer)
            else:
                self.assertEqual(answer["code"], case["result"]["error"]["code"])
                self.assertEqual(answer["details"].get("perspective_id"), case["result"]["error"]["details"].get("perspective_id"))

    def run_of(self, case):
        files = {path: text.encode() for path, text in case["files"].items()}
        manifest = json.loads(case["files"]["manifest.json"])
        text = case["files"].get("citations/citations.jsonl")
        summaries = {path[3:-3]: data for path, data in files.items() if path.startswith("fx/")}
        return {
            "run_id": manifest["run_id"],
            "query": manifest["query"]["text"],
            "limits": manifest["limits"],
            "perspectives": json.loads(case["files"]["perspectives.json"])["perspectives"],
            "outputs": {},
            "records": None if text is None else [json.loads(line) for line in text.splitlines() if line.strip()],
            "summaries": summaries,
            "files": {path: data for path, data in files.items() if path.startswith("summaries/")},
            "pack": files.get("summaries/summary-pack.json"),
        }

    def test_summary_pack_build(self):
        answers = {
            "ok_empty_summary": "EMPTY_SUMMARY",
            "ok_www_without_scheme": "RAW_URL_NOT_ALLOWED",
            "ok_duplicate_ids": "DUPLICATE_PERSPECTIVE_ID",
        }
        for case in self.each("summary_pack_build", skip=("err_empty_reason",)):
            built = model.build_pack(self.run_of(case))
            if case["id"] in answers:
                self.assertEqual(built["error"], answers[case["id"]])
            elif not case["result"]["ok"]:
                error = case["result"]["error"]
                self.assertEqual(built["error"], error["code"])
                self.assertEqual({name: built["details"].get(name) for name in error["details"]}, error["details"])
            else:
                written = json.loads(case["files_written"]["summaries/summary-pack.json"])
                for name in ("summary_md", "source_artifact", "perspective_id"):
                    self.assertEqual([entry[name] for entry in built["pack"]["summaries"]], [entry[name] for entry in written["summaries"]])
                self.assertEqual(built["pack"]["total_estimated_tokens"], written["total_estimated_tokens"])
            claims = [[(c["claim"], c["citation_cids"], c["confidence"]) for c in entry["key_claims"]] for entry in built.get("pack", {}).get("summaries", [])]
            if case["id"] == "ok_two":
                self.assertEqual(claims, [[("Claim for p1.", ["cid_a"], 50)], [("Claim for p2.", ["cid_a"], 50)]])
            if case["id"] == "ok_multi_cite_pandoc_ignored":
                self.assertEqual(claims, [[("x", ["cid_a", "cid_b"], 50)], []])
            if case["id"] in ("ok_utf8_bytes_not_chars_at_cap", "ok_total_cap_exact"):
                self.assertEqual((set(built["warnings"]), any(claims)), ({"NO_KEY_CLAIMS"}, False))

    def test_gate_d_evaluate(self):
        paths = {
            "quirk_key_claims_unknown_cid": ["$.summaries[0].key_claims[0].claim", "$.summaries[0].key_claims[0].confidence"],
            "quirk_non_object_entries_skipped": ["$.summaries[1]", "$.summaries[2]", "$.summaries[3]"],
            "summary_md_is_directory": ["$.summaries[0].summary_md"],
        }
        for case in self.each("gate_d_evaluate"):
            run = self.run_of(case)
            answer = model.gate_d(run)
            if case["id"] in paths:
                self.assertEqual([error["path"] for error in answer["errors"]], paths[case["id"]])
                continue
            if not case["result"]["ok"]:
                self.assertEqual(answer["error"], case["result"]["error"]["code"])
                continue
            if case["id"] == "quirk_unknown_perspective_ids_pass":
                for reason in ("COVERAGE_BELOW_MIN", "UNKNOWN_PERSPECTIVE", "DUPLICATE_ENTRY"):
                    self.assertIn(reason, answer["reasons"])
                self.assertEqual((answer["metrics"]["summary_count"], answer["metrics"]["summary_count_ratio"]), (0, 0))
                continue
            metrics = case["result"]["metrics"]
            self.assertEqual({name: answer["metrics"][name] for name in metrics}, metrics)
            self.assertEqual(answer["checks"]["bounds"], case["result"]["status"])
            for warning in case["result"]["update"]["D"]["warnings"]:
                self.assertIn(warning, answer["warnings"])
            if case["id"] == "quirk_pack_limits_disagree":
                self.assertIn("PACK_LIMITS_DIFFER", answer["warnings"])
            if case["id"] == "limits_zero_empty_summary_passes":
                self.assertEqual(answer["checks"]["input"], "fail")

    def test_citations_extract_urls(self):
        contract = {"must_include_sections": []}
        for case in self.each("citations_extract_urls"):
            outputs = []
            for path, text in case["files"].items():
                if path.startswith("wave-"):
                    outputs.append((int(path[5]), path[7:-3], text, contract))
            answer = model.derived_files("dr_fx", outputs)
            if case["id"] == "lowercase_sources_heading_ignored":
                self.assertEqual(answer["extracted"], "https://a.com/\n")
            else:
                self.assertEqual(answer["extracted"], case["files_written"]["citations/extracted-urls.txt"])
                self.assertEqual(answer["found_by"], json.loads(case["files_written"]["citations/found-by.json"]))

    def test_citations_normalize(self):
        for case in self.each("citations_normalize"):
            answer = model.url_map("dr_fx", case["files"]["citations/extracted-urls.txt"].splitlines())
            if case["id"] == "bad_url_fails_all":
                self.assertEqual((answer["normalized"], answer["rejected"]), ("https://a.com/\n", ["not a url"]))
            else:
                self.assertEqual(answer["normalized"], case["files_written"]["citations/normalized-urls.txt"])
                self.assertEqual(answer["url_map"], json.loads(case["files_written"]["citations/url-map.json"]))

    def test_citations_validate(self):
        for case in self.each("citations_validate"):
            items = json.loads(case["files"]["citations/url-map.json"])["items"]
            forms = {item["normalized_url"]: item["url_original"] for item in items}
            answer = model.record_citations(json.loads(case["files"]["fx.json"]), forms)
            if case["id"] == "offline_unknown_status":
                self.assertEqual(answer, {"error": "SCHEMA_VALIDATION_FAILED"})
                continue
            for given, line in zip(answer["records"], case["files_written"]["citations/citations.jsonl"].splitlines()):
                written = json.loads(line)
                for name in ("normalized_url", "cid", "url", "url_original", "status", "title", "http_status"):
                    self.assertEqual(given.get(name), written.get(name))

    def test_url_normalize(self):
        for case in self.each("url_normalize"):
            answer = model.normalise(case["args"]["url"])
            if case["result"]["ok"]:
                self.assertEqual((answer["normalized_url"], answer["cid"]), (case["result"]["normalized_url"], case["result"]["cid"]))
            else:
                self.assertIsNone(answer)

    def test_canonical_digest(self):
        for case in self.each("canonical_digest"):
            value, result = case["args"]["value"], case["result"]
            if case["id"] == "unicode":
                self.assertEqual(list(json.loads(model.canonical_upstream(value))), ["e", "z", "ß", "é", "日"])
                self.assertEqual(list(json.loads(model.canonical(value))), ["e", "z", "ß", "é", "日"])
                continue
            self.assertEqual((model.canonical_upstream(value), model.digest_upstream(value)), (result["canonical"], result["digest"]))
            if case["id"] == "case_order":
                self.assertEqual(model.canonical(value), '{"A":3,"B":1,"a":2,"b":4}')
            else:
                self.assertEqual(model.canonical(value), result["canonical"])

    def test_format_rate(self):
        for case in self.each("format_rate"):
            self.assertEqual(model.rate(case["args"]["value"]), case["result"]["value"])

    def test_retry_record(self):
        for case in self.each("retry_record"):
            manifest, gate = json.loads(case["files"]["manifest.json"]), case["args"]["gate_id"]
            count = manifest["metrics"].get("retry_counts", {}).get(gate, 0)
            history = [{"gate": gate, "artifact": "x", "refused_sha256": f"sha256:{at}"} for at in range(count)]
            answer = model.record_retry(history, gate, "x", "sha256:new", manifest["limits"])
            if case["result"]["ok"]:
                self.assertEqual(answer, {name: case["result"][name] for name in ("attempt", "retry_count", "max_retries")})
            else:
                self.assertEqual((answer["error"], answer["details"]), ("RETRY_EXHAUSTED", case["result"]["error"]["details"]))

    def test_gates_write(self):
        for case in self.each("gates_write"):
            ((gate, update),) = case["args"]["update"].items()
            answer = model.update_gate(json.loads(case["files"]["gates.json"]), gate, update)
            if case["result"]["ok"]:
                self.assertEqual(answer["document"]["revision"], case["result"]["new_revision"])
            else:
                self.assertEqual(answer["error"], case["result"]["error"]["code"])
                if "errors" in answer:
                    self.check_first(case["result"]["error"], answer["errors"])

    def test_manifest_write(self):
        for case in self.each("manifest_write"):
            manifest = json.loads(case["files"]["manifest.json"].replace("$RUN", "/run"))
            answer = model.patch_manifest(manifest, case["args"]["patch"], case["args"].get("expected_revision"))
            if case["result"]["ok"]:
                self.assertEqual(answer["manifest"]["revision"], case["result"]["new_revision"])
            else:
                self.assertEqual((answer["error"], answer["details"]), (case["result"]["error"]["code"], case["result"]["error"]["details"]))


class Facts(unittest.TestCase):
    """Section 11, as far as pure functions go."""

    def test_t_order(self):
        self.assertEqual(model.t_sorted(["b1", "b_x"]), ["b_x", "b1"])
        self.assertEqual(model.t_sorted(["B", "a", "A", "b", "", "é", "z", "~", "aB", "Ab"]), ["", "~", "a", "A", "aB", "Ab", "b", "B", "z", "é"])

    def test_figures(self):
        self.assertEqual([model.kb(8), model.kb(40), model.rate(0.8999995)], [0.007813, 0.039063, 0.899999])

    def test_headings_in_fences_and_over_lines_do_not_count(self):
        for text, present in (
            ("```\n## Gaps\n```\n", False),
            ("##\nGaps\n", False),
            ("# Gaps\r\n", True),
            ("###### Gaps ###\r\n", True),
            ("####### Gaps\n", False),
            ("~~~\n```\n~~~\n## Gaps", True),
            ("````\n```\n## Gaps", False),
        ):
            self.assertEqual(model.has_section(text, " Gaps "), present, text)

    def test_words(self):
        self.assertEqual(model.words("\u65e5" * 10000), 10000)
        self.assertEqual(model.words("a\u00a0b\u3000c\ufeffd e\u200bf"), 5)
        self.assertEqual(model.words("## - x"), 3)
        self.assertEqual(model.words("\u0e01" * 5 + "a"), 3)

    def test_four_urls_in_one_bullet_are_four_sources(self):
        contract = {"max_words": 900, "max_sources": 3, "tool_budget": {}, "must_include_sections": ["sources"]}
        text = "## sources\n- http://a.com http://b.com http://c.com http://d.com\n"
        answer = model.check_output(text, contract, {"x": "7"})
        self.assertEqual([failure["code"] for failure in answer["failures"]], ["TOO_MANY_SOURCES"])
        self.assertEqual((answer["sources"], answer["notes"], answer["warnings"]), (4, ["Keep at most 3 sources; found 4"], ["UNBUDGETED_TOOL"]))

    def test_a_url_in_parentheses_is_whole(self):
        self.assertEqual(model.extract_urls("(https://en.wikipedia.org/wiki/Foo_(bar)), x"), ["https://en.wikipedia.org/wiki/Foo_(bar)"])

    def test_secret_values(self):
        one, two = (model.normalise(f"https://x.com/?{query}") for query in ("api_key=a", "api_key=b"))
        self.assertEqual(one, two)
        self.assertNotIn("=a", one["shown"])
        self.assertNotEqual(model.normalise("https://x.com/?keyword=a"), model.normalise("https://x.com/?keyword=b"))

    def test_mentions_and_raw_urls(self):
        self.assertEqual(model.mentioned_cids("x [@b; @a] [@c d] [@]"), ["a", "b"])
        self.assertTrue(model.has_malformed_mention("[@a b]"))
        for url in ("https://x", "HTTP://x", "ftp://x", "www.x.org", "WWW.x"):
            self.assertEqual(model.raw_url_lines("a\n" + url), [2])

    def test_numbers_against_quotes(self):
        def codes(snippet):
            answer = model.check_summary("- Fell by 13% [@a].", "p1", [record("a", snippet)], 5)
            return [failure["code"] for failure in answer["failures"]], answer["claims"][0]["number_check"]

        self.assertEqual(codes("by 12%"), (["NUMBER_NOT_IN_QUOTE"], "warned"))
        self.assertEqual(codes("by 13.0%"), ([], "pass"))
        self.assertEqual(codes(None), ([], "unchecked"))

    def test_numbers(self):
        text = "v2 3rd HTTP/3 UTF-8 1,234.50 1.2.3 -5 `7` 2020-21 12% 0.50 [@a1] (confidence: 5) x_9 \u589e12\u4e2a 007\n1. costs 99"
        self.assertEqual(model.numbers(text), ["1234.5", "5", "2020", "21", "12", "0.5", "12", "7", "99"])

    def test_sentences(self):
        text = 'Dr. No saw J. Smith. [@a] (confidence: 7) He said "no." Then e.g. x. and on! 3.5 rose? Yes\u3002Next'
        expected = ["Dr. No saw J. Smith. [@a] (confidence: 7)", 'He said "no."', "Then e.g. x. and on!", "3.5 rose?", "Yes\u3002", "Next"]
        self.assertEqual([sentence for _, sentence in model.sentences(text)], expected)

    def test_sizes(self):
        def fits(text, limit):
            return not any(failure["code"] == "SIZE_CAP_EXCEEDED" for failure in model.check_summary(text, "p", [], limit)["failures"])

        self.assertTrue(fits("a" * 5120, 5))
        self.assertFalse(fits("a" * 5121, 5))
        self.assertTrue(fits("é" * 2560, 5))
        self.assertTrue(fits("a" * 512, 0.5))
        self.assertFalse(fits("a" * 513, 0.5))

    def test_cut(self):
        text = "# A\n\nOne is here. Two is there.\n\n## B\n\n- item " + "x" * 100 + "\n"
        self.assertEqual(model.cut(text, 1), text)
        self.assertEqual(model.cut(text, 80 / 1024), "# A\n\nOne is here. Two is there.\n\n[truncated: kept 31 of 147 bytes]\n")
        self.assertEqual(model.cut(text, 60 / 1024), "# A\n\nOne is here.\n\n[truncated: kept 17 of 147 bytes]\n")
        self.assertIsNone(model.cut(text, 50 / 1024))

    def test_report(self):
        good = "# Report 2026\n## Summary\nHTTP3 v2 [@a]\n## Key Findings\n- 7 [@a]\n## Evidence\n## Caveats\n```\n5\n```\n"
        self.assertEqual(model.check_report(good, ["a"], "7", [])["findings"], [])
        answer = model.check_report(good + "- costs 7\n- other [@a]\n1. costs 99\n- [@b] www.x\n", ["a"], "7", ["b"])
        self.assertEqual(answer["findings"], [
            {"code": "UNKNOWN_CID", "line": 14, "cid": "b", "in_pool": True},
            {"code": "RAW_URL_NOT_ALLOWED", "line": 14},
            {"code": "UNCITED_NUMBER", "line": 11, "number": "7"},
            {"code": "UNCITED_NUMBER", "line": 13, "number": "99"},
        ])
        self.assertEqual(answer["metrics"]["numbers_not_in_input"], 1)
        codes = [finding["code"] for finding in model.check_report("x", ["a"], "", [])["findings"]]
        self.assertEqual(codes, ["MISSING_REQUIRED_SECTION"] * 4 + ["MISSING_CITATIONS"])

    def test_ids(self):
        document = json.loads(example("perspectives.json"))
        for bad in ("../../evil", "a/b", ".x", "p1.", "a" * 65, "P2"):
            document["perspectives"][0]["id"] = bad
            errors = model.check_document("perspectives", document, "write")
            self.assertEqual([error["path"] for error in errors], [f"$.perspectives[{1 if bad == 'P2' else 0}].id"])

    def test_five_errors_are_five(self):
        value = {"schema_version": 1, "run_id": "\ufeff", "created_at": None, "perspectives": [7, {"id": "x"}]}
        self.assertEqual(len(model.check_document("perspectives", value)), 8)

    def test_gate_d_at_nine_of_ten(self):
        for present, bounds in ((9, "pass"), (8, "fail")):
            run = example_run()
            names = [f"q{at}" for at in range(10)]
            run["perspectives"] = [dict(run["perspectives"][0], id=name) for name in names]
            run["summaries"] = {name: b"x [@" + C1.encode() + b"]" for name in names[:present]}
            run["files"] = {f"summaries/{name}.md": data for name, data in run["summaries"].items()}
            run["allow_missing"] = True
            run["pack"] = model.pack_bytes(model.build_pack(run)["pack"], TIME)
            answer = model.gate_d(run)
            self.assertEqual((answer["checks"]["bounds"], answer["checks"]["integrity"]), (bounds, "pass"))

    def test_seed_pack_passes(self):
        pack = {
            "schema_version": "summary_pack.v1",
            "run_id": "dr_20260213_001",
            "generated_at": "2026-02-13T12:40:00Z",
            "limits": {"max_summary_kb": 5, "max_total_summary_kb": 60},
            "summaries": [{
                "perspective_id": "p1",
                "source_artifact": "wave-1/p1.md",
                "summary_md": "summaries/p1.summary.md",
                "key_claims": [{"claim": "X uses Y for Z.", "citation_cids": ["cid_abc"], "confidence": 85}],
            }],
            "total_estimated_tokens": 4200,
        }
        self.assertEqual(model.check_document("pack", pack, "write", "dr_20260213_001"), [])
        self.assertEqual([error["path"] for error in model.check_document("pack", pack, "write", "other")], ["$.run_id"])

    def test_retries(self):
        history = []
        answers = [model.record_retry(history, "B", "wave-1/p1.md", name, LIMITS) for name in ("1", "1", "2", "3")]
        self.assertEqual([answer.get("attempt") for answer in answers], [1, 1, 2, None])
        self.assertEqual((model.retry_counts(history), model.retry_cap("E", LIMITS)), ({"B": 2}, 3))


if __name__ == "__main__":
    unittest.main()
