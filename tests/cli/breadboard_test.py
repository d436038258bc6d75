"""The profile breadboard-0.1 from the command line, against the vectors that BreadBoard itself computed: record files,
the same records in a store, trees, kept outputs, and files with faults."""

import glob
import hashlib
import json
import os

import ctree_case
import secrets_made
from ctree_case import STAGES, CtreeCase, node, user, worked_example
from harness import DATA, compact, jsonl, parse_line

HEADER_LINE = '{"_type":"ctree_eventlog_header","schema_version":"0.1"}\n'


def vectors():
    for path in sorted(glob.glob(os.path.join(DATA, "breadboard-0.1", "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield json.load(file)


def sha1(text):
    return hashlib.sha1(text.encode()).hexdigest()


class BreadboardCase(CtreeCase):
    def foreign(self, *args, code=0, **how):
        """The answer of breadboard-0.1. Python's reader, because this profile writes NaN and lone surrogates."""
        ran = self.weir("--json", "compile", "--profile", "breadboard-0.1", *args, code=code, **how)
        return json.loads(ran.out)

    def of_file(self, text, *args, config=None, **how):
        path = self.world.file("ctree_events.jsonl", text)
        if config is not None:
            args = (*args, "--compile-config", self.config_file(json.dumps(config)))
        return self.foreign("--records", path, *args, **how)

    def without_profile(self, output):
        self.assertEqual(output.pop("profile"), "breadboard-0.1")
        return output


class VectorsTest(BreadboardCase):
    def test_there_are_vectors(self):
        self.assertGreaterEqual(len(list(vectors())), 12)

    def test_a_record_file_of_breadboard_replays_to_the_hashes_it_had(self):
        """Case 1: events_jsonl against replay_from_disk."""
        for vector in vectors():
            with self.subTest(case=vector["case"]):
                expected = vector["expected"]["replay_from_disk"]
                output = self.of_file(vector["expected"]["persist"]["events_jsonl"])
                self.assertEqual(output["hashes"], expected["compile_hashes"])
                self.assertEqual((output["node_count"], output["event_count"]), (expected["snapshot"]["node_count"], expected["snapshot"]["event_count"]))
                self.assertEqual(output["hashes"]["node_hash"], expected["snapshot"]["node_hash"])
                self.assertEqual(self.world.runs[-1].err, b"")
                tree = self.of_file(vector["expected"]["persist"]["events_jsonl"], "--tree", "--stage", "RAW")
                self.assertEqual([one["id"].removeprefix("ctrees:node:") for one in tree["nodes"] if one["id"].startswith("ctrees:node:")], expected["node_ids"])

    def test_every_compilation_of_the_vectors_comes_out_whole(self):
        """Case 1: the records as they were given, under each config."""
        count = 0
        for vector in vectors():
            records = "".join(text + "\n" for text in vector["input"]["records_text"])
            for one in vector["expected"]["compile"]:
                with self.subTest(case=vector["case"], config=one["config"]):
                    self.assertIsNone(one["prompt_summary"])
                    self.assertEqual(self.without_profile(self.of_file(records, config=one["config"])), one["output"])
                    count += 1
        self.assertGreaterEqual(count, 40)

    def test_every_tree_of_the_vectors_comes_out_whole(self):
        """Case 1."""
        count = 0
        for vector in vectors():
            records = "".join(text + "\n" for text in vector["input"]["records_text"])
            for one in vector["expected"]["tree"]:
                args = one["args"]
                options = ["--previews"] if args["include_previews"] else []
                if args["collapse_target"] is not None:
                    options += ["--collapse-target", str(args["collapse_target"]), "--collapse-mode", args["collapse_mode"]]
                with self.subTest(case=vector["case"], args=args):
                    tree = self.of_file(records, "--tree", "--stage", args["stage"], *options, config=args["compiler_config"])
                    tree.pop("profile", None)
                    self.assertEqual(tree, one["output"])
                    count += 1
        self.assertGreaterEqual(count, 60)

    def test_a_tree_keeps_what_its_mode_says(self):
        text = self.MESSAGES
        collapsed = lambda *args: [one["meta"]["collapsed_ids"] for one in self.of_file(text, "--tree", *args)["nodes"] if one["kind"] == "collapsed"]  # noqa: E731
        self.assertEqual([len(ids) for ids in collapsed()], [1])
        self.assertEqual(collapsed("--collapse-mode", "all_but_last"), collapsed())
        self.assertEqual(collapsed("--collapse-mode", "none"), [])
        for option in (["--collapse-target", "1"], ["--collapse-mode", "none"]):
            self.refused("INVALID_FIELD", "compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", text), *option)

    MESSAGES = "".join('{"kind":"message","payload":{"role":"%s","content":"x"},"turn":1}\n' % role for role in ("tool", "user", "assistant"))

    def test_a_prompt_summary_stands_in_raw_and_changes_z1_alone(self):
        """12.7."""
        plain = self.of_file(self.MESSAGES)
        summary = {"b": [1.0, "é"], "api_key": "as given"}
        given = self.of_file(self.MESSAGES, "--prompt-summary", self.world.file("prompt.json", json.dumps(summary)))
        self.assertEqual((plain["has_prompt_summary"], given["has_prompt_summary"]), (False, True))
        self.assertEqual(given["stages"]["RAW"], {**plain["stages"]["RAW"], "prompt_summary": summary})
        z1 = sha1(json.dumps(given["stages"]["RAW"], sort_keys=True, separators=(",", ":")))
        self.assertEqual(given["hashes"], {**plain["hashes"], "z1": z1})
        for empty in ("null", "{}", "[]", '""', "0"):
            self.assertEqual(self.of_file(self.MESSAGES, "--prompt-summary", self.world.file("prompt.json", empty)), plain)
        self.refused("INVALID_FIELD", "compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", self.MESSAGES), "--tree", "--prompt-summary", self.world.file("prompt.json", "{}"))
        self.refused("INVALID_JSON", "compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", self.MESSAGES), "--prompt-summary", self.world.file("prompt.json", "{"))

    def test_the_same_records_as_entries_with_their_raw_text_have_the_same_hashes(self):
        """Case 1 (12.1)."""
        for i, vector in enumerate(vectors()):
            with self.subTest(case=vector["case"]):
                texts = vector["input"]["records_text"]
                if not texts:
                    continue
                for session, given in ((f"v{i}", True), (f"w{i}", False)):
                    entries = []
                    for text in texts:
                        record = json.loads(text)
                        body = {"kind": "k", "payload": None, "raw": text}
                        if given and record.get("node_id"):
                            body["node_id"] = record["node_id"]
                        entries.append({"type": "ctree_node", "body": body})
                    self.weir("append", "--session", session, "--no-mask", stdin=jsonl(entries))
                    for one in vector["expected"]["compile"]:
                        output = self.without_profile(self.foreign("--session", session, "--compile-config", self.config_file(json.dumps(one["config"]))))
                        self.assertEqual(output, one["output"])

    def test_one_stage_is_the_stage_of_the_whole_output(self):
        for vector in list(vectors())[:3]:
            text = vector["expected"]["persist"]["events_jsonl"]
            whole = self.of_file(text)
            for stage in STAGES:
                self.assertEqual(self.of_file(text, "--stage", stage)["stages"], {stage: whole["stages"][stage]})
                shown = self.weir("compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", text), "--stage", stage)
                self.assertEqual(json.loads(shown.out), whole["stages"][stage])
            self.assertEqual(whole["stages"]["FROZEN"], whole["stages"]["HEADER"])

    def test_the_worked_record_has_the_hashes_of_the_page(self):
        """Case 1 (the end of section 12)."""
        text = '{"kind":"message","payload":{"role":"user","content":"hello"},"turn":1}\n'
        output = self.of_file(text)
        self.assertEqual(output["hashes"], {
            "node_hash": "5f9ecf70b669045ae584d85a81b7409cfed00e1b", "z1": "3400077c7c7b6a49440e2f031ff47c5f30d0e9f4", "z2": "d239bc61ea73c1e16efe2c986a45f636584ece64", "z3": "3dd4f04964059a648149c5d44f605fe1789cee20"})  # fmt: skip
        self.assertEqual(output["stages"]["SPEC"]["selection"]["selection_sha256"], "0f718acb268c84a3c37ba456a292dd5d6f1befb9")
        self.assertEqual((output["stages"]["SPEC"]["selected"][0]["id"], output["stages"]["SPEC"]["selected"][0]["digest"]), ("n00000000_2be4d47b", "2be4d47ba4960db1b9f63fb1e697e3d2912694ab"))
        self.assertEqual(self.of_file(text, "--previews")["hashes"]["z3"], "97b6dc44aec3f9eeea62671c1d248afe4abead52")
        human = self.weir("compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", text)).text
        for value in (*output["hashes"].values(), "0f718acb268c84a3c37ba456a292dd5d6f1befb9"):
            self.assertIn(value, human)

    def test_a_record_file_needs_no_store_and_makes_none(self):
        self.of_file(HEADER_LINE)
        self.assertFalse(os.path.exists(self.world.store))
        self.weir("compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", HEADER_LINE), "--store", self.world.path("nowhere"))
        self.assertFalse(os.path.exists(self.world.path("nowhere")))

    def test_the_records_come_from_standard_input_too(self):
        text = next(vectors())["expected"]["persist"]["events_jsonl"]
        ran = self.weir("--json", "compile", "--profile", "breadboard-0.1", "--records", "-", stdin=text)
        self.assertEqual(json.loads(ran.out), self.of_file(text))


class NumbersAndTextTest(BreadboardCase):
    def digest_of(self, payload):
        return self.of_file('{"kind":"k","payload":%s,"turn":null}\n' % payload, config={"kind_allowlist": ["k"]})["stages"]["SPEC"]["selected"][0]["digest"]

    def test_numbers_are_written_as_python_does(self):
        """Case 13."""
        written = {"1": "1", "1.0": "1.0", "1e21": "1e+21", "5e-324": "5e-324", "-0.0": "-0.0", "-0": "0", "1e16": "1e+16", "1e-5": "1e-05", "0.0001": "0.0001", "1e15": "1000000000000000.0", "123456789012345678.0": "1.2345678901234568e+17", "1e400": "Infinity", "NaN": "NaN", "-Infinity": "-Infinity", "9" * 400: "9" * 400}  # fmt: skip
        for text, canonical in written.items():
            self.assertEqual(self.digest_of(text), sha1('{"kind":"k","payload":%s,"turn":null}' % canonical), text)

    def test_keys_are_in_code_point_order_and_text_is_ascii(self):
        """Case 10: U+10000 sorts after U+FFFF here."""
        self.assertEqual(self.digest_of('{"\U00010000":2,"\uffff":1,"é":3}'), sha1('{"kind":"k","payload":{"\\u00e9":3,"\\uffff":1,"\\ud800\\udc00":2},"turn":null}'))
        self.assertEqual(self.digest_of('"\\ud800"'), sha1('{"kind":"k","payload":"\\ud800","turn":null}'))
        self.assertEqual(self.digest_of('"\\u007f/\\u0001"'), sha1('{"kind":"k","payload":"\\u007f/\\u0001","turn":null}'))

    def test_of_equal_keys_the_last_wins(self):
        self.assertEqual(self.digest_of('{"a":1,"a":2}'), sha1('{"kind":"k","payload":{"a":2},"turn":null}'))


class FaultsTest(BreadboardCase):
    """Case 47: the profile keeps BreadBoard's faults."""

    def records(self, *payloads):
        return "".join('{"kind":"message","payload":%s,"turn":%d}\n' % (compact(payload), i) for i, payload in enumerate(payloads))

    MANY = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]

    def test_max_nodes_0_keeps_all(self):
        self.assertEqual(self.of_file(self.records(*self.MANY), config={"selection": {"max_nodes": 0}})["stages"]["SPEC"]["selection"]["selected_count"], 3)

    def test_the_shape_lists_seq_which_is_not_hashed(self):
        with_seq, without = (self.of_file(self.records({"role": "user", "content": "a", **more}))["stages"]["SPEC"]["selected"][0] for more in ({"seq": 4}, {}))
        self.assertEqual((with_seq["digest"], with_seq["payload_hash"]), (without["digest"], without["payload_hash"]))
        self.assertEqual((with_seq["payload_shape"], without["payload_shape"]), (["content", "role", "seq"], ["content", "role"]))

    def test_a_pin_whose_turn_was_cut_is_added_when_something_else_was_selected(self):
        text = '{"kind":"message","payload":{"role":"user","content":"a"},"turn":null}\n{"kind":"note","payload":1,"turn":1}\n'
        wide = self.of_file(text)["stages"]["SPEC"]["selection"]
        self.assertEqual((wide["pinned_count"], wide["selected_count"]), (1, 1))
        turned = '{"kind":"message","payload":{"role":"user","content":"a"},"turn":"x"}\n{"kind":"message","payload":{"role":"tool","content":"b"},"turn":5}\n{"kind":"message","payload":{"role":"tool","content":"c"},"turn":6}\n'
        some = self.of_file(turned, config={"selection": {"max_turns": 1}})["stages"]["SPEC"]["selection"]
        self.assertEqual(some["selected_count"], 2)  # the newest turn, and the pin, whose turn was cut

    def test_text_under_five_key_names_is_masked_and_nothing_else(self):
        """12.2."""
        for key, masked in (("api_key", True), ("API_KEY", True), ("Authorization", True), ("password", False), ("apikey", False), ("token", False)):
            got = self.of_file('{"kind":"message","payload":{"%s":"v","deep":{"%s":1}},"turn":1}\n' % (key, key))["stages"]["SPEC"]["selected"][0]["payload_hash"]
            want = {key: "***REDACTED***", "deep": {key: "***REDACTED***"}} if masked else {key: "v", "deep": {key: 1}}
            self.assertEqual(got, sha1(json.dumps(want, sort_keys=True, separators=(",", ":"))), key)

    def test_an_array_as_role_cannot_be_reproduced(self):
        """12.5."""
        ran = self.world.run("--json", "compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", '{"kind":"message","payload":{"role":["user"],"content":"x"},"turn":1}\n'))
        self.assertEqual((ran.code, ran.out), (6, b""), ran)
        self.assertEqual(parse_line(ran.errors)["error"]["code"], "NOT_REPRODUCIBLE")


class BadLinesTest(BreadboardCase):
    GOOD = '{"kind":"message","node_id":"n1","payload":{"content":"hello","role":"user"},"turn":1}\n'

    def told(self, text, *args):
        path = self.world.file("ctree_events.jsonl", text)
        ran = self.weir("compile", "--profile", "breadboard-0.1", "--records", path, *args)
        return [line.split("ctree_events.jsonl:", 1)[1] for line in ran.errors.splitlines()], ran

    def test_a_torn_last_line_is_tolerated_and_told(self):
        """Case 46."""
        whole = self.of_file(HEADER_LINE + self.GOOD)
        for cut in range(1, len(self.GOOD) - 1, 7):
            text = HEADER_LINE + self.GOOD + self.GOOD[:cut]
            lines, _ = self.told(text)
            self.assertEqual(len(lines), 1, text)
            self.assertTrue(lines[0].startswith("3: torn"), lines)
            self.assertEqual(self.of_file(text), whole)

    def test_a_last_line_that_only_lacks_its_newline_is_a_record(self):
        """Case 46."""
        lines, _ = self.told(HEADER_LINE + self.GOOD.rstrip("\n"))
        self.assertEqual(lines, [])
        self.assertEqual(self.of_file(HEADER_LINE + self.GOOD.rstrip("\n")), self.of_file(HEADER_LINE + self.GOOD))

    def test_bad_lines_are_listed_with_their_numbers_and_give_no_record(self):
        """Case 46 (12.9)."""
        text = HEADER_LINE + "not json\n" + self.GOOD + "[1]\n" + "\n" + '{"payload":1}\n' + '"text"\n' + '{"kind":"","payload":1}\n'
        lines, ran = self.told(text)
        self.assertEqual([line.split(":")[0] for line in lines], ["2", "4", "6", "7", "8"])
        self.assertEqual(self.of_file(text), self.of_file(HEADER_LINE + self.GOOD))
        self.assertIn("1 records", ran.text)

    def test_a_node_id_used_twice_is_a_warning_with_both_lines(self):
        """Case 46."""
        lines, ran = self.told(HEADER_LINE + self.GOOD + self.GOOD.replace("hello", "again"))
        self.assertEqual(len(lines), 1)
        self.assertTrue(lines[0].startswith("3: ") and "line 2" in lines[0] and "n1" in lines[0], lines)
        self.assertIn("2 records", ran.text)

    def test_the_report_does_not_hold_the_text_of_a_line_nor_a_secret(self):
        """Case 46 and the rule of the seed."""
        _, _, secret = secrets_made.bare(1)[0]
        lines, ran = self.told(HEADER_LINE + "{broken " + secret + "\n" + self.GOOD.replace("n1", secret) + self.GOOD.replace("n1", secret))
        self.assertNotIn(secret, ran.errors)
        self.assertEqual(len(lines), 2)

    def test_json_goes_to_stdout_only_and_the_report_to_stderr(self):
        path = self.world.file("r.jsonl", "bad\n" + self.GOOD)
        ran = self.weir("--json", "compile", "--profile", "breadboard-0.1", "--records", path)
        self.assertEqual(json.loads(ran.out)["node_count"], 1)
        self.assertIn(":1: ", ran.errors)
        self.assertEqual(self.weir("--json", "--quiet", "compile", "--profile", "breadboard-0.1", "--records", path).err, b"")


class ExpectTest(BreadboardCase):
    def setUp(self):
        super().setUp()
        self.a, self.b = (self.world.file(name, '{"kind":"message","payload":{"role":"user","content":"%s"},"turn":1}\n' % name) for name in ("a.jsonl", "b.jsonl"))
        self.kept = self.world.file("kept.json", self.weir("--json", "compile", "--profile", "breadboard-0.1", "--records", self.a).out)

    def test_the_same_records_agree_and_others_do_not(self):
        """Exit 0 and 1."""
        self.assertIs(self.foreign("--records", self.a, "--expect", self.kept)["match"], True)
        found = self.foreign("--records", self.b, "--expect", self.kept, code=1)
        self.assertIs(found["match"], False)
        self.assertNotEqual(found["expected"]["z2"], found["found"]["z2"])
        self.assertIn("the same", self.weir("compile", "--profile", "breadboard-0.1", "--records", self.a, "--expect", self.kept).text)
        self.assertIn("not the same", self.weir("compile", "--profile", "breadboard-0.1", "--records", self.b, "--expect", self.kept, code=1).text)

    def test_an_output_that_breadboard_itself_wrote_agrees(self):
        """Without our own member `profile`."""
        for vector in vectors():
            records = self.world.file("r.jsonl", "".join(text + "\n" for text in vector["input"]["records_text"]))
            kept = self.world.file("theirs.json", json.dumps(vector["expected"]["compile"][0]["output"]))
            config = self.config_file(json.dumps(vector["expected"]["compile"][0]["config"]))
            self.assertIs(self.foreign("--records", records, "--compile-config", config, "--expect", kept)["match"], True, vector["case"])

    def test_an_output_of_weir_1_is_a_mismatch_and_never_a_difference(self):
        self.give(worked_example())
        own = self.world.file("own.json", self.weir("--json", "compile", "--session", "s").out)
        error = self.refused("PROFILE_MISMATCH", "compile", "--profile", "breadboard-0.1", "--records", self.a, "--expect", own)
        self.assertEqual((error["message"], error["details"]), ("hashes of weir-1 and breadboard-0.1 cannot be compared", {"a": "weir-1", "b": "breadboard-0.1", "file": own}))
        self.refused("PROFILE_MISMATCH", "compile", "--profile", "breadboard-0.1", "--session", "s", "--expect", own)
        self.refused("PROFILE_MISMATCH", "compile", "--session", "s", "--expect", self.kept)
        self.refused("PROFILE_MISMATCH", "diff", "s", self.kept)
        self.refused("PROFILE_MISMATCH", "diff", own, self.kept)

    def test_an_unknown_version_is_unknown_and_never_a_difference(self):
        for version in ("0.2", "", None, 1, {"a": 1}):
            with open(self.kept) as file:
                kept = json.load(file)
            kept["schema_version"] = version
            file = self.world.file("unknown.json", json.dumps(kept))
            error = self.refused("SCHEMA_UNKNOWN", "compile", "--profile", "breadboard-0.1", "--records", self.a, "--expect", file)
            self.assertEqual(sorted(error["details"]), ["file", "schema_version"])

    def test_two_kept_outputs_of_breadboard_can_be_compared(self):
        """Section 1: hashes of one profile are comparable."""
        other = self.world.file("other.json", self.weir("--json", "compile", "--profile", "breadboard-0.1", "--records", self.b).out)
        self.assertIs(self.answer("diff", self.kept, self.kept)["equal"], True)
        self.assertIs(self.answer("diff", self.kept, other, code=1)["equal"], False)

    def test_a_name_of_a_profile_nobody_knows_is_refused(self):
        for profile in ("breadboard", "breadboard-0.2", "weir-2", "BREADBOARD-0.1"):
            self.refused("INVALID_FIELD", "compile", "--profile", profile, "--records", self.a)
        self.refused("INVALID_FIELD", "compile", "--records", self.a)


class StoredRecordsTest(BreadboardCase):
    def test_messages_of_a_session_become_records_with_four_members(self):
        """12.1."""
        self.give(worked_example("toolu_9"))
        output = self.foreign("--session", "s")
        self.assertEqual(output["node_count"], 6)
        first = {"content": "You are terse.", "name": None, "role": "system", "tool_calls": None}
        self.assertEqual(output["stages"]["SPEC"]["selected"][0]["digest"], sha1(json.dumps({"kind": "message", "payload": first, "turn": 0}, sort_keys=True, separators=(",", ":"))))
        self.assertEqual([one["payload_shape"] for one in output["stages"]["SPEC"]["selected"]], [["content", "name", "role", "tool_calls"]] * 6)
        self.assertEqual([one["turn"] for one in output["stages"]["SPEC"]["selected"]], [0, 1, 1, 1, 1, 2])

    def test_other_entries_make_no_record(self):
        self.give(worked_example())
        before = self.foreign("--session", "s")
        self.give([{"type": "compaction", "body": {"summary": "s"}}, {"type": "branch_summary", "body": {"summary": "s"}}, {"type": "custom", "body": {}}, {"type": "NEXT_ACTIONS_SET", "body": {"actions": ["a"]}}])
        self.assertEqual(self.foreign("--session", "s"), before)

    def test_a_node_without_raw_text_is_its_body(self):
        self.give([node("message", {"role": "user", "content": "hello"}, turn=1)])
        self.assertEqual(self.foreign("--session", "s")["hashes"]["z3"], "3dd4f04964059a648149c5d44f605fe1789cee20")

    def test_a_record_that_was_masked_when_it_was_stored_is_told(self):
        """12.1."""
        _, _, secret = secrets_made.bare(1)[0]
        raw = compact({"kind": "message", "payload": {"role": "user", "content": "x " + secret}, "turn": 1})
        self.give([node("message", None, raw=raw)], "masked")
        self.give([node("message", None, raw=raw)], "whole", "--no-mask")
        ran = self.weir("compile", "--profile", "breadboard-0.1", "--session", "masked")
        self.assertIn("masked", ran.errors)
        self.assertEqual(self.weir("compile", "--profile", "breadboard-0.1", "--session", "whole").err, b"")
        self.assertEqual(self.foreign("--session", "whole")["hashes"], self.of_file(raw + "\n")["hashes"])
        self.assertNotEqual(self.foreign("--session", "masked")["hashes"], self.of_file(raw + "\n")["hashes"])

    def test_raw_text_changes_nothing_in_weir_1(self):
        """3.1: raw is for section 12."""
        self.give([node("k", {"a": 1}, turn=1, raw='{"kind":"other","payload":2}')], "a")
        self.give([node("k", {"a": 1}, turn=1)], "b")
        self.assertEqual(self.compiled("a"), self.compiled("b"))

    def test_raw_text_that_is_no_record_is_an_error_or_told(self):
        for i, raw in enumerate(("", "{", "[]", "null", '{"payload":1}', 7)):
            ran = self.world.run("append", "--session", f"r{i}", stdin=compact(node("k", 1, raw=raw)))
            if ran.code:
                self.assertEqual(ran.code, 6, ran)
                continue
            ran = self.world.run("--json", "compile", "--profile", "breadboard-0.1", "--session", f"r{i}")
            self.assertIn(ran.code, (0, 6), ran)
            if ran.code == 0 and json.loads(ran.out)["node_count"] == 0:
                self.assertTrue(ran.err, ("a record was left out without a word", raw))

    def test_the_profile_can_be_set_in_the_configuration(self):
        self.give([user("x")])
        self.world.user_config('[compile]\nprofile = "breadboard-0.1"\n')
        self.assertEqual(json.loads(self.weir("--json", "compile", "--session", "s").out)["profile"], "breadboard-0.1")


if __name__ == "__main__":
    ctree_case.main()
