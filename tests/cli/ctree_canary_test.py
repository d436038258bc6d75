"""What stages, explanations, differences and trees must not hold: bodies by default, secrets ever. Every kind of entry
carries canaries and secrets, with masking at append on and off; every output is searched for them. What the search
would find is proved on outputs that do show bodies."""

import json
import random
import re

import ctree_case
import secrets_made
from ctree_case import STAGES, CtreeCase, assistant, compaction, node, user
from harness import compact, jsonl

FAMILIES = 31
MARK = "***REDACTED***"
LARGE = 70000  # above what stands in a body itself: a blob


def families():
    """(family, text, secret) once for each family of the table, and more than once where there are several forms."""
    chance = random.Random(31)
    count = len(secrets_made.PREFIXED) + len(secrets_made.TOLD) + 3
    made = secrets_made.made(count, seed=31)
    parts = [secrets_made.letters(chance, 22), secrets_made.letters(chance, 43)]
    made.append(("sendgrid_key", "mail SG" + "." + ".".join(parts), ".".join(parts)))
    return made


class Plants:
    """Hands out canaries and secrets and remembers where each went."""

    def __init__(self, secrets=True, seed=5):
        self.canaries, self.secrets, self.names = {}, {}, {}
        self.made = families()
        self.alone = secrets_made.bare(200, seed)
        self.on = secrets
        self.count = 0

    def body(self, where):
        """Text that is a body: a canary, and with secrets one of them behind it."""
        self.count += 1
        canary = f"canary-{self.count:03}-" + "".join(c for c in where if c.isalnum())
        self.canaries[canary] = where
        if not self.on:
            return canary
        family, text, secret = self.made[self.count % len(self.made)]
        self.secrets[secret] = (family, where)
        return canary + " " + text

    def plain(self, where):
        """A body that only the name of its key makes a secret."""
        self.count += 1
        value = f"keyed-{self.count:03}-plain-words"
        self.secrets[value] = ("key", where)
        return value

    def name(self, where):
        """A secret alone, at a place whose text may be shown: kinds, names, roles, keys."""
        family, _, secret = self.alone[len(self.names)]
        self.names[secret] = where
        self.secrets[secret] = (family, where)
        return secret


def entries_of(plants):
    """(where, entry): every kind of entry with something planted in each of its parts."""
    p = plants
    out = []

    def message(where, role, content, **more):
        out.append((where, {"type": "message", "body": {"role": role, "content": content, "extra": {"x": p.body(where + " extra")}, "note": p.body(where + " unknown member"), **more}}))

    for role in ("system", "user", "assistant", "tool"):
        message(f"{role} string", role, p.body(f"{role} string"))
        message(f"{role} blocks", role, [{"type": "text", "text": p.body(f"{role} text block")}, {"type": "thinking", "thinking": p.body(f"{role} thinking"), "signature": p.body(f"{role} signature")}, {"type": "image", "source": {"data": p.body(f"{role} image")}}, {"type": "unknown", p.name(f"{role} block key"): 1}])
    message("calls", "assistant", p.body("calls content"), tool_calls=[{"id": p.body("call id").split()[0], "name": "ls", "arguments": {"path": p.body("arguments"), "password": p.plain("argument by key"), "deep": [[{"x": p.body("deep arguments")}]]}}])
    message("function calls", "assistant", None, tool_calls=[{"id": p.body("function id").split()[0], "type": "function", "function": {"name": "ls", "arguments": json.dumps({"q": p.body("function arguments")})}}])
    message("named call", "assistant", "", tool_calls=[{"id": "c1", "name": p.name("name of a call"), "arguments": {p.name("key of arguments"): 1}}])
    message("result", "tool", p.body("result"), tool_call_id="c1", name=p.name("name of a tool"))
    message("orphan result", "tool", p.body("orphan"), tool_call_id=p.body("orphan id").split()[0], is_error=True)
    message("tool_use", "assistant", [{"type": "tool_use", "id": p.body("tool_use id").split()[0], "name": p.name("tool_use name"), "input": {"a": p.body("tool_use input"), "api_key": p.plain("tool_use key")}}])
    message("tool_result", "user", [{"type": "tool_result", "tool_use_id": p.body("tool_result id").split()[0], "content": [{"type": "text", "text": p.body("tool_result text")}]}, {"type": "tool_result", "tool_use_id": "u2", "content": p.body("tool_result string")}])
    message("large", "user", p.body("large start") + "\n" + "L" * LARGE + "\n" + p.body("large end"))
    message("large result", "tool", "L" * LARGE + p.body("large result"), tool_call_id="c9")
    out.append(("message node", node("message", {"role": "assistant", "content": p.body("message node"), "other": p.body("message node extra")}, turn=3)))
    out.append(("message node text", node("message", {"role": p.name("role of a node"), "text": p.body("message node text"), "name": p.name("name in a node")})))
    out.append(("lifecycle", node("lifecycle", {"type": p.name("type of lifecycle"), "detail": p.body("lifecycle"), "timestamp": p.body("timestamp"), "Authorization": p.plain("lifecycle key")})))
    out.append(("guardrail", node("guardrail", {"type": "deny", "text": p.body("guardrail"), "token": {"a": p.plain("guardrail deep key")}})))
    out.append(("task", node("task_event", {"kind": "start", "task_id": p.body("task id").split()[0], "description": p.body("task"), "status": p.name("task status"), "subagent_type": p.name("subagent type")})))
    out.append(("subagent", node("subagent", {"task_id": "t", "subagent_type": p.name("subagent"), "prompt": p.body("subagent prompt"), "output": p.body("subagent output")})))
    out.append(("string node", node("note", p.body("string node"))))
    out.append(("array node", node("note", [p.body("array node"), {"x": p.body("array deep")}])))
    out.append(("key node", node("note", {p.name("key of a node"): p.body("under a key"), "x" * 60: {p.name("deep key of a node"): 2}})))
    out.append(("kind", node("kind " + p.name("kind"), {"a": p.body("under a kind")})))
    out.append(("raw", node("note", 1, raw=compact({"kind": "note", "payload": p.body("raw")}))))
    out.append(("node id", node("note", 1, node_id=p.body("node_id").split()[0])))
    out.append(("summary", compaction(summary=p.body("summary"), extra={"x": p.body("compaction extra")}, reason=p.body("reason"))))
    out.append(("narrative", compaction(summary=p.body("summary 2"), narrative=p.body("narrative"))))
    out.append(("replacement", compaction(summary=p.body("summary 3"), replacement=[{"role": "user", "content": p.body("replacement")}, {"role": "assistant", "content": [{"type": "text", "text": p.body("replacement block")}], "tool_calls": [{"id": "r", "name": p.name("replacement call"), "arguments": {"a": p.body("replacement arguments")}}]}])))
    out.append(("branch_summary", {"type": "branch_summary", "body": {"summary": p.body("branch summary"), "from": "nobody"}}))
    out.append(("context_edit", {"type": "context_edit", "body": {"target": "entry-000", "replacement": p.body("edit string")}}))
    out.append(("context_edit blocks", {"type": "context_edit", "body": {"target": "entry-002", "replacement": [{"type": "text", "text": p.body("edit block")}]}}))
    out.append(("RUN_STARTED", {"type": "RUN_STARTED", "body": {"objective": p.body("objective"), "done_definition": {"x": p.body("done")}}}))
    out.append(("STEP_STARTED", {"type": "STEP_STARTED", "body": {"step_id": 1}}))
    out.append(("PLAN_DONE", {"type": "PLAN_DONE", "body": {"step_id": 1, "plan": p.body("plan"), "password": p.plain("plan key")}}))
    out.append(("CLAIM_PROPOSED", {"type": "CLAIM_PROPOSED", "body": {"claim_id": "c1", "statement": p.body("claim")}}))
    out.append(("QUESTION_OPENED", {"type": "QUESTION_OPENED", "body": {"question_id": "q1", "text": p.body("question"), "question": p.body("question 2")}}))
    out.append(("NEXT_ACTIONS_SET", {"type": "NEXT_ACTIONS_SET", "body": {"actions": [p.body("action")]}}))
    out.append(("FAILURE_RECORDED", {"type": "FAILURE_RECORDED", "body": {"failure_id": "f1", "description": p.body("failure")}}))
    out.append(("RESEARCH_STARTED", {"type": "RESEARCH_STARTED", "body": {"question": p.body("research"), p.name("key of research"): 1}}))
    out.append(("label", {"type": "label", "body": {"target": "entry-000", "label": p.body("label")}}))
    out.append(("session_info", {"type": "session_info", "body": {"name": p.body("session name"), "cwd": p.body("cwd")}}))
    out.append(("custom", {"type": "custom", "body": {"custom_type": p.body("custom type"), "data": {"x": p.body("custom")}}}))
    out.append(("unknown type", {"type": "surely_unknown", "body": {"x": p.body("unknown type")}}))
    out.append(("refresh", {"type": "refresh", "body": {"v": 1, "path": "/" + p.body("refresh"), "scope": "full"}}))
    return [(where, {"id": f"entry-{i:03}", **one}) for i, (where, one) in enumerate(out)]


CONFIGS = [
    {}, {"scope": "path", "selection": {"kind_allowlist": ["*"]}}, {"scope": "path", "selection": {"kind_allowlist": ["*"]}, "collapse": {"mode": "all_but_last", "target": 20}}, {"selection": {"max_nodes": 0, "max_item_bytes": 256}},
    {"scope": "path", "frozen": {"include_previews": True}},
]  # fmt: skip
PREVIEWS = {"scope": "path", "selection": {"kind_allowlist": ["*"]}, "header": {"mode": "sanitized_content", "preview_chars": 4096}, "frozen": {"include_previews": True}}


class CanaryCase(CtreeCase):
    def plant(self, session, secrets=True, *args):
        plants = Plants(secrets)
        planted = entries_of(plants)
        self.give([one for _, one in planted], session, "--lenient", *args)
        return plants, planted

    def outputs(self, session, config, *more):
        """Every output about a session under a config, by the command that made it."""
        file = self.config_file(config)
        for command in (["compile"], *(["compile", "--full", "--stage", stage] for stage in STAGES), ["explain"], ["compile", "--tree"], ["compile", "--tree", "--full", "--stage", "SPEC"]):
            for form in (["--json"], []) if len(command) > 1 else (["--json"], [], ["--verbose"]):
                args = [*form, *command, "--session", session, "--compile-config", file, *(more if command[0] == "compile" else [])]
                ran = self.weir(*args)
                yield " ".join(args), ran.text + ran.errors

    def pairs(self, a, b, *masking):
        """(where, a place, another place): each entry alone, as a root, and one that differs from it in every part."""
        found = [[], []]
        for side, plants in enumerate((a, b)):
            session = "ab"[side] + "".join(masking)
            planted = entries_of(plants)
            entries = [{**one, "parent": None} for _, one in planted]
            self.give([json.loads(compact(one).replace("canary-", "differs-")) if side else one for one in entries], session, "--lenient", *masking)
            found[side] = [(where, f"{session}@{one['id']}") for where, one in planted]
        for (where, one), (_, other) in zip(*found):
            yield where, one, other

    def none_in(self, found, text, command):
        hits = sorted((canary, where) for canary, where in found.items() if canary in text)
        self.assertEqual([where for _, where in hits], [], command)


class BodiesTest(CanaryCase):
    def test_the_search_finds_bodies_where_they_are_shown(self):
        """The positive control: show, log and previews print what is planted."""
        plants, planted = self.plant("s", False)
        shown = "".join(self.weir("show", one["id"], "--session", "s", "--json").text for _, one in planted) + self.weir("export", "--session", "s").text
        for name in self.world.object_names():
            shown += self.weir("show", name).text
        missing = [where for canary, where in plants.canaries.items() if canary not in shown]
        self.assertEqual(missing, [])
        previews = compact(self.compiled("s", PREVIEWS))
        self.assertGreaterEqual(len([canary for canary in plants.canaries if canary in previews]), 12)

    def test_no_body_is_in_any_stage_explanation_or_tree_by_default(self):
        """Cases 14, 15, 16 and 22, for bodies."""
        for masking in ((), ("--no-mask",)):
            session = "s" + "".join(masking)
            plants, _ = self.plant(session, False, *masking)
            for config in CONFIGS[1:] if masking else CONFIGS[:1]:
                for command, text in self.outputs(session, config):
                    self.none_in({c: w for c, w in plants.canaries.items() if not ("node_id" in w and "explain" in command)}, text, command)

    def test_no_body_is_in_a_difference_without_previews(self):
        """Case 22: each entry against one that differs from it in every part."""
        a, b = Plants(False), Plants(False)
        for where, one, other in self.pairs(a, b):
            for form in (["--json"], []):
                for what in ("stages", "entries"):
                    ran = self.world.run(*form, "diff", one, other, "--what", what)
                    self.assertIn(ran.code, (0, 1), ran)
                    self.none_in(a.canaries, ran.text + ran.errors, (where, what))
                    self.assertNotIn("differs-", ran.text)

    def test_an_item_is_of_bounded_length_whatever_the_content(self):
        """Case 16."""
        long = "w" * 5000
        self.give([entry for entry in (
            {"type": "message", "body": {"role": "tool", "content": long * 100, "name": long, "tool_call_id": long}}, {"type": "message", "body": {"role": "assistant", "content": [{"type": "text", "text": long}] * 50, "tool_calls": [{"id": long, "name": long, "arguments": {long: long}}] * 20}},
            node("message", {"role": long, "name": long, "content": long}), node("k", {long: long, **{f"{i}": i for i in range(500)}}), node("k", {"k" * 64 + str(i): 1 for i in range(9)}), node("k", [long] * 100), compaction(summary=long, narrative=long),
        )])  # fmt: skip
        for config in ({}, {"scope": "path", "selection": {"kind_allowlist": ["*"]}}):
            stages = self.compiled("s", config)["stages"]
            for stage in ("HEADER", "FROZEN"):
                for item in stages[stage]["messages"]:
                    self.assertLess(len(compact(item)), 1200)
                    self.assertLessEqual(max(len(item.get("name", "")), len(item.get("role", ""))), 64)
            for item in stages["SPEC"]["selected"]:
                self.assertLess(len(compact(item)), 3000)


class SecretsTest(CanaryCase):
    def test_there_are_31_families(self):
        self.assertEqual(len({family for family, _, _ in families()}), FAMILIES)

    def test_the_search_finds_secrets_where_they_are_stored_as_they_are(self):
        """The positive control: with --no-mask, show and export print them."""
        plants, planted = self.plant("s", True, "--no-mask")
        shown = "".join(json.dumps(json.loads(self.weir("show", one["id"], "--session", "s", "--json").text), ensure_ascii=False) for _, one in planted)
        for name in self.world.object_names():
            shown += self.weir("show", name).text
        missing = [place for secret, place in plants.secrets.items() if secret not in shown]
        self.assertEqual(missing, [])
        self.assertEqual({family for family, _ in plants.secrets.values()} - {"key"}, {family for family, _, _ in families()} - {"jwt"} | {"jwt"})

    def test_no_secret_is_in_any_output_with_previews_or_without(self):
        """Cases 14 to 17 and 22, for secrets: masking at append on and off."""
        for masking in ((), ("--no-mask",)):
            session = "s" + "".join(masking)
            plants, planted = self.plant(session, True, *masking)
            for config in (*CONFIGS[1:3], PREVIEWS) if masking else (CONFIGS[1], PREVIEWS):
                for command, text in self.outputs(session, config):
                    self.none_in(plants.secrets, text, command)
            for command, text in self.outputs(session, {"scope": "path"}, "--previews"):
                self.none_in(plants.secrets, text, command)
            self.assertIn(MARK, compact(self.compiled(session, PREVIEWS)))

    def test_no_secret_is_in_a_difference_with_previews_or_without(self):
        """Case 22."""
        for masking in ((), ("--no-mask",)):
            a, b = Plants(True, 5), Plants(True, 6)
            for where, one, other in self.pairs(a, b, *masking):
                for form, more in ((["--json"], ["--previews"]), ([], ["--previews"]), ([], [])):
                    ran = self.world.run(*form, "diff", one, other, *more)
                    self.assertIn(ran.code, (0, 1), ran)
                    self.none_in({**a.secrets, **b.secrets}, ran.text + ran.errors, (where, masking, more, form))

    def previews(self, contents, *masking, chars=4096, session="p"):
        self.give([{"type": "message", "body": {"role": "user", "content": content}} for content in contents], session, *masking)
        return [one["preview"] for one in self.compiled(session, {"header": {"mode": "sanitized_content", "preview_chars": chars}})["stages"]["HEADER"]["messages"]]

    def test_every_family_is_masked_at_the_start_at_the_end_across_the_cut_and_as_json(self):
        """Case 17."""
        for masking in ((), ("--no-mask",)):
            made = families()
            forms = [text for _, text, _ in made] + ["before " + text for _, text, _ in made] + ["y" * 150 + "\n" + text for _, text, _ in made] + [json.dumps({"k": {"v": text}}) for _, text, _ in made]
            for chars in (4096, 160):
                got = self.previews(forms, *masking, chars=chars, session=f"p{chars}" + "".join(masking))
                for (family, _, secret), at in ((made[i % len(made)], i) for i in range(len(forms))):
                    self.assertLessEqual(len(got[at]), chars)
                    self.assertFalse(any(secret[k : k + 8] in got[at] for k in range(0, len(secret) - 8)), (family, at // len(made), masking, chars))

    def test_text_around_a_secret_stays_readable(self):
        """Case 17."""
        for (family, text, secret), got in zip(families(), self.previews(["before it " + text + " " for _, text, _ in families()])):
            self.assertTrue(got.startswith("before it "), family)
            self.assertIn(MARK, got, family)
        self.assertEqual(self.previews(["see postgres://bob:" + "hunter" + "22@db/x now", '{\\"api_key\\":\\"' + "abcd" + 'efgh1234\\"}'], session="q"), ["see postgres://bob:" + MARK + "@db/x now", '{\\"api_key\\":\\"' + MARK + '\\"}'])

    def test_a_secret_at_the_cut_of_a_blob_is_not_shown_in_part(self):
        """Case 17: the preview of a blob is itself a cut, and half a secret is a secret."""
        made = [(family, text, secret) for family, text, secret in families() if family not in ("pem_private",)]
        for masking in ((), ("--no-mask",)):
            contents, where = [], []
            for family, text, secret in made:
                for inside in (10, 17, len(secret) - 2):
                    inside = min(inside, len(secret) - 1)
                    lead = 256 - text.index(secret) - inside
                    contents.append("y" * (lead - 1) + "\n" + text + "\n" + "z" * LARGE)
                    where.append((family, secret, inside))
            half = len(contents) // 2
            got = self.previews(contents[:half], *masking, session="b1" + "".join(masking)) + self.previews(contents[half:], *masking, session="b2" + "".join(masking))
            leaks = sorted({family for (family, secret, inside), shown in zip(where, got) if any(secret[k : k + 8] in shown for k in range(0, len(secret) - 8))})
            self.assertEqual(leaks, [], masking)

    def test_a_secret_told_by_the_block_before_it_is_masked_in_the_joined_preview(self):
        """Case 17 (section 8: mask the text, which is the blocks joined)."""
        chance = random.Random(3)
        value = secrets_made.letters(chance, 24)
        blocks = lambda first: [{"type": "text", "text": first}, {"type": "text", "text": value}]
        for got in self.previews([blocks("pass" + "word:"), blocks("Authori" + "zation: Basic"), blocks("use Bear" + "er")], "--no-mask"):
            self.assertNotIn(value, got)

    def test_white_space_and_controls_do_not_carry_a_secret_past_the_mask(self):
        """Case 17: masking sees the text as it was and as it is shown."""
        chance = random.Random(4)
        value = secrets_made.letters(chance, 24)
        key = "sk" + "-" + value + "abcd"
        texts = ["Bear" + "er" + gap + value for gap in (" ", "\t", "\n", "\r\n", "\r", "\f", "\n\n")] + ["pass" + "word:" + gap + value for gap in ("\f", "\r", "\t ", "\x0b")] + [c + key + c for c in ("\x00", "\x1b", "\r", "\x85", "\ufeff", "\u200b")]
        for text, got in zip(texts, self.previews(texts, "--no-mask")):
            self.assertNotIn(value, got, repr(text.replace(value, "VALUE")))

    def test_secrets_given_as_arguments_settings_and_files_do_not_come_back_in_errors(self):
        """Case 22: what is refused is not repeated."""
        self.give([user("x")])
        for family, _, secret in secrets_made.bare(6):
            config = lambda value: self.config_file(value)
            for args in (
                ["explain", "--session", "s", secret], ["compile", "--session", "s", "--stage", secret], ["compile", "--session", "s", "--profile", secret], ["diff", "s", "s@" + secret], ["diff", secret, "s"], ["diff", "s", "s", "--what", secret],
                ["compile", "--session", "s", "--compile-config", config({"selection": {"pin_ids": [secret]}})], ["compile", "--session", "s", "--compile-config", config({secret: 1})], ["compile", "--session", "s", "--compile-config", config({"scope": secret})],
                ["compile", "--session", "s", "--compile-config", config({"hash": {"key_id": secret}})], ["compile", "--session", "s", "--compile-config", config('{"%s":1,"%s":2}' % (secret, secret))],
                ["compile", "--session", "s", "--expect", self.world.file("kept.json", compact({"kind": "ctree_compiler", "profile": secret, "schema_version": secret, "hashes": {}}))], ["diff", "s", self.world.file("kept2.json", compact({"schema_version": secret}))],
                ["compile", "--profile", "breadboard-0.1", "--records", self.world.file("r.jsonl", '{"%s":1\n{"kind":"a","payload":1,"node_id":"%s"}\n{"kind":"a","payload":1,"node_id":"%s"}\n' % (secret, secret, secret))],
            ):  # fmt: skip
                for form in ([], ["--json"], ["--verbose"]):
                    ran = self.world.run(*form, *args)
                    self.assertNotIn(secret, ran.errors, (family, args[:4]))
                    self.assertNotIn(secret, ran.text.replace(f'"{secret}"', "") if "breadboard-0.1" in args else ran.text, (family, args[:4]))

    def test_an_output_never_holds_a_terminal_control(self):
        """Section 8, and what is printed for people."""
        evil = "\x1b[31m\x07\x9b31mred"
        self.give([user(evil), node("message", {"role": evil, "name": evil, "content": evil}), node("lifecycle", {"type": evil, evil: 1}), node("task_event", {"task_id": evil, "kind": evil, "tree_path": evil, "status": evil}), assistant(evil, (evil, evil, {evil: evil})), compaction(summary=evil)])
        self.give([node("lifecycle", {"type": evil, evil: 2})], "t")
        for config in (PREVIEWS, {"scope": "path", "selection": {"kind_allowlist": ["*"]}}):
            for command, text in self.outputs("s", config):
                if "--json" not in command:
                    self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), command)
        for ran in (self.weir("diff", "s", "t", "--previews", code=1), self.weir("diff", "t", "s", code=1)):
            self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.text), ran)


if __name__ == "__main__":
    ctree_case.main()
