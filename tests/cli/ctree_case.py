"""What the tests of compile, explain and diff share: the worked example S, ways to build entries, and checks that hold
for every compilation."""

import os

import harness
from harness import CliTest, compact, entry, jsonl

STAGES = ("RAW", "SPEC", "HEADER", "FROZEN")
HASHES = ("node_hash", "selection_sha256", "z1", "z2", "z3", "z4")
KEPT = {"in_scope", "kept_window", "pair", "pin:checkpoint", "pin:first_system", "pin:latest_system", "pin:latest_user", "pin:latest_assistant", "pin:label", "pin:id"}  # fmt: skip
DROPPED = {"edited_out", "orphan_result", "limit:max_turns", "limit:max_nodes", "budget:chars", "budget:bytes", "budget:tokens", "collapse:target"}  # fmt: skip
OUTSIDE = {"kind", "before_barrier", "superseded_checkpoint"}


def system(text, **fields):
    return entry(text, "system", **fields)


def user(text, **fields):
    return entry(text, "user", **fields)


def assistant(text, *calls, **fields):
    """An assistant message; each call is (id, name, arguments)."""
    made = entry(text, "assistant", **fields)
    if calls:
        made["body"]["tool_calls"] = [{"id": id, "name": name, "arguments": arguments} for id, name, arguments in calls]
    return made


def tool(text, call, name=None, **fields):
    made = entry(text, "tool", **fields)
    made["body"]["tool_call_id"] = call
    if name is not None:
        made["body"]["name"] = name
    return made


def node(kind, payload, **fields):
    """A ctree_node; `turn`, `node_id` and `raw` belong to its body."""
    body = {"kind": kind, "payload": payload}
    for name in ("turn", "node_id", "raw"):
        if name in fields:
            body[name] = fields.pop(name)
    return {"type": "ctree_node", "body": body, **fields}


def compaction(**body):
    id = body.pop("id", None)
    return {"type": "compaction", "body": body, **({"id": id} if id else {})}


def worked_example(call="toolu_01"):
    """S of the contract page."""
    return [
        system("You are terse."), user("List the files."), assistant("", (call, "ls", {"path": "."})), tool("a.txt\nb.txt", call, "ls"),
        assistant("Two files: a.txt, b.txt."), user("Thanks."),
    ]  # fmt: skip


def with_ids(entries, prefix="e-"):
    """The same entries with ids by place: e-0, e-1, ..."""
    return [{"id": f"{prefix}{i}", **one} for i, one in enumerate(entries)]


def ids(items, key="id"):
    return [item[key] for item in items]


def ordinals(found):
    return [int(id[1:].split("_")[0]) for id in found]


class CtreeCase(CliTest):
    def give(self, entries, session="s", *args, **how):
        """Appends the entries; answers their ids."""
        entries = list(entries)
        if not entries:
            return []
        return ids(self.answer("append", "--session", session, *args, stdin=jsonl(entries), **how)["entries"])

    def config_file(self, config, name="compile.json"):
        return self.world.file(name, config if isinstance(config, (str, bytes)) else compact(config))

    def compiled(self, session="s", config=None, *args, **how):
        if config is not None:
            args = (*args, "--compile-config", self.config_file(config))
        output = self.answer("compile", "--session", session, *args, **how)
        self.holds_together(output)
        return output

    def hashes(self, session="s", config=None, *args, **how):
        return self.compiled(session, config, *args, **how)["hashes"]

    def explained(self, session="s", config=None, *args, **how):
        if config is not None:
            args = (*args, "--compile-config", self.config_file(config))
        return self.answer("explain", "--session", session, *args, **how)

    def fates(self, session="s", config=None, *args):
        """{ordinal: reason}, with a `-` before reasons of nodes that are not kept."""
        return {one["ordinal"]: ("" if one["fate"] in ("kept", "collapsed") else "-") + one["reason"] for one in self.explained(session, config, *args)["nodes"]}

    def kept(self, session="s", config=None, *args):
        return ordinals(self.compiled(session, config, *args)["stages"]["SPEC"]["selection"]["selected_ids"])

    def holds_together(self, output):
        """What is true of every weir-1 output whose lists are whole."""
        self.assertEqual(output["kind"], "ctree_compiler")
        self.assertEqual((output["profile"], output["compiler_version"]), ("weir-1", "weir-1"))
        self.assertEqual(sorted(output["hashes"]), sorted(HASHES))
        self.assertEqual(output["node_count"], output["event_count"])
        stages = output["stages"]
        for stage in stages.values():
            self.assertEqual(stage["schema_version"], output["schema_version"])
        if set(stages) != set(STAGES):
            return
        raw, spec, header, frozen = (stages[name] for name in STAGES)
        self.assertEqual(raw["node_count"], output["node_count"])
        for stage in (raw, header, frozen):
            self.assertEqual(stage["node_hash"], output["hashes"]["node_hash"])
        for stage in (spec["selection"], header, frozen):
            self.assertEqual(stage["selection_sha256"], output["hashes"]["selection_sha256"])
        if not (isinstance(raw["kind_counts"], dict) and "elided" in raw["kind_counts"]):
            self.assertEqual(sum(raw["kind_counts"].values()), raw["node_count"])
        selection = spec["selection"]
        self.assertEqual(sum(selection["reason_counts"].values()) + sum(selection["outside"].values()), raw["node_count"])
        self.assertEqual(selection["selected_count"] + selection["dropped_count"], selection["candidate_count"])
        if not all(isinstance(part, list) for part in (spec["selected"], spec["dropped"], selection["selected_ids"], selection["pinned_ids"], header["messages"], frozen["messages"])):
            return
        self.assertEqual(ids(spec["selected"]), selection["selected_ids"])
        self.assertEqual((len(spec["selected"]), len(spec["dropped"]), len(selection["pinned_ids"])), (selection["selected_count"], selection["dropped_count"], selection["pinned_count"]))
        for found in (selection["selected_ids"], ids(spec["dropped"]), selection["pinned_ids"]):
            self.assertEqual(ordinals(found), sorted(set(ordinals(found))), "append order")
        counted = {}
        for item in spec["selected"] + spec["dropped"]:
            counted[item["reason"]] = counted.get(item["reason"], 0) + 1
        self.assertEqual(counted, selection["reason_counts"])
        self.assertLessEqual({item["reason"] for item in spec["selected"]}, KEPT)
        self.assertLessEqual({item["reason"] for item in spec["dropped"]}, DROPPED)
        self.assertLessEqual(set(selection["outside"]), OUTSIDE)
        self.assertLessEqual(set(selection["pinned_ids"]), set(selection["selected_ids"]))
        for item in spec["selected"]:
            self.assertTrue(item["id"].endswith("_" + item["digest"][:8]))
        shown = [self.shown_ordinals(stage["messages"]) for stage in (header, frozen)]
        self.assertEqual(shown[0], shown[1], "HEADER and FROZEN list the same nodes")
        flat = [one for item in shown[0] for one in item]
        self.assertEqual(flat, sorted(flat), "append order")
        single = {item[0] for item in shown[0] if len(item) == 1}
        self.assertLessEqual(single, set(ordinals(selection["selected_ids"])))
        collapsed = {item["first_id"]: item["count"] for item in header["messages"] if item["kind"] == "collapsed" and "first_id" in item}
        self.assertEqual(sum(collapsed.values()), output["collapse"]["collapsed"])
        self.assertEqual(len([i for i in header["messages"] if "node_id" in i]) + sum(collapsed.values()), selection["selected_count"])

    def shown_ordinals(self, messages):
        """For each item the ordinal of its node, for a collapsed run those of its ends."""
        return [ordinals([item["node_id"]]) if "node_id" in item else ordinals([item["first_id"], item["last_id"]]) for item in messages]

    def fresh_store(self, name):
        return os.path.join(self.world.root, "stores", name)


main = harness.main
