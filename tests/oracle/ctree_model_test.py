"""The models against what is printed in the contract, and the acceptance cases that are about the pure function.
WEIR_SESSIONS sets how many random sessions are tried."""

import copy
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import context_model  # noqa: E402
import ctree_model as ctree  # noqa: E402
import ctree_sessions  # noqa: E402
from context_model import Context, ContextOverBudget  # noqa: E402
from ctree_model import MASK, Compilation, ConfigInvalid, Fold, NodeUnknown, canonical, digest, mask_text  # noqa: E402
from ctree_sessions import secrets_made  # noqa: E402

SESSIONS = int(os.environ.get("WEIR_SESSIONS", "25"))


def path(*entries):
    """Entries of (type, body), or of a body alone for a message; ids e0, e1, ..."""
    out = []
    for entry in entries:
        kind, body = entry if isinstance(entry, tuple) else ("message", entry)
        out.append({"id": f"e{len(out)}", "type": kind, "body": body})
    return out


def say(role, content, **more):
    return {"role": role, "content": content, **more}


def call(*ids, content=""):
    return say("assistant", content, tool_calls=[{"id": name, "name": "ls", "arguments": {"path": "."}} for name in ids])


def result(name, content="out"):
    return say("tool", content, tool_call_id=name)


# Worked example S of section 3.5, and the one of section 14.
S = path(
    say("system", "You are terse."),
    say("user", "List the files."),
    call("toolu_01"),
    say("tool", "a.txt\nb.txt", name="ls", tool_call_id="toolu_01"),
    say("assistant", "Two files: a.txt, b.txt."),
    say("user", "Thanks."),
)
WORKED = S + [
    {"id": "c", "type": "compaction", "body": {"summary": "Asked for a listing. a.txt and b.txt exist."}},
    {"id": "d", "type": "message", "body": say("user", "Delete b.txt")},
]


def kept_ordinals(compiled):
    return sorted(compiled.chosen.kept)


def select(entries, **selection):
    return Compilation(entries, {"selection": selection})


class PrintedHashes(unittest.TestCase):
    def test_values(self):
        self.assertEqual(digest("weir.value.v1", "hello"), "da5bbccc41b63215f08581d41f7bddb2f4a6a2bf834bf1a8ce1edc38d0c1eddd")
        self.assertEqual(digest("weir.value.v1", "caf\u00e9"), "4540be8b210aede55f43834fff53f9f1aa1e7ba1cd34590634dea41463aace79")
        self.assertEqual(digest("weir.value.v1", [1, 10**30]), "289d2f8d0f88fafd2e192b5447971d05462b0c3fc6deb105f8d07cb33f9fdbb4")
        self.assertEqual(digest("weir.nodes.v1", []), "0344b45c05c786b1efe5bcbb0084e2a3ba38ef422aedd3eac1a85899939eff76")

    def test_numbers(self):
        one = {canonical(json.loads(text)) for text in ("[1.0,1e0]", "[1,1]", "[1,1.00]")}
        self.assertEqual(one, {"[1,1]"})
        self.assertEqual(canonical(json.loads("[-0,-0.0]")), "[0,0]")
        with self.assertRaises(ValueError):
            canonical(json.loads("1e400"))
        told = {1e21: "1e+21", 5e-324: "5e-324", 1e16: "10000000000000000", 1e-5: "0.00001", 1e-7: "1e-7", 123.5: "123.5", -1.5e-9: "-1.5e-9", 1e20: "100000000000000000000"}
        for number, text in told.items():
            self.assertEqual(canonical(number), text)
        for number in (9007199254740993, 1 << 64, int("9" * 4096)):
            self.assertEqual(canonical(number), str(number))

    def test_key_order(self):
        self.assertEqual(canonical({"\uffff": 1, "\U00010000": 2}), '{"\U00010000":2,"\uffff":1}')

    def test_nodes_of_s(self):
        texts = [
            '{"kind":"message","payload":{"content":"You are terse.","role":"system"},"turn":0}',
            '{"kind":"message","payload":{"content":"List the files.","role":"user"},"turn":1}',
            '{"kind":"message","payload":{"content":"","role":"assistant","tool_calls":[{"arguments":{"path":"."},"id":"call_0001","name":"ls"}]},"turn":1}',
            '{"kind":"message","payload":{"content":"a.txt\\nb.txt","name":"ls","role":"tool","tool_call_id":"call_0001"},"turn":1}',
            '{"kind":"message","payload":{"content":"Two files: a.txt, b.txt.","role":"assistant"},"turn":1}',
            '{"kind":"message","payload":{"content":"Thanks.","role":"user"},"turn":2}',
        ]
        digests = [
            "b114efbb933275fde7eb285f32f3daa5e7ef7757648488db4f9ac4c40fced586", "25cb6c831710b83816c8ceaa057b222a25bc1e245d59a253513cb9142b81b748",
            "bc3e46f7c979abba9a3798b541be73a15a63ac86edb351ed888e1a5089e7f7e4", "bff27abab8ea2816ff5146a32afded2300a853c17b6d49f3218258e97ff84a6f",
            "efe7fd58181270d98c4bd4175e8653082de23ae029f777476459522d0a51b31f", "f71f36e5d568786dafcc67385d7195b6b79f1734b073609a2f0a10d0825432a6",
        ]  # fmt: skip
        fold = Fold(S)
        self.assertEqual([canonical({"kind": n.kind, "payload": n.payload, "turn": n.turn}) for n in fold.nodes], texts)
        self.assertEqual([n.digest for n in fold.nodes], digests)
        self.assertEqual(fold.chain[1], "74bb487e72108a6e6d29e56ab351dc4b6cc00f27f19c2c54e57d5e1f07b9611a")
        self.assertEqual(fold.node_hash, "f67f151ef8479240b7c5068acf216ec4e32a6aef6bffa0e39f05d669c7699cb5")
        self.assertEqual(fold.nodes[-1].id, "n00000005_f71f36e5")
        self.assertEqual([n.unit for n in fold.nodes], [0, 1, 2, 2, 4, 5])

    def test_defaults(self):
        self.assertEqual(Compilation([]).config_sha256, "8f99b7d581aa8f92b70f29d08a71d5789ad40a87429faaddfbf36080006a4f78")

    def test_empty(self):
        empty = Compilation([])
        self.assertEqual(empty.hashes["z1"], "3fc5b847b91483187fb79c2f381a2e6a94dfb4e310d2b42a230a974a602b93fd")
        quiet = Compilation(path(("custom", {}), ("label", {"target": "x"}), ("session_info", {}), ("no_such_type", {}), ("CONTEXT_MANIFEST_WRITTEN", {})))
        self.assertEqual(quiet.output(), empty.output())
        self.assertIsNone(empty.ctrees("s", None)["last_node"])

    def test_stages_of_s(self):
        rows = [
            ({}, "4f2d05f8", "06ad74", "5eeb0699594ddeadae51c2e157f5a2f9765f5626976e6f6a62923b3ebc21a42b",
             "3e1d68d2df9e75eaaf60ca89af693fe527546e89485b2e0ed3db67b1a96e988b", "c310609571798dc7be3862d38cb5f26486cb85f2a3a4e2f1fc89a5d50803d5fb"),
            ({"header": {"mode": "sanitized_content", "preview_chars": 8}}, "4f2d05f8", "06ad74", "5eeb0699594ddeadae51c2e157f5a2f9765f5626976e6f6a62923b3ebc21a42b",
             "7330d0c3de4c06e26211d2d00e5d224f0cfbbbe1e147b65ce550c013976e040d", "c310609571798dc7be3862d38cb5f26486cb85f2a3a4e2f1fc89a5d50803d5fb"),
            ({"selection": {"max_nodes": 4}}, "8508cd9e", "702b30", "cdd54c34d1e2cdc85aff1f24caa621ea4568231b87db7425880b52c4ab7ee684",
             "f1af5525852fb9f893caffb8f18e1d97799a81c599db1c6ecaf0c5cc6a66a875", "fefc77bd358abb6b5d4f29358351cb04ba782ce25d93380a067d83f7fd761d6b"),
            ({"collapse": {"mode": "all_but_last"}}, "c18dbe2f", "44a9b2", "f42d14670923e3ee50be117bdd0ef68e284e42361a65c42797b7cd20340f0f25",
             "71fd96b220871807c2d3768fde25ac8e73b923122ac8218b6c9c7c699561592c", "5bd600dce61cfbf017b8accb6a8ffef4b3af1653757e9d852cefb7f8050e785b"),
        ]  # fmt: skip
        for config, begin, end, z2, z3, z4 in rows:
            hashes = Compilation(S, config).hashes
            self.assertEqual(hashes["z1"], "f152d48a01a2de97bb5cc7d9b30142598e2993571248a4c19ac53ea0ba72f3df")
            self.assertTrue(hashes["selection_sha256"].startswith(begin) and hashes["selection_sha256"].endswith(end))
            self.assertEqual((hashes["z2"], hashes["z3"], hashes["z4"]), (z2, z3, z4), config)

    def test_raw_and_spec_of_s(self):
        compiled = select(S, max_nodes=4)
        self.assertEqual(compiled.raw["kind_counts"], {"message": 6})
        spec = compiled.spec
        self.assertEqual([(item["id"], item["payload_hash"][:8], item["reason"]) for item in spec["selected"]], [
            ("n00000000_b114efbb", "aee9f34b", "pin:first_system"), ("n00000004_efe7fd58", "8a521cb9", "pin:latest_assistant"), ("n00000005_f71f36e5", "c32d4a60", "pin:latest_user"),
        ])  # fmt: skip
        self.assertEqual([item["id"] for item in spec["dropped"]], ["n00000001_25cb6c83", "n00000002_bc3e46f7", "n00000003_bff27aba"])
        self.assertEqual(spec["selection"]["used"], {"bytes": 136, "chars": 45, "nodes": 3, "tokens": 47, "turns": 3})
        self.assertEqual(select(S, max_nodes=0).spec["selection"]["over_budget"], [{"allowed": 0, "limit": "max_nodes", "pinned": 3}])

    def test_collapsed_run_of_s(self):
        run = Compilation(S, {"collapse": {"mode": "all_but_last"}}).header["messages"][1]
        self.assertEqual(run, {
            "bytes": 226, "count": 3, "first_id": "n00000001_25cb6c83", "ids_sha256": "82dea03c339efd87b3c95c306029d0c55bdc92088b638b0cca5d05e8ec555719",
            "kind": "collapsed", "last_id": "n00000003_bff27aba", "turns": [1, 1],
        })  # fmt: skip

    def test_context_of_worked_case(self):
        context = Context(WORKED)
        self.assertEqual([node.id for node in context.nodes[6:]], ["n00000006_7605654d", "n00000007_bfa8a2af"])
        self.assertEqual(context.fold.node_hash, "a7532171d73ff9d88dad6f82ce2a2d5870a979155086095377a1f13ae6e48f03")
        image = (
            '{"messages":[{"content":"You are terse.","role":"system"},{"content":"[weir: carried over a compaction; source: host summary]'
            '\\nAsked for a listing. a.txt and b.txt exist.","role":"user"}],"tools":null}'
        )
        self.assertEqual(canonical(context.hashed(("policy", "snapshot"))), image)
        self.assertEqual(context.prefix_length, 201)
        self.assertEqual(context.prefix_hash, "7a0c2bb7ac0e95244e709365274f84e65c8b3e74731d71b011cf726e03abd6a5")
        self.assertEqual(context.context_sha256, "8ab61971c8bcde840243755490c759a859276e17cb487c50d881372a04b45bf7")
        text = "[weir: carried over a compaction; source: host summary]\nAsked for a listing. a.txt and b.txt exist."
        self.assertEqual(context.rendered(), {
            "system": [{"type": "text", "text": "You are terse."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": text}, {"type": "text", "text": "Delete b.txt"}]}],
        })  # fmt: skip

    def test_manifest_of_worked_case(self):
        printed = json.loads("""
{"candidate_chunk_ids":[],"compiler_version":"weir-1","config_sha256":"8f99b7d581aa8f92b70f29d08a71d5789ad40a87429faaddfbf36080006a4f78","context_sha256":"8ab61971c8bcde840243755490c759a859276e17cb487c50d881372a04b45bf7",
 "exclusion":[{"count":5,"excluded_reason":"before_barrier","item_id":"n00000001_25cb6c83..n00000005_f71f36e5","item_type":"memory","node_hash":"f67f151ef8479240b7c5068acf216ec4e32a6aef6bffa0e39f05d669c7699cb5"}],"filters":[],"format":"anthropic",
 "hashes":{"node_hash":"a7532171d73ff9d88dad6f82ce2a2d5870a979155086095377a1f13ae6e48f03","selection_sha256":"b837b1893b7ad982584c00e6bfbe4e3da17698b2a15d80c4569464f300c7b46e","z1":"53dcfd3a6aa0e76a15c262e882cd4f8b76c821e7de4b72aa7cabffe93272d998",
  "z2":"6ee40cb3b8baecca6bdbe57f63a6e89de194212be162c495b8d6a5b16117f6f8","z3":"54631f5ead03b27b70eeb6d753771809227133a2da71386e2ad5736cd2e5c4fc","z4":"aaf28bd253c741e478854766f6120cc17267eaa37b7c4aae8f29c3482e012779"},
 "inclusion":[{"included_reason":"pin:first_system","item_id":"n00000000_b114efbb","item_type":"policy","source_ref":"node:n00000000_b114efbb"},{"included_reason":"pin:checkpoint","item_id":"n00000006_7605654d","item_type":"summary","source_ref":"node:n00000006_7605654d"},
  {"included_reason":"pin:latest_user","item_id":"n00000007_bfa8a2af","item_type":"user_input","source_ref":"node:n00000007_bfa8a2af"}],
 "intent":{},"prefix_hash":"7a0c2bb7ac0e95244e709365274f84e65c8b3e74731d71b011cf726e03abd6a5","prefix_length":201,"reranker_model":null,"reranker_version":null,"retrieval_query":null,"selected_chunk_ids":[],"selected_source_ids":[],
 "snapshot_id":null,"step_id":0,"thresholds":{"event_threshold":18,"n_step_fallback":8,"plain_bytes_threshold":0},"token_budget":{"estimator":"bytes4.v1","max_bytes":null,"max_tokens":null,"used_bytes":153,"used_tokens":51}}
""")
        context = Context(WORKED)
        self.assertEqual(context.manifest(), printed)
        self.assertEqual(context.manifest_id, "man1_86c52b9499d8deb3862702aef6239df6")


class Masking(unittest.TestCase):
    STAY = [
        "password: string", "password: z.string().min(8)", "sk-short", "bearer of news", "http://localhost:8080/x", "user@example.com",
        "d240594b1c2a6e6b8f4a9d3e5c7f8091a2b3c4d5", "class sk-fading-circle-container-element",
    ]  # fmt: skip

    def test_stays(self):
        for text in self.STAY:
            self.assertEqual(mask_text(text), text)

    def test_becomes(self):
        word = "hunter" + "2pass"
        self.assertEqual(mask_text(f"postgres://bob:{word}@db/x"), f"postgres://bob:{MASK}@db/x")
        self.assertEqual(mask_text('{\\"api_key\\":\\"' + word + '\\"}'), '{\\"api_key\\":\\"' + MASK + '\\"}')
        begin = "-----BEGIN RSA PRIVATE" + " KEY-----"
        self.assertEqual(mask_text(f"see {begin}\nabc\ndef"), f"see {MASK}")

    def test_all_families(self):
        self.assertEqual(len(ctree.PATTERNS), 31)
        for family, text, secret in secrets_made.made(200):
            masked = mask_text(text)
            self.assertNotIn(secret, masked, family)
            self.assertIn(MASK, masked)
            self.assertEqual(mask_text(masked), masked)

    def test_secret_keys(self):
        given = {"API-Key": "x", "a": [{"pass.word": 5, "Token": None, "secret": True, "token_count": 7, "tokens": [1]}], "x api_key": "y"}
        masked = {"API-Key": MASK, "a": [{"pass.word": MASK, "Token": None, "secret": True, "token_count": 7, "tokens": [1]}], "x api_key": MASK}
        self.assertEqual(ctree.mask_values(given), masked)

    def test_early_and_late_masking_have_one_digest(self):
        secret = "gh" + "p_" + "a1" * 18
        body = say("user", f"use {secret} now", extra=1)
        early = Fold(path(ctree.mask_values(body)))
        self.assertEqual(Fold(path(body)).node_hash, early.node_hash)


class Nodes(unittest.TestCase):
    def digests(self, *entries):
        return [node.digest for node in Fold(path(*entries)).nodes]

    def test_absent_and_null(self):
        plain = self.digests(say("assistant", "x"))
        self.assertEqual(plain, self.digests(say("assistant", "x", tool_calls=[], is_error=False, name=None, tool_call_id=None, extra={"a": 1}, read={})))
        self.assertNotEqual(plain, self.digests(say("assistant", [{"type": "text", "text": "x"}])))

    def test_timestamps(self):
        def lifecycle(**more):
            return ("ctree_node", {"kind": "lifecycle", "payload": {"type": "start", **more}})

        self.assertEqual(self.digests(lifecycle(timestamp=1)), self.digests(lifecycle(timestamp=2)))
        self.assertEqual(self.digests(lifecycle(timestamp=1)), self.digests(lifecycle()))
        self.assertNotEqual(self.digests(lifecycle(a={"timestamp": 1})), self.digests(lifecycle(a={"timestamp": 2})))
        calls = [say("assistant", "", tool_calls=[{"id": "a", "name": "x", "arguments": {"timestamp": n}}]) for n in (1, 2)]
        self.assertNotEqual(self.digests(calls[0]), self.digests(calls[1]))

    def test_call_ids(self):
        one = [call("a", "b"), result("b"), result("a")]
        other = [call("x", "y"), result("y"), result("x")]
        exchanged = [call("x", "y"), result("x"), result("y")]
        self.assertEqual(self.digests(*one), self.digests(*other))
        self.assertNotEqual(self.digests(*one), self.digests(*exchanged))
        blocks = Fold(path(say("assistant", [{"type": "tool_use", "id": "q", "name": "ls", "input": {}}]), say("user", [{"type": "tool_result", "tool_use_id": "q", "content": "x"}])))
        self.assertEqual(blocks.nodes[1].payload["content"][0]["tool_use_id"], "call_0001")
        self.assertEqual([node.unit for node in blocks.nodes], [0, 0])
        self.assertEqual([node.turn for node in blocks.nodes], [0, 0])

    def test_reused_call_id(self):
        nodes = Fold(path(call("a"), result("a"), call("a"), result("a"), result("a"))).nodes
        self.assertEqual([node.unit for node in nodes], [0, 0, 2, 2, 2])

    def test_joined_units(self):
        both = say("user", [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("a", "b")])
        nodes = Fold(path(call("a"), say("user", "hm"), call("b"), both)).nodes
        self.assertEqual([node.unit for node in nodes], [0, 1, 0, 0])

    def test_task_payload(self):
        body = {"kind": "subagent", "payload": {"kind": "done", "task_id": "abc", "parent_task_id": "ROOT", "tree_path": "root/abc", "artifact_path": "o/abc/x", "secret_plan": 1}}
        self.assertEqual(
            Fold(path(("ctree_node", body))).nodes[0].payload,
            {"kind": "done", "task_id": "task_0001", "parent_task_id": "root", "tree_path": "root/task_0001", "artifact_path": "o/task_0001/x"},
        )

    def test_blob_measure(self):
        node = Fold(path(say("tool", {"$blob": "sha256:00", "bytes": 100000, "preview": "p"}))).nodes[0]
        self.assertEqual(node.payload["content"], {"$blob": "sha256:00", "bytes": 100000})
        self.assertEqual(node.bytes, len('{"content":,"role":"tool"}') + 100002)

    def test_shapes(self):
        for payload, shape in ((None, "null"), (True, "boolean"), (1.5, "number"), ("x", "string"), ([1, 2], [2]), ({"b": 1, "a": 2}, ["a", "b"])):
            self.assertEqual(ctree.payload_shape(payload, None), shape)
        self.assertEqual(ctree.payload_shape({str(i): i for i in range(33)}, None)["count"], 33)

    def test_kinds(self):
        for kind in ("a", "k" * 64, "状態", "message"):
            self.assertTrue(ctree.kind_allowed(kind))
        for kind in ("", "k" * 65, "a\n", "checkpoint", "*", "turn", 5):
            self.assertFalse(ctree.kind_allowed(kind))

    def test_key(self):
        plain, keyed = Compilation(S), Compilation(S, {"hash": {"key_id": "k"}}, key=b"key")
        self.assertEqual(keyed.schema_version, "weir-1+hmac")
        for name, value in plain.hashes.items():
            self.assertNotEqual(value, keyed.hashes[name])


class Configs(unittest.TestCase):
    def pointers(self, config):
        with self.assertRaises(ConfigInvalid) as caught:
            ctree.fill_config(config)
        return caught.exception.pointers

    def test_every_fault_with_its_pointer(self):
        self.assertEqual(self.pointers({"selection": {"max_nodes": -1, "fill": "x", "a/b": 1, "pin_ids": ["a", 1]}, "zz": 1, "header": {"preview_chars": 4097}}),
                         ["/header/preview_chars", "/selection/a~1b", "/selection/fill", "/selection/max_nodes", "/selection/pin_ids/1", "/zz"])  # fmt: skip
        self.assertEqual(self.pointers([]), [""])

    def test_wrong_values_everywhere(self):
        for pointer in ctree.CHECKS:
            parts = pointer[1:].split("/")
            for wrong in (-1, 1.5, "2", True, {}):
                if (wrong == "2" and parts[-1] == "key_id") or (wrong is True and isinstance(self.default(parts), bool)):
                    continue
                config = {parts[0]: wrong} if len(parts) == 1 else {parts[0]: {parts[1]: wrong}}
                self.assertEqual(self.pointers(config), [pointer])

    @staticmethod
    def default(parts):
        value = ctree.DEFAULTS
        for part in parts:
            value = value[part]
        return value

    def test_filled(self):
        filled = ctree.fill_config({"selection": {"kind_allowlist": ["b", "a", "b"], "max_nodes": 1.0}})
        self.assertEqual(filled["selection"]["kind_allowlist"], ["a", "b"])
        self.assertEqual(canonical(filled["selection"]["max_nodes"]), "1")

    def test_context_faults(self):
        with self.assertRaises(ConfigInvalid) as caught:
            context_model.fill_context_config({"compile": {"scope": 1}, "format": "x", "reserve_bytes": None})
        self.assertEqual(caught.exception.pointers, ["/compile/scope", "/format", "/reserve_bytes"])

    def test_unknown_pin(self):
        with self.assertRaises(NodeUnknown):
            select(S, pin_ids=["n00000009_00000000"])


class Pipeline(unittest.TestCase):
    def test_limits_of_zero_keep_the_pins(self):
        for limit in ("max_nodes", "max_turns", "max_message_chars", "max_bytes", "max_tokens"):
            self.assertEqual(kept_ordinals(select(S, **{limit: 0})), [0, 4, 5], limit)
        self.assertEqual(kept_ordinals(Compilation(S, {"collapse": {"target": 0}})), [0, 4, 5])

    def test_limits(self):
        self.assertEqual(kept_ordinals(select(S, max_nodes=6)), [0, 1, 2, 3, 4, 5])
        self.assertEqual(kept_ordinals(select(S, max_nodes=5)), [0, 2, 3, 4, 5])
        self.assertEqual(kept_ordinals(select(S, max_turns=1)), [0, 4, 5])
        self.assertEqual(kept_ordinals(select(S, max_turns=2)), [0, 1, 2, 3, 4, 5])
        self.assertEqual(kept_ordinals(select(S, max_bytes=136 + 43)), [0, 1, 4, 5])
        self.assertEqual(kept_ordinals(select(S, max_bytes=136 + 43, fill="stop")), [0, 4, 5])

    def test_allowlist(self):
        self.assertEqual(kept_ordinals(select(S, kind_allowlist=[])), [])
        compiled = select(S, kind_allowlist=[], pin_ids=[Fold(S).nodes[3].id])
        self.assertEqual([(n, compiled.chosen.reason[n]) for n in kept_ordinals(compiled)], [(2, "pair"), (3, "pin:id")])

    def test_orphans(self):
        entries = path(call("a"), ("compaction", {"summary": "s"}), result("a"), result("b"), say("user", "x"))
        chosen = Compilation(entries).chosen
        self.assertEqual({n: chosen.reason[n] for n in chosen.dropped}, {2: "orphan_result", 3: "orphan_result"})
        self.assertEqual(chosen.outside, {0: "before_barrier"})

    def test_barriers(self):
        entries = path(say("system", "s"), say("user", "a"), say("user", "b"), ("compaction", {"summary": "x"}), say("user", "c"),
                       ("compaction", {"first_kept": "e2"}), say("user", "d"))  # fmt: skip
        self.assertEqual(kept_ordinals(Compilation(entries)), [0, 2, 4, 5, 6])
        self.assertEqual(Compilation(entries).chosen.outside, {1: "before_barrier", 3: "superseded_checkpoint"})
        self.assertEqual(kept_ordinals(Compilation(entries, {"scope": "path"})), [0, 1, 2, 3, 4, 5, 6])
        entries[5]["body"] = {"kept": ["e1", "e4", "nowhere"]}
        compiled = Compilation(entries)
        self.assertEqual(kept_ordinals(compiled), [0, 1, 4, 5, 6])
        self.assertEqual([compiled.chosen.reason[n] for n in (1, 4)], ["kept_window", "kept_window"])
        entries[5]["body"] = {"replacement": [say("user", "r")], "kept": ["e1"], "first_kept": "e1"}
        self.assertEqual(kept_ordinals(Compilation(entries)), [0, 5, 6])
        self.assertEqual(sorted(Compilation(entries).nodes[5].payload), ["by", "replacement"])
        for first in (None, "e5", "nowhere"):
            entries[5]["body"] = {"first_kept": first}
            self.assertEqual(kept_ordinals(Compilation(entries)), [0, 5, 6])

    def test_edits(self):
        entries = path(say("system", "s"), say("user", "old"), say("user", "x"), ("context_edit", {"target": "e1", "replacement": "new!"}),
                       ("context_edit", {"target": "e0", "replacement": None}), ("context_edit", {"target": "no", "replacement": None}))  # fmt: skip
        compiled = Compilation(entries)
        before = Fold(entries[:3])
        self.assertEqual([n.digest for n in compiled.nodes[:3]], [n.digest for n in before.nodes])
        self.assertEqual(kept_ordinals(compiled), [1, 2])
        self.assertEqual(compiled.chosen.reason[0], "edited_out")
        item = compiled.header["messages"][0]
        self.assertEqual((item["content_len"], item["edited"], item["content_hash"]), (4, True, digest("weir.value.v1", "new!")))
        self.assertEqual([warning["code"] for warning in compiled.fold.warnings], ["edit_without_target"])
        undone = path(say("user", "old"), ("context_edit", {"target": "e0", "replacement": None}), ("context_edit", {"target": "e0", "replacement": "z"}))
        self.assertEqual(kept_ordinals(Compilation(undone)), [0])

    def test_labels(self):
        entries = path(say("user", "keep me"), ("label", {"target": "e0", "label": "pin"}), say("user", "b"), ("compaction", {"summary": "x"}), say("user", "c"))
        compiled = Compilation(entries)
        self.assertEqual(compiled.chosen.reason[0], "pin:label")
        ended = Compilation(entries + [{"id": "z", "type": "label", "body": {"target": "e0", "label": None}}])
        self.assertEqual(ended.chosen.outside[0], "before_barrier")
        self.assertEqual(compiled.fold.node_hash, ended.fold.node_hash)

    def test_attached_narrative(self):
        entries = path(say("user", "a"), ("compaction", {"summary": "x"}))
        pointer = "e" + Fold(entries).nodes[1].entry_digest[:16]
        attached = {"narrative": "told", "snapshot": {"snapshot_id": "snap1_ab"}, "target": pointer}
        entries.append({"id": "e2", "type": "SNAPSHOT_ATTACHED", "body": attached})
        context = Context(entries)
        self.assertEqual(context.neutral(), [{"content": "[weir: carried over a compaction; source: snapshot snap1_ab]\ntold", "role": "user"}])
        self.assertEqual(context.manifest()["snapshot_id"], "snap1_ab")

    def test_previews(self):
        secret = "gh" + "p_" + "a1" * 18
        entries = path(say("user", f"ab\r\ncd\x01 {secret}"), say("user", "🙂" * 5))
        items = Compilation(entries, {"header": {"mode": "sanitized_content", "preview_chars": 3}}).header["messages"]
        self.assertEqual([(i["preview"], i["preview_redacted"], i["preview_truncated"]) for i in items], [("ab\n", True, True), ("🙂🙂🙂", False, True)])
        frozen = Compilation(entries, {"header": {"mode": "sanitized_content"}, "frozen": {"include_previews": True}})
        self.assertIn("preview", frozen.frozen["messages"][0])

    def test_prompt_summary_changes_no_hash(self):
        told = Compilation(S, prompt_summary={"system": "x"})
        self.assertIn("prompt_sha256", told.raw)
        self.assertEqual(told.hashes, Compilation(S).hashes)

    def test_elision(self):
        small = Compilation(S, {"limits": {"max_stage_bytes": 256}})
        self.assertEqual(small.hashes, Compilation(S).hashes)
        self.assertEqual(small.stages()["HEADER"]["messages"], {"count": 6, "elided": True, "sha256": digest("weir.list.v1", small.header["messages"])})
        self.assertEqual(small.stages(full=True)["HEADER"], small.header)

    def test_task_cycles(self):
        def task(name, parent):
            return ("ctree_node", {"kind": "subagent", "payload": {"task_id": name, "parent_task_id": parent}})

        view = Compilation(path(task("a", "b"), task("b", "a"), task("c", "c"), task("d", "zz"), task(" a ", "b"))).tree(show="all")["nodes"]
        parents = {item["id"]: item["parent_id"] for item in view}
        self.assertEqual(len(parents), len(view))
        for name in parents:
            seen = set()
            while name is not None:
                self.assertNotIn(name, seen)
                seen.add(name)
                name = parents[name]
        self.assertEqual(parents["ctrees:task:task_0001"], "ctrees:task:task_0002")


class Contexts(unittest.TestCase):
    def test_budget_border(self):
        need = select(S, max_bytes=0).spec["selection"]["used"]["bytes"]
        Context(S, {"max_bytes": need + 10, "reserve_bytes": 10})
        with self.assertRaises(ContextOverBudget):
            Context(S, {"max_bytes": need + 9, "reserve_bytes": 10})
        Context(S, {"max_bytes": need - 1}, allow_over_budget=True)

    def test_dropped_line(self):
        messages = Context(S, {"max_bytes": 136}).neutral()
        self.assertEqual([m["content"] for m in messages], ["You are terse.", "[weir: earlier messages not shown]", "Two files: a.txt, b.txt.", "Thanks."])

    def test_a_hole_is_told_in_its_place(self):
        entries = path(say("system", "s"), say("user", "a"), say("assistant", "x" * 900), call("p"), result("p", "y" * 900), say("assistant", "b"), say("user", "c"))
        context = Context(entries, {"max_bytes": 600})
        first, last = context.nodes[2].id, context.nodes[4].id
        self.assertEqual([m["content"] for m in context.neutral()], ["s", "a", f"[weir: 3 messages left out here: {first}..{last}; weir show ID]", "b", "c"])
        self.assertEqual((context.manifest()["rules"], context.manifest()["token_budget"]["max_bytes"]), (2, 600))
        for limit in range(0, 3000, 37):
            try:
                context = Context(entries, {"max_bytes": limit})
            except ContextOverBudget:
                continue
            lines = [m for m, item in context.messages if item.node is None and m["content"] != "[weir: earlier messages not shown]"]
            self.assertLessEqual(context.used()["bytes"], limit)
            self.assertEqual("rules" in context.manifest(), bool(lines))

    def test_an_empty_message_is_not_listed(self):
        context = Context(path(say("system", ""), say("user", "a"), ("message", {"role": "assistant", "content": []}), say("user", " ")))
        self.assertEqual([record["item_id"] for record in context.inclusion()], [context.nodes[1].id])
        self.assertEqual([record["excluded_reason"] for record in context.exclusion()], ["empty"] * 3)

    def test_results_follow_their_call(self):
        entries = path(say("user", "go"), call("a", "b", "c"), say("user", "meanwhile"), result("b", "B"), result("a", "A"))
        context = Context(entries, {"format": "openai"})
        self.assertEqual([m["content"] for m in context.neutral()], ["go", "", "A", "B", "[weir: no result recorded]", "meanwhile"])
        self.assertEqual(context.warnings, [{"code": "unanswered_call", "node_id": context.nodes[1].id}])
        self.assertEqual([m["role"] for m in context.rendered()["messages"]], ["user", "assistant", "tool", "tool", "tool", "user"])
        self.assertIsNone(context.rendered()["messages"][1]["content"])
        anthropic = Context(entries).rendered()["messages"]
        self.assertEqual([m["role"] for m in anthropic], ["user", "assistant", "user"])
        self.assertEqual([b["type"] for b in anthropic[2]["content"]], ["tool_result"] * 3 + ["text"])

    def test_cut(self):
        entries = path(say("user", "go"), call("a"), result("a", "é" * 1000))
        context = Context(entries, {"max_item_bytes": 257})
        text = context.neutral()[2]["content"]
        head, line, tail = text.split("\n")
        self.assertEqual((len(head.encode()), len(tail.encode())), (96, 32))
        self.assertIn(f"[weir: {2000 - 128} bytes left out, sha256:", line)
        self.assertTrue(context.inclusion()[2]["cut"])
        self.assertEqual(context.compiled.header["messages"][2]["shown_bytes"], 257)

    def test_replacement(self):
        listed = [say("system", "no pin"), call("p"), say("user", "mid"), result("p"), result("q")]
        entries = path(say("user", "a"), ("compaction", {"summary": "not shown", "replacement": listed}), say("user", "b"))
        self.assertEqual([m["role"] for m in Context(entries).neutral()], ["system", "assistant", "tool", "user", "user"])
        first = Context(entries).rendered()
        self.assertNotIn("system", first)
        self.assertEqual(first["messages"][0]["content"][0]["text"], "[weir: system message]\nno pin")

    def test_pin_from_earlier(self):
        entries = path(say("assistant", "wise"), ("label", {"target": "e0", "label": "pin"}), ("compaction", {"opaque": True}), say("user", "x"))
        self.assertEqual([m["content"] for m in Context(entries).neutral()],
                         ["[weir: pinned from earlier, role assistant]\nwise", "[weir: carried over a compaction; source: host, not readable]", "x"])  # fmt: skip

    def test_collapsed_run(self):
        context = Context(S, {"compile": {"collapse": {"mode": "all_but_last"}}})
        self.assertEqual(context.neutral()[1]["content"], "[weir: 3 messages collapsed, turns 1-1, ids_sha256 82dea03c339efd87b3c95c306029d0c55bdc92088b638b0cca5d05e8ec555719]")

    def test_chunks(self):
        context = Context(S, request={"candidate_chunk_ids": ["x", "y"], "selected_chunk_ids": ["y"], "filters": ["b", "a"]})
        self.assertEqual(context.inclusion()[-1], {"included_reason": "retrieval", "item_id": "y", "item_type": "evidence", "source_ref": "chunk:y"})
        self.assertEqual(context.exclusion()[-1], {"excluded_reason": "not_selected", "item_id": "x", "item_type": "evidence"})
        with self.assertRaises(ctree.InvalidField):
            Context(S, request={"selected_chunk_ids": ["y"]})

    def test_tools_change_the_prefix(self):
        one = Context(S, request={"tools": [{"name": "a"}, {"name": "b"}]})
        written = {"id": "m", "type": "CONTEXT_MANIFEST_WRITTEN", "body": one.manifest_body()}
        self.assertEqual(one.prefix_changed(), "first")
        self.assertIsNone(Context(S + [written], request={"tools": [{"name": "a"}, {"name": "b"}]}).prefix_changed())
        self.assertEqual(Context(S + [written], request={"tools": [{"name": "b"}, {"name": "a"}]}).prefix_changed(), "tools")
        self.assertEqual(Context(S + [written]).compiled.hashes, one.compiled.hashes)


class RandomSessions(unittest.TestCase):
    """What must hold for every session and config (section 16)."""

    def each(self):
        for seed in range(SESSIONS):
            made = ctree_sessions.session(seed, odd=seed % 3 == 0, long_texts=seed % 5 == 0)
            with self.subTest(seed=seed):
                yield seed, made

    def test_seed_repeats(self):
        self.assertEqual(ctree_sessions.session(5).entries, ctree_sessions.session(5).entries)

    def test_ids_and_key_order_do_not_matter(self):
        for seed, made in self.each():
            names = {entry["id"]: f"other{index}" for index, entry in enumerate(made.entries)}
            other = copy.deepcopy(made.entries)
            for entry in other:
                entry["id"] = names[entry["id"]]
                body = entry["body"]
                for member in ("target", "first_kept"):
                    if body.get(member) in names:
                        body[member] = names[body[member]]
                if entry["type"] == "compaction" and isinstance(body.get("kept"), list):
                    body["kept"] = [names.get(name, name) for name in body["kept"]]
                pairs = list(body.items())
                random.Random(seed).shuffle(pairs)
                entry["body"] = dict(pairs)
            config = ctree_sessions.compile_config(seed, made)
            self.assertEqual(Compilation(made.entries, config).output(), Compilation(other, config).output())

    def test_reasons_and_pairs(self):
        for seed, made in self.each():
            compiled = Compilation(made.entries, ctree_sessions.compile_config(seed, made))
            chosen, selection = compiled.chosen, compiled.spec["selection"]
            self.assertEqual(sum(selection["reason_counts"].values()) + sum(selection["outside"].values()), len(compiled.nodes))
            left = set(chosen.left)
            for n in left:
                mates = {m for m in left if compiled.nodes[m].unit == compiled.nodes[n].unit}
                self.assertTrue(mates <= chosen.kept or not mates & chosen.kept)
                self.assertTrue(mates <= chosen.collapsed or not mates & chosen.collapsed)
            self.assertTrue(set(chosen.pins) <= chosen.kept)
            self.assertEqual(compiled.hashes["z1"], Compilation(made.entries, {"sanitize": compiled.config["sanitize"]}).hashes["z1"])

    def test_growing_path(self):
        for _, made in self.each():
            chain = Fold(made.entries).chain
            for count in range(0, len(made.entries), 7):
                part = Fold(made.entries[:count])
                self.assertEqual(part.chain, chain[: len(part.chain)])

    def test_no_text_in_stages(self):
        for seed, made in self.each():
            secrets = [secret for _, _, secret in secrets_made.made(60, seed)]
            compiled = Compilation(made.entries, {"header": {"mode": "sanitized_content", "preview_chars": 4096}, "selection": {"kind_allowlist": ["*"]}})
            text = canonical(compiled.output(full=True)) + canonical(compiled.node_events()) + canonical(compiled.tree("HEADER", True, "all"))
            try:
                text += canonical(Context(made.entries, None, made.blobs).answer())
            except context_model.Corrupt:
                self.fail("a blob is missing")
            for secret in secrets:
                self.assertNotIn(secret, text)

    def test_contexts(self):
        for seed, made in self.each():
            config = ctree_sessions.context_config(seed, made)
            context = Context(made.entries, config, made.blobs, allow_over_budget=True)
            logged = [record["item_id"] for record in context.inclusion() if record["included_reason"] != "placeholder"]
            left_out = [record["item_id"] for record in context.exclusion() if "count" not in record]
            ids = [context.nodes[n].id for n in context.chosen.candidates]
            for name in ids:
                self.assertEqual(logged.count(name) + left_out.count(name), 1)
            limit = context.chosen.limits["max_bytes"]
            if limit is not None and not context.chosen.over_budget:
                self.assertLessEqual(context.used()["bytes"], limit)
            self.assertEqual(context.manifest_id, Context(made.entries, config, made.blobs, allow_over_budget=True).manifest_id)
            if context.format == "anthropic":
                self.check_anthropic(context.rendered()["messages"])

    def check_anthropic(self, messages):
        for index, message in enumerate(messages):
            self.assertEqual(message["role"], ("user", "assistant")[index % 2])
            called = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
            following = messages[index + 1]["content"] if index + 1 < len(messages) else []
            answered = {block["tool_use_id"] for block in following if block["type"] == "tool_result"}
            self.assertEqual(called, answered)
            self.assertTrue(message["content"])

    def test_broken_configs(self):
        for seed in range(300):
            config = ctree_sessions.broken_config(seed)
            try:
                ctree.fill_config(config)
            except ConfigInvalid as bad:
                self.assertTrue(bad.pointers)


if __name__ == "__main__":
    unittest.main()
