"""append: all or none, compare and set, idempotency, where entries go, and every kind of bad input refused whole."""

import os

import harness
from harness import CliTest, compact, entry, jsonl


class AppendTest(CliTest):
    def test_one_entry_an_array_and_lines_are_the_same(self):
        values = [entry("one"), entry("two", role="assistant"), {"type": "compaction", "body": {"summary": "both"}}]
        digests = []
        for name, text in (("array", compact(values)), ("lines", jsonl(values)), ("spread", "\n\n  " + compact(values).replace("},{", "},\n\n{") + "\n")):
            answer = self.answer("append", "--session", name, stdin=text)
            self.assertEqual([item["seq"] for item in answer["entries"]], [1, 2, 3])
            digests.append([item["digest"] for item in answer["entries"]])
            self.assertEqual(answer["head"], answer["entries"][-1]["id"])
            self.assertEqual((answer["due"], answer["warnings"]), (False, []))
        one_by_one = [self.answer("append", "--session", "single", stdin=compact(value))["entries"][0]["digest"] for value in values]
        self.assertEqual(digests, [one_by_one] * 3)

    def test_a_body_alone_with_type(self):
        answer = self.answer("append", "--session", "s", "--type", "message", "--id", "mine", stdin='{"role":"user","content":"hi"}')
        self.assertEqual(answer["entries"][0]["id"], "mine")
        self.assertEqual(self.tell(), ["hi"])

    def test_a_file_and_stdin(self):
        path = self.world.file("in.json", compact(entry("from a file")))
        self.weir("append", path, "--session", "s")
        self.weir("append", "-", "--session", "s", stdin=compact(entry("from stdin")))
        self.weir("append", "--session", "s", stdin=compact(entry("from stdin too")))
        self.assertEqual(self.tell(), ["from a file", "from stdin", "from stdin too"])

    def test_ids_weir_makes_begin_with_e_and_8_hex_digits_of_the_digest(self):
        item = self.answer("append", "--session", "s", stdin=compact(entry("x")))["entries"][0]
        self.assertEqual(item["id"], "e" + item["digest"][:8])
        for name in (item["id"], "e" + item["digest"][:16], item["id"][:4], "main", item["id"] + "~0"):
            self.assertEqual(self.answer("show", name, "--session", "s")["digest"], item["digest"])

    def test_at_is_the_callers_and_never_hashed(self):
        one = self.answer("append", "--session", "a", stdin=compact(entry("x", at="2001-02-03T04:05:06.789Z")))["entries"][0]
        two = self.answer("append", "--session", "b", stdin=compact(entry("x", at="2030-01-01T00:00:00+02:00")))["entries"][0]
        self.assertEqual(one["digest"], two["digest"])
        self.assertEqual(self.log("a")[0]["at"], "2001-02-03T04:05:06.789Z")
        self.assertEqual(self.log("b")[0]["at"], "2029-12-31T22:00:00.000Z")

    def test_a_dry_run_answers_the_same_and_stores_nothing(self):
        self.append("first")
        before = self.world.dump()
        text = jsonl([entry("second"), entry("y" * 70000)])
        dry = self.answer("append", "--session", "s", "--dry-run", stdin=text)
        self.assertEqual(self.world.dump(), before)
        self.assertEqual(self.answer("append", "--session", "s", stdin=text), dry)

    def test_a_dry_run_makes_all_checks(self):
        missing = {"type": "custom", "body": {"data": {"$blob": "sha256:" + "0" * 64, "bytes": 1}}}
        self.append("first")
        for extra in ([], ["--dry-run"]):
            self.refused("NOT_FOUND", "append", "--session", "s", *extra, stdin=compact(missing))
            self.refused("CONFLICT", "append", "--session", "s", "--expect", "root", *extra, stdin=compact(entry("x")))
            self.refused("INVALID_FIELD", "append", "--session", "s", *extra, stdin=compact(entry("x", role="x")))

    def test_unknown_types_are_stored(self):
        self.weir("append", "--session", "s", stdin=jsonl([{"type": "ODD:Type-1.x", "body": {"any": ["thing", None, 1.5]}}]))
        self.assertEqual(self.log()[0]["body"], {"any": ["thing", None, 1.5]})

    def test_large_strings_become_blobs_and_resolve_puts_them_back(self):
        text = "z" * 65537 + " ü🙂"
        self.append(text)
        shown = self.answer("show", "main", "--session", "s")["body"]["content"]
        self.assertEqual((shown["bytes"], shown["preview"], sorted(shown)), (len(text.encode()), "z" * 256, ["$blob", "bytes", "preview"]))
        self.assertEqual(self.answer("show", "main", "--session", "s", "--resolve")["body"]["content"], text)
        self.assertEqual(self.weir("show", shown["$blob"]).text, text)
        self.assertEqual(self.answer("show", shown["$blob"])["text"], text)
        self.append("z" * 65536)
        self.assertEqual(self.answer("show", "main", "--session", "s")["body"]["content"], "z" * 65536)

    def test_the_same_text_is_one_object(self):
        for session in ("a", "b", "c"):
            self.append("q" * 70000, session=session)
        self.assertEqual(len(self.world.objects()), 1)

    def test_a_count_beside_the_name_of_a_text_does_no_harm(self):
        self.append("t" * 70000)
        (name,) = self.world.object_names()
        self.weir("append", "--session", "s", stdin=compact({"type": "message", "body": {"role": "user", "content": {"$blob": name, "bytes": 70000, "count": 1}}}))
        self.assertEqual(self.answer("show", "main", "--session", "s", "--resolve")["body"]["content"], "t" * 70000)
        self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin=compact({"type": "x", "body": {"a": {"$blob": name, "note": "n" * 70000}}}))

    def test_a_caller_may_name_a_stored_blob(self):
        self.append("z" * 70000)
        pointer = self.answer("show", "main", "--session", "s")["body"]["content"]
        self.append(pointer, session="t")
        self.assertEqual(self.answer("show", "main", "--session", "t", "--resolve")["body"]["content"], "z" * 70000)


class PlacesTest(CliTest):
    def test_parents_explicit_implicit_and_roots(self):
        a = self.append("a")
        answer = self.answer("append", "--session", "s", stdin=jsonl([entry("b"), entry("c", parent=a), entry("d"), entry("e", parent=None), entry("f")]))
        ids = [item["id"] for item in answer["entries"]]
        parents = {line["id"]: line["parent"] for line in self.stream("export", "--session", "s")[1]}
        self.assertEqual([parents[i] for i in ids], [a, a, ids[1], None, ids[3]])
        self.assertEqual(answer["head"], ids[-1])
        self.assertEqual(self.tell(), ["e", "f"])

    def test_a_parent_may_be_an_entry_of_the_same_call(self):
        self.weir("append", "--session", "s", stdin=jsonl([entry("a", id="A"), entry("b", id="B"), entry("c", id="C", parent="A")]))
        self.assertEqual(self.tell(), ["a", "c"])

    def test_a_parent_on_the_command_line_is_named_as_people_do(self):
        first, second = self.append("first"), self.append("second")
        for content, parent in (("by pointer", "e" + self.log()[0]["digest"][:16]), ("by prefix", second[:6]), ("by head", "main"), ("by ancestor", f"{second}~1"), ("root", "root")):
            body = compact({"role": "user", "content": content})
            self.weir("head", "move", "main", second, "--session", "s")
            self.weir("append", "--session", "s", "--type", "message", "--parent", parent, stdin=body)
            wanted = {"by ancestor": first, "root": None}.get(content, second)
            self.assertEqual(self.log()[0]["parent"], wanted, content)

    def test_a_parent_in_an_entry_is_an_id_or_pointer_and_nothing_shorter(self):
        first = self.append("first")
        digest = self.log()[0]["digest"]
        self.append("by pointer", parent="e" + digest[:16])
        self.assertEqual(self.log()[0]["parent"], first)
        for name in (first[:6], "main", first + "~0"):
            self.refused("NOT_FOUND", "append", "--session", "s", stdin=compact(entry("x", parent=name)))

    def test_another_head(self):
        self.append("a")
        self.weir("head", "fork", "side", "--session", "s")
        self.append("b", head="side")
        self.append("c")
        self.assertEqual(self.tell("s", "--head", "side"), ["a", "b"])
        self.assertEqual(self.tell(), ["a", "c"])
        self.refused("NOT_FOUND", "append", "--session", "s", "--head", "nowhere", stdin=compact(entry("x")))

    def test_the_session_comes_from_option_variable_or_the_only_one(self):
        self.weir("append", stdin=compact(entry("by variable")), env={"WEIR_SESSION": "only"})
        self.weir("append", stdin=compact(entry("by being alone")))
        self.assertEqual(self.tell("only"), ["by variable", "by being alone"])
        self.weir("append", "--session", "second", stdin=compact(entry("x")), env={"WEIR_SESSION": "only"})
        self.assertEqual(self.tell("second"), ["x"])
        error = self.refused("INVALID_FIELD", "append", stdin=compact(entry("which?")))
        self.assertEqual(error["details"]["errors"][0]["path"], "/session")

    def test_the_head_comes_from_option_or_variable(self):
        self.append("a")
        self.weir("head", "fork", "side", "--session", "s")
        self.weir("append", "--session", "s", stdin=compact(entry("b")), env={"WEIR_HEAD": "side"})
        self.assertEqual(self.tell(), ["a"])
        self.assertEqual([line["body"]["content"] for line in self.log("s", "--reverse", env={"WEIR_HEAD": "side"})], ["a", "b"])


    def test_options_that_mean_nothing_here_are_refused(self):
        seen = self.append("a")
        for args in (["append", "--at", seen], ["head", "move", "main", seen, "--at", seen], ["tree", "--goto", seen, "--at", seen], ["import", "pi", "x.jsonl", "--at", seen], ["sync", "--at", seen]):
            self.assertIn("--at", self.refused("USAGE", *args, "--session" if args[0] != "import" else "--as", "s", stdin=compact(entry("x")))["message"])
        self.assertIn("--as", self.refused("USAGE", "import", "pi", "x.jsonl", "--session", "s")["message"])


class AllOrNoneTest(CliTest):
    def lines(self, bad):
        lines = [compact(entry(f"line {i}")) for i in range(1, 1001)]
        lines[699] = bad
        return "\n".join(lines) + "\n"

    def test_a_bad_field_in_line_700_of_1000_names_line_and_path_and_stores_nothing(self):
        self.append("before")
        error = self.refused("INVALID_FIELD", "append", "--session", "s", stdin=self.lines(compact(entry("x", role="narrator"))))
        self.assertEqual(error["details"]["line"], 700)
        self.assertEqual(error["details"]["errors"], [{"path": "/699/body/role", "message": "must be user, assistant, tool or system, is 'narrator'"}])
        self.assertIn("line 700", error["message"])
        plain = self.weir("append", "--session", "s", stdin=self.lines(compact(entry("x", role="narrator"))), code=6)
        self.assertIn("line 700", plain.errors)
        self.assertIn("/699/body/role", plain.errors)

    def test_wrong_fields_of_all_lines_are_named_as_those_of_an_array_are(self):
        self.append("before")
        entries = [entry("good"), entry("x", role="narrator"), {"type": 5, "body": {}}, entry("good"), entry("x", at="noon")]
        lines = self.refused("INVALID_FIELD", "append", "--session", "s", stdin=jsonl(entries))
        array = self.refused("INVALID_FIELD", "append", "--session", "s", stdin=compact(entries))
        self.assertEqual([item["path"] for item in lines["details"]["errors"]], ["/1/body/role", "/2/type", "/4/at"])
        self.assertEqual(lines["details"]["errors"], array["details"]["errors"])
        self.assertEqual(lines["details"]["line"], 2)

    def test_broken_json_in_line_700(self):
        self.append("before")
        for bad in ("{", '{"type":"message","body":{"role":"user"}', "nonsense", '{"a":1,"a":2}', '"\\ud800"', "[" * 65 + "]" * 65, "1e999"):
            with self.subTest(bad=bad):
                error = self.refused("INVALID_JSON", "append", "--session", "s", stdin=self.lines(bad))
                self.assertEqual(error["details"]["line"], 700)

    def test_refused_input_leaves_no_object_behind(self):
        """A large string before the mistake must not stay as a blob."""
        self.append("before")
        large = compact(entry("L" * 70000))
        for bad in (compact(entry("x", role="narrator")), compact(entry("x", parent="nowhere")), "{"):
            with self.subTest(bad=bad):
                ran = self.weir("append", "--session", "s", "--json", stdin=large + "\n" + bad + "\n", code=4 if "nowhere" in bad else 6)
                self.assertEqual(ran.out, b"")
                self.assertEqual(self.world.objects(), [])
        self.weir("append", "--session", "s", "--expect", "root", stdin=large, code=5)
        self.assertEqual(self.world.objects(), [])

    def test_an_object_others_refer_to_survives_a_refusal(self):
        self.append("L" * 70000, session="other")
        kept = self.world.objects()
        self.weir("append", "--session", "s", stdin=jsonl([entry("L" * 70000), entry("x", role="narrator")]), code=6)
        self.assertEqual(self.world.objects(), kept)
        self.sound()

    def test_a_session_is_not_made_by_a_refused_append(self):
        self.weir("init")
        self.refused("INVALID_FIELD", "append", "--session", "new", stdin=compact(entry("x", role="narrator")))
        self.refused("NOT_FOUND", "append", "--session", "new", stdin=compact(entry("x", parent="nowhere")))
        self.refused("NOT_FOUND", "session", "show", "new")


class ExpectTest(CliTest):
    def test_expect_after_another_writer_is_a_conflict_with_the_current_head(self):
        seen = self.append("seen")
        other = self.append("by another writer")
        error = self.refused("CONFLICT", "append", "--session", "s", "--expect", seen, stdin=compact(entry("late")))
        self.assertEqual(error["details"], {"head": other, "expect": seen})
        self.answer("append", "--session", "s", "--expect", other, stdin=compact(entry("in time")))
        self.assertEqual(self.tell(), ["seen", "by another writer", "in time"])

    def test_root_expects_an_empty_head(self):
        self.answer("append", "--session", "s", "--expect", "root", stdin=compact(entry("first")))
        error = self.refused("CONFLICT", "append", "--session", "s", "--expect", "root", stdin=compact(entry("second")))
        self.assertIsNone(error["details"]["expect"])

    def test_an_unknown_expectation_is_a_conflict(self):
        head = self.append("first")
        error = self.refused("CONFLICT", "append", "--session", "s", "--expect", "gone", stdin=compact(entry("x")))
        self.assertEqual(error["details"], {"head": head, "expect": "gone"})

    def test_of_many_writers_who_saw_the_same_head_one_wins(self):
        head = self.append("first")
        racers = [self.world.start("append", "--session", "s", "--expect", head, "--type", "message", "--json", self.world.file(f"{i}.json", compact({"role": "user", "content": f"racer {i}"}))) for i in range(8)]
        codes = sorted(self.world.finish(racer).code for racer in racers)
        self.assertEqual(codes, [0] + [5] * 7)
        self.assertEqual(len(self.log()), 2)

    def test_writers_in_parallel_lose_nothing(self):
        writers = [self.world.start("append", "--session", f"s{i % 2}", "--json", self.world.file(f"{i}.jsonl", jsonl(entry(f"{i}-{k}") for k in range(20)))) for i in range(12)]
        for writer in writers:
            self.assertEqual(self.world.finish(writer).code, 0)
        for name in ("s0", "s1"):
            _, lines, _ = self.stream("export", "--session", name)
            self.assertEqual(len(lines), 120)
            self.assertEqual([line["seq"] for line in lines], list(range(1, 121)))
        self.sound()


class IdempotencyTest(CliTest):
    def test_the_same_entry_again_is_the_first_one(self):
        text = jsonl([entry("a", id="A"), entry("b", id="B")])
        first = self.answer("append", "--session", "s", stdin=text)
        before = self.world.dump()
        self.assertEqual(self.answer("append", "--session", "s", stdin=text), first)
        self.assertEqual(self.world.dump(), before)

    def test_the_same_id_with_other_content_is_refused(self):
        self.append("a", id="A")
        self.append("b", id="B")
        for other in (entry("changed", id="B"), entry("b", id="B", role="assistant"), entry("b", id="B", parent=None), {"type": "note", "body": {"role": "user", "content": "b"}, "id": "B"}):
            error = self.refused("ID_REUSED", "append", "--session", "s", stdin=compact(other))
            self.assertEqual((error["details"]["id"], error["details"]["seq"]), ("B", 2))

    def test_a_parent_left_out_is_not_compared(self):
        self.append("a", id="A")
        self.append("b", id="B")
        self.append("c", id="C")
        self.assertEqual(self.append("b", id="B"), "B")

    def test_a_repeated_call_never_turns_a_head_back(self):
        self.append("a", id="A")
        self.append("b", id="B")
        self.append("c", id="C")
        self.append("b", id="B")
        self.assertEqual(self.tell(), ["a", "b", "c"])
        self.weir("head", "move", "main", "A", "--session", "s")
        self.append("b", id="B")
        self.assertEqual(self.tell(), ["a", "b"])

    def test_a_derived_id_that_is_there_is_that_entry(self):
        first = self.append("a")
        self.weir("head", "move", "main", "root", "--session", "s")
        self.assertEqual(self.append("a"), first)
        self.assertEqual(len(self.stream("export", "--session", "s")[1]), 1)


class BadInputTest(CliTest):
    """Each is refused with its code, and the store is as it was."""

    def setUp(self):
        super().setUp()
        self.append("good", id="good")

    def bad(self, code, text, *args, **details):
        error = self.refused(code, "append", "--session", "s", *args, stdin=text)
        for key, value in details.items():
            self.assertEqual(error["details"][key], value, error)
        return error

    def wrapped(self, raw):
        """An entry whose content is this JSON text."""
        text = raw if isinstance(raw, bytes) else raw.encode()
        return b'{"type":"custom","body":{"data":' + text + b"}}"

    def test_a_blob_name_that_is_none_is_named_with_its_place(self):
        error = self.refused("INVALID_FIELD", "append", "--session", "s", stdin=compact({"type": "message", "body": {"role": "user", "content": {"$blob": 5}}}))
        self.assertEqual([e["path"] for e in error["details"]["errors"]], ["/body/content/$blob"])

    def test_taking_content_out_is_said_with_null(self):
        self.append("one", id="one")
        self.refused("INVALID_FIELD", "append", "--session", "s", stdin=compact({"type": "context_edit", "body": {"target": "one", "replacment": "x"}}))
        self.weir("append", "--session", "s", stdin=compact({"type": "context_edit", "body": {"target": "one", "replacement": None}}))

    def test_invalid_utf8(self):
        for raw in (b'"\xff"', b'"\xc3\x28"', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"', b'"\xc0\xaf"', b'"\xe2\x82"', b'{"\xff":1}'):
            with self.subTest(raw=raw):
                self.bad("INVALID_JSON", self.wrapped(raw))

    def test_lone_surrogates(self):
        for raw in ('"\\ud800"', '"\\udc00"', '"\\ud800\\ud800"', '"\\ude42\\ud83d"', '"x\\ud83dy"', '{"\\ud800":1}'):
            with self.subTest(raw=raw):
                self.bad("INVALID_JSON", self.wrapped(raw))

    def test_duplicate_keys(self):
        for raw in ('{"a":1,"a":1}', '{"x":{"a":1,"b":2,"a":3}}', '{"a":1,"\\u0061":2}', '[{"k":null,"k":null}]'):
            with self.subTest(raw=raw):
                self.assertIn("twice", self.bad("INVALID_JSON", self.wrapped(raw))["message"])
        self.bad("INVALID_JSON", '{"type":"custom","type":"custom","body":{}}')

    def test_depth_bombs(self):
        self.weir("append", "--session", "deep", stdin=self.wrapped("[" * 62 + "]" * 62))
        self.bad("INVALID_JSON", self.wrapped("[" * 63 + "]" * 63))
        for text in (b"[" * 1_000_000, self.wrapped("[" * 500_000 + "]" * 500_000), b'{"a":' * 300_000, self.wrapped('{"a":' * 300_000 + "1" + "}" * 300_000)):
            self.bad("INVALID_JSON", text)

    def test_size_bombs(self):
        items = "[" + ",".join('"%07d"' % i for i in range(110_000)) + "]"
        self.bad("LIMIT_EXCEEDED", self.wrapped(items), limit=1 << 20)
        self.bad("LIMIT_EXCEEDED", self.wrapped("{" + ",".join('"%07d":0' % i for i in range(110_000)) + "}"), limit=1 << 20)
        large = b'{"type":"custom","body":{"data":"' + b"x" * (64 << 20) + b'"}}'
        self.bad("LIMIT_EXCEEDED", large, limit=64 << 20)
        self.bad("LIMIT_EXCEEDED", b'[ {"type":"x","body":{"a":"],\\""}} , ' + large + b" ]", limit=64 << 20, value=len(large))
        # It is one entry's: together they may be longer.
        half = b'{"type":"custom","body":{"data":"' + b"x" * (33 << 20) + b'"}}'
        self.weir("append", "--session", "halves", "--dry-run", stdin=b"[" + half + b",\n" + half + b"]")

    def test_too_many_entries(self):
        self.bad("LIMIT_EXCEEDED", '{"type":"x","body":{}}\n' * 100_001, limit=100_000, value=100_001)

    def test_numbers_out_of_range(self):
        for raw in ("1e400", "-1e400", "1" + "0" * 400 + ".5", "[1e309]"):
            self.bad("INVALID_JSON", self.wrapped(raw))
        for raw in ("NaN", "Infinity", "-Infinity", "+1", "01", "1.", ".5", "0x10", "1e", "-"):
            self.bad("INVALID_JSON", self.wrapped(raw))
        self.bad("LIMIT_EXCEEDED", self.wrapped("9" * 4097), limit=4096, value=4097)
        self.bad("LIMIT_EXCEEDED", b'{"type":"x","body":{}}\n' + self.wrapped("9" * 4097), limit=4096, value=4097)
        self.weir("append", "--session", "big", stdin=self.wrapped("9" * 4096))
        self.assertIn("9" * 4096, self.weir("show", "main", "--session", "big", "--raw").text)

    def test_what_is_no_json(self):
        for text in ("", "   \n", "hello", "{'a':1}", '{"type":"custom","body":{}} trailing', '{"type":"custom","body":{}}}', '{"type":"custom","body":{},}', "\ufeff{}", '{"type":"custom","body":{"a":"tab\tin it"}}', "// comment\n{}"):
            with self.subTest(text=text):
                self.bad("INVALID_JSON", text)
        self.bad("INVALID_JSON", bytes(range(256)))

    def test_wrong_fields_are_all_named(self):
        error = self.bad("INVALID_FIELD", '[{"type":5,"body":[],"id":"","at":"noon","extra":1},{"body":{}},{"type":"message","body":{"role":"x","content":7,"tool_calls":{},"turn":"one","is_error":"no"}},3]')
        self.assertEqual(
            sorted(item["path"] for item in error["details"]["errors"]),
            sorted(["/0/type", "/0/body", "/0/id", "/0/at", "/0/extra", "/1/type", "/2/body/role", "/2/body/content", "/2/body/tool_calls", "/2/body/turn", "/2/body/is_error", "/3"]),
        )

    def test_bodies_of_known_types_are_checked(self):
        for kind, body, path in (
            ("message", {}, "/body/role"), ("message", {"role": "user", "content": [1]}, "/body/content/0"), ("message", {"role": "user", "tool_calls": [1]}, "/body/tool_calls/0"),
            ("compaction", {"summary": 1}, "/body/summary"), ("compaction", {"kept": [1]}, "/body/kept/0"), ("compaction", {"tokens_before": -1}, "/body/tokens_before"),
            ("compaction", {"replacement": {}}, "/body/replacement"), ("compaction", {"replacement": [{"role": "x"}]}, "/body/replacement/0/role"), ("label", {"label": "x"}, "/body/target"),
            ("context_edit", {"replacement": None}, "/body/target"), ("context_edit", {"target": "a", "replacement": 5}, "/body/replacement"), ("branch_summary", {}, "/body/summary"),
            ("session_info", {"name": 1}, "/body/name"), ("session_info", {"tools": []}, "/body/tools"),
        ):  # fmt: skip
            with self.subTest(kind=kind, body=body):
                error = self.bad("INVALID_FIELD", compact({"type": kind, "body": body}))
                self.assertEqual(error["details"]["errors"][0]["path"], path)

    def test_unknown_parents(self):
        for parent in ("nowhere", "e0123456789abcdef", "good~1"):
            self.assertEqual(self.bad("NOT_FOUND", jsonl([entry("fine"), entry("x", parent=parent)]))["details"]["index"], 1)

    def test_reused_ids(self):
        self.bad("ID_REUSED", compact(entry("other", id="good")), id="good", seq=1)
        self.bad("ID_REUSED", jsonl([entry("a", id="new"), entry("b", id="new")]), index=1)

    def test_ids_that_cannot_be(self):
        for identity in ("", "a b", "tab\tid", "line\nfeed", "nbsp\u00a0", "x" * 257, "bell\u0007", "c1\u0085", "\u2003"):
            with self.subTest(identity=identity):
                self.assertEqual(self.bad("INVALID_FIELD", compact(entry("x", id=identity)))["details"]["errors"][0]["path"], "/id")
        self.append("x", id="ü" * 128)
        self.append("x", id="~!@#$%^&*()'\";--/\\")

    def test_types_that_cannot_be(self):
        for kind in ("", "a b", "x" * 65, "ü", "a/b", "new\nline"):
            with self.subTest(kind=kind):
                self.assertEqual(self.bad("INVALID_FIELD", compact({"type": kind, "body": {}}))["details"]["errors"][0]["path"], "/type")

    def test_bad_session_and_head_names(self):
        for name in (".hidden", "-dash", "a/b", "../up", "x" * 129, "ü", "a b", "a\nb", "a;DROP TABLE entry"):
            with self.subTest(name=name):
                self.refused("INVALID_FIELD", "append", f"--session={name}", stdin=compact(entry("x")))
                self.refused("INVALID_FIELD", "session", "new", "--", name)
                self.refused("INVALID_FIELD", "append", "--session", "s", f"--head={name}", stdin=compact(entry("x")))
                self.refused("INVALID_FIELD", "head", "fork", "--session", "s", "--", name)
                self.refused("INVALID_FIELD", "import", "pi", os.path.join(harness.DATA, "pi-v2.jsonl"), f"--as={name}")
        self.weir("append", "--session", "x" * 128, stdin=compact(entry("fine")))

    def test_blob_objects_must_name_a_stored_blob(self):
        self.bad("NOT_FOUND", self.wrapped('{"$blob":"sha256:%s","bytes":1}' % ("0" * 64)), object="sha256:" + "0" * 64)
        for raw in ('{"$blob":"sha256:xyz","bytes":1}', '{"$blob":"md5:00","bytes":1}', '{"$blob":5}', '{"$blob":"sha256:%s"}' % ("A" * 64)):
            with self.subTest(raw=raw):
                self.bad("INVALID_FIELD", self.wrapped(raw))

    def test_a_missing_file(self):
        self.refused("NOT_FOUND", "append", "--session", "s", "nowhere.jsonl")

    def test_times_that_cannot_be(self):
        for at in ("2026-02-30T00:00:00Z", "2026-01-01", "now", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00", ""):
            with self.subTest(at=at):
                self.assertEqual(self.bad("INVALID_FIELD", compact(entry("x", at=at)))["details"]["errors"][0]["path"], "/at")


if __name__ == "__main__":
    harness.main()
