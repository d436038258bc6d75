"""weir research cite: URLs found in outputs, made one form, recorded with the status a caller gave, and Gate C over them."""

import json
import os
import re

import research_case as r
from harness import compact
from research_case import C1, C2, C3, URL1, URL2, URL3, ResearchCase, cid, output, perspective

DERIVED = ["extracted-urls.txt", "normalized-urls.txt", "found-by.json", "url-map.json"]


class CiteCase(ResearchCase):
    def setUp(self):
        super().setUp()
        self.planned()

    def one(self, url, *args, status="valid"):
        """Records a URL; answers its record."""
        [made] = self.do("cite", url, "--status", status, *args)["records"]
        return made

    def bad(self, codes, records, *args):
        text = records if isinstance(records, (str, bytes)) else compact(records)
        return self.refuse(codes, "cite", "--from", self.world.file("records.json", text), *args)

    def stored(self):
        """The records of the file."""
        return [json.loads(line) for line in self.text_of("citations/citations.jsonl").splitlines()]

    def lines(self, name):
        return self.text_of(f"citations/{name}").splitlines()


class ExtractTest(CiteCase):
    def test_the_example(self):
        self.ingested()
        answer = self.do("cite", "--extract")
        self.assertEqual((answer["total_found"], answer["unique_found"], answer["urls"], answer["rejected"], answer["changed"]), (3, 3, [URL1, URL3, URL2], [], True))
        self.assertEqual(self.lines("extracted-urls.txt"), ["https://example.com/quic-study?utm_source=feed", "https://example.net/operator-report", "https://example.org/handshake/"])
        self.assertEqual(self.lines("normalized-urls.txt"), [URL1, URL3, URL2])
        self.assertEqual(self.json_of("citations/url-map.json"), {"schema_version": "url_map.v1", "run_id": r.RUN, "items": [
            {"url_original": "https://example.com/quic-study?utm_source=feed", "normalized_url": URL1, "cid": C1}, {"url_original": URL3, "normalized_url": URL3, "cid": C3},
            {"url_original": "https://example.org/handshake/", "normalized_url": URL2, "cid": C2}]})  # fmt: skip
        self.assertEqual(self.json_of("citations/found-by.json")["items"][1], {"url_original": URL3, "wave": "wave-1", "perspective_id": "p2", "source_line": f"- {URL3}", "ordinal": 1})

    def test_case_14_extracting_gives_no_status(self):
        self.ingested()
        self.do("cite", "--extract")
        self.assertFalse(os.path.exists(self.at("citations/citations.jsonl")) and self.stored())
        self.assertEqual(self.do("cite", "--list")["citations"], [])
        self.assertEqual([body["records"] for body in self.bodies("CITATION_RECORDED")], [[]])

    def test_the_same_again_adds_nothing(self):
        self.ingested()
        self.do("cite", "--extract")
        self.assertIs(self.same("cite", "--extract")["changed"], False)

    def test_only_accepted_outputs_are_read(self):
        self.put("wave-1/p2.md", output("https://evil.example/"))
        self.ingest({"p1": output("https://a.example/x")})
        self.assertEqual(self.do("cite", "--extract")["urls"], ["https://a.example/x"])

    def test_only_the_sources_are_read(self):
        self.ingest({"p1": output("https://a.example/x", findings="- https://b.example/ says so", gaps="- https://c.example/")})
        self.assertEqual(self.do("cite", "--extract")["urls"], ["https://a.example/x"])

    def test_a_sources_heading_counts_though_the_contract_names_none(self):
        self.plan(perspective("p1", must_include_sections=["Findings"]), "p2")
        self.ingest({"p1": "## Findings\nx\n### SOURCES\n- https://a.example/x\n## Gaps\n- https://b.example/\n"})
        self.assertEqual(self.do("cite", "--extract")["urls"], ["https://a.example/x"])

    def test_case_10_parentheses_that_belong_to_the_url(self):
        whole = "https://en.wikipedia.org/wiki/Foo_(bar)"
        self.ingest({"p1": output(sources=f"- A page ({whole})\n- [text]({whole}?a=1)\n- <https://a.example/b>, and \"https://a.example/c\".\n- see https://a.example/d,\n- 'https://a.example/e'; `https://a.example/f`!")})
        self.assertEqual(set(self.do("cite", "--extract")["urls"]), {whole, whole + "?a=1", *(f"https://a.example/{c}" for c in "bcdef")})

    def test_case_15_an_unusable_url_does_not_stop_the_others(self):
        self.ingest({"p1": output("http://a.example:99999/x", "https://good.example/", "https://", "https://also.example/")})
        answer = self.do("cite", "--extract")
        self.assertEqual(answer["urls"], ["https://also.example/", "https://good.example/"])
        self.assertEqual([(one["url"], one["perspective_id"]) for one in answer["rejected"]], [("http://a.example:99999/x", "p1"), ("https://", "p1")])
        for one in answer["rejected"]:
            self.assertTrue(one["reason"])

    def test_one_url_of_many_places_is_found_by_twenty_of_them(self):
        self.plan(perspective("p1", max_sources=40), "p2")
        self.ingest({"p1": output(*["https://a.example/x"] * 30)})
        answer = self.do("cite", "--extract")
        self.assertEqual((answer["total_found"], answer["unique_found"]), (30, 1))
        self.assertEqual([one["ordinal"] for one in self.json_of("citations/found-by.json")["items"]], list(range(1, 21)))

    def test_a_url_counts_once_in_a_bullet_however_often_and_in_whatever_form(self):
        url = "https://a.example/x"
        self.ingest({"p1": output(sources=f"- [{url}]({url}) and {url}/\n- {url}\n- https:// https://")})
        answer = self.do("cite", "--extract")
        self.assertEqual((answer["total_found"], answer["unique_found"], answer["urls"]), (3, 2, [url]))
        self.assertEqual([one["url"] for one in answer["rejected"]], ["https://"])
        self.assertEqual([(one["url_original"], one["ordinal"]) for one in self.json_of("citations/found-by.json")["items"]], [(url, 1), (url, 2), (url + "/", 1)])
        self.cite([{"url": url, "status": "valid"}])
        self.assertEqual([one["source_line"] for one in self.stored()[0]["found_by"]], [f"- [{url}]({url}) and {url}/", f"- {url}"])

    def test_the_derived_files_are_never_read(self):
        self.ingested()
        self.do("cite", "--extract")
        for name in DERIVED:
            os.remove(self.at(f"citations/{name}"))
        self.cite(r.example_records())
        self.gate("C")

    def test_a_dry_extraction_writes_nothing(self):
        self.ingested()
        self.assertEqual(self.dry("cite", "--extract")["unique_found"], 3)


class NormalTest(CiteCase):
    def normal(self, url, **how):
        made = self.do("cite", url, "--status", "valid", "--dry-run", **how)["records"][0]
        self.assertEqual(made["cid"], cid(made["normalized_url"]))
        return made["normalized_url"]

    def test_case_11_b_underscore_sorts_first_under_any_locale(self):
        for locale in ("C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"):
            self.assertEqual(self.normal("https://e.example/?b1=2&b_x=1", env={"LC_ALL": locale}), "https://e.example/?b_x=1&b1=2")

    def test_case_11_queries_are_sorted_in_t_order(self):
        for given, wanted in (
            ("?b=1&a=2", "?a=2&b=1"), ("?a=2&a=1", "?a=1&a=2"), ("?B=1&a=2&A=3&b=4", "?a=2&A=3&b=4&B=1"), ("?a10=1&a9=1", "?a10=1&a9=1"), ("?a", "?a="), ("?a=b+c", "?a=b%20c"), ("?", ""), ("?&&", ""),
            ("?a=%zz", "?a=%25zz"), ("?x=%e9", "?x=%EF%BF%BD"), ("?q=a'(b)!~*", "?q=a'(b)!~*"), ("?utm_source=x&UTM_x=1&gclid=2&FBCLID=3", ""), ("?utmx=1", "?utmx=1"), ("?a=1#frag", "?a=1"),
        ):  # fmt: skip
            with self.subTest(given=given):
                self.assertEqual(self.normal("https://e.example/p" + given), "https://e.example/p" + wanted)

    def test_case_11_hosts_and_paths(self):
        for given, wanted in (
            ("HTTP://EXAMPLE.com:80/A/", "http://example.com/A"), ("https://example.com", "https://example.com/"), ("https://example.com:8443/", "https://example.com:8443/"), ("https://example.com/a//", "https://example.com/a/"),
            ("https://0x7f.1/", "https://127.0.0.1/"), ("https://[::1]:443/x", "https://[::1]/x"), ("https:\\\\example.com\\a\\..\\b", "https://example.com/b"), ("https://example.com/%7Ea/ü", "https://example.com/%7Ea/%C3%BC"),
            ("https://faß.example/", "https://xn--fa-hia.example/"), ("https://example.com/a/./b/../c/", "https://example.com/a/c"),
        ):  # fmt: skip
            with self.subTest(given=given):
                self.assertEqual(self.normal(given), wanted)

    def test_what_is_no_absolute_url(self):
        for url in ("example.com/x", "https://exa mple.com", "ftp://example.com/", "mailto:a@b.c", "javascript:alert(1)", "https://", "", "//x.example/", "http://a.example:99999/", "https://[::1", "file:///etc/passwd"):
            with self.subTest(url=url):
                self.refuse("INVALID_URL" if url else "INVALID_URL INVALID_ARGS SCHEMA_VALIDATION_FAILED", "cite", url, "--status", "valid")

    def test_case_12_keyword_is_no_key(self):
        self.assertNotEqual(self.one("https://e.example/?keyword=a")["cid"], self.one("https://e.example/?keyword=b")["cid"])
        for key in ("monkey", "tokenize", "author", "passwords", "keys"):
            self.assertEqual(self.normal(f"https://e.example/?{key}=v"), f"https://e.example/?{key}=v")

    def test_case_12_values_of_secret_keys_are_nowhere(self):
        values = ["alphaalpha", "betabeta", "gammagamma"]
        first = self.one(f"https://e.example/?api_key={values[0]}")
        self.assertEqual(first["normalized_url"], "https://e.example/?api_key=%5BREDACTED%5D")
        second = self.one(f"https://e.example/?api_key={values[1]}")
        self.assertEqual(second["cid"], first["cid"])
        self.ingest({"p1": output(f"https://e.example/?api_key={values[2]}")})
        self.do("cite", "--extract")
        self.assertEqual(len(self.stored()), 1)
        seen = "\n".join(self.world.dump()) + "".join(r.read(self.at(name)).decode() for name in self.tree() if os.path.isfile(self.at(name)))
        for value in values:
            self.assertNotIn(value, seen)
            self.assertFalse(any(value in ran.text + ran.errors for ran in self.world.runs))

    def test_case_12_every_secret_key(self):
        for key in ("token", "access_token", "API-KEY", "apikey", "x.auth", "session", "SessionId", "password", "db_passwd", "client_secret"):
            with self.subTest(key=key):
                self.assertTrue(self.normal(f"https://e.example/?{key}=v").endswith("=%5BREDACTED%5D"))


class RecordTest(CiteCase):
    def test_the_records_of_the_example_to_the_byte(self):
        self.cited()
        self.assertEqual(self.bytes_of("citations/citations.jsonl"), r.example("citations/citations.jsonl"))

    def test_what_recording_answers(self):
        self.ingested()
        answer = self.cite(r.example_records())
        self.assertEqual((answer["recorded"], answer["replaced"], answer["unchanged"]), (3, 0, 0))
        self.assertEqual({(one["cid"], one["status"]) for one in answer["records"]}, {(C1, "valid"), (C2, "valid"), (C3, "paywalled")})

    def test_recording_the_same_again_adds_nothing(self):
        self.cited()
        answer = self.same("cite", "--from", self.world.file("records.json", compact(r.example_records())))
        self.assertEqual((answer["recorded"], answer["unchanged"]), (0, 3))

    def test_other_content_replaces_and_the_old_stays_in_the_log(self):
        self.cited()
        answer = self.do("cite", URL1, "--status", "blocked", "--notes", "403")
        self.assertEqual(answer["replaced"], 1)
        self.assertEqual([(one["status"], one["notes"]) for one in self.stored() if one["cid"] == C1], [("blocked", "403")])
        logged = [one for body in self.bodies("CITATION_RECORDED") for one in body["records"] if one["cid"] == C1]
        self.assertEqual([one["status"] for one in logged], ["valid", "blocked"])

    def test_three_forms_of_a_file(self):
        for number, records in enumerate((
            [{"url": "https://a.example/", "status": "valid", "title": "T"}], {"items": [{"normalized_url": "https://b.example/", "status": "valid", "title": "T"}]},
            {"https://c.example/": "valid", "https://d.example/": {"status": "valid", "title": "T"}},
        )):  # fmt: skip
            self.cite(records)
            self.assertEqual(len(self.stored()), (1, 2, 4)[number])
        self.assertEqual([one["normalized_url"] for one in self.stored()], [f"https://{c}.example/" for c in "abcd"])

    def test_options_of_one_record(self):
        made = self.one("https://a.example/x?utm_source=1", "--title", "T", "--snippet", "S 1", "--notes", "N", "--publisher", "P", "--http-status", 200, "--checked-at", r.NOW, "--checked-by", "me")
        self.assertEqual((made["normalized_url"], made["url"], made["url_original"]), ("https://a.example/x", "https://a.example/x", "https://a.example/x?utm_source=1"))
        [kept] = self.stored()
        self.assertEqual({key: kept[key] for key in ("title", "evidence_snippet", "notes", "publisher", "http_status", "checked_at", "checked_by")},
                         {"title": "T", "evidence_snippet": "S 1", "notes": "N", "publisher": "P", "http_status": 200, "checked_at": r.NOW, "checked_by": "me"})  # fmt: skip
        self.assertEqual(list(kept)[:9], "schema_version normalized_url cid url url_original status checked_at found_by notes".split())

    def test_a_time_nobody_gave_is_the_entrys(self):
        self.one("https://a.example/")
        self.assertEqual(self.stored()[0]["checked_at"], self.entries()[-1]["at"])

    def test_case_13_a_cid_that_is_not_the_hash(self):
        self.bad("CID_MISMATCH", [{"url": URL1, "status": "valid", "cid": C2}])
        self.cite([{"url": URL1, "status": "valid", "cid": C1}])

    def test_case_13_found_by_names_the_perspectives_agent(self):
        self.cited()
        for one in self.stored():
            for place in one["found_by"]:
                self.assertIn(place["agent_type"], ("ClaudeResearcher", "GeminiResearcher"))
        self.one("https://nobody.example/")
        self.assertEqual([one["found_by"] for one in self.stored() if "nobody" in one["url"]], [[]])

    def test_case_13_a_record_in_the_file_whose_cid_is_wrong(self):
        self.cited()
        text = self.text_of("citations/citations.jsonl")
        self.put("citations/citations.jsonl", text.replace(C1, "cid_" + "0" * 64))
        for args in (("pack",), ("gate", "C"), ("cite", "https://new.example/", "--status", "valid")):
            with self.subTest(args=args):
                self.refuse("CID_MISMATCH ARTIFACT_CHANGED", *args)

    def test_case_15_a_status_that_is_none(self):
        self.cited()
        error = self.bad("SCHEMA_VALIDATION_FAILED", [{"url": "https://a.example/", "status": "valid"}, {"url": "https://b.example/", "status": "great"}, {"url": "https://c.example/"}])
        self.assertEqual(error["details"]["error_count"], 2)
        self.refuse("SCHEMA_VALIDATION_FAILED INVALID_ARGS", "cite", "https://a.example/", "--status", "great")
        self.refuse("SCHEMA_VALIDATION_FAILED INVALID_ARGS", "cite", "https://a.example/", "--status", "VALID")
        self.refuse("INVALID_ARGS SCHEMA_VALIDATION_FAILED", "cite", "https://a.example/")

    def test_records_all_or_none(self):
        self.bad("INVALID_URL", [{"url": "https://a.example/", "status": "valid"}, {"url": "not a url", "status": "valid"}])
        self.bad("INVALID_URL SCHEMA_VALIDATION_FAILED", {"https://a.example/": "valid", "ftp://b.example/": "valid"})

    def test_values_of_the_wrong_kind(self):
        for fields in ({"evidence_snippet": "x" * 2049}, {"evidence_snippet": 7}, {"title": []}, {"notes": 5}, {"http_status": "200"}, {"publisher": {}}, {"checked_by": 1}):
            with self.subTest(fields=list(fields)):
                self.bad("SCHEMA_VALIDATION_FAILED", [{"url": "https://a.example/", "status": "valid", **fields}])
        self.cite([{"url": "https://a.example/", "status": "valid", "evidence_snippet": "é" * 1024}])

    def test_text_that_is_no_list_of_records(self):
        self.bad("INVALID_JSON", "{")
        self.bad("INVALID_UTF8 INVALID_JSON", b'["\xff"]')
        self.bad("SCHEMA_VALIDATION_FAILED INVALID_ARGS", "7")
        self.bad("SCHEMA_VALIDATION_FAILED INVALID_ARGS INVALID_URL", "[7]")
        for size in (65537, (1 << 20) + 1):
            error = self.bad("INPUT_TOO_LARGE", compact([{"url": "https://a.example/", "status": "valid", "notes": "x" * size}]))
            self.assertEqual((error["details"]["what"], error["details"]["bytes"], error["details"]["limit"]), ("the notes of a citation", size, 65536))
        self.refuse("NOT_FOUND", "cite", "--from", "nowhere.json")
        self.refuse("INVALID_ARGS USAGE", "cite")
        self.refuse("INVALID_ARGS USAGE", "cite", "--extract", "--from", self.world.file("r.json", "[]"))

    def test_user_info_makes_a_record_invalid_and_is_not_kept(self):
        made = self.one("https://bob:" + "hunter" + "22@c.example/x")
        self.assertEqual((made["status"], made["normalized_url"], made["url_original"]), ("invalid", "https://c.example/x", "https://c.example/x"))
        self.assertNotIn("hunter22", "\n".join(self.world.dump()) + self.text_of("citations/citations.jsonl"))

    def test_user_info_seen_in_an_output_is_not_kept(self):
        self.ingest({"p1": output("https://bob:" + "hunter" + "22@c.example/x")})
        self.do("cite", "--extract")
        self.assertNotIn("hunter22", self.text_of("citations/extracted-urls.txt") + self.text_of("citations/found-by.json") + self.text_of("citations/url-map.json"))

    def test_more_than_five_hundred_records_are_two_entries_of_one_call(self):
        before = self.revision()
        self.cite([{"url": f"https://e.example/{n}", "status": "valid"} for n in range(1001)])
        self.assertEqual([len(body["records"]) for body in self.bodies("CITATION_RECORDED")], [500, 500, 1])
        self.assertEqual(self.revision(), before + 1)
        self.assertEqual(len(self.stored()), 1001)
        self.verified()

    def test_the_list_is_the_validated_pool(self):
        self.cited()
        self.do("cite", "https://blocked.example/", "--status", "blocked")
        answer = self.do("cite", "--list")
        self.assertEqual((answer["count"], [(one["cid"], one["status"], one["title"], one["url"]) for one in answer["citations"]]),
                         (3, sorted([(C1, "valid", "QUIC field study", URL1), (C2, "valid", "Handshake costs", URL2), (C3, "paywalled", "Operator report", URL3)], key=lambda one: self.order(answer, one))))  # fmt: skip

    def order(self, answer, one):
        return [item["cid"] for item in answer["citations"]].index(one[0])

    def test_the_list_for_people_has_cid_status_title_and_url(self):
        self.cited()
        text = self.weir("research", "cite", "--list", "--run", r.RUN).text
        for part in (C1, C2, C3, "paywalled", "QUIC field study", URL2):
            self.assertIn(part, text)

    def test_what_cite_prints_for_people_is_the_cid_that_a_summary_cites_by(self):
        self.ingested()
        records = [{"url": url, "status": "valid", "title": "A study"} for url in (URL1, URL2, URL3)]
        text = self.weir("research", "cite", "--from", self.world.file("records.json", compact(records)), "--run", r.RUN).text
        self.assertEqual(re.findall(r"cid_\w+", text), [C1, C3, C2])
        self.gate("C")
        self.weir("research", "summarize", *self.named({"p1": r.summary(f"A fact [@{re.search(r'cid_[0-9a-f]+', text).group()}].")}, "summaries"), "--run", r.RUN)

    def test_the_file_is_in_t_order_with_one_line_for_a_url(self):
        self.cite([{"url": url, "status": "valid"} for url in ("https://e.example/b1", "https://e.example/b_x", "https://e.example/B", "https://e.example/b", "https://e.example/a?utm_x=1", "https://e.example/a")])
        self.assertEqual([one["normalized_url"].rsplit("/", 1)[1] for one in self.stored()], ["a", "b", "B", "b_x", "b1"])

    def test_two_records_of_one_url_in_one_file(self):
        ran = self.world.run("--json", "research", "cite", "--from", self.world.file("r.json", compact([{"url": URL1, "status": "valid"}, {"url": URL1, "status": "blocked"}])), "--run", r.RUN)
        if ran.code == 0:
            self.assertEqual(len(self.stored()), 1)
        else:
            self.assertEqual(self.kinds()[-1], "PERSPECTIVES_WRITTEN")

    def test_a_dry_record_writes_nothing(self):
        self.assertEqual(self.dry("cite", URL1, "--status", "valid")["recorded"], 1)


class GateCTest(CiteCase):
    def urls(self, *urls):
        self.plan(perspective("p1", max_sources=100), "p2")
        self.ingest({"p1": output(*urls)})
        self.do("cite", "--extract")

    def test_the_example_passes(self):
        self.cited()
        answer = self.gate("C")
        self.assertEqual((answer["metrics"]["validated_url_rate"], answer["metrics"]["invalid_url_rate"], answer["metrics"]["uncategorized_url_rate"], answer["reasons"]), (1, 0, 0, []))

    def test_case_14_a_url_without_record_fails_in_every_sensitivity(self):
        for sensitivity in ("normal", "restricted", "no_web"):
            with self.subTest(sensitivity=sensitivity):
                self.ingested()
                self.patch({"query": {"sensitivity": sensitivity}})
                self.do("cite", "--extract")
                self.cite([one for one in r.example_records() if one["status"] == "valid"])
                answer = self.gate("C", code=8)
                self.assertIn("UNCATEGORIZED_URLS", answer["reasons"])
                self.assertEqual(answer["metrics"]["uncategorized_url_rate"], 0.333333)
                self.assertEqual(len(self.stored()), 2)

    def test_nine_of_ten_pass_and_eight_fail(self):
        urls = [f"https://e.example/{n}" for n in range(10)]
        self.urls(*urls)
        self.cite([{"url": url, "status": "blocked" if url.endswith("0") else "paywalled"} for url in urls])
        answer = self.gate("C")
        self.assertEqual((answer["metrics"]["validated_url_rate"], answer["metrics"]["invalid_url_rate"]), (0.9, 0.1))
        self.do("cite", urls[1], "--status", "mismatch")
        self.assertEqual(sorted(self.gate("C", code=8)["reasons"]), ["INVALID_RATE_HIGH", "VALIDATED_RATE_LOW"])

    def test_records_of_urls_nobody_named_do_not_count(self):
        urls = [f"https://e.example/{n}" for n in range(2)]
        self.urls(*urls)
        self.cite([{"url": urls[0], "status": "valid"}, {"url": urls[1], "status": "invalid"}, *({"url": f"https://other.example/{n}", "status": "valid"} for n in range(50))])
        self.assertEqual(self.gate("C", code=8)["metrics"]["validated_url_rate"], 0.5)

    def test_no_urls_at_all_fail(self):
        self.ingest({"p1": "## Findings\n## Sources\n## Gaps\n"})
        self.assertIn("NO_URLS_EXTRACTED", self.gate("C", code=8)["reasons"])

    def test_a_failed_gate_c_gives_one_directive(self):
        self.urls("https://e.example/0")
        answer = self.gate("C", code=8)
        self.assertIn("RETRY_DIRECTED", self.kinds()[-2:], answer)
        [one] = self.status()["directives"]
        self.assertEqual((one["gate"], one["attempt"], one["max_retries"]), ("C", 1, 1))
        self.cite([{"url": "https://e.example/0", "status": "valid"}])
        self.gate("C")
        self.assertEqual(self.status()["directives"], [])

    def test_a_gate_c_that_fails_again_has_no_retry_left(self):
        self.urls("https://e.example/0", "https://e.example/1")
        self.gate("C", code=8)
        self.do("cite", "https://e.example/0", "--status", "invalid")
        self.gate("C", code=8)
        self.assertEqual(self.kinds().count("RETRY_DIRECTED"), 1)
        self.assertEqual(self.json_of("manifest.json")["metrics"]["retry_counts"]["C"], 1)

    def test_gate_c_is_stale_after_a_new_record(self):
        self.gated()
        self.do("cite", URL1, "--status", "paywalled")
        gates = self.status()["gates"]
        self.assertIs(gates["C"]["fresh"], False)
        self.assertIs(gates["B"]["fresh"], True)


if __name__ == "__main__":
    r.main()
