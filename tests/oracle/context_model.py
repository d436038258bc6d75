"""A slow and obvious model of the context assembly (section 14) and of the context manifest (section 15), on top of
ctree_model.py. Blobs are given as a dict from hex SHA-256 to bytes."""

import hashlib
import json

import ctree_model as ctree
from ctree_model import NOTHING, ConfigInvalid, InvalidField, canonical, canonical_bytes, digest, is_blob

NOT_SHOWN = "[weir: earlier messages not shown]"
NO_RESULT = "[weir: no result recorded]"
LARGEST_LOG = 64 * 1024


class ContextOverBudget(Exception):
    """CONTEXT_OVER_BUDGET: what the pins need and what is allowed."""

    def __init__(self, over):
        super().__init__(canonical(over))
        self.over = over


class Corrupt(Exception):
    """CORRUPT: a blob that is not there or is not what its name says."""


# ---------------------------------------------------------------------------------------------------------------------
# Config (14.1)

DEFAULTS = {
    "format": "anthropic", "max_bytes": None, "max_tokens": None, "reserve_bytes": 0, "max_item_bytes": None, "ids": "alias", "mask": True,
    "cache_marks": False, "capture": False,
}  # fmt: skip
CHECKS = {
    "/format": ctree.word_check("anthropic", "openai", "plain"),
    "/max_bytes": ctree.limit_check(), "/max_tokens": ctree.limit_check(), "/max_item_bytes": ctree.limit_check(256),
    "/reserve_bytes": lambda value: ctree.is_integer(value) and value >= 0,
    "/ids": ctree.word_check("alias", "original"),
    "/mask": ctree.is_bool, "/cache_marks": ctree.is_bool, "/capture": ctree.is_bool,
}  # fmt: skip


def fill_context_config(given):
    """The effective context config; its `compile` has the budgets of the context in it."""
    given = ctree.normal(given)
    if not isinstance(given, dict):
        raise ConfigInvalid([("", "not an object")])
    faults, filled, compiled = [], {}, {}
    try:
        compiled = ctree.fill_config(given.get("compile", {}))
    except ConfigInvalid as bad:
        faults += [("/compile" + pointer, what) for pointer, what in bad.faults]
    try:
        filled = ctree.fill_config({key: value for key, value in given.items() if key != "compile"}, DEFAULTS, CHECKS)
    except ConfigInvalid as bad:
        faults += bad.faults
    if faults:
        raise ConfigInvalid(faults)
    if filled["max_bytes"] is not None:
        compiled["selection"]["max_bytes"] = max(0, filled["max_bytes"] - filled["reserve_bytes"])
    for limit in ("max_tokens", "max_item_bytes"):
        if filled[limit] is not None:
            compiled["selection"][limit] = filled[limit]
    return {**filled, "compile": compiled}


# ---------------------------------------------------------------------------------------------------------------------
# Texts


def joined_text(content):
    """String content, or its text blocks joined by LF; blobs are loaded already."""
    if content is NOTHING or content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(block["text"] for block in ctree.blocks_of(content, "text") if isinstance(block.get("text"), str))
    return canonical(content)


def provider_of(block):
    """14.4: whose own block this is, None for one that everybody understands."""
    if not isinstance(block, dict):
        return None
    if block.get("type") in ("thinking", "redacted_thinking"):
        return "anthropic"
    if block.get("type") == "reasoning" or "encrypted_content" in block:
        return "openai"
    return None


def cut_text(text, limit, name):
    """14.3. `name` is the SHA-256 of the full content."""
    whole = text.encode("utf-8")
    room = limit - 128
    if len(whole) <= room:
        return text
    first = room * 3 // 4
    last = room - first
    while first > 0 and whole[first] & 0xC0 == 0x80:
        first -= 1
    start = len(whole) - last
    while start < len(whole) and whole[start] & 0xC0 == 0x80:
        start += 1
    left_out = start - first
    return whole[:first].decode() + f"\n[weir: {left_out} bytes left out, sha256:{name}]\n" + whole[start:].decode()


# ---------------------------------------------------------------------------------------------------------------------
# Pairing (14.2)


class Item:
    """Something on its way into the context. `calls` are ids as recorded, `answers` pairs of such an id and the item that
    made the call. `messages` are its neutral messages."""

    def __init__(self, messages, node=None, calls=(), answers=(), placeholder_for=None, run=None):
        self.messages = messages
        self.node = node
        self.calls = list(calls)
        self.answers = list(answers)
        self.placeholder_for = placeholder_for
        self.run = run
        self.section = None
        self.cut = False


def arrange(items, placeholder):
    """Inside a unit the results follow their call directly, in call order; what lay between comes after. A call nobody
    answers gets a placeholder. `answers` name items of this list only. Where one message answers calls of several
    messages, those messages stand together, so that all results of the unit can be one message."""
    unit = {id(item): index for index, item in enumerate(items)}
    for item in items:
        for _, owner in item.answers:
            one, other = unit[id(item)], unit[id(owner)]
            unit = {key: min(one, other) if value in (one, other) else value for key, value in unit.items()}
    out = []
    done = set()

    def put(item):
        if id(item) not in done:
            done.add(id(item))
            out.append(item)

    for item in items:
        if id(item) in done:
            continue
        members = [other for other in items if unit[id(other)] == unit[id(item)]]
        callers = [other for other in members if other.calls]
        for caller in callers:
            put(caller)
        for caller in callers:
            for call in caller.calls:
                results = [other for other in members if (call, caller) in other.answers]
                for result in results:
                    put(result)
                if not results:
                    out.append(placeholder(caller, call))
        for other in members:
            put(other)
    return out


# ---------------------------------------------------------------------------------------------------------------------
# The context


class Context:
    def __init__(self, path, config=None, blobs=None, request=None, key=None, allow_over_budget=False, session="demo"):
        self.config = fill_context_config({} if config is None else config)
        self.format = self.config["format"]
        self.blobs = blobs or {}
        self.request = check_request({} if request is None else request)
        self.tools = self.request["tools"]
        self.session = session
        self.compiled = ctree.Compilation(path, self.config["compile"], key)
        self.key = self.compiled.key
        self.fold, self.chosen, self.nodes = self.compiled.fold, self.compiled.chosen, self.compiled.nodes
        self.warnings = list(self.fold.warnings)
        over = [item for item in self.chosen.over_budget if item["limit"] in ("max_bytes", "max_tokens")]
        if over and not allow_over_budget:
            raise ContextOverBudget(over)
        self.provider_blocks = set()  # ordinals of nodes of which nothing was left
        self.unpaired = set()  # ordinals of results whose call an edit took away
        self.make_sections()
        self.empty = self.empty_nodes()

    # -- holes ------------------------------------------------------------------------------------------------------

    def holes(self, shown):
        """Lists of ordinals that were left out behind something that is shown. What a person took out is not among them."""
        out = {}
        for n in self.chosen.dropped:
            before = [m for m in shown if m < n]
            if before and n in self.chosen.in_scope and self.chosen.reason[n] != "edited_out":
                out.setdefault(before[-1], []).append(n)
        return list(out.values())

    def hole_line(self, hole):
        first, last = self.nodes[hole[0]].id, self.nodes[hole[-1]].id
        count = "1 message" if len(hole) == 1 else f"{len(hole)} messages"
        return f"[weir: {count} left out here: {first if first == last else first + '..' + last}; weir show ID]"

    @staticmethod
    def shows(message):
        """Is any provider shown anything of it?"""
        content = message.get("content")
        if message.get("role") == "tool" or message.get("tool_calls"):
            return True
        if isinstance(content, str):
            return content.strip() != ""
        return any(not isinstance(block, dict) or block.get("type") != "text" or block.get("text", "x").strip() for block in content or [])

    def empty_nodes(self):
        """Messages of which no provider is shown anything."""
        messages = [item for item in self.items if item.node is not None and item.node.kind == "message"]
        shown = {item.node.ordinal for item in messages if any(self.shows(message) for message in item.messages)}
        return {item.node.ordinal for item in messages} - shown

    # -- bodies -----------------------------------------------------------------------------------------------------

    def blob(self, reference):
        name = reference["$blob"].removeprefix("sha256:")
        if name not in self.blobs or hashlib.sha256(self.blobs[name]).hexdigest() != name:
            raise Corrupt(name)
        return self.blobs[name]

    def loaded(self, value):
        if is_blob(value):
            return self.blob(value).decode("utf-8")
        if isinstance(value, list):
            return [self.loaded(item) for item in value]
        if isinstance(value, dict):
            return {key: self.loaded(member) for key, member in value.items()}
        return value

    def masked(self, value):
        if not self.config["mask"]:
            return value
        return ctree.mask_values(value, self.config["compile"]["sanitize"]["secret_keys"])

    def named(self, payload):
        """Ids as aliases or as recorded. Every id of the path has its alias by now."""
        return ctree.alias_calls(payload, self.fold.calls) if self.config["ids"] == "alias" else payload

    def call_name(self, raw):
        return self.fold.calls.of(raw) if self.config["ids"] == "alias" else raw

    def clean_blocks(self, content, own_too):
        """Provider blocks go, except (own_too) those of the provider this is for; of the others, what providers put in."""
        if not isinstance(content, list):
            return content
        out = []
        for block in content:
            if provider_of(block) is None:
                out += ctree.strip_blocks([block])
            elif own_too and provider_of(block) == self.format:
                out.append(block)
        return out

    def message_of(self, recorded, own_too=False):
        """The neutral message of a projected message with ids as recorded."""
        message = dict(recorded) if isinstance(recorded, dict) else {"content": canonical(recorded)}
        if "content" in message:
            message["content"] = self.clean_blocks(message["content"], own_too)
        return self.masked(self.loaded(self.named(message)))

    def without_unpaired(self, message, recorded, paired):
        """Result blocks whose call is not shown are left out."""
        if not isinstance(message.get("content"), list):
            return message
        hidden = {self.call_name(raw) for raw in ctree.results_of(recorded)} - {self.call_name(raw) for raw in paired}
        blocks = [
            block for block in message["content"]
            if not (isinstance(block, dict) and block.get("type") == "tool_result" and block.get("tool_use_id") in hidden)
        ]  # fmt: skip
        return {**message, "content": blocks}

    # -- sections (14.2) --------------------------------------------------------------------------------------------

    def make_sections(self):
        chosen, nodes = self.chosen, self.nodes
        kept = sorted(chosen.kept)
        self.last_unit = nodes[kept[-1]].unit if kept else None
        barrier = chosen.barrier
        system_pins = [n for n in kept if n in chosen.pins and nodes[n].role == "system"]
        earlier = [n for n in kept if n not in chosen.in_scope and n not in system_pins]
        snapshot = [n for n in kept if barrier is not None and n == barrier.ordinal]
        policy_items = [Item([self.message_of(self.recorded_of(nodes[n]))], nodes[n]) for n in system_pins]
        policy_items += [self.earlier_item(nodes[n]) for n in earlier]
        snapshot_items = [self.checkpoint_item(nodes[n]) for n in snapshot]

        elsewhere = set(system_pins + earlier + snapshot)
        rest = []
        for group in self.compiled.header_groups():
            if isinstance(group, list):
                rest.append(self.run_item(group))
            elif group not in elsewhere:
                rest.append(self.item_of(nodes[group]))
        shown = []
        for item in rest:
            if item.run is not None:
                shown += item.run
            elif any(self.shows(message) for message in item.messages):
                shown.append(item.node.ordinal)
        self.marked = holes = self.holes(shown)
        for hole in holes:
            place = next((i for i, item in enumerate(rest) if (item.node.ordinal if item.run is None else item.run[0]) > hole[0]), len(rest))
            item = Item([{"content": self.hole_line(hole), "role": "user"}], run=hole)
            rest.insert(place, item)
        rest = self.pair(rest)

        users = [item for item in rest if item.node is not None and item.placeholder_for is None and item.node.is_user_input]
        latest = max(users, key=lambda item: item.node.ordinal) if users else None
        place = rest.index(latest) if latest is not None else len(rest)
        kept_items, tail_items = rest[:place], rest[place:]
        if set(chosen.in_scope) & set(chosen.dropped) - {n for hole in holes for n in hole}:
            kept_items.insert(0, Item([{"content": NOT_SHOWN, "role": "user"}]))
        self.items = []
        for section, items in (("policy", policy_items), ("snapshot", snapshot_items), ("kept", kept_items), ("tail", tail_items)):
            for item in items:
                item.section = section
                self.items.append(item)
        self.messages = [(message, item) for item in self.items for message in item.messages]

    @staticmethod
    def recorded_of(node):
        """The recorded payload, edits applied."""
        if node.edited:
            return {**(node.recorded if isinstance(node.recorded, dict) else {}), "content": node.recorded_edit}
        return node.recorded

    def item_of(self, node):
        """One kept node in its place."""
        if node.kind == "message":
            recorded = self.recorded_of(node)
            message = self.message_of(recorded, own_too=node.unit == self.last_unit)
            item = Item([message], node, ctree.calls_of(recorded))
            item.recorded = recorded
            had = isinstance(recorded, dict) and isinstance(recorded.get("content"), list) and len(recorded["content"]) > 0
            if had and message.get("content") == [] and not message.get("tool_calls"):
                self.provider_blocks.add(node.ordinal)
                item.messages = []
            if self.chosen.is_cut(node.ordinal):
                text = self.cut_content(node, message.get("content"), recorded.get("content"))
                item.cut = text != joined_text(message.get("content"))
                if item.cut:
                    item.messages = [{**message, "content": text}]
            return item
        if node.kind == "checkpoint":  # an older one: scope path, or pinned
            return self.checkpoint_item(node)
        if node.kind == "branch_summary":
            text = joined_text(self.masked(self.loaded(node.recorded_content)))
            return Item([{"content": "[weir: summary of another branch]\n" + text, "role": "user"}], node)
        return Item([{"content": f"[weir: event {node.kind}]\n" + canonical(node.edit if node.edited else node.payload), "role": "user"}], node)

    def cut_content(self, node, content, recorded):
        text = joined_text(content)
        name = recorded["$blob"].removeprefix("sha256:") if is_blob(recorded) else hashlib.sha256(text.encode()).hexdigest()
        return cut_text(text, self.chosen.limits["max_item_bytes"], name)

    def earlier_item(self, node):
        """A pin from before the scope, or what belongs to its unit: text of the user, whatever it was."""
        if node.kind != "message":
            return self.item_of(node)
        made = self.item_of(node)
        text = joined_text(made.messages[0].get("content")) if made.messages else ""
        item = Item([{"content": f"[weir: pinned from earlier, role {node.role}]\n" + text, "role": "user"}], node)
        item.cut = made.cut
        self.provider_blocks.discard(node.ordinal)
        return item

    def checkpoint_item(self, node):
        payload = node.recorded
        snapshot_id = node.attached_snapshot if node.attached_snapshot is not None else payload.get("snapshot_id")
        narrative = node.recorded_attached if node.attached is not None else payload.get("narrative")
        source = "host summary" if snapshot_id is None or narrative is None else f"snapshot {snapshot_id}"
        text = narrative if narrative is not None else payload.get("summary")
        if node.edited:
            source, text, narrative = "host summary", node.recorded_edit, None
        messages = []
        replaced = "replacement" in payload and not node.edited
        if text is None and not replaced:
            messages = [{"content": "[weir: carried over a compaction; source: host, not readable]", "role": "user"}]
        elif not replaced or narrative is not None:
            shown = joined_text(self.masked(self.loaded(text)))
            messages = [{"content": f"[weir: carried over a compaction; source: {source}]\n{shown}", "role": "user"}]
        if replaced:
            messages += self.replacement_messages(payload["replacement"])
        return Item(messages, node)

    def replacement_messages(self, replacement):
        """The messages the host went on with, calls and results paired inside the list."""
        if is_blob(replacement):
            replacement = [ctree.project_message(message) for message in json.loads(self.blob(replacement))]
        items, owners = [], {}
        for recorded in replacement:
            item = Item([self.message_of(recorded)], None, ctree.calls_of(recorded))
            item.recorded = recorded
            item.answers = [(raw, owners[raw]) for raw in ctree.results_of(recorded) if raw in owners]
            for raw in item.calls:
                owners[raw] = item
            if isinstance(recorded, dict) and (recorded.get("role") == "tool" or ctree.only_results(recorded.get("content"))) and not item.answers:
                continue  # its call is not in the list
            item.messages = [self.without_unpaired(item.messages[0], recorded, [raw for raw, _ in item.answers])]
            items.append(item)
        return [message for item in arrange(items, self.placeholder) for message in item.messages]

    def run_item(self, run):
        made = self.compiled.collapsed_item(run)
        turns = f"turns {made['turns'][0]}-{made['turns'][1]}, " if "turns" in made else ""
        return Item([{"content": f"[weir: {made['count']} messages collapsed, {turns}ids_sha256 {made['ids_sha256']}]", "role": "user"}], run=run)

    def placeholder(self, item, call):
        message = {"content": NO_RESULT, "is_error": True, "role": "tool", "tool_call_id": self.call_name(call)}
        self.warnings.append({"code": "unanswered_call", "node_id": None if item.node is None else item.node.id})
        return Item([message], item.node, placeholder_for=call)

    def pair(self, items):
        by_ordinal = {item.node.ordinal: item for item in items if item.node is not None}
        shown = []
        for item in items:
            node = item.node
            if node is None or node.kind != "message":
                shown.append(item)
                continue
            owners = dict(node.results)
            answered = ctree.results_of(item.recorded)
            item.answers = [
                (raw, by_ordinal[owners[raw]]) for raw in answered
                if owners.get(raw) in by_ordinal and raw in by_ordinal[owners[raw]].calls
            ]  # fmt: skip
            is_result = node.role == "tool" or ctree.only_results(item.recorded.get("content") if isinstance(item.recorded, dict) else None)
            if is_result and not item.answers:
                self.unpaired.add(node.ordinal)
                continue
            item.messages = [self.without_unpaired(message, item.recorded, [raw for raw, _ in item.answers]) for message in item.messages]
            shown.append(item)
        return arrange(shown, self.placeholder)

    # -- hashes (14.5) ------------------------------------------------------------------------------------------------

    def neutral(self, sections=("policy", "snapshot", "kept", "tail")):
        return [message for message, item in self.messages if item.section in sections]

    def hashed(self, sections):
        return {"messages": self.neutral(sections), "tools": self.tools}

    @property
    def prefix_hash(self):
        return digest("weir.prefix.v1", self.hashed(("policy", "snapshot")), self.key)

    @property
    def prefix_length(self):
        return len(canonical_bytes(self.hashed(("policy", "snapshot"))))

    @property
    def context_sha256(self):
        return digest("weir.context.v1", self.hashed(("policy", "snapshot", "kept", "tail")), self.key)

    @property
    def breakpoints(self):
        return [len(self.neutral(("policy", "snapshot"))), len(self.neutral(("policy", "snapshot", "kept")))]

    # -- formats (14.4) -----------------------------------------------------------------------------------------------

    def rendered(self):
        """{"system"?, "messages"} of the format."""
        if self.format == "anthropic":
            return self.render_anthropic()
        render = openai_messages if self.format == "openai" else plain_messages
        return {"messages": [out for message, _ in self.messages for out in render(message)]}

    def render_anthropic(self):
        system, placed = [], []  # (number of the neutral message, role, block)
        for index, (message, item) in enumerate(self.messages):
            if message.get("role") == "system" and item.section == "policy":
                system += [(index, block) for block in text_blocks(message.get("content"))]
            else:
                role, blocks = anthropic_blocks(message)
                placed += [(index, role, block) for block in blocks]
        messages = []
        for index, role, block in placed:
            if not messages or messages[-1]["role"] != role:
                messages.append({"role": role, "content": []})
            messages[-1]["content"].append((index, block))
        for message in messages:  # results before text
            message["content"].sort(key=lambda place: place[1].get("type") != "tool_result")
        if self.config["cache_marks"]:
            for count in self.breakpoints:
                before = [block for index, block in system if index < count]
                before += [block for message in messages for index, block in message["content"] if index < count]
                if before:
                    before[-1]["cache_control"] = {"type": "ephemeral"}
        if messages and messages[0]["role"] != "user":
            messages.insert(0, {"role": "user", "content": [(-1, {"type": "text", "text": NOT_SHOWN})]})
        out = {"messages": [{"role": message["role"], "content": [block for _, block in message["content"]]} for message in messages]}
        if system:
            out["system"] = [block for _, block in system]
        return out

    # -- the answer and the manifest (15) -------------------------------------------------------------------------------

    def item_type(self, node):
        if node.role == "system" or self.chosen.pins.get(node.ordinal) in ("pin:label", "pin:id"):
            return "policy"
        if node.kind in ("checkpoint", "branch_summary"):
            return "summary"
        if node.role == "user":
            return "user_input"
        if node.role == "tool":
            return "tool_output"
        return "evidence" if node.kind.startswith("evidence_") else "memory"

    def snapshot_of(self, node):
        if node.attached_snapshot is not None:
            return node.attached_snapshot
        return node.payload.get("snapshot_id")

    def source_ref(self, node):
        if node.kind == "checkpoint" and self.snapshot_of(node) is not None:
            return f"snapshot:{self.snapshot_of(node)}"
        if node.kind == "message" and is_blob(node.content):
            return f"blob:{node.content['$blob']}"
        return f"node:{node.id}"

    def shown_items(self):
        """Items that stand in the inclusion log, in prompt order."""
        return [item for item in self.items if item.node is not None and item.node.ordinal not in self.provider_blocks | self.empty]

    def answer_items(self):
        out = []
        for item in self.shown_items():
            cost = {"bytes": 0, "tokens": 0} if item.placeholder_for is not None else self.chosen.costs[item.node.ordinal]
            out.append({
                "bytes": cost["bytes"], "item_id": item.node.id, "reason": self.included_reason(item),
                "role": item.messages[0].get("role") if item.messages else "user", "section": item.section, "tokens": cost["tokens"],
            })  # fmt: skip
        return out

    def included_reason(self, item):
        return "placeholder" if item.placeholder_for is not None else self.chosen.reason[item.node.ordinal]

    def inclusion(self):
        out = []
        for item in self.shown_items():
            record = {
                "included_reason": self.included_reason(item), "item_id": item.node.id,
                "item_type": "tool_output" if item.placeholder_for is not None else self.item_type(item.node),
                "source_ref": f"node:{item.node.id}" if item.placeholder_for is not None else self.source_ref(item.node),
            }  # fmt: skip
            if item.cut:
                record["cut"] = True
            out.append(record)
        for name in self.request["selected_chunk_ids"]:
            out.append({"included_reason": "retrieval", "item_id": name, "item_type": "evidence", "source_ref": f"chunk:{name}"})
        return out

    def exclusion(self):
        """In append order. Neighbours out for one non-candidate reason are one record."""
        included = {item.node.ordinal for item in self.shown_items()}
        out, runs = [], []
        for node in self.nodes:
            n = node.ordinal
            if n in included:
                continue
            if n in self.chosen.outside:
                reason = self.chosen.outside[n]
                if runs and runs[-1][-1] == n - 1 and self.chosen.outside[runs[-1][-1]] == reason:
                    runs[-1].append(n)
                else:
                    runs.append([n])
                    out.append(runs[-1])
                continue
            reason = self.chosen.told_reason(n)
            if n in self.empty:
                reason = "empty"
            if n in self.unpaired:
                reason = "orphan_result"
            out.append({"excluded_reason": reason, "item_id": node.id, "item_type": self.item_type(node)})
        records = []
        for record in out:
            if isinstance(record, list):
                first, last = self.nodes[record[0]], self.nodes[record[-1]]
                reason = self.chosen.outside[record[0]]
                if len(record) == 1:
                    record = {"excluded_reason": reason, "item_id": first.id, "item_type": self.item_type(first)}
                else:
                    record = {
                        "count": len(record), "excluded_reason": reason, "item_id": f"{first.id}..{last.id}", "item_type": "memory",
                        "node_hash": self.fold.chain[last.ordinal + 1],
                    }  # fmt: skip
            records.append(record)
        for name in self.request["candidate_chunk_ids"]:
            if name not in self.request["selected_chunk_ids"]:
                records.append({"excluded_reason": "not_selected", "item_id": name, "item_type": "evidence"})
        return records

    def used(self):
        used = self.chosen.used()
        return {"bytes": used["bytes"], "tokens": used["tokens"]}

    def manifest(self):
        limits, used = self.config["compile"]["selection"], self.used()
        barrier = self.chosen.barrier
        step, thresholds, failed = run_state(self.fold.path)
        out = {
            "candidate_chunk_ids": self.request["candidate_chunk_ids"],
            "compiler_version": ctree.COMPILER_VERSION,
            "config_sha256": self.compiled.config_sha256,
            "context_sha256": self.context_sha256,
            "exclusion": stored_log(self.exclusion()),
            "filters": self.request["filters"],
            "format": self.format,
            "hashes": self.compiled.hashes,
            "inclusion": stored_log(self.inclusion()),
            "intent": self.request["intent"],
            "prefix_hash": self.prefix_hash,
            "prefix_length": self.prefix_length,
            "reranker_model": self.request["reranker_model"],
            "reranker_version": self.request["reranker_version"],
            "retrieval_query": self.request["retrieval_query"],
            "selected_chunk_ids": self.request["selected_chunk_ids"],
            "selected_source_ids": self.request["selected_source_ids"],
            "snapshot_id": None if barrier is None else self.snapshot_of(barrier),
            "step_id": step,
            "thresholds": thresholds,
            "token_budget": {
                "estimator": "bytes4.v1", "max_bytes": limits["max_bytes"], "max_tokens": limits["max_tokens"],
                "used_bytes": used["bytes"], "used_tokens": used["tokens"],
            },
        }  # fmt: skip
        if self.marked:
            out["rules"] = 2
        if self.config["capture"] or failed:
            text = canonical_bytes(self.rendered())
            out["prompt_blob"] = {"$blob": "sha256:" + hashlib.sha256(text).hexdigest(), "bytes": len(text)}
        return out

    @property
    def manifest_id(self):
        """Never keyed."""
        return "man1_" + digest("weir.manifest_id.v1", self.manifest())[:32]

    def manifest_body(self):
        manifest = self.manifest()
        return {"manifest": manifest, "manifest_id": self.manifest_id, "step_id": manifest["step_id"]}

    def prefix_changed(self):
        """Against the last manifest of the path."""
        written = [entry["body"]["manifest"] for entry in self.fold.path if entry["type"] == "CONTEXT_MANIFEST_WRITTEN"]
        if not written:
            return "first"
        last, now = written[-1], self.manifest()
        if last["prefix_hash"] == now["prefix_hash"]:
            return None

        def of(manifest, reasons):
            log = manifest["inclusion"] if isinstance(manifest["inclusion"], list) else []
            return [record["item_id"] for record in log if record["included_reason"] in reasons]

        if of(last, ["pin:checkpoint"]) != of(now, ["pin:checkpoint"]) or last["snapshot_id"] != now["snapshot_id"]:
            return "compaction"
        pins = ["pin:first_system", "pin:latest_system", "pin:label", "pin:id"]
        return "pins" if of(last, pins) != of(now, pins) else "tools"

    def answer(self, reused_messages=0):
        return {
            "profile": "weir-1", "session": self.session, "entry": self.fold.path[-1]["id"] if self.fold.path else None, "format": self.format,
            **self.rendered(), "items": self.answer_items(), "exclusion": self.exclusion(), "prefix_hash": self.prefix_hash,
            "prefix_length": self.prefix_length, "prefix_changed": self.prefix_changed(), "breakpoints": self.breakpoints,
            "context_sha256": self.context_sha256, "reused_messages": reused_messages, "used": self.used(), "manifest_id": self.manifest_id,
            "warnings": self.warnings,
        }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Formats (14.4)


def text_blocks(content):
    """Text blocks of a content; empty ones are never sent."""
    texts = [content] if isinstance(content, str) else [block.get("text") for block in ctree.blocks_of(content, "text")]
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str) and text != ""]


def call_parts(call):
    """(id, name, arguments) of both shapes of a call."""
    told = call.get("function") if isinstance(call.get("function"), dict) else call
    return call.get("id"), told.get("name"), told.get("arguments")


def call_object(arguments):
    """Arguments as an object: JSON text of one is read."""
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except ValueError:
            read = None
        if isinstance(read, dict):
            return read
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments is None else {"arguments": arguments}


def message_calls(message):
    """Calls of a neutral message: tool_use blocks of its content, then tool_calls."""
    calls = [(block.get("id"), block.get("name"), block.get("input")) for block in ctree.blocks_of(message.get("content"), "tool_use")]
    listed = message.get("tool_calls")
    return calls + [call_parts(call) for call in (listed if isinstance(listed, list) else []) if isinstance(call, dict)]


def result_content(content):
    if content is None:
        return ""
    return content if isinstance(content, (str, list)) else canonical(content)


def anthropic_blocks(message):
    """(role, blocks) of a neutral message."""
    role, content = message.get("role"), message.get("content")
    if role == "system":
        return "user", [{"type": "text", "text": "[weir: system message]\n" + joined_text(content)}]
    if role == "tool":
        return "user", [{"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": result_content(content), "is_error": message.get("is_error") is True}]
    blocks = []
    if isinstance(content, str) or is_blob(content):
        blocks = text_blocks(content)
    for block in content if isinstance(content, list) else []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            blocks += text_blocks([block])
        elif block.get("type") == "tool_use":
            blocks.append({"type": "tool_use", "id": block.get("id"), "name": block.get("name"), "input": call_object(block.get("input"))})
        elif block.get("type") == "tool_result":
            blocks.append({"type": "tool_result", "tool_use_id": block.get("tool_use_id"), "content": result_content(block.get("content")), "is_error": block.get("is_error") is True})
        else:
            blocks.append(dict(block))
    for call in message.get("tool_calls") if isinstance(message.get("tool_calls"), list) else []:
        if isinstance(call, dict):
            name, tool, arguments = call_parts(call)
            blocks.append({"type": "tool_use", "id": name, "name": tool, "input": call_object(arguments)})
    return ("assistant" if role == "assistant" else "user"), blocks


def openai_messages(message):
    role, content = message.get("role"), message.get("content")
    if role == "system":
        return [{"role": "system", "content": joined_text(content)}]
    if role == "tool":
        return [{"role": "tool", "tool_call_id": message.get("tool_call_id"), "content": joined_text(content)}]
    if role == "assistant":
        out = {"role": "assistant", "content": joined_text(content)}
        calls = message_calls(message)
        if calls:
            out["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": tool, "arguments": canonical(call_object(arguments))}}
                for name, tool, arguments in calls
            ]  # fmt: skip
            out["content"] = out["content"] or None
        return [out]
    out = [
        {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": joined_text(block.get("content"))}
        for block in ctree.blocks_of(content, "tool_result")
    ]  # fmt: skip
    if isinstance(content, list):
        rest = [block for block in content if isinstance(block, dict) and block.get("type") != "tool_result"]
        rest = [block for block in rest if block.get("type") != "text" or block.get("text")]
        if all(block.get("type") == "text" for block in rest):
            if rest:
                out.append({"role": "user", "content": joined_text(rest)})
        else:
            out.append({"role": "user", "content": rest})
    else:
        out.append({"role": "user", "content": joined_text(content)})
    return out


def plain_messages(message):
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return [{"role": "tool", "call": message.get("tool_call_id"), "text": joined_text(content)}]
    if role == "assistant":
        out = {"role": "assistant", "text": joined_text(content)}
        calls = message_calls(message)
        if calls:
            out["calls"] = [{"arguments": arguments, "id": name, "name": tool} for name, tool, arguments in calls]
        return [out]
    out = [
        {"role": "tool", "call": block.get("tool_use_id"), "text": joined_text(block.get("content"))}
        for block in ctree.blocks_of(content, "tool_result")
    ]  # fmt: skip
    if not ctree.only_results(content):
        out.append({"role": "system" if role == "system" else "user", "text": joined_text(content)})
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Request, run state, logs (15)

REQUEST_DEFAULTS = {
    "intent": {}, "retrieval_query": None, "filters": [], "candidate_chunk_ids": [], "selected_chunk_ids": [], "selected_source_ids": [],
    "reranker_model": None, "reranker_version": None, "tools": None,
}  # fmt: skip


def check_request(given):
    given = ctree.normal(given)
    if not isinstance(given, dict) or set(given) - set(REQUEST_DEFAULTS):
        raise InvalidField("request")
    out = {name: given.get(name, default) for name, default in REQUEST_DEFAULTS.items()}
    if not isinstance(out["intent"], dict):
        raise InvalidField("intent")
    for name in ("retrieval_query", "reranker_model", "reranker_version"):
        if out[name] is not None and not isinstance(out[name], str):
            raise InvalidField(name)
    for name in ("filters", "candidate_chunk_ids", "selected_chunk_ids", "selected_source_ids"):
        if not isinstance(out[name], list) or not all(isinstance(item, str) for item in out[name]):
            raise InvalidField(name)
    if set(out["selected_chunk_ids"]) - set(out["candidate_chunk_ids"]):
        raise InvalidField("selected_chunk_ids")
    out["filters"] = sorted(out["filters"], key=ctree.utf16_order)
    return out


def run_state(path):
    """(current step, thresholds in force, whether a failure came after the last manifest)."""
    step, failed = 0, False
    thresholds = {"event_threshold": 18, "n_step_fallback": 8, "plain_bytes_threshold": 0}
    for entry in path:
        kind, body = entry["type"], entry["body"]
        if kind in ("STEP_STARTED", "PLAN_DONE", "ACT_DONE") and ctree.is_integer(body.get("step_id")):
            step = body["step_id"]
        if kind in ("RUN_STARTED", "THRESHOLDS_SET"):
            given = body.get("config") if kind == "RUN_STARTED" else body
            for name in thresholds:
                if isinstance(given, dict) and ctree.is_integer(given.get(name)):
                    thresholds[name] = given[name]
        if kind in ("FAILURE_RECORDED", "COMPACTION_FAILED"):
            failed = True
        if kind == "CONTEXT_MANIFEST_WRITTEN":
            failed = False
    return step, thresholds, failed


def stored_log(records):
    """A log above 64 KiB is stored as a blob."""
    text = canonical_bytes(records)
    if len(text) <= LARGEST_LOG:
        return records
    return {"$blob": "sha256:" + hashlib.sha256(text).hexdigest(), "bytes": len(text), "count": len(records)}
