"""A slow and plain model of the profile breadboard-0.1, section 12 of the contract ctree, for tests only.

Python's own json module, str(), int() and bool() are the rules here, so odd values need no words. Nodes are few, so
ids are looked for in lists.
"""
import hashlib
import json
import re
from types import SimpleNamespace

VERSION = "0.1"
STAGES = ("RAW", "SPEC", "HEADER", "FROZEN")
MASK = "***REDACTED***"
SECRET_KEYS = ("api_key", "authorization", "openai_api_key", "openrouter_api_key", "anthropic_api_key")
VOLATILE_KEYS = ("seq", "timestamp", "timestamp_ms")
DEPTH = 512


class Refused(Exception):
    """What is an error code in Weir."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


# ---- 12.1 to 12.3: values and texts ----
def depth(value):
    levels, layer = 0, [value]
    while layer := [v for v in layer if isinstance(v, (list, dict))]:
        levels += 1
        layer = [inner for v in layer for inner in (v.values() if isinstance(v, dict) else v)]
    return levels


def read(raw):
    try:
        value = json.loads(raw.decode("utf-8") if isinstance(raw, bytes) else raw)
    except (ValueError, RecursionError):
        raise Refused("INVALID_JSON") from None
    if depth(value) > DEPTH:
        raise Refused("INVALID_JSON")
    return value


def sanitise(value):
    if isinstance(value, list):
        return [sanitise(item) for item in value]
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in VOLATILE_KEYS}
        return {key: MASK if key.lower() in SECRET_KEYS else sanitise(item) for key, item in kept.items()}
    return value


def plain(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def canonical(value):
    return plain(sanitise(value))


def indented(value):
    return json.dumps(value, sort_keys=True, indent=2)


def sha1(text):
    return hashlib.sha1(text.encode("ascii")).hexdigest()


def sha256(text):
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def text_of(value):
    if isinstance(value, (list, dict)):
        raise Refused("NOT_REPRODUCIBLE")
    return str(value)


def is_int(value):
    return isinstance(value, int)


def whole(value):
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        return None


def member(value, key):
    return value.get(key) if isinstance(value, dict) else None


# ---- 12.4, 12.9: nodes and files ----
class Session:
    def __init__(self):
        self.nodes = []

    def record(self, parsed):
        if not isinstance(parsed, dict) or not (isinstance(parsed.get("kind"), str) or parsed.get("kind")):
            raise Refused("INVALID_FIELD")
        node = SimpleNamespace(kind=text_of(parsed["kind"]), payload=parsed.get("payload"), turn=parsed.get("turn"))
        node.preimage = canonical({"kind": node.kind, "payload": node.payload, "turn": node.turn})
        node.digest = sha1(node.preimage)
        given = parsed.get("node_id")
        node.id = text_of(given) if given else "n%08d_%s" % (len(self.nodes), node.digest[:8])
        self.nodes.append(node)

    @property
    def node_hash(self):
        return sha1(plain([node.digest for node in self.nodes]))

    def order(self):
        return list(dict.fromkeys(node.id for node in self.nodes))

    def in_order(self, ids):
        return [i for i in self.order() if i in ids]

    def last(self, node_id):
        return [node for node in self.nodes if node.id == node_id][-1]

    def snapshot(self, backfilled=False):
        count = len(self.nodes)
        out = {"schema_version": VERSION, "node_count": count, "event_count": count}
        out["last_id"] = self.nodes[-1].id if self.nodes else None
        out["node_hash"] = None if backfilled else self.node_hash
        return {**out, "backfilled_from_eventlog": True} if backfilled else out

    def events_jsonl(self):
        lines = [plain({"_type": "ctree_eventlog_header", "schema_version": VERSION})]
        lines += [canonical({"kind": n.kind, "node_id": n.id, "payload": n.payload, "turn": n.turn}) for n in self.nodes]
        return "".join(line + "\n" for line in lines)


def without_cut_character(raw):
    for back in range(1, min(3, len(raw)) + 1):
        if raw[-back] >= 0xC0:
            return raw[:-back] if back < (4 if raw[-back] >= 0xF0 else 3 if raw[-back] >= 0xE0 else 2) else raw
        if raw[-back] < 0x80:
            break
    return raw


def read_file(raw):
    """The session of a record file and [what, line, other line] for what gave no record or a second id."""
    whole_text = without_cut_character(raw)
    cut = len(whole_text) < len(raw)
    try:
        text = whole_text.decode("utf-8")
    except ValueError:
        raise Refused("INVALID_JSON") from None
    session, findings, lines, at = Session(), [], [], 1
    pieces = re.sub("\r\n|\r", "\n", text).splitlines(keepends=True)
    if cut and (not pieces or pieces[-1].splitlines()[0] != pieces[-1]):
        pieces.append("")  # the cut character was all there was of the last line
    for piece in pieces:
        line, ended = at, piece.splitlines() not in ([], [piece])
        at += piece.endswith("\n")
        finding = take_line(session, piece.strip(), not ended and cut)
        if finding:
            findings.append(["torn" if finding == "unparsable" and not ended else finding, line, 0])
            continue
        lines.append(line)
        ids = [node.id for node in session.nodes]
        if ids.index(ids[-1]) < len(ids) - 1:
            findings.append(["duplicate_id", line, lines[ids.index(ids[-1])]])
    return session, findings


def take_line(session, line, torn):
    if not line and not torn:
        return "blank"
    try:
        parsed = read(line)
    except Refused:
        return "unparsable"
    if torn:
        return "unparsable"
    if not isinstance(parsed, dict):
        return "not_object"
    if parsed.get("_type") == "ctree_eventlog_header":
        return "header"
    if not parsed.get("kind"):
        return "no_kind"
    session.record(parsed)
    return None


# ---- 12.5: config ----
def object_or_empty(value):
    if value and not isinstance(value, dict):
        raise Refused("CONFIG_INVALID")
    return value or {}


def read_config(given):
    top = object_or_empty(given)
    blocks = {name: top[name] if isinstance(top.get(name), dict) else {} for name in ("selection", "header")}

    def near(block, key, above=None):
        return blocks[block][key] if key in blocks[block] else top.get(above or key)

    def limit(value, least):
        number = whole(value)
        return None if number is None or number < least else number

    def flag(value, default):
        return default if value is None else bool(value)

    kinds = near("selection", "kind_allowlist")
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    kinds = [kind for kind in map(text_of, kinds) if kind.strip()]
    mode = near("header", "mode", "header_mode")
    chars = whole(near("header", "preview_chars"))
    selection = blocks["selection"]
    return SimpleNamespace(
        kinds=kinds or ["message"],
        max_nodes=limit(near("selection", "max_nodes"), 0),
        max_turns=limit(near("selection", "max_turns"), 0),
        max_message_chars=limit(selection.get("max_message_chars"), 1),
        pin_latest=flag(selection.get("pin_latest_user_assistant"), True),
        pin_first_system=flag(selection.get("pin_first_system"), False),
        previews=isinstance(mode, str) and mode.strip().lower() == "sanitized_content",
        preview_chars=160 if chars is None else max(chars, 0),
        redact=flag(near("header", "redact_secret_like"), True),
    )


# ---- 12.6: selection ----
def content_of(payload):
    content = member(payload, "content")
    return member(payload, "text") if content is None else content


def with_role(session, role):
    messages = [node for node in session.nodes if node.kind == "message"]
    return [node.id for node in messages if isinstance(member(node.payload, "role"), str) and node.payload["role"].strip() == role]


def latest_messages(session):
    return list(dict.fromkeys(with_role(session, "user")[-1:] + with_role(session, "assistant")[-1:]))


def select(session, config):
    pins = []
    if "message" in config.kinds:
        pins += latest_messages(session) if config.pin_latest else []
        pins += with_role(session, "system")[:1] if config.pin_first_system else []
    allowed = [node for node in session.nodes if node.kind in config.kinds]
    chosen = allowed
    turns = list(dict.fromkeys(node.turn for node in chosen if is_int(node.turn)))
    if config.max_turns and turns:
        last = turns[-config.max_turns:]
        chosen = [node for node in chosen if node.turn is None or (is_int(node.turn) and node.turn in last)]
    if config.max_nodes:
        chosen = chosen[-config.max_nodes:]
    if config.max_message_chars is not None:
        chosen = within_chars(chosen, config.max_message_chars, pins)
    if chosen:
        for pin in dict.fromkeys(pins):
            if pin not in [node.id for node in chosen]:
                chosen = chosen + [node for node in allowed if node.id == pin][:1]
    by_id = {node.id: node for node in chosen}
    return SimpleNamespace(
        candidates=session.in_order([node.id for node in allowed]),
        nodes=[by_id[i] for i in session.in_order(by_id)],
        ids=session.in_order(by_id),
        pins=session.in_order(pins),
    )


def within_chars(nodes, left, pins):
    kept = []
    for node in reversed(nodes):
        if node.kind == "message":
            content = content_of(node.payload)
            size = len(content) if isinstance(content, str) else 0
            if node.id not in pins and kept and size > left:
                continue
            left = max(left - size, 0)
        kept.insert(0, node)
    return kept


# ---- 12.7: stages ----
def shape(payload):
    if isinstance(payload, dict):
        return sorted(payload)
    return [len(payload)] if isinstance(payload, list) else type(payload).__name__


def preview(content, config):
    text = content.replace("\r\n", "\n").replace("\r", "\n")
    small = text.lower()
    secret = ("-----begin" in small and "private key" in small) or re.search("sk-[A-Za-z0-9]{20,}", text)
    if config.redact and secret:
        return {"content_preview": MASK, "content_preview_truncated": False, "content_preview_redacted": True}
    short = text[: config.preview_chars] if config.preview_chars else text
    return {"content_preview": short, "content_preview_truncated": short != text, "content_preview_redacted": False}


def header_item(node, config):
    payload = node.payload
    payload_hash = sha1(canonical(payload))
    if not isinstance(payload, dict):
        return {"node_id": node.id, "kind": node.kind, "payload_hash": payload_hash}
    content, calls = content_of(payload), payload.get("tool_calls")
    names = {key: None if payload.get(key) is None else text_of(payload[key]) for key in ("role", "name")}
    item = {"node_id": node.id, **names, "payload_hash": payload_hash}
    item["content_hash"] = payload_hash if content is None else sha1(canonical(content))
    item["content_len"] = len(content) if isinstance(content, str) else None
    item["tool_call_count"] = len(calls) if isinstance(calls, list) else None
    if calls is not None:
        item["tool_calls_hash"] = sha1(canonical(calls))
    if config.previews and isinstance(content, str):
        item.update(preview(content, config))
    return item


def compile_session(session, config=None, prompt_summary=None):
    config = read_config(config)
    chosen = select(session, config)
    counts = {"node_count": len(session.nodes), "event_count": len(session.nodes)}
    kinds = [node.kind for node in session.nodes if node.kind]
    raw = {"schema_version": VERSION, **counts, "node_hash": session.node_hash}
    raw["kind_counts"] = {kind: kinds.count(kind) for kind in kinds}
    if prompt_summary:
        raw["prompt_summary"] = prompt_summary
    selection = {"kind_allowlist": config.kinds}
    dropped = [i for i in chosen.candidates if i not in chosen.ids]
    parts = {"candidate": chosen.candidates, "selected": chosen.ids, "kept": chosen.ids, "dropped": dropped, "collapsed": [], "pinned": chosen.pins}
    for name, ids in parts.items():
        selection.update({name + "_ids": ids, name + "_count": len(ids)})
    selection.update(max_nodes=config.max_nodes, max_turns=config.max_turns, max_message_chars=config.max_message_chars)
    selection["selection_sha256"] = sha1(plain(selection))
    spec = {"schema_version": VERSION, "selection": selection, "selected": []}
    for node in chosen.nodes:
        ref = {"id": node.id, "digest": node.digest, "kind": node.kind, "turn": node.turn}
        spec["selected"].append({**ref, "payload_hash": sha1(canonical(node.payload)), "payload_shape": shape(node.payload)})
    header = {"schema_version": VERSION, "policy": "messages_only", "node_hash": session.node_hash}
    header["header_mode"] = "sanitized_content" if config.previews else "hash_only"
    header.update(selected_node_ids=chosen.ids, selection_sha256=selection["selection_sha256"])
    header["messages"] = [header_item(node, config) for node in chosen.nodes if node.kind == "message"]
    hashes = {"node_hash": session.node_hash, "z1": sha1(plain(raw)), "z2": sha1(plain(spec)), "z3": sha1(plain(header))}
    out = {"kind": "ctree_compiler", "compiler_version": VERSION, "schema_version": VERSION, **counts}
    out.update(has_prompt_summary=bool(prompt_summary), hashes=hashes)
    out["stages"] = {"RAW": raw, "SPEC": spec, "HEADER": header, "FROZEN": header}
    return out


# ---- 12.7: collapse, summary, context ----
def listed(value):
    if not value:
        return []
    if not isinstance(value, (list, dict, str)):
        raise Refused("INVALID_FIELD")
    return list(value)


def mode_of(mode):
    known = isinstance(mode, str) and mode.strip().lower() == "none"
    return "none" if known else "all_but_last"


def plan(ids, target, mode):
    """target, ids to drop, ids to collapse"""
    if not (target is None or isinstance(target, (int, float))):
        raise Refused("INVALID_FIELD")
    target = target if target is not None and target >= 0 else None
    drop = []
    if target is not None and len(ids) > target:
        if isinstance(target, float):
            raise Refused("INVALID_FIELD")
        drop = ids[: len(ids) - target]
    rest = [i for i in ids if i not in drop]
    return target, drop, rest[:-1] if mode_of(mode) == "all_but_last" else []


def collapse_policy(session, target=None, mode="all_but_last", kind_allowlist=None):
    kinds = {kind for kind in map(text_of, listed(kind_allowlist)) if kind.strip()}
    ids = [node.id for node in session.nodes if not kinds or node.kind in kinds]
    target, drop, collapse = plan(ids, target, mode)
    out = {"kind": "deterministic", "target": target, "mode": mode_of(mode), "kinds": sorted(kinds) or None, "ordering": "append"}
    out.update(drop=drop, collapse=collapse, node_count=len(ids), dropped=len(drop), collapsed=len(collapse), stages=[])
    for stage in STAGES:
        entry = {"stage": stage, "target": target, "node_count": len(ids), "ordering": "append"}
        entry["drop"] = [] if stage == "RAW" else drop
        entry["collapse"] = [] if stage in ("RAW", "SPEC") else collapse
        out["stages"].append(entry)
    return out


def collapse_session(session):
    out = {"kind": "stub", "collapsed": True, "stage": "FROZEN", "node_count": len(session.nodes)}
    return {**out, "hashes": {"node_hash": session.node_hash}, "policy": collapse_policy(session)}


def hash_summary(session, config=None, prompt_summary=None, runner=None, backfilled=False):
    def pick(source, *keys):
        return {key: source.get(key) for key in keys}

    compiled, policy = compile_session(session, config, prompt_summary), collapse_policy(session)
    out = {"schema_version": VERSION, "compiler": pick(compiled["hashes"], "z1", "z2", "z3")}
    out["snapshot"] = pick(session.snapshot(backfilled), "node_count", "event_count", "last_id", "node_hash")
    counts = [name + "_count" for name in ("candidate", "kept", "dropped", "collapsed", "selected")]
    out["selection"] = pick(compiled["stages"]["SPEC"]["selection"], "selection_sha256", *counts)
    out["collapse"] = {"stage": "FROZEN", "policy_kind": policy["kind"], **pick(policy, "target", "dropped", "collapsed", "ordering")}
    if backfilled:
        out["backfilled_from_eventlog"] = True
    if isinstance(runner, dict):
        out["runner"] = pick(runner, "enabled", "branches")
    return {**out, "summary_sha256": sha256(plain(out))}


def note_line(summary):
    snapshot = summary["snapshot"]
    parts = {"sha256": summary["summary_sha256"], "node_hash": snapshot["node_hash"], **summary["compiler"]}
    parts.update(nodes=snapshot["node_count"], events=snapshot["event_count"])
    return "C-TREES: " + " ".join(f"{key}={value}" for key, value in parts.items() if value is not None)


def stage_of(stage, default):
    known = stage.strip().upper() if isinstance(stage, str) else None
    return known if known in STAGES else default


def context(session, selection_config=None, header_config=None, collapse_target=None, collapse_mode="all_but_last", stage="SPEC", pin_latest=True,
            extra_pin_ids=None):
    """The selection, and what was compiled for it."""
    blocks = {"selection": object_or_empty(selection_config), "header": object_or_empty(header_config)}
    compiled = compile_session(session, blocks)
    stage = stage_of(stage, "SPEC")
    candidates = [i for i in compiled["stages"]["HEADER"]["selected_node_ids"] if session.last(i).kind == "message"]
    _, drop, collapse = plan(candidates, collapse_target, collapse_mode)
    pins = latest_messages(session) if pin_latest else []
    pins += [i for i in listed(extra_pin_ids) if isinstance(i, str) and i]
    pins = list(dict.fromkeys(pins))
    drop = [i for i in drop if i not in pins and stage != "RAW"]
    collapse = [i for i in collapse if i not in pins and stage in ("HEADER", "FROZEN")]
    kept = session.in_order([i for i in candidates if i not in drop] + pins)
    lists = {"candidate": candidates, "kept": kept, "dropped": drop, "collapsed": [i for i in kept if i in collapse]}
    out = {"stage": stage, "pinned_ids": session.in_order(pins), "pinned_count": len(pins)}
    for name, ids in lists.items():
        out.update({name + "_ids": ids, name + "_count": len(ids)})
    return {**out, "selection_sha256": sha256(plain(out))}, compiled


def injected_text(selection, compiled):
    header = compiled["stages"]["HEADER"]
    lines = ["C-TREES CONTEXT (deterministic)", "mode=prepend_system stage=" + selection["stage"]]
    lines.append("selection_sha256=" + selection["selection_sha256"])
    counts = {"selected": "candidate", "kept": "kept", "dropped": "dropped", "collapsed": "collapsed"}
    lines.append(" ".join(f"{word}={selection[name + '_count']}" for word, name in counts.items()))
    if selection["pinned_ids"]:
        lines.append("pinned=" + ",".join(selection["pinned_ids"]))
    groups = {"kept_messages:": [], "collapsed_messages:": []}
    for item in header["messages"]:
        if item["node_id"] in selection["collapsed_ids"]:
            groups["collapsed_messages:"].append(item_line(item, False))
        elif item["node_id"] in selection["kept_ids"]:
            groups["kept_messages:"].append(item_line(item, header["header_mode"] == "sanitized_content"))
    for title, items in groups.items():
        lines += [title, *items] if items else []
    return "\n".join(lines).strip() + "\n"


def item_line(item, with_preview):
    out = "-"
    for word, key in {"role": "role", "id": "node_id", "preview": "content_preview", "content_hash": "content_hash", "len": "content_len",
                      "tool_calls": "tool_call_count"}.items():
        value = item.get(key)
        if value is not None and (word != "preview" or with_preview):
            out += f" {word}=" + (json.dumps(value) if word == "preview" else str(value))
    return out


# ---- 12.8: tree view ----
LABELS = {"message": ("message", "role"), "lifecycle": ("lifecycle", "type"), "guardrail": ("guardrail", "type"), "task_event": ("task", "kind"),
          "subagent": ("subagent", "subagent_type")}
TASK_KINDS = ("task_event", "subagent")


def label_of(node):
    if node.kind in LABELS:
        word, key = LABELS[node.kind]
        value = member(node.payload, key)
        if value is not None and text_of(value).strip():
            return f"{word}:{text_of(value).strip()}"
    return node.kind or "node"


def find_tasks(session):
    tasks = {}
    for node in session.nodes:
        task_id = member(node.payload, "task_id")
        if node.kind in TASK_KINDS and isinstance(task_id, str) and task_id.strip():
            meta = tasks.setdefault(task_id.strip(), {})
            for key in ("parent_task_id", "tree_path", "subagent_type"):
                value = member(node.payload, key)
                if isinstance(value, str) and value.strip() and key not in meta:
                    meta[key] = value.strip()
    return tasks


def tree(session, stage="FROZEN", compiler_config=None, collapse_target=None, collapse_mode="all_but_last", include_previews=False):
    stage = stage_of(stage, "FROZEN")
    config = object_or_empty(compiler_config)
    blocks = {name: config[name] if isinstance(config.get(name), dict) else {} for name in ("selection", "header")}
    header = {**blocks["header"], "mode": "sanitized_content" if include_previews else "hash_only"}
    selection, compiled = context(session, blocks["selection"], header, collapse_target, collapse_mode, stage)
    out = []

    def add(view_id, parent, kind, turn, label, meta):
        out.append({"id": view_id, "parent_id": parent, "kind": kind, "turn": turn, "label": label, "meta": meta})

    root = "ctrees:root"
    add(root, None, "root", None, "C-Trees", {"stage": stage, "selection_sha256": selection["selection_sha256"], **compiled["hashes"]})
    turns = {turn: f"ctrees:turn:{turn}" for turn in dict.fromkeys(node.turn for node in session.nodes if is_int(node.turn))}
    for turn in sorted(turns):
        add(turns[turn], root, "turn", turn, f"Turn {turn}", {})
    tasks = find_tasks(session)
    if tasks:
        add("ctrees:tasks", root, "task_root", None, "Tasks", {})
    for task, meta in tasks.items():
        parent = meta.get("parent_task_id")
        known = parent in tasks and parent != task
        add(f"ctrees:task:{task}", f"ctrees:task:{parent}" if known else "ctrees:tasks", "task", None, f"Task {task}", meta)
    hides = stage in ("HEADER", "FROZEN")
    items = {item["node_id"]: item for item in compiled["stages"]["HEADER"]["messages"]}
    for node in session.nodes:
        if node.kind == "message" and stage != "RAW" and node.id in selection["dropped_ids"] + (selection["collapsed_ids"] if hides else []):
            continue
        turn = node.turn if is_int(node.turn) else None
        task = member(node.payload, "task_id") if node.kind in TASK_KINDS else None
        parent = f"ctrees:task:{task}" if isinstance(task, str) and task in tasks else turns.get(turn, root)
        add(f"ctrees:node:{node.id}", parent, node.kind or "node", turn, label_of(node), leaf_meta(node, selection, items))
    if hides:
        by_turn = {}
        for node_id in selection["collapsed_ids"]:
            turn = session.last(node_id).turn
            by_turn.setdefault(turn if is_int(turn) else None, []).append(node_id)
        for turn in sorted(by_turn, key=lambda t: (t is None, t or 0)):
            meta = {"collapsed_ids": by_turn[turn], "collapsed_sha256": sha256(canonical(by_turn[turn]))}
            name = "unknown" if turn is None else turn
            add(f"ctrees:collapsed:{name}", turns.get(turn, root), "collapsed", turn, f"collapsed {len(by_turn[turn])} messages", meta)
    hashes = {**compiled["hashes"], "tree_sha256": sha256(canonical([node["id"] for node in out]))}
    return {"root_id": root, "nodes": out, "stage": stage, "selection": selection, "hashes": hashes}


def leaf_meta(node, selection, items):
    meta = {"digest": node.digest, "selected": node.id in selection["candidate_ids"]}
    for name in ("kept", "dropped", "collapsed"):
        meta[name] = node.id in selection[name + "_ids"]
    item = items.get(node.id) if node.kind == "message" else None
    if item is None:
        return {**meta, "payload_sha1": sha1(canonical(node.payload))}
    for key in ("role", "name", "payload_hash", "content_hash", "content_len", "tool_call_count"):
        meta[key] = item.get(key)
    return {**meta, **{key: value for key, value in item.items() if key.startswith("content_preview")}}
