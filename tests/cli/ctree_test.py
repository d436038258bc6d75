"""The context compiler from the command line: the acceptance cases of its contract that can be seen there. The number
of the case stands in each docstring."""

import hashlib
import json
import os
import random
import re

import ctree_case
import secrets_made
from ctree_case import DROPPED, HASHES, KEPT, OUTSIDE, STAGES, CtreeCase, assistant, compaction, ids, node, ordinals, system, tool, user, with_ids, worked_example
from harness import compact, entry, jsonl, parse_line

MARK = "***REDACTED***"
LIMITS = ("max_nodes", "max_turns", "max_message_chars", "max_bytes", "max_tokens", "target")


def digest(domain, text):
    return hashlib.sha256(domain.encode() + b"\0" + (text if isinstance(text, bytes) else text.encode())).hexdigest()


def limited(name, value):
    return {"collapse": {"target": value}} if name == "target" else {"selection": {name: value}}


class PrintedHashesTest(CtreeCase):
    DEFAULTS = {
        "node_hash": "f67f151ef8479240b7c5068acf216ec4e32a6aef6bffa0e39f05d669c7699cb5", "z1": "f152d48a01a2de97bb5cc7d9b30142598e2993571248a4c19ac53ea0ba72f3df",
        "z2": "5eeb0699594ddeadae51c2e157f5a2f9765f5626976e6f6a62923b3ebc21a42b", "z3": "3e1d68d2df9e75eaaf60ca89af693fe527546e89485b2e0ed3db67b1a96e988b",
        "z4": "c310609571798dc7be3862d38cb5f26486cb85f2a3a4e2f1fc89a5d50803d5fb",
    }  # fmt: skip
    ROWS = [
        ({}, "4f2d05f8", "06ad74", {}),
        ({"header": {"mode": "sanitized_content", "preview_chars": 8}}, "4f2d05f8", "06ad74", {"z3": "7330d0c3de4c06e26211d2d00e5d224f0cfbbbe1e147b65ce550c013976e040d"}),
        ({"selection": {"max_nodes": 4}}, "8508cd9e", "702b30", {
            "z2": "cdd54c34d1e2cdc85aff1f24caa621ea4568231b87db7425880b52c4ab7ee684", "z3": "f1af5525852fb9f893caffb8f18e1d97799a81c599db1c6ecaf0c5cc6a66a875",
            "z4": "fefc77bd358abb6b5d4f29358351cb04ba782ce25d93380a067d83f7fd761d6b"}),
        ({"collapse": {"mode": "all_but_last"}}, "c18dbe2f", "44a9b2", {
            "z2": "f42d14670923e3ee50be117bdd0ef68e284e42361a65c42797b7cd20340f0f25", "z3": "71fd96b220871807c2d3768fde25ac8e73b923122ac8218b6c9c7c699561592c",
            "z4": "5bd600dce61cfbf017b8accb6a8ffef4b3af1653757e9d852cefb7f8050e785b"}),
    ]  # fmt: skip

    def setUp(self):
        super().setUp()
        self.give(worked_example(), "demo")

    def test_the_worked_example_has_the_hashes_of_the_page_under_each_config(self):
        """Case 1."""
        for config, start, end, others in self.ROWS:
            with self.subTest(config=config):
                got = self.hashes("demo", config)
                selection = got.pop("selection_sha256")
                self.assertEqual(got, {**self.DEFAULTS, **others})
                self.assertTrue(selection.startswith(start) and selection.endswith(end), selection)

    def test_digests_ids_and_the_config_hash_are_those_of_the_page(self):
        """Case 1."""
        output = self.compiled("demo")
        self.assertEqual(output["config_sha256"], "8f99b7d581aa8f92b70f29d08a71d5789ad40a87429faaddfbf36080006a4f78")
        self.assertEqual(output["config_sha256"], digest("weir.config.v1", json.dumps(output["config"], sort_keys=True, separators=(",", ":"))))
        self.assertEqual([one["digest"][:8] for one in output["stages"]["SPEC"]["selected"]], ["b114efbb", "25cb6c83", "bc3e46f7", "bff27aba", "efe7fd58", "f71f36e5"])
        self.assertEqual(output["stages"]["SPEC"]["selected"][5]["digest"], "f71f36e5d568786dafcc67385d7195b6b79f1734b073609a2f0a10d0825432a6")
        self.assertEqual(output["stages"]["SPEC"]["selection"]["selected_ids"][-1], "n00000005_f71f36e5")
        first = self.hashes("demo", None, "--at", self.log("demo", "--reverse")[0]["id"])
        self.assertEqual(first["node_hash"], "74bb487e72108a6e6d29e56ab351dc4b6cc00f27f19c2c54e57d5e1f07b9611a")

    def test_the_spec_with_four_nodes_is_the_one_of_the_page(self):
        """Case 1."""
        spec = self.compiled("demo", {"selection": {"max_nodes": 4}})["stages"]["SPEC"]
        self.assertEqual(spec["dropped"], [{"id": id, "reason": "limit:max_nodes"} for id in ("n00000001_25cb6c83", "n00000002_bc3e46f7", "n00000003_bff27aba")])
        self.assertEqual([(one["id"], one["reason"], one["turn"], one["payload_shape"]) for one in spec["selected"]], [
            ("n00000000_b114efbb", "pin:first_system", 0, ["content", "role"]), ("n00000004_efe7fd58", "pin:latest_assistant", 1, ["content", "role"]),
            ("n00000005_f71f36e5", "pin:latest_user", 2, ["content", "role"])])  # fmt: skip
        kept = ["n00000000_b114efbb", "n00000004_efe7fd58", "n00000005_f71f36e5"]
        sha = spec["selection"].pop("selection_sha256")
        self.assertEqual(spec["selection"], {
            "candidate_count": 6, "dropped_count": 3, "outside": {}, "over_budget": [], "pinned_count": 3, "pinned_ids": kept,
            "reason_counts": {"limit:max_nodes": 3, "pin:first_system": 1, "pin:latest_assistant": 1, "pin:latest_user": 1}, "selected_count": 3, "selected_ids": kept,
            "used": {"bytes": 136, "chars": 45, "nodes": 3, "tokens": 47, "turns": 3}})  # fmt: skip
        hashed = {"barrier": spec["barrier"], "config": spec["config"], "dropped": spec["dropped"], "selection": spec["selection"]}
        self.assertEqual(sha, digest("weir.selection.v1", json.dumps(hashed, sort_keys=True, separators=(",", ":"))))

    def test_each_z_is_the_hash_of_the_stage_as_printed(self):
        """Case 1: anyone can recompute z1 to z4 from the output."""
        for config, *_ in self.ROWS:
            output = self.compiled("demo", config)
            for z, stage in zip(("z1", "z2", "z3", "z4"), STAGES):
                text = json.dumps({"payload": output["stages"][stage], "stage": stage}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                self.assertEqual(output["hashes"][z], digest("weir.stage.v1", text), (config, stage))

    def test_a_prompt_summary_is_hashed_into_raw_and_shown_nowhere(self):
        """6: z1 leaves it out; 3.3: what is volatile or secret in it does not count."""
        plain = self.compiled("demo")
        given = lambda text: self.compiled("demo", None, "--prompt-summary", self.world.file("prompt.json", text))  # noqa: E731
        output = given('{"tools":["canary"],"created_at":"today","password":"canary one"}')
        prompt = digest("weir.prompt.v1", '{"password":"***REDACTED***","tools":["canary"]}')
        self.assertEqual(output["stages"].pop("RAW"), {**plain["stages"]["RAW"], "prompt_sha256": prompt})
        self.assertEqual(output["stages"], {name: plain["stages"][name] for name in STAGES[1:]})
        self.assertEqual((output["hashes"], output["has_prompt_summary"], plain["has_prompt_summary"]), (plain["hashes"], True, False))
        self.assertNotIn("canary", compact(output))
        self.assertEqual(given('{"created_at":"tomorrow","password":"canary two","tools":["canary"]}')["stages"]["RAW"]["prompt_sha256"], prompt)
        self.assertEqual(given("null"), plain)
        self.refused("INVALID_JSON", "compile", "--session", "demo", "--prompt-summary", self.world.file("prompt.json", "{"))
        self.refused("INVALID_FIELD", "compile", "--session", "demo", "--tree", "--prompt-summary", self.world.file("prompt.json", "{}"))

    def test_target_and_mode_said_on_the_command_line_are_those_of_the_config(self):
        for options, collapse in ((["--collapse-target", "4"], {"target": 4}), (["--collapse-target", "0", "--collapse-mode", "all_but_last"], {"target": 0, "mode": "all_but_last"}),
                                  (["--collapse-mode", "all_but_last"], {"mode": "all_but_last"})):  # fmt: skip
            for tree in ([], ["--tree"], ["--tree", "--full"]):
                said = self.answer("compile", "--session", "demo", *tree, *options)
                self.assertEqual(said, self.answer("compile", "--session", "demo", *tree, "--compile-config", self.config_file({"collapse": collapse})))
                self.assertNotEqual(said["hashes"], self.answer("compile", "--session", "demo", *tree)["hashes"])
        over = self.config_file({"collapse": {"target": 1, "mode": "all_but_last"}})
        self.assertEqual(self.compiled("demo", None, "--compile-config", over, "--collapse-target", "4", "--collapse-mode", "none")["hashes"], self.hashes("demo", {"collapse": {"target": 4}}))
        for wrong in (["--collapse-target", "-1"], ["--collapse-target", "x"], ["--collapse-mode", "all"]):
            self.refused("USAGE", "compile", "--session", "demo", *wrong)

    def test_the_collapsed_run_is_the_item_of_the_page(self):
        """Case 1."""
        output = self.compiled("demo", {"collapse": {"mode": "all_but_last"}})
        self.assertEqual(output["stages"]["HEADER"]["messages"][1], {
            "bytes": 226, "count": 3, "first_id": "n00000001_25cb6c83", "ids_sha256": "82dea03c339efd87b3c95c306029d0c55bdc92088b638b0cca5d05e8ec555719",
            "kind": "collapsed", "last_id": "n00000003_bff27aba", "turns": [1, 1]})  # fmt: skip
        self.assertEqual(output["collapse"]["stages"], {"RAW": {"collapse": 0, "drop": 0}, "SPEC": {"collapse": 0, "drop": 0}, "HEADER": {"collapse": 3, "drop": 0}, "FROZEN": {"collapse": 3, "drop": 0}})

    def test_value_hashes_are_those_of_the_page(self):
        """Case 1."""
        self.give([entry("hello"), entry("café"), node("n", [1, 10**30])], "v")
        output = self.compiled("v", {"selection": {"kind_allowlist": ["*"]}})
        self.assertEqual([one.get("content_hash") for one in output["stages"]["HEADER"]["messages"][:2]], [
            "da5bbccc41b63215f08581d41f7bddb2f4a6a2bf834bf1a8ce1edc38d0c1eddd", "4540be8b210aede55f43834fff53f9f1aa1e7ba1cd34590634dea41463aace79"])  # fmt: skip
        self.assertEqual(output["stages"]["SPEC"]["selected"][2]["payload_hash"], "289d2f8d0f88fafd2e192b5447971d05462b0c3fc6deb105f8d07cb33f9fdbb4")

    def keyed(self, key=b"k" * 32, id="k1"):
        path = self.world.file("hash.key", key)
        os.chmod(path, 0o600)
        self.world.user_config(f'[compile]\nhash_key_id = "{id}"\nhash_key_file = "{path}"\n')

    def test_a_keyed_hash_changes_every_hash_and_the_schema_version(self):
        """Cases 1 and 39."""
        plain = self.compiled("demo")
        self.keyed()
        keyed = self.compiled("demo")
        self.assertEqual((plain["schema_version"], keyed["schema_version"]), ("weir-1", "weir-1+hmac"))
        self.assertEqual((keyed["profile"], keyed["config"]["hash"]), ("weir-1", {"key_id": "k1"}))
        for name in HASHES:
            self.assertNotEqual(plain["hashes"][name], keyed["hashes"][name], name)
        self.assertNotEqual(plain["config_sha256"], keyed["config_sha256"])
        hashes = lambda output: set(re.findall(r"[0-9a-f]{64}", compact(output)))
        self.assertEqual(hashes(plain) & hashes(keyed), set())
        self.keyed(b"other" * 8)
        self.assertEqual(hashes(keyed) & hashes(self.compiled("demo")), set())
        self.keyed()
        self.assertEqual(self.compiled("demo"), keyed)

    def test_keyed_and_plain_outputs_are_not_compared(self):
        """Case 44: two hashes are compared only when profile and schema version agree."""
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "demo").out)
        self.keyed()
        self.refused("PROFILE_MISMATCH", "compile", "--session", "demo", "--expect", kept)
        self.refused("PROFILE_MISMATCH", "diff", "demo", kept)

    def test_a_key_id_nobody_configured_is_refused(self):
        error = self.refused("CONFIG_INVALID", "compile", "--session", "demo", "--compile-config", self.config_file({"hash": {"key_id": "zz"}}))
        self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/hash/key_id"])


class ReplayTest(CtreeCase):
    def session_of_everything(self):
        return with_ids([
            system("rules"), user("do it"), assistant("on it", ("c-1", "read", {"path": "x", "timestamp": 5}), ("c-2", "ls", {})), tool("one", "c-1", "read"), tool("two", "c-2"),
            {"type": "message", "body": {"role": "assistant", "content": [{"type": "text", "text": "t"}, {"type": "tool_use", "id": "u-1", "name": "ls", "input": {}}]}},
            {"type": "message", "body": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u-1", "content": "r"}]}},
            node("lifecycle", {"type": "start", "seq": 4}), node("task_event", {"kind": "k", "task_id": "T-77", "tree_path": "root/T-77"}), {"type": "branch_summary", "body": {"summary": "sum"}},
            {"type": "NEXT_ACTIONS_SET", "body": {"actions": ["a"]}}, {"type": "context_edit", "body": {"target": "e-3", "replacement": "cut"}}, {"type": "label", "body": {"target": "e-1", "label": "pin"}},
            compaction(summary="so far", first_kept="e-5"), user("more"), assistant("done"),
        ])  # fmt: skip

    EVERYTHING = {"selection": {"kind_allowlist": ["*"]}, "header": {"mode": "sanitized_content"}}

    def same_everywhere(self, a, b, config=None):
        self.assertEqual(self.compiled(a, config), self.compiled(b, config))

    def test_the_same_entries_in_a_new_store_on_another_day_compile_to_the_same_bytes(self):
        """Case 2."""
        outputs = []
        for name, day in (("one", "2020-01-01T00:00:00.000Z"), ("two", "2033-12-31T23:59:59.999Z")):
            store = self.fresh_store(name)
            self.give([{**one, "at": day} for one in self.session_of_everything()], "x-" + name, "--store", store)
            outputs.append([self.weir("--json", "--store", store, "compile", "--session", "x-" + name, "--compile-config", self.config_file(config)).out for config in ({}, self.EVERYTHING)])
        self.assertEqual(outputs[0], outputs[1])

    def test_times_of_entries_change_nothing(self):
        """Case 3."""
        entries = self.session_of_everything()
        self.give([{**one, "at": f"2026-01-01T00:00:{i:02}.000Z"} for i, one in enumerate(entries)], "a")
        self.give([{**one, "at": f"2001-02-03T04:05:{59 - i:02}.678Z"} for i, one in enumerate(entries)], "b")
        for config in (None, self.EVERYTHING):
            self.same_everywhere("a", "b", config)

    def test_ids_of_entries_change_nothing_but_entry_ids(self):
        """Case 4."""
        entries = self.session_of_everything()
        self.give(entries, "a")
        self.give([json.loads(re.sub(r'"e-(\d+)"', lambda m: f'"other.{97 - int(m[1])}"', compact(one))) for one in entries], "b")
        for config in (None, self.EVERYTHING, {"scope": "path"}):
            self.same_everywhere("a", "b", config)
        a, b = self.explained("a", self.EVERYTHING)["nodes"], self.explained("b", self.EVERYTHING)["nodes"]
        self.assertNotEqual(ids(a, "entry_id"), ids(b, "entry_id"))
        for one in a + b:
            del one["entry_id"]
        self.assertEqual(a, b)
        trees = [self.answer("compile", "--tree", "--full", "--session", name) for name in ("a", "b")]
        for tree in trees:
            for one in tree["nodes"]:
                one["meta"].pop("entry_id", None)
        self.assertEqual(trees[0], trees[1])

    def test_ids_of_tool_calls_change_nothing_even_of_parallel_ones(self):
        """Case 5."""
        entries = self.session_of_everything()
        self.give(entries, "a")
        swapped = {"c-1": "zzz", "c-2": "aaa", "u-1": "c-1"}
        self.give([json.loads(re.sub(r'"(c-1|c-2|u-1)"', lambda m: compact(swapped[m[1]]), compact(one))) for one in entries], "b")
        for config in (None, self.EVERYTHING):
            self.same_everywhere("a", "b", config)

    def test_two_calls_in_the_other_order_have_other_digests(self):
        """Case 5."""
        for name, calls in (("a", [("1", "ls", {}), ("2", "cat", {})]), ("b", [("2", "cat", {}), ("1", "ls", {})])):
            self.give([user("go"), assistant("", *calls), tool("x", "1"), tool("y", "2")], name)
        digests = [[one["digest"] for one in self.compiled(name)["stages"]["SPEC"]["selected"]] for name in ("a", "b")]
        self.assertEqual([x == y for x, y in zip(*digests)], [True, False, False, False])

    def test_ids_of_tasks_change_nothing(self):
        """Case 5, for the ids of tasks (3.2)."""
        for name, id in (("a", "task-9f3"), ("b", "q")):
            self.give([node("task_event", {"task_id": id, "parent_task_id": "ROOT", "tree_path": f"root/{id}", "artifact_path": f"out/{id}.txt", "when": name}), node("subagent", {"task_id": id, "artifact_path": "elsewhere"})], name)
        config = {"selection": {"kind_allowlist": ["*"]}}
        self.same_everywhere("a", "b", config)
        text = '{"kind":"task_event","payload":{"artifact_path":"out/task_0001.txt","parent_task_id":"root","task_id":"task_0001","tree_path":"root/task_0001"},"turn":null}'
        self.assertEqual(self.compiled("a", config)["stages"]["SPEC"]["selected"][0]["digest"], digest("weir.node.v1", text))

    def test_locale_time_zone_environment_and_process_do_not_show_in_any_byte(self):
        """Case 6."""
        self.give(self.session_of_everything())
        config = self.config_file(self.EVERYTHING)
        for args in (["compile", "--session", "s"], ["compile", "--session", "s", "--compile-config", config], ["explain", "--session", "s"], ["compile", "--session", "s", "--tree", "--full"]):
            seen = set()
            for env in ({}, {"LANG": "de_DE.UTF-8", "LC_ALL": "tr_TR.UTF-8"}, {"TZ": "Pacific/Kiritimati"}, {"TZ": "America/New_York", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "7"}, {"PYTHONHASHSEED": "0", "LC_NUMERIC": "fr_FR.UTF-8"}):
                seen.add(self.weir("--json", *args, env=env).out)
                seen.add(self.weir("--json", *args, env=env, cwd="/").out)
            self.assertEqual(len(seen), 1, args)

    def test_no_stage_holds_an_entry_id_a_session_id_a_place_or_a_time(self):
        """Case 7."""
        day = "2019-08-07T06:05:04.321Z"
        entries = [{**json.loads(compact(one).replace('"e-', '"entry-canary-')), "at": day} for one in self.session_of_everything()]
        self.give(entries, "session-canary")
        self.give([{"type": "message", "body": {"role": "user", "content": "no id"}, "at": day}], "session-canary")
        derived = self.log("session-canary")[0]["id"]
        for config in (None, self.EVERYTHING, {"collapse": {"mode": "all_but_last"}}, {"selection": {"max_nodes": 0}}):
            output = self.compiled("session-canary", config)
            text = compact(output)
            for canary in ("entry-canary", "session-canary", derived, self.world.root, "weir.db", "2019-08", "06:05", "1565157904"):
                self.assertNotIn(canary, text, config)
            self.assertIsNone(re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", text))


class DigestTest(CtreeCase):
    ALL = {"selection": {"kind_allowlist": ["*"]}}

    def selected(self, session="s"):
        return self.compiled(session, self.ALL)["stages"]["SPEC"]["selected"]

    def digests(self, *entries, session="s"):
        self.give(entries, session)
        return [one["digest"] for one in self.selected(session)]

    def test_a_timestamp_is_meaning_in_tool_arguments_and_noise_on_an_envelope(self):
        """Case 8."""
        a, b = (self.digests(user("q"), assistant("", ("c", "t", {"timestamp": n})), session=f"args{n}")[1] for n in (1, 2))
        self.assertNotEqual(a, b)
        with_1, with_2, without, deep = ({"type": "t", "timestamp": 1}, {"type": "t", "timestamp": 2}, {"type": "t"}, {"type": "t", "deep": {"timestamp": 1}})
        for i, payload in enumerate((with_1, with_2, without, deep)):
            self.give([node("lifecycle", payload)], f"life{i}")
        found = [self.selected(f"life{i}")[0] for i in range(4)]
        self.assertEqual(len({one["digest"] for one in found[:3]}), 1)
        self.assertEqual([one["payload_shape"] for one in found], [["type"], ["type"], ["type"], ["deep", "type"]])
        self.assertNotEqual(found[3]["digest"], found[0]["digest"])

    def test_every_volatile_name_goes_from_the_envelope_and_from_nowhere_else(self):
        """Case 8."""
        names = ["seq", "timestamp", "timestamp_ms", "ts", "mono_ns", "created_at", "updated_at", "event_id"]
        self.give([node("lifecycle", {name: 1, "a": {name: 1}, name.upper(): 1}) for name in names])
        for name, one in zip(names, self.selected()):
            self.assertEqual(one["payload_shape"], sorted(["a", name.upper()]))
        self.give([node("lifecycle", {"mine": 1, "a": 2}), node("lifecycle", {"a": 2})], "own")
        self.world.user_config('[compile]\nvolatile_keys = ["mine"]\n')
        one, two = self.selected("own")
        self.assertEqual((one["digest"], one["payload_shape"]), (two["digest"], ["a"]))

    def test_signatures_of_content_blocks_are_not_hashed(self):
        """Case 8 (3.3, first step)."""
        for i, extra in enumerate(({}, {"signature": "s1"}, {"signature": "s2", "thoughtSignature": "x", "textSignature": "x", "encrypted_content": "x", "cache_control": {"type": "ephemeral"}})):
            self.give([user("q"), {"type": "message", "body": {"role": "assistant", "content": [{"type": "text", "text": "hi", **extra}]}}], f"b{i}")
        self.assertEqual(len({self.selected(f"b{i}")[1]["digest"] for i in range(3)}), 1)

    def test_key_order_and_white_space_do_not_matter(self):
        """Case 9."""
        self.weir("append", "--session", "a", stdin='{"type":"ctree_node","body":{"kind":"k","payload":{"a":1,"b":[1,2],"é":"x"},"turn":3}}')
        self.weir("append", "--session", "b", stdin=' { "body" : {"turn":3 , "payload" : { "\\u00e9":"\\u0078", "b" :[ 1,\n 2 ],\t"a": 1.0 },"kind":"k" } ,"type":"ctree_node"}')
        self.assertEqual(self.compiled("a"), self.compiled("b"))

    def test_absent_null_false_and_empty_hash_the_same(self):
        """Case 9."""
        shapes = [{}, {"tool_calls": None, "name": None, "tool_call_id": None, "is_error": None}, {"tool_calls": [], "is_error": False}]
        for i, more in enumerate(shapes):
            self.give([{"type": "message", "body": {"role": "assistant", "content": "x", **more}}], f"s{i}")
        outputs = [self.compiled(f"s{i}") for i in range(3)]
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0], outputs[2])
        a, b = self.digests(entry("hi"), entry([{"type": "text", "text": "hi"}]))
        self.assertNotEqual(a, b)

    def test_what_is_not_in_the_projection_of_a_message_is_not_hashed(self):
        """Case 9 (3.1: nothing of `extra`, a given turn holds for its own node)."""
        self.give([user("a"), user("b")], "a")
        more = {"extra": {"usage": 1}, "model": "m", "timestamp": 4, "stop": None}
        self.give([{"type": "message", "body": {"role": "user", "content": text, **more}} for text in "ab"], "b")
        self.assertEqual(self.compiled("a"), self.compiled("b"))
        turned = user("x")
        turned["body"]["turn"] = 40
        self.give([user("a"), turned, user("c")], "t")
        self.assertEqual([one["turn"] for one in self.selected("t")], [1, 40, 3])

    def test_composed_and_decomposed_text_differ_and_every_character_survives(self):
        """Case 10."""
        texts = ["é", "e\u0301", "👩‍👩‍👧‍👦🏳️‍🌈", "a\u2028b\u2029c", "nul\0in", "\U00010000\uffff", "\u200f\u202e", "\x01\x1f\x80", ""]
        self.give([entry(text) for text in texts])
        output = self.compiled(config={"header": {"mode": "sanitized_content"}})
        items = output["stages"]["HEADER"]["messages"]
        self.assertEqual([one["content_len"] for one in items], [len(text) for text in texts])
        self.assertEqual(len({one["content_hash"] for one in items}), len(texts))
        short = {"\n": "\\n", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
        for text, one in zip(texts, items):
            canonical = '"' + "".join(short.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'
            self.assertEqual(one["content_hash"], digest("weir.value.v1", canonical), repr(text))
        controls = re.compile("[\x00-\x08\x0b-\x1f\x80-\x9f]")
        for text, one in zip(texts, items):
            self.assertEqual(one["preview"], controls.sub("\ufffd", text), repr(text))

    def test_keys_are_in_utf_16_order(self):
        """Case 10."""
        self.give([node("\uffff", {"\uffff": 1, "\U00010000": 2, "z": 3}), node("\U00010000", 1)])
        self.assertEqual(self.selected()[0]["payload_shape"], ["z", "\U00010000", "\uffff"])
        text = self.weir("--json", "compile", "--session", "s").text
        self.assertIn('"kind_counts":{"\U00010000":1,"\uffff":1}', text)
        self.assertEqual(self.selected()[0]["digest"], digest("weir.node.v1", '{"kind":"\uffff","payload":{"z":3,"\U00010000":2,"\uffff":1},"turn":null}'))

    def test_what_is_not_json_is_refused_at_append_and_leaves_the_store_as_it_was(self):
        """Case 11."""
        self.give([user("before")])
        before = self.compiled()
        bad = [b'"\\ud800"', b'"\xff\xfe"', b"NaN", b"1e400", b'{"a":1,"a":1}', b"-Infinity", b"[" * 65 + b"1" + b"]" * 65, b'"\xed\xa0\x80"', b"01", b"'x'"]
        for payload in bad:
            for body in (b'{"type":"ctree_node","body":{"kind":"k","payload":' + payload + b"}}", b'{"type":"message","body":{"role":"user","content":"x","extra":' + payload + b"}}"):
                ran = self.world.run("--json", "append", "--session", "s", stdin=body)
                self.assertEqual((ran.code, ran.out), (6, b""), ran)
                self.assertIn(parse_line(ran.errors)["error"]["code"], ("INVALID_JSON", "LIMIT_EXCEEDED", "INVALID_FIELD"), ran)
        self.assertEqual(self.compiled(), before)

    def test_big_integers_keep_every_digit(self):
        """Case 12."""
        numbers = ["9007199254740993", "18446744073709551616", "7" * 4096, "-" + "9" * 4096, "9007199254740992"]
        for i, number in enumerate(numbers):
            self.weir("append", "--session", "s", stdin='{"type":"ctree_node","body":{"kind":"k","payload":%s,"turn":%d}}' % (number, i))
        for i, (number, one) in enumerate(zip(numbers, self.selected())):
            self.assertEqual(one["digest"], digest("weir.node.v1", '{"kind":"k","payload":%s,"turn":%d}' % (number, i)))
            self.assertEqual(one["payload_shape"], "number")
        self.refused("LIMIT_EXCEEDED", "append", "--session", "s", stdin='{"type":"ctree_node","body":{"kind":"k","payload":%s}}' % ("7" * 4097))

    def test_numbers_are_written_as_ecmascript_does(self):
        """Case 13."""
        written = {"1": "1", "1.0": "1", "1e0": "1", "1.00": "1", "-0": "0", "-0.0": "0", "1e21": "1e+21", "5e-324": "5e-324", "1e16": "10000000000000000", "1e-5": "0.00001", "1e-7": "1e-7", "0.1": "0.1", "333333333.33333329": "333333333.3333333", "1E30": "1e+30", "4.50": "4.5", "123456789012345680000.0": "123456789012345680000"}  # fmt: skip
        self.weir("append", "--session", "s", stdin="".join('{"type":"ctree_node","body":{"kind":"k","payload":%s}}\n' % text for text in written))
        for (text, canonical), one in zip(written.items(), self.selected()):
            self.assertEqual(one["digest"], digest("weir.node.v1", '{"kind":"k","payload":%s,"turn":null}' % canonical), text)

    def test_shapes_tell_types_and_never_values(self):
        """Case 15 (section 6: payload_shape)."""
        many = {f"k{i:02}": 1 for i in range(33)}
        payloads = [{"b": 1, "a": {"deep": 1}}, [1, 2, 3], [], {}, None, True, 1.5, "text", many, {"x" * 65: 1}, {"x" * 64: 1}, {f"k{i:02}": 1 for i in range(32)}]
        self.give([node("k", payload) for payload in payloads])
        shapes = [one["payload_shape"] for one in self.selected()]
        self.assertEqual(shapes[:8], [["a", "b"], [3], [0], [], "null", "boolean", "number", "string"])
        self.assertEqual((shapes[8]["count"], sorted(shapes[8])), (33, ["count", "sha256"]))
        self.assertEqual((shapes[9]["count"], sorted(shapes[9])), (1, ["count", "sha256"]))
        self.assertEqual(shapes[10:], [["x" * 64], [f"k{i:02}" for i in range(32)]])


class PreviewTest(CtreeCase):
    def previews(self, texts, chars=160, session="s"):
        self.give([entry(text) for text in texts], session)
        return self.compiled(session, {"header": {"mode": "sanitized_content", "preview_chars": chars}})["stages"]["HEADER"]["messages"]

    def test_previews_are_bounded_in_code_points_and_never_cut_one_in_half(self):
        """Case 18."""
        texts = ["😀" * 20, "é" * 20, "a" * 20, "e\u0301" * 20, "", "short"]
        self.give([entry(text) for text in texts])
        for chars in (0, 1, 2, 7, 8, 19, 20, 4096):
            items = self.compiled(config={"header": {"mode": "sanitized_content", "preview_chars": chars}})["stages"]["HEADER"]["messages"]
            for text, item in zip(texts, items):
                self.assertEqual(item["preview"], text[:chars])
                self.assertEqual(item["preview_truncated"], len(text) > chars)
                self.assertIs(item["preview_redacted"], False)

    def test_a_preview_of_4097_code_points_is_refused(self):
        """Case 18."""
        self.give([user("x")])
        error = self.refused("CONFIG_INVALID", "compile", "--session", "s", "--compile-config", self.config_file({"header": {"preview_chars": 4097}}))
        self.assertEqual([one["path"] for one in error["details"]["errors"]], ["/header/preview_chars"])

    def test_line_ends_become_lf_and_other_controls_a_replacement_character(self):
        """Case 18 (section 8)."""
        got = self.previews(["a\r\nb\rc\nd\te", "\x00\x1b[31m\x85z"])
        self.assertEqual([one["preview"] for one in got], ["a\nb\nc\nd\te", "\ufffd\ufffd[31m\ufffdz"])

    def test_the_text_of_blocks_is_joined_by_lf_and_other_blocks_are_not_shown(self):
        """Case 18 (section 8)."""
        got = self.previews([[{"type": "text", "text": "one"}, {"type": "image", "data": "IMAGEDATA"}, {"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": "two"}]])
        self.assertEqual(got[0]["preview"], "one\ntwo")

    def test_a_mask_beyond_the_cut_is_told_and_masking_comes_before_cutting(self):
        """Cases 17 and 18."""
        _, _, secret = secrets_made.bare(8)[7]
        got = self.previews(["x" * 30 + " " + secret, secret + " after", "x" * 4 + " " + secret, "clean"], 12)
        self.assertEqual([one["preview"] for one in got], ["x" * 12, MARK[:12], "xxxx " + MARK[:7], "clean"])
        self.assertEqual([one["preview_redacted"] for one in got], [True, True, True, False])

    def test_frozen_and_z4_are_the_same_with_previews_on_and_off(self):
        """Case 19."""
        self.give(worked_example())
        plain = self.compiled()
        for args, config in ((("--previews",), None), ((), {"header": {"mode": "sanitized_content"}}), ((), {"header": {"mode": "sanitized_content", "preview_chars": 3}}), ((), {"frozen": {"include_previews": True}})):
            shown = self.compiled("s", config, *args)
            self.assertEqual(shown["stages"]["FROZEN"], plain["stages"]["FROZEN"], config)
            for name in ("z1", "z2", "z4", "selection_sha256", "node_hash"):
                self.assertEqual(shown["hashes"][name], plain["hashes"][name], (config, name))
        frozen = self.compiled("s", {"header": {"mode": "sanitized_content"}, "frozen": {"include_previews": True}})
        self.assertEqual(frozen["stages"]["FROZEN"], frozen["stages"]["HEADER"])
        self.assertNotEqual(frozen["hashes"]["z4"], plain["hashes"]["z4"])
        self.assertEqual((frozen["hashes"]["z1"], frozen["hashes"]["z2"]), (plain["hashes"]["z1"], plain["hashes"]["z2"]))


class SanitiseTest(CtreeCase):
    UNTOUCHED = ["password: string", "password: z.string().min(8)", "sk-short", "bearer of news", "http://localhost:8080/x", "user@example.com", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "class sk-fading-circle-container-element"]  # fmt: skip

    def test_what_must_stay_untouched_stays(self):
        """Case 20."""
        self.give([entry(text) for text in self.UNTOUCHED])
        items = self.compiled("s", None, "--previews")["stages"]["HEADER"]["messages"]
        self.assertEqual([one["preview"] for one in items], self.UNTOUCHED)
        self.assertEqual([one["content_hash"] for one in items], [digest("weir.value.v1", compact(text)) for text in self.UNTOUCHED])

    def test_a_secret_has_one_digest_with_masking_at_append_on_and_off_and_twice(self):
        """Case 20."""
        texts = [text for _, text, _ in secrets_made.made(38)]
        entries = [entry(text) for text in texts] + [node("k", {"deep": [{"x": text}]}) for text in texts] + [node("k", {"Api-Key": "plain", "n": {"PASSWORD": ["x"]}})]
        self.give(entries, "on")
        self.give(entries, "off", "--no-mask")
        self.give(({"type": one["type"], "body": one["body"]} for one in self.log("on", "--reverse")), "twice")
        config = {"selection": {"kind_allowlist": ["*"]}, "header": {"mode": "sanitized_content"}}
        on = self.compiled("on", config)
        self.assertEqual(on, self.compiled("off", config))
        self.assertEqual(on, self.compiled("twice", config))

    def test_secret_keys_are_masked_in_any_spelling_at_any_depth(self):
        """Case 21."""
        names = "apikey xapikey openaiapikey openrouterapikey anthropicapikey authorization proxyauthorization token accesstoken refreshtoken idtoken authtoken sessiontoken bearertoken password passwd passphrase secret secretkey clientsecret awssecretaccesskey privatekey cookie setcookie credential credentials".split()
        spelled = [f for name in names for f in (name, name.upper(), "-".join(name), name[0] + "_" + name[1:], name[:2] + "." + name[2:], name[:3] + " " + name[3:].title())]
        for masking in ((), ("--no-mask",)):
            session = "s" + "-".join(masking)
            self.give([node("k", {"a": [{"b": {key: "plain text"}}]}) for key in spelled], session, *masking)
            for key, one in zip(spelled, self.compiled(session, {"selection": {"kind_allowlist": ["*"]}})["stages"]["SPEC"]["selected"]):
                self.assertEqual(one["payload_hash"], digest("weir.value.v1", compact({"a": [{"b": {key: MARK}}]})), key)

    def test_values_that_are_null_or_boolean_and_keys_that_only_look_alike_stay(self):
        """Case 21."""
        payloads = [{"token_count": "plain"}, {"tokens": "plain"}, {"token": None}, {"password": True}, {"secret": False}, {"secretary": "plain"}, {"tokenizer": "plain"}]
        self.give([node("k", payload) for payload in payloads])
        for payload, one in zip(payloads, self.compiled(config={"selection": {"kind_allowlist": ["*"]}})["stages"]["SPEC"]["selected"]):
            self.assertEqual(one["payload_hash"], digest("weir.value.v1", compact(payload)), payload)
        self.give([node("k", {"token": 0}), node("k", {"token": {"a": 1}}), node("k", {"token": []})], "masked")
        for one in self.compiled("masked", {"selection": {"kind_allowlist": ["*"]}})["stages"]["SPEC"]["selected"]:
            self.assertEqual(one["payload_hash"], digest("weir.value.v1", compact({"token": MARK})))

    def test_names_of_secret_keys_can_be_added(self):
        """Case 21."""
        self.give([node("k", {"My-Field": "plain"}), node("k", {"my_field": "other"})], "s", "--no-mask")
        hash_of = digest("weir.value.v1", compact({"My-Field": MARK}))
        first = lambda config=None: self.compiled(config={"selection": {"kind_allowlist": ["*"]}, **(config or {})})["stages"]["SPEC"]["selected"][0]["payload_hash"]
        self.assertNotEqual(first(), hash_of)
        self.assertEqual(first({"sanitize": {"secret_keys": ["myfield"]}}), hash_of)
        self.world.user_config('[compile]\nsecret_keys = ["myfield"]\n')
        self.assertEqual(first(), hash_of)


class SelectionTest(CtreeCase):
    def setUp(self):
        super().setUp()
        self.give(worked_example(), "demo")

    def long_session(self, session="long"):
        """0 system, then five turns of user, call, result, answer."""
        entries = [system("rules")]
        for i in range(5):
            entries += [user(f"question {i} " + "q" * i * 10), assistant("", (f"c{i}", "ls", {"n": i})), tool("result " + "r" * i * 20, f"c{i}"), assistant(f"answer {i}")]
        self.give(entries, session)
        return len(entries)

    def test_raw_and_z1_are_the_same_under_every_config(self):
        """Case 23."""
        raw = self.compiled("demo")
        for config in ({"scope": "path"}, {"selection": {"max_nodes": 0}}, {"selection": {"kind_allowlist": []}}, {"selection": {"pin_first_system": False}}, {"collapse": {"target": 0}}, {"collapse": {"mode": "all_but_last", "target": 2}}, {"header": {"mode": "sanitized_content"}}, {"limits": {"max_stage_bytes": 4096}}):
            got = self.compiled("demo", config)
            self.assertEqual((got["stages"]["RAW"], got["hashes"]["z1"], got["hashes"]["node_hash"]), (raw["stages"]["RAW"], raw["hashes"]["z1"], raw["hashes"]["node_hash"]), config)

    def test_an_empty_session_compiles_to_the_hashes_of_the_page(self):
        """Case 24."""
        self.weir("session", "new", "empty")
        empty = self.compiled("empty")
        self.assertEqual(empty["hashes"]["z1"], "3fc5b847b91483187fb79c2f381a2e6a94dfb4e310d2b42a230a974a602b93fd")
        self.assertEqual(empty["hashes"]["node_hash"], "0344b45c05c786b1efe5bcbb0084e2a3ba38ef422aedd3eac1a85899939eff76")
        self.assertEqual(empty["stages"]["RAW"], {"event_count": 0, "kind_counts": {}, "node_count": 0, "node_hash": empty["hashes"]["node_hash"], "schema_version": "weir-1"})
        self.assertEqual((empty["stages"]["HEADER"]["messages"], empty["stages"]["SPEC"]["selected"], empty["warnings"]), ([], [], []))
        self.assertEqual(self.explained("empty")["nodes"], [])
        self.assertEqual([one["id"] for one in self.answer("compile", "--tree", "--session", "empty")["nodes"]], ["ctrees:root"])

    def test_a_session_of_entries_that_make_no_node_compiles_like_an_empty_one(self):
        """Case 24."""
        self.weir("session", "new", "empty")
        skipped = [{"type": "custom", "body": {"custom_type": "x", "data": 1}}, {"type": "session_info", "body": {"name": "n"}}, {"type": "label", "body": {"target": "a", "label": "pin"}}, {"type": "refresh", "body": {"v": 1, "path": "/x", "scope": "full"}}, {"type": "surely_unknown", "body": {"a": 1}}]
        self.give([{"id": "a", **skipped[0]}, *skipped[1:]], "skipped")
        self.assertEqual(self.compiled("skipped"), self.compiled("empty"))

    def test_one_node(self):
        """Case 24."""
        self.give([user("x")], "one")
        output = self.compiled("one")
        self.assertEqual((output["node_count"], len(output["stages"]["FROZEN"]["messages"]), output["stages"]["SPEC"]["selected"][0]["reason"]), (1, 1, "pin:latest_user"))

    def test_append_order_holds_when_turns_run_backwards(self):
        """Case 25."""
        entries = []
        for turn in (9, 3, 7, 1, 8, 2):
            one = entry(f"t{turn}", random.Random(turn).choice(["user", "assistant"]))
            one["body"]["turn"] = turn
            entries.append(one)
        self.give(entries, "back")
        for config in (None, {"selection": {"max_nodes": 4}}, {"selection": {"max_turns": 3}}, {"collapse": {"target": 3}}, {"collapse": {"mode": "all_but_last"}}):
            output = self.compiled("back", config)  # checks the order of every list
            self.assertEqual([one["ordinal"] for one in self.explained("back", config)["nodes"]], list(range(6)))
            self.assertEqual(ordinals(output["collapse"]["drop"]), sorted(ordinals(output["collapse"]["drop"])))
        self.assertEqual([one for one, reason in self.fates("back", {"selection": {"max_turns": 3, "pin_latest_user_assistant": False}}).items() if reason == "in_scope"], [0, 2, 4])

    def test_every_limit_of_null_0_1_n_and_n_plus_1(self):
        """Case 26."""
        count = self.long_session()
        everything = self.compiled("long")
        used = everything["stages"]["SPEC"]["selection"]["used"]
        whole = {"max_nodes": count, "max_turns": used["turns"], "max_message_chars": used["chars"], "max_bytes": used["bytes"], "max_tokens": used["tokens"], "target": count}
        pins = [one["ordinal"] for one in self.explained("long")["nodes"] if one["reason"].startswith("pin:")]
        self.assertEqual(pins, [0, 17, 20])
        for name in LIMITS:
            with self.subTest(limit=name):
                self.assertEqual(self.kept("long", limited(name, None)), list(range(count)))
                self.assertEqual(self.kept("long", limited(name, 0)), pins)
                self.assertEqual(self.kept("long", limited(name, whole[name])), list(range(count)))
                self.assertEqual(self.kept("long", limited(name, whole[name] + 1)), list(range(count)))
                self.assertLess(len(self.kept("long", limited(name, whole[name] - (2 if name == "max_turns" else 1)))), count)  # turn 0 is the pin
                self.assertGreaterEqual(set(self.kept("long", limited(name, 1))), set(pins))

    def test_a_limit_of_0_keeps_the_pins_with_their_units(self):
        """Case 26."""
        self.give([user("a"), assistant("x"), user("b"), assistant("", ("1", "ls", {}), ("2", "ls", {})), tool("r1", "1"), user("late"), tool("r2", "2")], "units")
        for name in LIMITS:
            self.assertEqual(self.kept("units", limited(name, 0)), [3, 4, 5, 6], name)
        self.assertEqual(self.fates("units", limited("max_nodes", 0)), {0: "-limit:max_nodes", 1: "-limit:max_nodes", 2: "-limit:max_nodes", 3: "pin:latest_assistant", 4: "pair", 5: "pin:latest_user", 6: "pair"})

    def test_a_larger_limit_of_nodes_never_keeps_less(self):
        """Cases 26 and 29: windows grow, pairs are whole."""
        count = self.long_session()
        units = {one["ordinal"]: one["unit"] for one in self.explained("long")["nodes"]}
        before = set()
        for limit in range(count + 2):
            kept = set(self.kept("long", limited("max_nodes", limit)))
            self.assertGreaterEqual(kept, before)
            self.assertLessEqual(len(kept), max(limit, 3))
            for one in units:
                if units[one] in {units[k] for k in kept}:
                    self.assertIn(one, kept)
            before = kept

    def test_the_smallest_item_and_stage_are_256_bytes(self):
        """Case 27."""
        for config in ({"selection": {"max_item_bytes": 255}}, {"selection": {"max_item_bytes": 0}}, {"limits": {"max_stage_bytes": 0}}):
            self.refused("CONFIG_INVALID", "compile", "--session", "demo", "--compile-config", self.config_file(config))
        self.compiled("demo", {"selection": {"max_item_bytes": 256}, "limits": {"max_stage_bytes": 256}})

    def test_kinds_are_a_set_and_the_star_means_all(self):
        """Case 27 (section 4)."""
        self.give([node("b", 1), node("a", 2), user("u")], "kinds")
        self.assertEqual(self.compiled("kinds", {"selection": {"kind_allowlist": ["message", "b", "a", "b"]}}), self.compiled("kinds", {"selection": {"kind_allowlist": ["b", "a", "message"]}}))
        self.assertEqual(self.compiled("kinds", {"selection": {"kind_allowlist": ["message", "b", "b"]}})["config"]["selection"]["kind_allowlist"], ["b", "message"])
        self.assertEqual(self.kept("kinds", {"selection": {"kind_allowlist": ["*"]}}), [0, 1, 2])
        self.assertEqual(self.kept("kinds", {"selection": {"kind_allowlist": []}}), [])
        self.assertEqual(self.fates("kinds", {"selection": {"kind_allowlist": ["a"]}}), {0: "-kind", 1: "in_scope", 2: "-kind"})

    def test_a_pinned_id_that_is_not_on_the_path_is_unknown(self):
        """Case 28 (section 4)."""
        error = self.refused("NODE_UNKNOWN", "compile", "--session", "demo", "--compile-config", self.config_file({"selection": {"pin_ids": ["n00000009_00000000"]}}))
        self.assertEqual(error["details"]["node"], "n00000009_00000000")
        self.refused("NODE_UNKNOWN", "explain", "--session", "demo", "n00000009_00000000")

    def test_a_pin_by_entry_id_is_the_pin_of_its_node(self):
        """Case 28: faces turn entry ids into node ids."""
        id = self.log("demo", "--reverse")[2]["id"]
        by_entry = self.compiled("demo", {"selection": {"pin_ids": [id], "max_nodes": 0}})
        self.assertEqual(by_entry, self.compiled("demo", {"selection": {"pin_ids": ["n00000002_bc3e46f7"], "max_nodes": 0}}))
        self.assertEqual([one["reason"] for one in by_entry["stages"]["SPEC"]["selected"]], ["pin:first_system", "pin:id", "pair", "pin:latest_assistant", "pin:latest_user"])
        self.assertNotIn(id, compact(by_entry))

    def test_pins_stay_under_every_limit_and_over_budget_lists_each_limit_they_exceed(self):
        """Case 28."""
        config = {"selection": {"max_nodes": 1, "max_turns": 1, "max_message_chars": 1, "max_bytes": 1, "max_tokens": 1}, "collapse": {"target": 1}}
        spec = self.compiled("demo", config)["stages"]["SPEC"]
        self.assertEqual(ordinals(spec["selection"]["selected_ids"]), [0, 4, 5])
        told = {one["limit"]: (one["allowed"], one["pinned"]) for one in spec["selection"]["over_budget"]}
        self.assertEqual({name: told.get(name) for name in ("max_nodes", "max_message_chars", "max_bytes", "max_tokens")}, {"max_nodes": (1, 3), "max_message_chars": (1, 45), "max_bytes": (1, 136), "max_tokens": (1, 47)})
        exact = {"selection": {"max_nodes": 3, "max_message_chars": 45, "max_bytes": 136, "max_tokens": 47}}
        self.assertEqual(self.compiled("demo", exact)["stages"]["SPEC"]["selection"]["over_budget"], [])

    def test_a_new_user_message_moves_the_pin(self):
        """Case 28."""
        config = {"selection": {"max_nodes": 0}}
        self.assertEqual(self.kept("demo", config), [0, 4, 5])
        self.give([user("next")], "demo")
        self.assertEqual(self.fates("demo", config)[6], "pin:latest_user")
        self.assertEqual(self.kept("demo", config), [0, 4, 6])
        self.give([system("new rules")], "demo")
        self.assertEqual(self.fates("demo", config)[7], "pin:latest_system")
        self.assertEqual(self.kept("demo", {"selection": {"max_nodes": 0, "pin_first_system": False, "pin_latest_user_assistant": False}}), [7])

    def test_pairs_are_never_split_under_any_limit(self):
        """Case 29, from outside: parallel calls, late results, user messages between."""
        chance = random.Random(29)
        for round in range(2):
            entries, open_calls = [system("s")], []
            for i in range(14):
                pick = chance.random()
                if pick < 0.3:
                    calls = [(f"{round}-{i}-{k}", "t", {"i": i, "k": k}) for k in range(chance.randint(1, 3))]
                    open_calls += [id for id, _, _ in calls]
                    entries.append(assistant("", *calls))
                elif pick < 0.65 and open_calls:
                    entries.append(tool("r" * chance.randint(0, 30), open_calls.pop(chance.randrange(len(open_calls)))))
                else:
                    entries.append(user("u" * chance.randint(0, 30)))
            session = f"pairs{round}"
            self.give(entries, session)
            units = {one["ordinal"]: one["unit"] for one in self.explained(session)["nodes"]}
            used = self.compiled(session)["stages"]["SPEC"]["selection"]["used"]
            for name in LIMITS:
                top = {"max_nodes": len(entries), "max_turns": used["turns"], "max_message_chars": used["chars"], "max_bytes": used["bytes"], "max_tokens": used["tokens"], "target": len(entries)}[name]
                for value in sorted({0, 1, top // 3, top // 2, top - 1}):
                    kept = set(self.kept(session, limited(name, max(0, value))))
                    whole = {one for one in units if units[one] in {units[k] for k in kept}}
                    self.assertEqual(whole, kept, (session, name, value))

    def test_max_turns_keeps_the_largest_turn_numbers_even_with_late_results(self):
        """Case 31."""
        def turned(one, turn):
            one["body"]["turn"] = turn
            return one

        self.give([turned(user("1"), 1), turned(assistant("", ("a", "t", {})), 1), turned(user("2"), 2), turned(user("3"), 3), turned(tool("late", "a"), 1), turned(user("4"), 4), node("message", {"role": "user", "content": "no turn"})], "late")
        off = {"pin_latest_user_assistant": False, "pin_first_system": False, "pin_latest_system": False}
        for limit, kept in ((0, []), (1, [5, 6]), (2, [3, 5, 6]), (3, [2, 3, 5, 6]), (4, [0, 1, 2, 3, 4, 5, 6])):
            self.assertEqual(self.kept("late", {"selection": {"max_turns": limit, **off}}), kept, limit)

    def test_fill_skip_goes_on_behind_a_unit_that_does_not_fit_and_stop_ends_there(self):
        """Case 31."""
        off = {"pin_latest_user_assistant": False, "pin_first_system": False, "pin_latest_system": False}
        self.give([user("aa"), user("b" * 50), user("cc"), user("dd")], "fill")
        for limit in ({"max_message_chars": 10}, {"max_bytes": 100}, {"max_tokens": 40}):
            reason = "-budget:" + {"max_message_chars": "chars", "max_bytes": "bytes", "max_tokens": "tokens"}[next(iter(limit))]
            self.assertEqual(self.fates("fill", {"selection": {**limit, **off}}), {0: "in_scope", 1: reason, 2: "in_scope", 3: "in_scope"})
            self.assertEqual(self.fates("fill", {"selection": {**limit, **off, "fill": "stop"}}), {0: reason, 1: reason, 2: "in_scope", 3: "in_scope"})
        self.assertEqual(self.fates("fill", {"selection": {"max_message_chars": 0, **off}}), dict.fromkeys(range(4), "-budget:chars"))

    def test_max_nodes_is_a_window_without_holes(self):
        """Case 31 (5.6: the first unit that does not fit ends the walk)."""
        off = {"pin_latest_user_assistant": False, "pin_first_system": False}
        self.give([user("0"), user("1"), assistant("", ("a", "t", {}), ("b", "t", {})), tool("x", "a"), tool("y", "b"), user("5")], "window")
        for limit, kept in ((1, [5]), (2, [5]), (3, [5]), (4, [2, 3, 4, 5]), (5, [1, 2, 3, 4, 5])):
            self.assertEqual(self.kept("window", {"selection": {"max_nodes": limit, **off}}), kept, limit)

    def test_a_cut_tool_result_costs_what_it_is_cut_to(self):
        """Case 26 (section 4: max_item_bytes)."""
        self.give([user("q"), assistant("", ("a", "t", {})), tool("r" * 5000, "a"), user("z" * 5000)], "item")
        output = self.compiled("item", {"selection": {"max_item_bytes": 300}})
        items = {ordinals([one["node_id"]])[0]: one for one in output["stages"]["HEADER"]["messages"]}
        self.assertEqual(items[2]["shown_bytes"], 300)
        self.assertGreater(items[2]["bytes"], 5000)
        self.assertNotIn("shown_bytes", items[3])
        whole = self.compiled("item")["stages"]["SPEC"]["selection"]["used"]["bytes"]
        self.assertEqual(whole - output["stages"]["SPEC"]["selection"]["used"]["bytes"], items[2]["bytes"] - 300)

    def test_every_node_has_one_reason_of_the_closed_list_and_they_add_up(self):
        """Case 32."""
        self.give([*with_ids([system("s"), user("u"), assistant("", ("a", "t", {})), compaction(summary="one"), tool("orphan", "a"), node("note", 1), user("x"), {"type": "context_edit", "body": {"target": "e-6", "replacement": None}}, compaction(summary="two", first_kept="e-4"), user("y"), assistant("z")])], "mix")
        for config in (None, {"scope": "path"}, {"selection": {"kind_allowlist": ["*"]}}, {"selection": {"max_nodes": 1}}, {"selection": {"max_bytes": 10, "max_turns": 1}}, {"collapse": {"target": 1, "mode": "all_but_last"}}, {"selection": {"kind_allowlist": []}}):
            spec = self.compiled("mix", config)["stages"]["SPEC"]
            nodes = self.explained("mix", config)
            by_reason = {}
            for one in nodes["nodes"]:
                allowed = {"kept": KEPT, "collapsed": KEPT | {"collapse:all_but_last"}, "dropped": DROPPED, "outside": OUTSIDE}[one["fate"]]
                self.assertIn(one["reason"], allowed)
                by_reason[one["reason"]] = by_reason.get(one["reason"], 0) + 1
            if not spec["config"]["collapse"]["mode"] == "all_but_last":
                self.assertEqual(by_reason, {**spec["selection"]["reason_counts"], **spec["selection"]["outside"]})
            self.assertEqual(by_reason, nodes["totals"]["reasons"])
            self.assertEqual(sum(nodes["totals"]["fates"].values()), len(nodes["nodes"]))
            selected = [one["node_id"] for one in nodes["nodes"] if one["fate"] in ("kept", "collapsed")]
            self.assertEqual(selected, spec["selection"]["selected_ids"])
            self.assertEqual([{"id": one["node_id"], "reason": one["reason"]} for one in nodes["nodes"] if one["fate"] == "dropped"], spec["dropped"])

    def test_explain_of_some_nodes_takes_node_and_entry_ids_and_prints_the_line_of_the_page(self):
        """Case 32 (section 9)."""
        config = self.config_file({"selection": {"max_nodes": 4}})
        self.assertIn("n00000001_25cb6c83  turn 1  message/user  43 B  dropped  limit:max_nodes", self.weir("explain", "--session", "demo", "--compile-config", config).lines)
        entry_id = self.log("demo", "--reverse")[3]["id"]
        nodes = self.explained("demo", None, "n00000001_25cb6c83", entry_id)["nodes"]
        self.assertEqual([(one["ordinal"], one["unit"], one["tokens"]) for one in nodes], [(1, 1, 15), (3, 2, 24)])


class CollapseTest(CtreeCase):
    def setUp(self):
        super().setUp()
        self.give(worked_example())

    def test_raw_never_drops_spec_never_collapses_header_and_frozen_agree(self):
        """Case 33."""
        for target in (None, 0, 1, 3, 4, 6, 7):
            for mode in ("none", "all_but_last"):
                output = self.compiled(config={"collapse": {"target": target, "mode": mode}})
                stages, counts = output["stages"], output["collapse"]["stages"]
                self.assertEqual(counts["RAW"], {"collapse": 0, "drop": 0})
                self.assertEqual(counts["SPEC"], {"collapse": 0, "drop": output["collapse"]["dropped"]})
                self.assertEqual(counts["HEADER"], counts["FROZEN"])
                self.assertEqual(stages["RAW"]["node_count"], 6)
                self.assertEqual(stages["HEADER"]["messages"], stages["FROZEN"]["messages"])
                if mode == "none":
                    self.assertEqual(ids(stages["HEADER"]["messages"], "node_id"), stages["SPEC"]["selection"]["selected_ids"])
                    self.assertEqual(output["collapse"]["collapsed"], 0)
                self.assertEqual(len(output["collapse"]["drop"]), output["collapse"]["dropped"])
                self.assertEqual(output["collapse"]["drop"], [one["id"] for one in stages["SPEC"]["dropped"] if one["reason"] == "collapse:target"])

    def test_target_drops_the_oldest_first(self):
        """Case 34."""
        off = {"pin_latest_user_assistant": False, "pin_first_system": False, "pin_latest_system": False}
        self.give([user(str(i)) for i in range(6)], "plain")
        for target, kept in ((0, []), (1, [5]), (3, [3, 4, 5]), (6, [0, 1, 2, 3, 4, 5]), (7, [0, 1, 2, 3, 4, 5])):
            self.assertEqual(self.kept("plain", {"selection": off, "collapse": {"target": target}}), kept)
        self.assertEqual(self.kept("s", {"collapse": {"target": 5}}), [0, 2, 3, 4, 5])
        self.assertEqual(self.kept("s", {"collapse": {"target": 4}}), [0, 4, 5])

    def test_collapse_leaves_other_kinds_alone(self):
        """Case 34."""
        self.give([node("note", 0), user("1"), node("note", 2), user("3"), assistant("4"), node("note", 5)], "kinds")
        config = {"selection": {"kind_allowlist": ["*"], "pin_latest_user_assistant": False}}
        self.assertEqual(self.kept("kinds", {**config, "collapse": {"target": 1, "kind_allowlist": ["message"]}}), [0, 2, 4, 5])
        self.assertEqual(self.kept("kinds", {**config, "collapse": {"target": 0, "kind_allowlist": ["note"]}}), [1, 3, 4])
        output = self.compiled("kinds", {**config, "collapse": {"mode": "all_but_last", "kind_allowlist": ["message"]}})
        self.assertEqual(ordinals(output["collapse"]["collapse"]), [1, 3])
        self.assertEqual(self.shown_ordinals(output["stages"]["HEADER"]["messages"]), [[0], [1, 1], [2], [3, 3], [4], [5]])
        self.assertEqual(output["collapse"]["kinds"], ["message"])

    def test_all_but_last_keeps_the_last_node_its_unit_and_the_pins(self):
        """Case 34."""
        self.give([user("0"), user("1"), assistant("", ("a", "t", {})), user("3"), tool("r", "a")], "unit")
        output = self.compiled("unit", {"selection": {"pin_latest_user_assistant": False}, "collapse": {"mode": "all_but_last"}})
        self.assertEqual(ordinals(output["collapse"]["collapse"]), [0, 1, 3])
        self.assertEqual(ordinals(self.compiled("unit", {"collapse": {"mode": "all_but_last"}})["collapse"]["collapse"]), [0, 1])
        self.assertEqual(ordinals(self.compiled("s", {"collapse": {"mode": "all_but_last"}})["collapse"]["collapse"]), [1, 2, 3])

    def test_explain_and_tree_show_what_was_collapsed(self):
        """Cases 33 and 43."""
        config = {"collapse": {"mode": "all_but_last"}}
        nodes = self.explained("s", config)
        self.assertEqual([one["ordinal"] for one in nodes["nodes"] if one["fate"] == "collapsed"], [1, 2, 3])
        self.assertEqual(nodes["totals"]["fates"], {"collapsed": 3, "dropped": 0, "kept": 3, "outside": 0})
        tree = self.answer("compile", "--tree", "--session", "s", "--compile-config", self.config_file(config))
        runs = [one for one in tree["nodes"] if one["kind"] == "collapsed"]
        self.assertEqual([(one["id"], ordinals(one["meta"]["collapsed_ids"])) for one in runs], [("ctrees:collapsed:1", [1, 2, 3])])
        spec = self.answer("compile", "--tree", "--stage", "SPEC", "--session", "s", "--compile-config", self.config_file(config))
        self.assertEqual(len([one for one in spec["nodes"] if one["kind"] == "message"]), 6)


class BarrierTest(CtreeCase):
    def setUp(self):
        super().setUp()
        self.path = with_ids([system("rules"), user("a"), assistant("", ("c", "t", {})), tool("r", "c"), assistant("b"), user("d")])

    def barrier(self, session, **body):
        self.give([*self.path, compaction(id="cut", summary="what was", **body), user("after"), assistant("done")], session)
        return self.fates(session)

    def test_without_a_window_the_system_pins_the_checkpoint_and_what_follows_are_kept(self):
        """Case 35."""
        expected = {0: "pin:first_system", **dict.fromkeys(range(1, 6), "-before_barrier"), 6: "pin:checkpoint", 7: "pin:latest_user", 8: "pin:latest_assistant"}
        self.assertEqual(self.barrier("none"), expected)
        self.assertEqual(self.barrier("null", first_kept=None), expected)
        self.assertEqual(self.barrier("self", first_kept="cut"), expected)
        self.assertEqual(self.barrier("gone", first_kept="no-such-entry"), expected)

    def test_first_kept_adds_its_window(self):
        """Case 35."""
        self.assertEqual(self.barrier("s", first_kept="e-4"), {0: "pin:first_system", 1: "-before_barrier", 2: "-before_barrier", 3: "-before_barrier", 4: "kept_window", 5: "kept_window", 6: "pin:checkpoint", 7: "pin:latest_user", 8: "pin:latest_assistant"})
        barrier = self.compiled("s")["stages"]["SPEC"]["barrier"]
        self.assertEqual((barrier["before_count"], ordinals([barrier["first_kept"]]), ordinals([barrier["node_id"]])), (4, [4], [6]))
        at = self.compiled("s", None, "--at", "e-3")["hashes"]["node_hash"]
        self.assertEqual(barrier["before_hash"], at)

    def test_a_result_whose_call_lies_before_the_window_is_an_orphan(self):
        """Case 30, the part SPEC shows."""
        self.assertEqual(self.barrier("s", first_kept="e-3")[3], "-orphan_result")

    def test_kept_is_exactly_its_entries(self):
        """Case 35."""
        self.assertEqual([one for one, reason in self.barrier("s", kept=["e-1", "e-4"]).items() if not reason.startswith("-")], [0, 1, 4, 6, 7, 8])
        self.assertEqual(self.fates("s")[1], "kept_window")

    def test_a_replacement_is_carried_by_the_checkpoint_and_hides_the_rest(self):
        """Case 35."""
        found = self.barrier("s", replacement=[{"role": "user", "content": "all of it"}], kept=["e-1"], first_kept="e-1")
        self.assertEqual(found, {0: "pin:first_system", **dict.fromkeys(range(1, 6), "-before_barrier"), 6: "pin:checkpoint", 7: "pin:latest_user", 8: "pin:latest_assistant"})
        other = self.barrier("other", replacement=[{"role": "user", "content": "something else"}])
        self.assertEqual(found, other)
        hashes = [self.compiled(name)["stages"]["HEADER"]["messages"][1]["content_hash"] for name in ("s", "other")]
        self.assertNotEqual(*hashes)

    def test_scope_path_has_everything_and_a_head_before_the_compaction_does_not_see_it(self):
        """Case 35."""
        self.barrier("s")
        self.assertEqual(self.kept("s", {"scope": "path"}), list(range(9)))
        self.give(self.path, "plain")
        self.assertEqual(self.compiled("s", None, "--at", "e-5"), self.compiled("plain"))

    def test_two_branches_see_their_own_compactions(self):
        """Case 36."""
        self.give(self.path)
        self.weir("head", "fork", "other", "--session", "s", "--at", "e-3")
        self.give([compaction(id="one", summary="one", first_kept="e-4"), user("x")], "s")
        self.give([compaction(id="two", summary="two"), user("y")], "s", "--head", "other")
        self.assertEqual(self.kept("s"), [0, 4, 5, 6, 7])
        self.assertEqual(self.kept("s", None, "--head", "other"), [0, 4, 5])
        alone = self.path[:4] + [compaction(id="two", summary="two"), user("y")]
        self.give(alone, "alone")
        self.assertEqual(self.compiled("s", None, "--head", "other"), self.compiled("alone"))

    def test_a_second_compaction_supersedes_the_first_and_may_reach_behind_it(self):
        """Case 36."""
        self.give([*self.path, compaction(id="one", summary="one", first_kept="e-5"), user("x"), compaction(id="two", summary="two", first_kept="e-4"), user("y")])
        self.assertEqual(self.fates(), {0: "pin:first_system", 1: "-before_barrier", 2: "-before_barrier", 3: "-before_barrier", 4: "pin:latest_assistant", 5: "kept_window", 6: "-superseded_checkpoint", 7: "kept_window", 8: "pin:checkpoint", 9: "pin:latest_user"})

    def test_a_checkpoint_shows_its_narrative_else_its_replacement_else_its_summary(self):
        """Case 35 (section 6)."""
        cases = {"narr": {"narrative": "NARR", "summary": "SUM"}, "sum": {"summary": "SUM"}, "both": {"replacement": [{"role": "user", "content": "REPL"}], "summary": "SUM"}}
        want = {"narr": "NARR", "sum": "SUM", "both": [{"content": "REPL", "role": "user"}]}
        for name, body in cases.items():
            self.give([user("a"), compaction(**body)], name)
            item = self.compiled(name)["stages"]["HEADER"]["messages"][-1]
            self.assertEqual((item["kind"], item["content_hash"]), ("checkpoint", digest("weir.value.v1", compact(want[name]))), name)


class EditTest(CtreeCase):
    def setUp(self):
        super().setUp()
        self.give(with_ids([system("rules"), user("long text"), assistant("fine"), user("end")]))

    def edit(self, target, replacement, *args):
        self.give([{"type": "context_edit", "body": {"target": target, "replacement": replacement}}], "s", *args)

    def test_null_takes_the_target_out_even_when_it_is_pinned(self):
        """Case 37."""
        self.edit("e-1", None)
        self.edit("e-0", None)
        self.assertEqual(self.fates(), {0: "-edited_out", 1: "-edited_out", 2: "pin:latest_assistant", 3: "pin:latest_user", 4: "-kind", 5: "-kind"})
        self.assertEqual(self.fates(config={"selection": {"pin_ids": ["e-1"]}})[1], "-edited_out")

    def test_an_edited_out_pin_passes_to_the_next(self):
        """Case 37 (5.4: pins are chosen among what is left)."""
        self.edit("e-3", None)
        self.assertEqual(self.fates()[1], "pin:latest_user")

    def test_a_replacement_gives_content_lengths_and_hash_and_keeps_the_digest(self):
        """Case 37."""
        before = self.compiled()["stages"]
        self.edit("e-1", "cut")
        after = self.compiled("s", None, "--previews")["stages"]
        old, new = before["HEADER"]["messages"][1], after["HEADER"]["messages"][1]
        self.assertEqual((new["content_hash"], new["content_len"], new["edited"], new["preview"]), (digest("weir.value.v1", '"cut"'), 3, True, "cut"))
        self.assertEqual((old["payload_hash"], old["node_id"]), (new["payload_hash"], new["node_id"]))
        self.assertNotIn("edited", old)
        self.assertEqual(before["SPEC"]["selected"][1]["digest"], after["SPEC"]["selected"][1]["digest"])

    def test_the_later_edit_wins(self):
        """Case 37."""
        self.edit("e-1", None)
        self.edit("e-1", "second")
        self.edit("e-1", "third")
        self.assertEqual(self.compiled()["stages"]["HEADER"]["messages"][1]["content_hash"], digest("weir.value.v1", '"third"'))
        self.edit("e-1", None)
        self.assertEqual(self.fates()[1], "-edited_out")

    def test_other_branches_are_untouched(self):
        """Case 37."""
        self.weir("head", "fork", "other", "--session", "s")
        before = self.compiled("s", None, "--head", "other")
        self.edit("e-1", None)
        self.assertEqual(self.compiled("s", None, "--head", "other"), before)

    def test_an_edit_without_its_target_is_a_warning(self):
        """Case 37 (3.1)."""
        self.edit("no-such-entry", "x")
        output = self.compiled()
        self.assertTrue(any("edit_without_target" in compact(one) for one in output["warnings"]), output["warnings"])
        self.assertIn("edit_without_target", self.weir("compile", "--session", "s").text)


class LabelTest(CtreeCase):
    def setUp(self):
        super().setUp()
        self.give(with_ids([system("rules"), user("keep me"), assistant("a"), user("b")]))

    def label(self, target, label, *args):
        self.give([{"type": "label", "body": {"target": target, **({} if label is None else {"label": label})}}], "s", *args)

    def test_a_label_pin_survives_compactions_and_ends_with_another_label(self):
        """Case 38."""
        self.label("e-1", "pin")
        self.give([compaction(summary="x"), user("c"), compaction(summary="y"), user("d")])
        self.assertEqual(self.fates()[1], "pin:label")
        self.assertEqual(self.fates(config={"selection": {"pin_labels": False}})[1], "-before_barrier")
        self.label("e-1", "other")
        self.assertEqual(self.fates()[1], "-before_barrier")
        self.label("e-1", "pin")
        self.assertEqual(self.fates()[1], "pin:label")
        self.label("e-1", None)
        self.assertEqual(self.fates()[1], "-before_barrier")

    def test_a_label_holds_on_its_branch_only(self):
        """Case 38."""
        self.weir("head", "fork", "other", "--session", "s")
        self.label("e-1", "pin")
        limit = {"selection": {"max_nodes": 0}}
        self.assertEqual(self.fates("s", limit)[1], "pin:label")
        self.assertEqual(self.fates("s", limit, "--head", "other")[1], "-limit:max_nodes")
        self.label("e-2", "pin", "--head", "other")
        self.assertEqual(self.fates("s", limit)[2], "pin:latest_assistant")

    def test_a_pinned_call_brings_its_result(self):
        """Case 38."""
        self.give(with_ids([user("x"), assistant("", ("q", "t", {})), tool("r", "q"), compaction(summary="z"), user("y")], "p-"), "pair")
        self.give([{"type": "label", "body": {"target": "p-2", "label": "pin"}}], "pair")
        self.assertEqual(self.fates("pair"), {0: "-before_barrier", 1: "pair", 2: "pin:label", 3: "pin:checkpoint", 4: "pin:latest_user"})

    def test_labels_reads_and_manifests_between_compilations_change_no_hash(self):
        """Case 39."""
        before = self.compiled()
        self.label("e-2", "important")
        self.assertEqual(self.compiled(), before)
        self.give([{"type": "session_info", "body": {"name": "n"}}, {"type": "custom", "body": {"data": 1}}, {"type": "refresh", "body": {"v": 1, "path": "/x", "scope": "full"}}])
        self.assertEqual(self.compiled(), before)
        self.weir("read", self.world.file("f.txt", "text\n"), "--session", "s")
        self.assertEqual(self.compiled(), before)
        self.give([{"type": "CONTEXT_MANIFEST_WRITTEN", "body": {"manifest": {}, "manifest_id": "m", "step_id": 1}}], "s", "--lenient")
        self.assertEqual(self.compiled(), before)


class SizeTest(CtreeCase):
    def test_long_lists_are_elided_to_count_and_hash_and_the_hashes_stay(self):
        """Case 40."""
        count = 3000
        self.give([entry(f"m{i}", "user" if i % 2 else "assistant") for i in range(count)])
        small = {"limits": {"max_stage_bytes": 4096}}
        whole, cut = self.compiled(), self.compiled(config=small)
        self.assertEqual(whole["hashes"], cut["hashes"])
        spec = cut["stages"]["SPEC"]
        canonical = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.assertEqual(spec["selected"], {"count": count, "elided": True, "sha256": digest("weir.list.v1", canonical(whole["stages"]["SPEC"]["selected"]))})
        self.assertEqual(spec["selection"]["selected_ids"]["count"], count)
        for stage in ("HEADER", "FROZEN"):
            self.assertEqual(cut["stages"][stage]["messages"], {"count": count, "elided": True, "sha256": digest("weir.list.v1", canonical(whole["stages"][stage]["messages"]))})
        for stage in STAGES:
            self.assertLessEqual(len(canonical(cut["stages"][stage])), 4096, stage)
        self.assertEqual(self.compiled("s", small, "--full")["stages"], whole["stages"])
        self.assertEqual(self.compiled("s", small, "--full")["hashes"], whole["hashes"])

    def test_lists_are_elided_in_the_order_of_the_page_until_the_stage_fits(self):
        """Case 40."""
        self.give([entry(f"m{i}", "user" if i % 2 else "assistant") for i in range(300)])
        limit = {"selection": {"max_nodes": 100}}
        whole = self.compiled(config=limit)["stages"]
        canonical = lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        order = [("dropped",), ("selected",), ("selection", "selected_ids"), ("selection", "pinned_ids")]
        elided_at = lambda spec: [isinstance((spec[p[0]] if len(p) == 1 else spec[p[0]][p[1]]), dict) for p in order]
        sizes = {size: elided_at(self.compiled(config={**limit, "limits": {"max_stage_bytes": size}})["stages"]["SPEC"]) for size in (len(canonical(whole["SPEC"])), len(canonical(whole["SPEC"])) - 1, 20000, 5000, 1200, 256)}
        self.assertEqual(list(sizes.values())[0], [False] * 4)
        self.assertEqual(list(sizes.values())[1], [True, False, False, False])
        self.assertEqual(list(sizes.values())[-1], [True] * 4)
        for found in sizes.values():
            self.assertEqual(found, sorted(found, reverse=True))

    def test_an_elided_output_still_serves_expect_and_diff(self):
        """Case 40."""
        self.give([entry(f"m{i}") for i in range(200)])
        small = self.config_file({"limits": {"max_stage_bytes": 300}}, "small.json")
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "s", "--compile-config", small).out)
        self.assertIs(self.answer("compile", "--session", "s", "--expect", kept)["match"], True)
        self.assertIs(self.answer("diff", "s", kept)["equal"], True)


class IncrementalTest(CtreeCase):
    def random_entry(self, chance, i, known):
        pick = chance.random()
        target = chance.choice(known) if known else None
        if target is None or pick < 0.25:
            return user(f"u{i} " + "x" * chance.randint(0, 20))
        if pick < 0.4:
            return assistant(f"a{i}")
        if pick < 0.52:
            return assistant("", *((f"c{chance.randint(0, 3)}", "t", {"i": i, "k": k}) for k in range(chance.randint(1, 2))))
        if pick < 0.66:
            return tool(f"r{i}", f"c{chance.randint(0, 3)}")
        if pick < 0.72:
            return node(chance.choice(["note", "task_event", "message", "lifecycle"]), {"role": "user", "content": f"n{i}", "task_id": f"t{i % 3}", "ts": i})
        if pick < 0.78:
            return {"type": "context_edit", "body": {"target": target, "replacement": chance.choice([None, "cut"])}}
        if pick < 0.84:
            return {"type": "label", "body": {"target": target, "label": chance.choice(["pin", "x"])}}
        if pick < 0.9:
            return compaction(summary=f"s{i}", **chance.choice([{}, {"first_kept": target}, {"kept": [target]}, {"replacement": [{"role": "user", "content": "r"}]}]))
        if pick < 0.95:
            return system(f"sys{i}")
        return {"type": "branch_summary", "body": {"summary": f"b{i}"}}

    def test_compiling_after_each_append_equals_a_fresh_compilation(self):
        """Case 42."""
        chance = random.Random(42)
        configs = [{"selection": {"kind_allowlist": ["*"]}, "header": {"mode": "sanitized_content"}}, {"selection": {"max_nodes": 4}, "collapse": {"mode": "all_but_last"}}, {"selection": {"max_bytes": 300, "fill": "stop"}, "scope": "path"}]
        files = [self.config_file(config, f"c{i}.json") for i, config in enumerate(configs)]
        for round in range(3):
            session, paths, heads = f"r{round}", {}, {"main": []}
            for i in range(14):
                head = chance.choice(sorted(heads))
                if heads[head] and chance.random() < 0.15:
                    at = chance.randrange(len(heads[head]))
                    name = f"h{i}"
                    self.weir("head", "fork", name, "--session", session, "--at", heads[head][at]["id"])
                    heads[name] = heads[head][: at + 1]
                    head = name
                one = {"id": f"x{i}", **self.random_entry(chance, i, ids(heads[head]))}
                self.give([one], session, "--head", head)
                heads[head] = heads[head] + [one]
                file = files[i % len(files)]
                paths[f"x{i}"] = (list(heads[head]), file, self.weir("--json", "compile", "--session", session, "--head", head, "--compile-config", file).out)
            store = self.fresh_store(f"fresh{round}")
            for id, (path, file, seen) in paths.items():
                self.assertEqual(self.weir("--json", "compile", "--session", session, "--at", id, "--compile-config", file).out, seen, id)
                self.give(path, id, "--store", store)
                self.assertEqual(self.weir("--json", "--store", store, "compile", "--session", id, "--compile-config", file).out, seen, (round, id))


class DiffTest(CtreeCase):
    def test_diff_finds_the_changed_node_at_every_place(self):
        """Case 44."""
        count = 9
        texts = [f"text {i}" for i in range(count)]
        self.give([entry(text) for text in texts], "a")
        for k in range(count):
            self.give([entry(text + ("!" if i == k else "")) for i, text in enumerate(texts)], f"b{k}")
            found = self.answer("diff", "a", f"b{k}", code=1)
            self.assertEqual((found["equal"], found["common_nodes"], found["first_divergence"]["ordinal"], found["first_divergence"]["cause"]), (False, k, k, ["payload"]))
            self.assertEqual(found["first_divergence"]["fields"], [{"path": "/content", "a": {"hash": digest("weir.value.v1", compact(texts[k])), "len": 6}, "b": {"hash": digest("weir.value.v1", compact(texts[k] + "!")), "len": 7}}])
            self.assertEqual(found["stages"], dict.fromkeys(STAGES, False))

    def test_diff_tells_kind_turn_payload_and_missing_nodes_apart(self):
        """Case 44."""
        base = [node("k", {"a": 1}, turn=1), node("k", {"a": 2}, turn=1)]
        self.give(base, "base")
        cases = {"kind": [node("other", {"a": 1}, turn=1), base[1]], "turn": [node("k", {"a": 1}, turn=2), base[1]], "payload": [node("k", {"a": 3}, turn=1), base[1]], "missing_in_b": base[:1], "missing_in_a": base + base[:1]}
        for cause, entries in cases.items():
            self.give(entries, cause)
            found = self.answer("diff", "base", cause, code=1)["first_divergence"]
            self.assertEqual(found["cause"], [cause])
            self.assertEqual(found["ordinal"], {"missing_in_b": 1, "missing_in_a": 2}.get(cause, 0))
        self.give([node("other", {"a": 9}, turn=7)], "three")
        self.assertEqual(sorted(self.answer("diff", "base", "three", code=1)["first_divergence"]["cause"]), ["kind", "payload", "turn"])

    def test_equal_paths_are_equal_with_exit_0_also_when_the_entries_have_other_ids(self):
        """Case 44."""
        self.give(with_ids(worked_example("x")), "a")
        self.give(with_ids(worked_example("y"), "other-"), "b")
        found = self.answer("diff", "a", "b")
        self.assertEqual((found["equal"], found["common_nodes"], found["first_divergence"], found["stages"]), (True, 6, None, dict.fromkeys(STAGES, True)))

    def test_diff_takes_heads_entries_and_stored_outputs(self):
        """Case 44."""
        self.give(with_ids(worked_example()), "a")
        self.weir("head", "fork", "other", "--session", "a", "--at", "e-3")
        self.assertEqual(self.answer("diff", "a@main", "a@other", code=1)["common_nodes"], 4)
        self.assertEqual(self.answer("diff", "a@other", "a@e-3")["equal"], True)
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "a").out)
        self.assertIs(self.answer("diff", "a", kept)["equal"], True)
        self.assertIs(self.answer("diff", kept, kept)["equal"], True)
        found = self.answer("diff", kept, "a@other", code=1)
        self.assertIs(found["equal"], False)
        self.assertEqual(found["stages"], dict.fromkeys(STAGES, False))

    def test_a_difference_of_configs_is_told_by_pointer(self):
        """Case 44 (section 9)."""
        self.give(worked_example(), "a")
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "a", "--compile-config", self.config_file({"selection": {"max_nodes": 4}})).out)
        found = self.answer("diff", "a", kept, code=1)
        self.assertEqual(found["config"], [{"path": "/selection/max_nodes", "a": None, "b": 4}])
        self.assertEqual(found["stages"], {"RAW": True, "SPEC": False, "HEADER": False, "FROZEN": False})
        self.assertEqual((ordinals(found["selection"]["only_a"]), found["selection"]["only_b"]), ([1, 2, 3], []))

    def test_another_profile_is_a_mismatch_and_an_unknown_version_is_unknown(self):
        """Case 44."""
        self.give(worked_example(), "a")
        foreign = self.world.file("foreign.json", self.weir("--json", "compile", "--session", "a", "--profile", "breadboard-0.1").out)
        own = self.weir("--json", "compile", "--session", "a").text
        unknown = self.world.file("unknown.json", own.replace('"schema_version":"weir-1"', '"schema_version":"weir-9"'))
        for args in (["diff", "a", foreign], ["diff", foreign, "a"], ["compile", "--session", "a", "--expect", foreign]):
            self.refused("PROFILE_MISMATCH", *args)
        for args in (["diff", "a", unknown], ["diff", unknown, "a"], ["compile", "--session", "a", "--expect", unknown]):
            self.refused("SCHEMA_UNKNOWN", *args)

    def test_texts_show_only_with_previews(self):
        """Case 44 (section 9: fields show hash and length, text only with previews)."""
        self.give([user("the first wording")], "a")
        self.give([user("the second wording")], "b")
        for flags in ([], ["--json"]):
            self.assertNotIn("wording", self.weir("diff", "a", "b", *flags, code=1).text)
        self.assertIn("the second wording", self.weir("diff", "a", "b", "--previews", "--json", code=1).text)

    def test_texts_show_to_people_too(self):
        """Case 44: --previews is "also the beginning of texts that differ, masked" in its help."""
        self.give([user("the first wording")], "a")
        self.give([user("the second wording")], "b")
        self.assertIn("the second wording", self.weir("diff", "a", "b", "--previews", code=1).text)

    def test_texts_of_a_difference_are_beginnings(self):
        """Case 44."""
        self.give([user("a" * 20000)], "a")
        self.give([user("b" * 20000)], "b")
        text = self.weir("diff", "a", "b", "--previews", "--json", code=1).text
        self.assertIn("aaaa", text)
        self.assertLess(len(text), 6000)

    def test_a_difference_of_configs_alone_is_told_to_people(self):
        """Case 44: the answer's cause, for a reader: something must say what differs."""
        self.give(worked_example(), "a")
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "a", "--compile-config", self.config_file({"selection": {"max_nodes": 4}})).out)
        self.assertIn("max_nodes", self.weir("diff", "a", kept, code=1).text)

    def test_expect_compares_z4_and_the_selection(self):
        """Case 45 (section 9)."""
        self.give(worked_example(), "a")
        self.give([user("x")], "b")
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "a").out)
        self.assertIs(self.answer("compile", "--session", "a", "--expect", kept)["match"], True)
        self.assertIs(self.answer("compile", "--session", "a", "--previews", "--expect", kept)["match"], True)
        found = self.answer("compile", "--session", "b", "--expect", kept, code=1)
        self.assertEqual((found["match"], sorted(found["expected"]), sorted(found["found"])), (False, ["selection_sha256", "z4"], ["selection_sha256", "z4"]))

    def test_an_exported_session_has_the_same_hashes_in_another_store(self):
        """Case 45."""
        self.give(with_ids(worked_example()) + [{"type": "label", "body": {"target": "e-1", "label": "pin"}}, compaction(summary="s", first_kept="e-4"), user("z" * 100000), node("k", {"seq": 1, "x": [1.5, "é"]})], "a")
        self.weir("head", "fork", "other", "--session", "a", "--at", "e-3")
        self.give([user("elsewhere")], "a", "--head", "other")
        before = self.compiled("a"), self.compiled("a", None, "--head", "other")
        exported = [parse_line(line) for line in self.weir("export", "--session", "a", "--path").lines]
        store = self.fresh_store("copy")
        bodies = []
        for one in exported:
            self.assertEqual(set(one), {"at", "body", "digest", "id", "parent", "seq", "type"})
            bodies.append({key: one[key] for key in ("at", "body", "id", "parent", "type")})
        blobs = [one for one in exported if "$blob" in compact(one)]
        for one, body in zip(exported, bodies):
            if one in blobs:
                body["body"]["content"] = "z" * 100000
        self.give(bodies, "a", "--store", store)
        self.assertEqual(self.compiled("a", None, "--store", store)["hashes"], before[0]["hashes"])


class ReadingOnlyTest(CtreeCase):
    def test_nothing_is_written_by_compile_explain_and_diff(self):
        """What their help says."""
        self.give(with_ids(worked_example()))
        kept = self.world.file("kept.json", self.weir("--json", "compile", "--session", "s").out)
        before = self.world.dump()
        for args in (["compile", "--session", "s"], ["compile", "--session", "s", "--tree", "--previews"], ["compile", "--session", "s", "--expect", kept], ["compile", "--session", "s", "--profile", "breadboard-0.1"], ["explain", "--session", "s"], ["diff", "s", "s@e-5"], ["diff", "s", kept], ["diff", "s", "s", "--what", "entries"]):
            self.weir(*args)
        self.assertEqual(self.world.dump(), before)


class NodeIdTest(CtreeCase):
    def test_a_given_node_id_used_twice_on_a_path_is_refused(self):
        """Case 46."""
        self.give([node("k", 1, node_id="mine")])
        self.refused("ID_REUSED", "append", "--session", "s", stdin=compact(node("k", 2, node_id="mine")))
        self.refused("ID_REUSED", "append", "--session", "s", stdin=jsonl([node("k", 2, node_id="new"), node("k", 3, node_id="new")]))
        self.give([node("k", 1, node_id="other")])
        self.assertEqual(self.compiled()["node_count"], 2)

    def test_a_given_node_id_is_free_on_another_branch_and_is_never_hashed(self):
        """Case 46."""
        self.give(with_ids([user("a"), node("k", 1, node_id="mine")]))
        self.weir("head", "fork", "other", "--session", "s", "--at", "e-0")
        self.give([node("k", 1, node_id="mine")], "s", "--head", "other")
        self.give([user("a"), node("k", 1)], "plain")
        self.assertEqual(self.compiled(), self.compiled("plain"))
        self.assertEqual(self.compiled("s", None, "--head", "other"), self.compiled("plain"))

    def test_a_kind_that_masking_would_make_too_long_is_refused(self):
        """Case 45 (3.1: 1 to 64 code points): what is stored keeps the rules of append."""
        self.refused("KIND_INVALID", "append", "--session", "s", stdin=compact(node("k" * 46 + " pass" + "word=abcdefg1", 1)))

    def test_kinds_of_the_compiler_itself_are_refused(self):
        """Case 46 (3.1)."""
        for kind in ("checkpoint", "context_edit", "snapshot_attached", "collapsed", "root", "turn", "*", "", "x" * 65, "a\nb", "a\x00", "\x7f"):
            self.refused("KIND_INVALID", "append", "--session", "s", stdin=compact(node(kind, 1)))
        self.give([node(kind, 1) for kind in ("x" * 64, "é" * 64, "Root", "a b", "message")])


class TreeTest(CtreeCase):
    def reachable_once(self, tree):
        below = {}
        for one in tree["nodes"]:
            below.setdefault(one["parent_id"], []).append(one["id"])
        self.assertEqual(len({one["id"] for one in tree["nodes"]}), len(tree["nodes"]))
        seen, left = [], ["ctrees:root"]
        while left:
            seen.append(left.pop())
            left += below.get(seen[-1], [])
            self.assertLessEqual(len(seen), len(tree["nodes"]))
        self.assertEqual(sorted(seen), sorted(one["id"] for one in tree["nodes"]))

    TASKS = [
        {"task_id": "a", "parent_task_id": "b"}, {"task_id": "b", "parent_task_id": "a"}, {"task_id": "self", "parent_task_id": "self"}, {"task_id": "lost", "parent_task_id": "nobody"}, {"task_id": "  padded  ", "parent_task_id": "a"},
        {"task_id": "c", "parent_task_id": "d"}, {"task_id": "d", "parent_task_id": "e"}, {"task_id": "e", "parent_task_id": "c"}, {"task_id": "padded"}, {"task_id": ""}, {"task_id": "   "}, {"task_id": 5}, {}, {"task_id": "root"}, {"task_id": "x", "parent_task_id": "root"},
    ]  # fmt: skip

    def test_every_node_of_odd_task_trees_is_reachable_from_the_root_exactly_once(self):
        """Case 48."""
        self.give([user("u"), *(node("task_event" if i % 2 else "subagent", {"kind": "k", **task}, turn=i % 3) for i, task in enumerate(self.TASKS)), node("task_event", "text"), node("task_event", [1])])
        config = self.config_file({"selection": {"kind_allowlist": ["*"]}})
        for stage in STAGES:
            for full in ([], ["--full"]):
                tree = self.answer("compile", "--tree", "--session", "s", "--stage", stage, "--compile-config", config, *full)
                self.reachable_once(tree)
                self.assertEqual(len([one for one in tree["nodes"] if one["id"].startswith("ctrees:node:")]), len(self.TASKS) + 3)
                text = self.weir("compile", "--tree", "--session", "s", "--stage", stage, "--compile-config", config, *full).lines
                self.assertEqual(len(text), len(tree["nodes"]))
        padded = [one for one in tree["nodes"] if one["kind"] == "task"]
        self.assertEqual(len({one["label"] for one in padded}), len(padded))
        self.assertEqual(len(padded), 10)

    def test_random_task_trees_are_reachable_too(self):
        """Case 48."""
        chance = random.Random(48)
        names = ["a", "b", " a", "b ", "c", "root", "ROOT", "", "d"]
        for round in range(12):
            self.give([node("task_event", {"task_id": chance.choice(names), "parent_task_id": chance.choice(names), "tree_path": "root/a"}) for _ in range(8)], f"t{round}")
            self.reachable_once(self.answer("compile", "--tree", "--session", f"t{round}", "--compile-config", self.config_file({"selection": {"kind_allowlist": ["*"]}})))

    def test_hidden_nodes_are_hidden_unless_all_is_asked_for_and_then_say_why(self):
        """Case 43 (section 11)."""
        self.give(worked_example())
        config = self.config_file({"selection": {"max_nodes": 4}})
        tree = self.answer("compile", "--tree", "--session", "s", "--compile-config", config)
        leaves = lambda tree: [one for one in tree["nodes"] if one["id"].startswith("ctrees:node:")]
        self.assertEqual([one["id"][12:21] for one in leaves(tree)], ["n00000000", "n00000004", "n00000005"])
        everything = leaves(self.answer("compile", "--tree", "--full", "--session", "s", "--compile-config", config))
        self.assertEqual([(one["meta"]["selected"], one["meta"]["reason"]) for one in everything[1:4]], [(False, "limit:max_nodes")] * 3)
        self.assertEqual(len(everything), 6)
        output = self.compiled("s", {"selection": {"max_nodes": 4}})
        self.assertEqual(tree["selection"], output["stages"]["SPEC"]["selection"])
        self.assertEqual({name: tree["hashes"][name] for name in HASHES}, output["hashes"])
        self.assertEqual(tree["hashes"]["tree_sha256"], digest("weir.tree.v1", compact([one["id"] for one in tree["nodes"]])))


if __name__ == "__main__":
    ctree_case.main()
