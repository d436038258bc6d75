"""Resources: every template, parts that are percent-encoded, what is not there (case 24), prompts and completion."""

import json
import urllib.parse

import client
from client import LEGACY, MISSING, NOVEMBER, PARAMS, Http, McpTest, compact, entry

import snapshot_case as run  # noqa: E402, of the command line tests

TEMPLATES = [
    "weir://session/{id}", "weir://session/{id}/head/{name}", "weir://session/{id}/entry/{eid}", "weir://session/{id}/snapshot/{n}",
    "weir://session/{id}/narrative/{n}", "weir://session/{id}/stage/{name}{?at}", "weir://blob/{sha256}",
]  # fmt: skip


class ResourcesTest(McpTest):
    def setUp(self):
        super().setUp()
        self.first = self.append("hello")
        self.big = self.append("b" * 70000)
        self.weir("compact", "--session", "s")
        self.append("after")

    def value(self, peer, uri):
        content = peer.read(uri)
        self.assertEqual(content["mimeType"], "application/json")
        return json.loads(content["text"])

    def test_the_templates_are_those_of_the_page(self):
        for name, peer in self.everywhere():
            listed = peer.ok("resources/templates/list")["resourceTemplates"]
            self.assertEqual([t["uriTemplate"] for t in listed], TEMPLATES, name)
            for template in listed:
                self.assertTrue(template["name"])
                wanted = {"weir://session/{id}/narrative/{n}": "text/markdown", "weir://blob/{sha256}": None}.get(template["uriTemplate"], "application/json")
                if wanted:
                    self.assertEqual(template["mimeType"], wanted)

    def test_each_template_reads_what_the_command_line_shows(self):
        head = self.log()[0]
        for name, peer in self.everywhere():
            with self.subTest(peer=name):
                shown = self.value(peer, "weir://session/s")
                self.assertEqual(shown, self.answer("session", "show", "s"))
                self.assertIn(head["id"], compact(self.value(peer, "weir://session/s/head/main")))
                self.assertEqual(self.value(peer, f"weir://session/s/entry/{self.first}"), self.answer("show", self.first, "--session", "s"))
                self.assertEqual(self.value(peer, "weir://session/s/snapshot/1"), self.answer("snapshot", "show", "1", "--session", "s"))
                narrative = peer.read("weir://session/s/narrative/1")
                self.assertEqual((narrative["mimeType"], narrative["text"]), ("text/markdown", self.weir("snapshot", "narrative", "1", "--session", "s").text))
                self.assertEqual(self.value(peer, "weir://session/s/stage/FROZEN"), self.answer("compile", "--stage", "FROZEN", "--session", "s"))

    def test_an_entry_pointer_names_an_entry_too(self):
        peer = self.mcp()
        digest = self.answer("show", self.first, "--session", "s")["digest"]
        self.assertEqual(self.value(peer, f"weir://session/s/entry/e{digest[:16]}")["id"], self.first)
        peer.error("resources/read", {"uri": f"weir://session/s/entry/{self.first[:5]}"}, PARAMS)  # a prefix is for the command line

    def test_a_stage_at_an_entry(self):
        peer = self.mcp()
        for stage in ("RAW", "SPEC", "HEADER", "FROZEN"):
            wanted = self.answer("compile", "--stage", stage, "--session", "s", "--at", self.first)
            self.assertEqual(self.value(peer, f"weir://session/s/stage/{stage}?at={self.first}"), wanted)

    def test_a_blob_is_text_if_it_is_utf8_else_base64(self):
        peer = self.mcp()
        name = self.world.object_names()[0].removeprefix("sha256:")
        content = peer.read(f"weir://blob/{name}")
        self.assertIn("b" * 1000, content["text"])
        self.assertNotIn("blob", content)

    def test_parts_are_percent_decoded(self):
        odd = ["a/b", "a b", "100%", "é", "x?y=1#z", "%2e", "..", "a+b"]
        self.weir("append", "--session", "odd", stdin=client.jsonl(entry(f"content {i}", id=f"id{i}:{text}".replace(" ", "_")) for i, text in enumerate(odd)))
        peer = self.mcp()
        for i, text in enumerate(odd):
            id = f"id{i}:{text}".replace(" ", "_")
            uri = f"weir://session/odd/entry/{urllib.parse.quote(id, safe='')}"
            with self.subTest(uri=uri):
                self.assertEqual(self.value(peer, uri)["body"]["content"], f"content {i}")
        self.assertEqual(self.value(peer, "weir://session/%73")["id"], "s")
        self.assertEqual(self.value(peer, "weir://session/s/head/%6d%61in"), self.value(peer, "weir://session/s/head/main"))

    def missing(self):
        return [
            "weir://session/x/entry/none", "weir://session/s/entry/none", "weir://session/none", "weir://session/s/head/none", "weir://session/s/snapshot/9",
            "weir://session/s/narrative/9", f"weir://blob/{'0' * 64}", "weir://session/s/stage/FROZEN?at=none", "weir://session/none/stage/FROZEN",
        ]  # fmt: skip

    def malformed(self):
        return [
            "", "x", "weir://", "weir://session", "weir://session/", "weir://session/s/nope", "weir://session/s/nope/1", "weir://session/s/head/", "weir://session/s/snapshot/x",
            "weir://session/s/snapshot/0", "weir://session/s/snapshot/-1", "weir://session/s/snapshot/1.0", "weir://session/s/snapshot/01", "weir://session/s/snapshot/99999999999999999999",
            "weir://session/s/stage/nope", "weir://session/s/stage/frozen", "weir://blob/x", f"weir://blob/{'A' * 64}", f"weir://blob/sha256:{'0' * 64}", "weir://session/s/entry/%zz",
            "weir://session/s/entry/%", "weir://session/s/entry/%ff", "weir://session/%2e%2e", "weir://session/a%2fb", "weir://session/s/extra/part/more", "weir:session/s",
            "file:///etc/passwd", "https://example.org/", "test://static-text", "weir://session/s?x=1", "weir://session/s#x", "weir://session/s/stage/FROZEN?at=", "weir://session/s/entry/a%00b",
        ]  # fmt: skip

    def test_case_24_what_is_not_there_is_an_error_with_its_uri_and_never_empty_contents(self):
        served = self.serve()
        for uri in self.missing():
            with self.subTest(uri=uri):
                for peer in (self.mcp(), Http(served)):
                    error = peer.error("resources/read", {"uri": uri}, PARAMS)
                    self.assertEqual(error["data"]["uri"], uri)
                for revision in LEGACY:
                    error = self.legacy(revision).error("resources/read", {"uri": uri}, MISSING)
                Http(served, NOVEMBER).error("resources/read", {"uri": uri}, MISSING)

    def test_case_24_a_malformed_uri_is_an_error_too(self):
        modern, old = self.mcp(), self.legacy()
        for uri in self.malformed():
            with self.subTest(uri=uri):
                self.assertEqual(modern.error("resources/read", {"uri": uri}, PARAMS)["data"]["uri"], uri)
                self.assertIn(old.error("resources/read", {"uri": uri})["code"], (PARAMS, MISSING))

    def test_case_24_a_name_with_a_secret_or_controls_stays_harmless(self):
        peer = self.mcp()
        uri = "weir://session/s/entry/%1b%5b2J"
        self.assertEqual(peer.error("resources/read", {"uri": uri}, PARAMS)["data"]["uri"], uri)
        self.assertNotIn(b"\x1b", b"".join(peer.raw) + peer.errors())

    def test_the_list_names_session_and_latest_narrative(self):
        self.append("more", session="t")
        self.append("again", session="s")
        self.weir("compact", "--session", "s")
        for name, peer in self.everywhere():
            uris = [r["uri"] for r in peer.ok("resources/list")["resources"]]
            self.assertEqual(uris, ["weir://session/s", "weir://session/s/narrative/2", "weir://session/t"], name)

    def test_an_empty_store_lists_nothing(self):
        self.assertEqual(self.mcp("--store", self.world.path("none")).ok("resources/list")["resources"], [])

    def test_everything_listed_can_be_read(self):
        peer = self.mcp()
        for resource in peer.ok("resources/list")["resources"]:
            self.assertEqual(peer.read(resource["uri"])["mimeType"], resource["mimeType"])


class PromptsTest(McpTest):
    def setUp(self):
        super().setUp()
        self.append("build the gauge")
        self.world.file("a.txt", "A\n")
        self.peer = self.mcp("--session", "s")

    def messages(self, peer, name, **arguments):
        return peer.ok("prompts/get", {"name": name, "arguments": arguments})["messages"]

    def test_the_three_prompts_and_their_arguments(self):
        for name, peer in self.everywhere():
            prompts = {p["name"]: p for p in peer.ok("prompts/list")["prompts"]}
            self.assertEqual(list(prompts), ["resume-work", "check-claims", "explain-context"], name)
            arguments = {name: [(a["name"], a.get("required", False)) for a in p["arguments"]] for name, p in prompts.items()}
            self.assertEqual(arguments, {"resume-work": [("session", True)], "check-claims": [("session", True)], "explain-context": [("session", True), ("at", False)]})

    def test_resume_work_is_one_user_message_with_narrative_next_actions_and_read_digest(self):
        self.peer.text("read", path="a.txt")
        self.peer.data("note", kind="next", refs=["measure it twice"])
        narrative = self.peer.data("compact")["narrative"]
        for name, peer in self.everywhere():
            messages = self.messages(peer, "resume-work", session="s")
            self.assertEqual([m["role"] for m in messages], ["user"], name)
            text = messages[0]["content"]["text"]
            self.assertEqual(messages[0]["content"]["type"], "text")
            for part in (narrative.strip().split("\n")[0], "build the gauge", "measure it twice", "a.txt"):
                self.assertIn(part, text)
            self.assertIn("untrusted", text.lower())  # S9

    def test_resume_work_without_a_snapshot_works_too(self):
        text = self.messages(self.peer, "resume-work", session="s")[0]["content"]["text"]
        self.assertTrue(text)

    def test_check_claims_names_candidates_and_conflicts(self):
        self.peer.data("note", kind="claim", text="it reads high")
        self.events([run.loose(), run.source(corpus_id="lib"), run.chunk("s1#1", end=10, delivered=True), run.chunk("s1#2", start=11, end=22, delivered=True)])
        sides = [[self.peer.data("note", kind="evidence", span={"chunk": chunk, "start": 0, "end": 5}, text=text)["id"]] for chunk, text in (("s1#1", "alpha"), ("s1#2", "gamma"))]
        self.peer.data("note", kind="conflict", text="constant or not?", refs=sides[0], other=sides[1])
        text = self.messages(self.peer, "check-claims", session="s")[0]["content"]["text"]
        log = self.log()
        for part in ("c1", "it reads high", "k1", "constant or not?"):
            self.assertIn(part, text)
        pointers = ["e" + e["digest"][:16] for e in log if e["type"] in ("CLAIM_PROPOSED", "CONFLICT_RECORDED")]
        self.assertTrue(all(p in text for p in pointers), text)

    def test_explain_context_is_the_manifest_as_a_table(self):
        head = self.log()[0]["id"]
        for arguments in ({"session": "s"}, {"session": "s", "at": head}):
            text = self.messages(self.peer, "explain-context", **arguments)[0]["content"]["text"]
            self.assertIn("|", text)
            rows = [line for line in text.split("\n") if line.startswith("|")]
            self.assertGreaterEqual(len(rows), 3, text)  # the head of the table, its rule, and the message
        self.assertEqual(self.path_types(), ["message"])  # a prompt writes nothing

    def test_unknown_and_missing_are_32602(self):
        for peer in (self.mcp(), self.legacy()):
            for params in (
                {"name": "nope"}, {"name": "resume-work", "arguments": {}}, {"name": "resume-work", "arguments": {"session": "none"}}, {"name": "resume-work", "arguments": {"session": "a b"}},
                {"name": "explain-context", "arguments": {"session": "s", "at": "none"}},                 {"name": "resume-work", "arguments": []}, {"arguments": {"session": "s"}},
            ):  # fmt: skip
                with self.subTest(params=params, revision=peer.revision):
                    peer.error("prompts/get", params, PARAMS)


class CompletionTest(McpTest):
    def setUp(self):
        super().setUp()
        for name in ("alpha", "alpine", "beta"):
            self.append("x", session=name)
        self.events([entry(f"entry {i}", id=f"id{i}") for i in range(5)], "beta")
        self.weir("head", "fork", "side", "--session", "beta")
        self.weir("compact", "--session", "beta")
        self.peer = self.mcp()

    def complete(self, ref, name, value, peer=None, **known):
        params = {"ref": ref, "argument": {"name": name, "value": value}}
        if known:
            params["context"] = {"arguments": known}
        result = (peer or self.peer).ok("completion/complete", params)["completion"]
        self.assertEqual(result["total"], len(result["values"]))
        self.assertIs(result["hasMore"], False)
        return result["values"]

    def template(self, uri, *args, **how):
        return self.complete({"type": "ref/resource", "uri": uri}, *args, **how)

    def test_sessions_newest_first_by_prefix(self):
        for name, peer in self.everywhere():
            for prompt in ("resume-work", "check-claims", "explain-context"):
                ref = {"type": "ref/prompt", "name": prompt}
                self.assertEqual(self.complete(ref, "session", "", peer), ["beta", "alpine", "alpha"], name)
                self.assertEqual(self.complete(ref, "session", "al", peer), ["alpine", "alpha"])
                self.assertEqual(self.complete(ref, "session", "AL", peer), [])
        self.assertEqual(self.template("weir://session/{id}", "id", "b"), ["beta"])

    def test_heads_entries_stages_and_numbers_of_a_session(self):
        self.assertEqual(sorted(self.template("weir://session/{id}/head/{name}", "name", "", id="beta")), ["main", "side"])
        self.assertEqual(self.template("weir://session/{id}/head/{name}", "name", "s", id="beta"), ["side"])
        self.assertEqual(self.template("weir://session/{id}/entry/{eid}", "eid", "id", id="beta"), ["id4", "id3", "id2", "id1", "id0"])
        self.assertEqual(self.complete({"type": "ref/prompt", "name": "explain-context"}, "at", "id", session="beta"), ["id4", "id3", "id2", "id1", "id0"])
        self.assertEqual(self.template("weir://session/{id}/snapshot/{n}", "n", "", id="beta"), ["1"])
        self.assertEqual(self.template("weir://session/{id}/narrative/{n}", "n", "1", id="beta"), ["1"])
        self.assertEqual(self.template("weir://session/{id}/snapshot/{n}", "n", "", id="alpha"), [])
        stages = self.template("weir://session/{id}/stage/{name}{?at}", "name", "", id="beta")
        self.assertEqual(sorted(stages), ["FROZEN", "HEADER", "RAW", "SPEC"])
        self.assertEqual(self.template("weir://session/{id}/stage/{name}{?at}", "name", "F", id="beta"), ["FROZEN"])

    def test_without_a_known_session_there_is_nothing_to_offer(self):
        self.assertEqual(self.template("weir://session/{id}/entry/{eid}", "eid", ""), [])
        self.assertEqual(self.template("weir://session/{id}/entry/{eid}", "eid", "", id="none"), [])

    def test_unknown_references_and_arguments_are_32602(self):
        for params in (
            {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "session", "value": ""}},
            {"ref": {"type": "ref/resource", "uri": "weir://nope/{x}"}, "argument": {"name": "x", "value": ""}}, {"ref": {"type": "nope"}, "argument": {"name": "x", "value": ""}},
            {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "nope", "value": ""}}, {"ref": {"type": "ref/prompt", "name": "resume-work"}},
            {"ref": {"type": "ref/prompt", "name": "resume-work"}, "argument": {"name": "session", "value": 7}},
        ):  # fmt: skip
            with self.subTest(params=params):
                self.peer.error("completion/complete", params, PARAMS)


if __name__ == "__main__":
    client.main()
