"""A slow and obvious model of the context compiler, profile weir-1: from the entries of a path to nodes, stages and
hashes. It is written from the contract page alone and shares nothing with the program, so that the two can be compared.

A path is a list of entries {"id", "type", "body", "digest"?}, root first, bodies as they lie in the log. Comments name the
section of the contract a rule is of. context_model.py goes on from here to the messages of the next model call."""

import copy
import hashlib
import hmac
import json
import re

MASK = "***REDACTED***"
COMPILER_VERSION = "weir-1"


class ConfigInvalid(Exception):
    """CONFIG_INVALID: `faults` is a list of (JSON pointer, what is wrong), every fault of the object."""

    def __init__(self, faults):
        super().__init__("; ".join(f"{pointer}: {what}" for pointer, what in faults))
        self.faults = faults

    @property
    def pointers(self):
        return sorted({pointer for pointer, _ in self.faults})


class NodeUnknown(Exception):
    """NODE_UNKNOWN: a pinned id that is not on the path."""


class InvalidField(Exception):
    """INVALID_FIELD: a word a face does not know."""


# ---------------------------------------------------------------------------------------------------------------------
# Canonical JSON and digests (DESIGN 3, section 2)


def utf16_order(key):
    return key.encode("utf-16-be")


def number_text(number):
    """The ECMAScript form of a number; an integer beyond 2^53-1 keeps its digits."""
    if isinstance(number, int):
        return str(number)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("not a finite number")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = whole + fraction
    point = len(whole) + int(exponent or "0")  # where the decimal point stands in the digits
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = point - 1
    shown = ("+" if power >= 0 else "-") + str(abs(power))
    return sign + digits[0] + ("." + digits[1:] if count > 1 else "") + "e" + shown


def canonical(value):
    """RFC 8785 text of a value."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    keys = sorted(value, key=utf16_order)
    return "{" + ",".join(json.dumps(key, ensure_ascii=False) + ":" + canonical(value[key]) for key in keys) + "}"


def normal(value):
    """The value as it comes back from the log: 1.0 is 1, -0 is 0."""
    return json.loads(canonical(value))


def canonical_bytes(value):
    return canonical(value).encode("utf-8")


def digest(domain, value, key=None):
    """SHA-256 over domain, NUL and canonical text; with a key HMAC-SHA-256 over the same bytes."""
    image = domain.encode("ascii") + b"\0" + canonical_bytes(value)
    if key is None:
        return hashlib.sha256(image).hexdigest()
    return hmac.new(key, image, hashlib.sha256).hexdigest()


def entry_digest(entry, parent_digest):
    return digest("weir.entry.v1", {"body": entry["body"], "parent": parent_digest, "type": entry["type"]})


# ---------------------------------------------------------------------------------------------------------------------
# Secrets (3.3, 3.4)

# Parts of the patterns, each written once: what ends a word, and what stands for a character at any depth of quoting.
PARTS = r"""
esc     (?:\x1b|\\+(?:e|033|x1[Bb]|u001[Bb])|%(?:25)*1[Bb])
csi     (?:{esc}?(?:\[|%(?:25)*5[Bb])(?:(?:[0-9;:?]|%(?:25)*3[ABab])+[A-Za-z]|[Km])|{esc}(?:\[|[(-/])?[0-~])
word    (?:\b|_|\\(?:[0abefnrtv]|[0-7]{3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|%(?:25)*[0-9A-Fa-f]{2}|{csi})
blank   (?:\s|\\+(?:[fnrt]|u00(?:0[9ADad]|20))|%(?:25)*(?:0[9ADad]|20)|{csi})
quote   (?:\\*["']|\\+u002[27]|%(?:25)*2[27])
equals  (?:=|\\+u003[Dd]|%(?:25)*3[Dd])
colon   (?::|\\+u003[Aa]|%(?:25)*3[Aa])
slash   (?:\\*/|\\+u002[Ff]|%(?:25)*2[Ff])
is      {quote}?{blank}*(?:{equals}|{colon}){blank}*{quote}?
kept    \\+(?:[^\s"'\\A-Za-z0-9,;(){}<>$\x1b]|u00(?:26|2[BFbf]|3[Dd]))
base64  [A-Za-z0-9/+]|\\+(?:/|u002[BFbf])|%(?:25)*2[BFbf]
quoted  [^\s",:;\]}\\][^"\\\r\n]*
space   (?:[ +]|%(?:25)*20)
key     {space}(?:[A-Z0-9]|{space})*PRIVATE{space}KEY(?:{space}BLOCK)?-----
gap     (?:\s|\\+[nrt])*
inside  [^"\\]|\\+[^"\\]|\\*"{gap}[^\s"\\,:\]}]|"{gap}"|\\"{gap}\\"|\\{3}"{gap}\\{3}"|\\{7}"{gap}\\{7}"
next    "{gap},{gap}"|\\"{gap},{gap}\\"|\\{3}"{gap},{gap}\\{3}"|\\{7}"{gap},{gap}\\{7}"
"""

FAMILIES = r"""
openai_key      {word}(sk-[A-Za-z0-9]{20,})
openai_scoped   {word}(sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,})
anthropic_key   {word}(sk-ant-[A-Za-z0-9_-]{20,})
openrouter_key  {word}(sk-or-v1-[A-Za-z0-9]{20,})
xai_groq_key    {word}((?:xai-|gsk_)[A-Za-z0-9]{32,})
github_token    {word}(gh[opsur]_[A-Za-z0-9]{36,})
github_pat      {word}(github_pat_[A-Za-z0-9_]{22,})
gitlab_token    {word}(gl(?:pat|ptt|rt|soat)-[A-Za-z0-9_-]{20,})
slack_token     {word}((?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,})
slack_webhook   https{colon}{slash}{slash}hooks\.slack\.com{slash}(?:services|workflows){slash}(?:[A-Za-z0-9_-]|{slash}){20,}
aws_access_id   {word}((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:\b|[_a-z])
aws_secret      (?i)aws_?secret_?(?:access_?)?key{is}((?:{base64}|{equals}){40})
google_api_key  {word}(AIza[A-Za-z0-9_-]{35})
google_oauth    {word}((?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,})
azure_storage   (?i){word}(?:AccountKey|SharedAccessKey){equals}((?:{base64}){40,}{equals}{0,2})
stripe_key      {word}((?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,})
npm_token       {word}(npm_[A-Za-z0-9]{36})
pypi_token      {word}(pypi-[A-Za-z0-9_-]{32,})
huggingface     {word}(hf_[A-Za-z0-9]{30,})
sendgrid_key    {word}(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})
twilio_key      {word}(SK[0-9a-f]{32})(?:\b|[_A-Zg-z])
telegram_bot    {word}(?:bot)?([0-9]{8,10}:AA[A-Za-z0-9_-]{33})
digitalocean    {word}(do[opr]_v1_[0-9a-f]{64})
age_key         {word}(AGE-SECRET-KEY-1[0-9A-Z]{58})
jwt             {word}(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})
pem_private     (?i)-----BEGIN{key}(?:(?:{inside}|{next})*?-----END{key}|(?:{inside}|{next})*\z|(?:{inside})*)
bearer       +m (?i){word}bearer{blank}+((?:[A-Za-z0-9._~+/=-]|{kept}){16,})
auth_header  +m (?i){word}authorization{is}(?:basic{blank}+|token{blank}+)?((?:[^\s"'\\,;\x1b]|{kept}){12,})
cookie       +m (?i){word}(?:set-)?cookie{colon}{blank}*((?:[^\r\n"\\]|{kept}|{esc}|\\+[ft]|"{quoted}"|\\"{quoted}\\"|\\{3}"{quoted}\\{3}"|\\{7}"{quoted}\\{7}"){8,})
url_password    (?i){word}[a-z][a-z0-9+.-]*:\\*/\\*/[^\s/:@"\\]*:([^\s/:@"\\]{3,})@
key_value    +m (?i)(?:api[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?key|password|passwd|pwd){is}((?:[^\s"'\\,;(){}<>$\x1b]|{kept}){8,})
"""

SECRET_KEYS = set(
    "apikey xapikey openaiapikey openrouterapikey anthropicapikey authorization proxyauthorization token accesstoken refreshtoken"
    " idtoken authtoken sessiontoken bearertoken password passwd passphrase secret secretkey clientsecret awssecretaccesskey"
    " privatekey cookie setcookie credential credentials".split()
)

VOLATILE_KEYS = ["seq", "timestamp", "timestamp_ms", "ts", "mono_ns", "created_at", "updated_at", "event_id"]
VOLATILE_IN_BLOCKS = ["signature", "thoughtSignature", "textSignature", "encrypted_content", "cache_control"]


def compiled_families():
    parts = {}

    def whole(pattern):
        return re.sub(r"\{([a-z]+[0-9]*)\}", lambda part: parts[part[1]], pattern)

    for line in PARTS.strip().split("\n"):
        name, pattern = line.split(None, 1)
        parts[name] = whole(pattern)
    families = []
    for line in FAMILIES.strip().split("\n"):
        name, rest = line.split(None, 1)
        mixed = rest.startswith("+m ")
        pattern = whole(rest[3:] if mixed else rest)
        # RE2: \s has no vertical tab, \z is the very end.
        pattern = pattern.replace(r"[^\s", r"[^\t\n\f\r ").replace(r"\s", r"[\t\n\f\r ]").replace(r"\z", r"\Z")
        families.append((name, mixed, re.compile(pattern, re.ASCII)))
    return families


PATTERNS = compiled_families()


def secret_spans(text):
    spans = []
    for _, mixed, pattern in PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span(1) if pattern.groups else match.span()
            found = text[start:end]
            if mixed and not (re.search("[A-Za-z]", found) and re.search("[0-9]", found)):
                continue
            # The letter of an escape does not go without its backslashes: of a newline and pm_, or of a path and a token.
            if found[0] in "bfnrtu":
                start = len(text[:start].rstrip("\\"))
            spans.append((start, end))
    merged = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def mask_text(text):
    for start, end in reversed(secret_spans(text)):
        text = text[:start] + MASK + text[end:]
    return text


def ascii_lower(text):
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def plain_key(key):
    return "".join(c for c in ascii_lower(key) if c not in "-_. ")


def mask_values(value, more_keys=()):
    """3.3, steps 2 and 3: values of secret keys at any depth, then spans in every remaining string."""
    secret = SECRET_KEYS | {plain_key(key) for key in more_keys}
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, list):
        return [mask_values(item, more_keys) for item in value]
    if isinstance(value, dict):
        out = {}
        for key, member in value.items():
            if plain_key(key) in secret and member is not None and member is not True and member is not False:
                out[key] = MASK
            else:
                out[key] = mask_values(member, more_keys)
        return out
    return value


def is_blob(value):
    return isinstance(value, dict) and isinstance(value.get("$blob"), str) and type(value.get("bytes")) is int


def strip_blobs(value):
    """3.3, step 4: the preview is no part of what is hashed."""
    if is_blob(value):
        return {key: member for key, member in value.items() if key != "preview"}
    if isinstance(value, list):
        return [strip_blobs(item) for item in value]
    if isinstance(value, dict):
        return {key: strip_blobs(member) for key, member in value.items()}
    return value


def strip_blocks(content):
    """3.3, step 1: what providers put into content blocks, also those inside a tool_result."""
    if not isinstance(content, list):
        return content
    out = []
    for block in content:
        if isinstance(block, dict):
            block = {key: member for key, member in block.items() if key not in VOLATILE_IN_BLOCKS}
            if block.get("type") == "tool_result" and "content" in block:
                block["content"] = strip_blocks(block["content"])
        out.append(block)
    return out


def strip_message(message):
    if isinstance(message, dict) and "content" in message:
        return {**message, "content": strip_blocks(message["content"])}
    return message


def sanitise(kind, payload, rules):
    """3.3 in its order. `rules` is the `sanitize` block of the config."""
    if kind == "message":
        payload = strip_message(payload)
    elif isinstance(payload, dict):
        volatile = VOLATILE_KEYS + rules["volatile_keys"]
        payload = {key: member for key, member in payload.items() if key not in volatile}
        if kind == "checkpoint" and isinstance(payload.get("replacement"), list):
            payload["replacement"] = [strip_message(message) for message in payload["replacement"]]
        if kind == "context_edit" and "replacement" in payload:
            payload["replacement"] = strip_blocks(payload["replacement"])
    return strip_blobs(mask_values(payload, rules["secret_keys"]))


def sanitise_content(content, rules):
    """The content an edit gives, sanitised as the content of a message is."""
    return strip_blobs(mask_values(strip_blocks(content), rules["secret_keys"]))


# ---------------------------------------------------------------------------------------------------------------------
# Projections and aliases (3.1, 3.2)

RUN_EVENTS = set(
    "RUN_STARTED RUN_STOPPED RUN_RESUMED THRESHOLDS_SET STEP_STARTED STEP_ABORTED PLAN_DONE ACT_DONE OBSERVE_DONE PLAN_FAILED"
    " ACT_FAILED SOURCE_REGISTERED CHUNK_REGISTERED EVIDENCE_REGISTERED EVIDENCE_ATTACHED EVIDENCE_DETACHED EVIDENCE_WITHDRAWN"
    " CLAIM_PROPOSED CLAIM_VERIFIED CLAIM_DOWNGRADED CLAIM_RETRACTED CONFLICT_RECORDED CONFLICT_CITED CONFLICT_RESOLVED"
    " QUESTION_OPENED QUESTION_CLOSED FAILURE_RECORDED FAILURE_RESOLVED NEXT_ACTIONS_SET COMPACTION_FAILED".split()
)
RESEARCH_EVENTS = set(
    "RESEARCH_STARTED RESEARCH_PATCHED PERSPECTIVES_WRITTEN WAVE_OUTPUT_INGESTED CITATION_RECORDED SUMMARY_INGESTED RETRY_DIRECTED"
    " SUMMARY_PACK_BUILT GATE_EVALUATED BUNDLE_WRITTEN SYNTHESIS_CHECKED".split()
)
CONTROL_KINDS = {"context_edit", "snapshot_attached"}
TASK_KINDS = {"task_event", "subagent"}
TASK_MEMBERS = ["kind", "task_id", "parent_task_id", "tree_path", "depth", "priority", "subagent_type", "status", "artifact_path"]
MESSAGE_MEMBERS = ["role", "content", "tool_calls", "tool_call_id", "name", "is_error"]
FORBIDDEN_KINDS = {"checkpoint", "context_edit", "snapshot_attached", "collapsed", "root", "turn", "*"}


def kind_allowed(kind):
    """3.1: KIND_INVALID at append otherwise."""
    if not isinstance(kind, str) or not 1 <= len(kind) <= 64 or kind in FORBIDDEN_KINDS:
        return False
    return not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in kind)


def is_integer(value):
    return type(value) is int


def project_message(body, text_too=False):
    """The closed projection of 3.1. A payload that is no object stays as it is."""
    if not isinstance(body, dict):
        return body
    out = {}
    for member in MESSAGE_MEMBERS:
        value = body.get(member)
        if member == "content" and value is None and text_too:
            value = body.get("text")
        if value is None or (member == "is_error" and value is False) or (member == "tool_calls" and value == []):
            continue
        out[member] = value
    return out


def blocks_of(content, wanted):
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") == wanted]


def only_results(content):
    """A content made only of tool_result blocks."""
    return isinstance(content, list) and len(content) > 0 and len(blocks_of(content, "tool_result")) == len(content)


class Aliases:
    """Names given in first-seen order: call_0001, call_0002, ..."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.names = {}

    def of(self, raw):
        if raw not in self.names:
            self.names[raw] = f"{self.prefix}_{len(self.names) + 1:04d}"
        return self.names[raw]


def alias_calls(payload, calls):
    """3.2: ids of calls in a message payload, in the order tool_calls, tool_call_id, content blocks."""
    if not isinstance(payload, dict):
        return payload
    payload = dict(payload)
    if isinstance(payload.get("tool_calls"), list):
        payload["tool_calls"] = [
            {**call, "id": calls.of(call["id"])} if isinstance(call, dict) and isinstance(call.get("id"), str) else call
            for call in payload["tool_calls"]
        ]
    if isinstance(payload.get("tool_call_id"), str):
        payload["tool_call_id"] = calls.of(payload["tool_call_id"])
    if "content" in payload:
        payload["content"] = alias_blocks(payload["content"], calls)
    return payload


def alias_blocks(content, calls):
    if not isinstance(content, list):
        return content
    out = []
    for block in content:
        if isinstance(block, dict):
            block = dict(block)
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                block["id"] = calls.of(block["id"])
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                block["tool_use_id"] = calls.of(block["tool_use_id"])
        out.append(block)
    return out


def trimmed(text):
    return text.strip(" \t\n\r\f\v")


def task_alias(raw, tasks):
    """`root` in any case stays root; a padded id is the same task; a blank one is no id."""
    if not isinstance(raw, str) or trimmed(raw) == "":
        return raw
    if ascii_lower(trimmed(raw)) == "root":
        return "root"
    return tasks.of(trimmed(raw))


def project_task(payload, tasks):
    """3.2: kinds task_event and subagent."""
    if not isinstance(payload, dict):
        return payload
    out = {member: payload[member] for member in TASK_MEMBERS if payload.get(member) is not None}
    raw = out.get("task_id")
    if "task_id" in out:
        out["task_id"] = task_alias(raw, tasks)
    if "parent_task_id" in out:
        out["parent_task_id"] = task_alias(out["parent_task_id"], tasks)
    if isinstance(out.get("tree_path"), str):
        out["tree_path"] = "/".join(task_alias(part, tasks) for part in out["tree_path"].split("/"))
    if "artifact_path" in out:
        path = out.pop("artifact_path")
        if isinstance(path, str) and isinstance(raw, str) and trimmed(raw) != "" and trimmed(raw) in path:
            out["artifact_path"] = path.replace(trimmed(raw), out["task_id"])
    return out


def calls_of(payload):
    """The call ids of a message as recorded: tool_calls, then tool_use blocks, each once."""
    if not isinstance(payload, dict):
        return []
    found = []
    calls = payload.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            found.append(call["id"])
    for block in blocks_of(payload.get("content"), "tool_use"):
        if isinstance(block.get("id"), str):
            found.append(block["id"])
    return list(dict.fromkeys(found))


def results_of(payload):
    """The call ids a message answers, as recorded."""
    if not isinstance(payload, dict):
        return []
    found = []
    if isinstance(payload.get("tool_call_id"), str):
        found.append(payload["tool_call_id"])
    for block in blocks_of(payload.get("content"), "tool_result"):
        if isinstance(block.get("tool_use_id"), str):
            found.append(block["tool_use_id"])
    return list(dict.fromkeys(found))


# ---------------------------------------------------------------------------------------------------------------------
# Measures (4) and shapes (6)


def measured_length(value):
    """Canonical length in bytes, a blob reference counting as its bytes + 2."""
    if is_blob(value):
        return value["bytes"] + 2
    if isinstance(value, list):
        return 2 + max(0, len(value) - 1) + sum(measured_length(item) for item in value)
    if isinstance(value, dict):
        return 2 + max(0, len(value) - 1) + sum(len(canonical_bytes(k)) + 1 + measured_length(v) for k, v in value.items())
    return len(canonical_bytes(value))


def tokens_of(size):
    return (size + 3) // 4 + 4


def payload_shape(payload, key):
    if isinstance(payload, dict):
        names = [mask_text(name) for name in sorted(payload, key=utf16_order)]
        if len(names) > 32 or any(len(name) > 64 for name in names):
            return {"count": len(names), "sha256": digest("weir.list.v1", names, key)}
        return names
    if isinstance(payload, list):
        return [len(payload)]
    if payload is None:
        return "null"
    if isinstance(payload, bool):
        return "boolean"
    if isinstance(payload, str):
        return "string"
    return "number"


# ---------------------------------------------------------------------------------------------------------------------
# The fold (3): a path becomes nodes

NOTHING = object()  # "has no content", which is not the same as a null


class Node:
    """One node. `recorded` is its payload with the ids of the log and before sanitising, `payload` what is hashed."""

    def __init__(self, **members):
        self.edit = NOTHING  # what the latest context_edit says, sanitised; None takes the node out
        self.recorded_edit = NOTHING
        self.attached = None  # narrative of a SNAPSHOT_ATTACHED
        self.attached_snapshot = None
        self.pinned_by_label = False
        self.__dict__.update(members)

    @property
    def role(self):
        if self.kind == "message" and isinstance(self.payload, dict) and isinstance(self.payload.get("role"), str):
            return self.payload["role"]
        return None

    @property
    def edited(self):
        return self.edit is not NOTHING and self.edit is not None

    @property
    def edited_out(self):
        return self.edit is None

    @property
    def is_result(self):
        """A message that is nothing but tool results."""
        return self.kind == "message" and (self.role == "tool" or only_results(self.payload_member("content")))

    @property
    def is_user_input(self):
        return self.role == "user" and not only_results(self.payload_member("content"))

    def payload_member(self, name):
        return self.payload.get(name) if isinstance(self.payload, dict) else None

    @property
    def content(self):
        """Sections 3.1 and 6: what content_hash and content_len are of."""
        if self.edited:
            return self.edit
        return self.attached if self.attached is not None else self.original_content

    @property
    def original_content(self):
        if self.kind == "message":
            return self.payload.get("content", NOTHING) if isinstance(self.payload, dict) else NOTHING
        if self.kind == "checkpoint":
            for member in ("narrative", "replacement", "summary"):
                if member in self.payload:
                    return self.payload[member]
        if self.kind == "branch_summary":
            return self.payload.get("summary", NOTHING)
        return NOTHING

    @property
    def recorded_content(self):
        """The same before sanitising: the previews of blobs are in it."""
        if self.edited:
            return self.recorded_edit
        if self.kind == "message":
            return self.recorded.get("content", NOTHING) if isinstance(self.recorded, dict) else NOTHING
        if self.kind == "checkpoint":
            if self.attached is not None:
                return self.recorded_attached
            for member in ("narrative", "replacement", "summary"):
                if member in self.recorded:
                    return self.recorded[member]
        if self.kind == "branch_summary":
            return self.recorded.get("summary", NOTHING)
        return NOTHING

    @property
    def bytes(self):
        """Edits and attached narratives take the place of the content that is there, or bring their own key (3.1)."""
        length = measured_length(self.payload)
        if not self.edited and self.attached is None:
            return length
        old = self.original_content
        return length + measured_length(self.content) + (11 if old is NOTHING else -measured_length(old))

    @property
    def chars(self):
        return len(self.content) if isinstance(self.content, str) else 0

    @property
    def tokens(self):
        return tokens_of(self.bytes)

    @property
    def content_hash(self):
        return None if self.content is NOTHING else digest("weir.value.v1", self.content, self.key)

    @property
    def tool_calls_hash(self):
        calls = self.payload_member("tool_calls") if self.kind == "message" else None
        return None if calls is None else digest("weir.value.v1", calls, self.key)


class Fold:
    """The nodes of a path, the chain of node_hash values (one more than nodes), and what the path says about pins."""

    def __init__(self, path, rules=None, key=None):
        self.rules = rules or {"secret_keys": [], "volatile_keys": []}
        self.key = key
        self.schema_version = "weir-1" if key is None else "weir-1+hmac"
        self.nodes = []
        self.chain = [digest("weir.nodes.v1", [], key)]
        self.warnings = []
        self.turn = 0
        self.calls, self.tasks = Aliases("call"), Aliases("task")
        self.call_owner = {}  # recorded call id -> ordinal of the nearest earlier message with it
        self.places = {}  # entry id -> place on the path
        self.pointers = {}  # entry pointer -> place on the path
        self.node_at = []  # place on the path -> ordinal or None
        self.path = []
        parent = None
        for entry in path:
            entry = {"id": entry["id"], "type": entry["type"], "body": normal(entry["body"]), "digest": entry.get("digest")}
            entry["digest"] = entry["digest"] or entry_digest(entry, parent)
            parent = entry["digest"]
            self.add(entry)

    # -- places -----------------------------------------------------------------------------------------------------

    def node_of_entry(self, name, pointer_too=False):
        """The node of an earlier entry of the path, None without one."""
        place = self.places.get(name) if isinstance(name, str) else None
        if place is None and pointer_too and isinstance(name, str):
            place = self.pointers.get(name)
        if place is None or self.node_at[place] is None:
            return None
        return self.nodes[self.node_at[place]]

    def first_node_from(self, name):
        """The first node made at or after that entry, None without one."""
        place = self.places.get(name) if isinstance(name, str) else None
        if place is None:
            return None
        made = [ordinal for ordinal in self.node_at[place:] if ordinal is not None]
        return self.nodes[made[0]] if made else None

    # -- one entry --------------------------------------------------------------------------------------------------

    def add(self, entry):
        kind, body = entry["type"], entry["body"]
        if kind == "message" and body.get("role") == "user" and not only_results(body.get("content")):
            self.turn += 1
        self.place = len(self.path)
        before = len(self.nodes)
        if kind == "message":
            turn = body["turn"] if is_integer(body.get("turn")) else self.turn
            self.add_message(entry, turn, project_message(body))
        elif kind == "ctree_node":
            self.add_ctree_node(entry, body)
        elif kind == "compaction":
            self.add_checkpoint(entry, body)
        elif kind == "branch_summary":
            recorded = {"summary": body.get("summary")}
            self.make(entry, "branch_summary", self.turn, recorded, recorded)
        elif kind == "context_edit":
            self.add_edit(entry, body)
        elif kind == "SNAPSHOT_ATTACHED":
            self.add_attached(entry, body)
        elif kind in RUN_EVENTS or kind in RESEARCH_EVENTS:
            self.make(entry, kind.lower(), self.turn, body, body)
        elif kind == "label":
            node = self.node_of_entry(body.get("target"))
            if node is not None:
                node.pinned_by_label = body.get("label") == "pin"
        self.places.setdefault(entry["id"], self.place)
        self.pointers.setdefault("e" + entry["digest"][:16], self.place)
        self.node_at.append(before if len(self.nodes) > before else None)
        self.path.append(entry)

    def make(self, entry, kind, turn, recorded, aliased):
        kind = mask_text(kind)
        payload = sanitise(kind, aliased, self.rules)
        ordinal = len(self.nodes)
        made = digest("weir.node.v1", {"kind": kind, "payload": payload, "turn": turn}, self.key)
        node = Node(
            ordinal=ordinal, id=f"n{ordinal:08d}_{made[:8]}", digest=made, kind=kind, turn=turn, payload=payload,
            recorded=recorded, aliased=aliased, entry_id=entry["id"], entry_digest=entry["digest"], key=self.key,
            payload_hash=digest("weir.value.v1", payload, self.key), shape=payload_shape(payload, self.key),
            unit=ordinal, calls=[], results=[], recorded_attached=None, first_bytes=measured_length(payload),
        )  # fmt: skip
        self.nodes.append(node)
        self.chain.append(digest("weir.nodes.v1", [self.chain[-1], made], self.key))
        return node

    def add_message(self, entry, turn, recorded):
        node = self.make(entry, "message", turn, recorded, alias_calls(recorded, self.calls))
        # 3.2: a result belongs to the nearest earlier message with that call.
        node.results = [(raw, self.call_owner.get(raw)) for raw in results_of(recorded)]
        for _, owner in node.results:
            if owner is not None:
                self.join(self.nodes[owner].unit, node.unit)
        node.calls = calls_of(recorded)
        for raw in node.calls:
            self.call_owner[raw] = node.ordinal

    def join(self, one, other):
        """Two units become one, named by its first ordinal."""
        for node in self.nodes:
            if node.unit in (one, other):
                node.unit = min(one, other)

    def add_ctree_node(self, entry, body):
        kind, payload = body.get("kind"), body.get("payload")
        turn = body.get("turn") if is_integer(body.get("turn")) else None
        if kind == "message":
            self.add_message(entry, turn, project_message(payload, text_too=True))
        elif kind in TASK_KINDS:
            self.make(entry, kind, turn, payload, project_task(payload, self.tasks))
        else:
            self.make(entry, kind, turn, payload, payload)

    def add_checkpoint(self, entry, body):
        """3.1. Of replacement, kept, first_kept only the first that is there; members that are null are left out."""
        snapshot = body.get("snapshot")
        recorded = {"by": "host" if snapshot is None else "weir"}
        for member in ("narrative", "summary"):
            if body.get(member) is not None:
                recorded[member] = body[member]
        if body.get("opaque") is not None and body["opaque"] is not False:
            recorded["opaque"] = body["opaque"]
        if isinstance(snapshot, dict) and snapshot.get("snapshot_id") is not None:
            recorded["snapshot_id"] = snapshot["snapshot_id"]
        aliased = dict(recorded)
        window = []  # ordinals in front of this checkpoint that stay in scope
        if body.get("replacement") is not None:
            messages = body["replacement"]
            if isinstance(messages, list):
                messages = [project_message(message) for message in messages]
                recorded["replacement"] = messages
                aliased["replacement"] = [alias_calls(message, self.calls) for message in messages]
            else:
                recorded["replacement"] = aliased["replacement"] = messages
        elif body.get("kept") is not None:
            names = body["kept"] if isinstance(body["kept"], list) else []
            window = sorted({node.ordinal for node in map(self.node_of_entry, names) if node is not None})
            recorded["kept"] = aliased["kept"] = [self.nodes[ordinal].id for ordinal in window]
        elif body.get("first_kept") is not None:
            first = self.first_node_from(body["first_kept"])
            if first is not None:
                recorded["first_kept"] = aliased["first_kept"] = first.id
                window = list(range(first.ordinal, len(self.nodes)))
        node = self.make(entry, "checkpoint", self.turn, recorded, aliased)
        node.window = window

    def add_edit(self, entry, body):
        target = self.node_of_entry(body.get("target"))
        content = body.get("replacement")
        recorded = {"replacement": content, "target": None if target is None else target.id}
        aliased = {**recorded, "replacement": alias_blocks(content, self.calls)}
        node = self.make(entry, "context_edit", self.turn, recorded, aliased)
        if target is None:
            self.warnings.append({"code": "edit_without_target", "node_id": node.id})
        else:
            target.edit = None if content is None else sanitise_content(aliased["replacement"], self.rules)
            target.recorded_edit = content

    def add_attached(self, entry, body):
        target = self.node_of_entry(body.get("target"), pointer_too=True)
        snapshot = body.get("snapshot")
        snapshot_id = snapshot.get("snapshot_id") if isinstance(snapshot, dict) else None
        recorded = {"narrative": body.get("narrative"), "snapshot_id": snapshot_id, "target": None if target is None else target.id}
        node = self.make(entry, "snapshot_attached", self.turn, recorded, recorded)
        if target is not None and target.kind == "checkpoint":
            target.attached = node.payload.get("narrative")
            target.recorded_attached = body.get("narrative")
            target.attached_snapshot = snapshot_id

    # -- what everything asks ---------------------------------------------------------------------------------------

    @property
    def node_hash(self):
        return self.chain[-1]

    @property
    def kind_counts(self):
        counts = {}
        for node in self.nodes:
            counts[node.kind] = counts.get(node.kind, 0) + 1
        return counts

    @property
    def checkpoint(self):
        found = [node for node in self.nodes if node.kind == "checkpoint"]
        return found[-1] if found else None

    def snapshot(self, count=None):
        """Section 11: the state after that many nodes."""
        count = len(self.nodes) if count is None else count
        return {
            "event_count": count, "last_id": self.nodes[count - 1].id if count else None, "node_count": count,
            "node_hash": self.chain[count], "schema_version": self.schema_version,
        }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Config (4)

DEFAULTS = {
    "profile": "weir-1",
    "scope": "barrier",
    "selection": {
        "kind_allowlist": ["branch_summary", "checkpoint", "message"],
        "max_nodes": None, "max_turns": None, "max_message_chars": None, "max_bytes": None, "max_tokens": None, "max_item_bytes": None,
        "fill": "skip", "pin_first_system": True, "pin_latest_system": True, "pin_latest_user_assistant": True, "pin_labels": True,
        "pin_ids": [],
    },
    "collapse": {"target": None, "mode": "none", "kind_allowlist": None},
    "header": {"mode": "hash_only", "preview_chars": 160},
    "frozen": {"include_previews": False},
    "limits": {"max_stage_bytes": 1048576},
    "sanitize": {"secret_keys": [], "volatile_keys": []},
    "hash": {"key_id": None},
}  # fmt: skip


def limit_check(least=0):
    def check(value):
        return value is None or (is_integer(value) and value >= least)

    return check


def word_check(*words):
    return lambda value: isinstance(value, str) and value in words


def is_bool(value):
    return isinstance(value, bool)


def strings_check(value):
    return isinstance(value, list)  # each element is checked on its own


CHECKS = {
    "/profile": word_check("weir-1"),
    "/scope": word_check("barrier", "path"),
    "/selection/kind_allowlist": strings_check,
    "/selection/max_nodes": limit_check(), "/selection/max_turns": limit_check(), "/selection/max_message_chars": limit_check(),
    "/selection/max_bytes": limit_check(), "/selection/max_tokens": limit_check(), "/selection/max_item_bytes": limit_check(256),
    "/selection/fill": word_check("skip", "stop"),
    "/selection/pin_first_system": is_bool, "/selection/pin_latest_system": is_bool, "/selection/pin_latest_user_assistant": is_bool,
    "/selection/pin_labels": is_bool,
    "/selection/pin_ids": strings_check,
    "/collapse/target": limit_check(),
    "/collapse/mode": word_check("none", "all_but_last"),
    "/collapse/kind_allowlist": lambda value: value is None or strings_check(value),
    "/header/mode": word_check("hash_only", "sanitized_content"),
    "/header/preview_chars": lambda value: is_integer(value) and 0 <= value <= 4096,
    "/frozen/include_previews": is_bool,
    "/limits/max_stage_bytes": limit_check(256),
    "/sanitize/secret_keys": strings_check,
    "/sanitize/volatile_keys": strings_check,
    "/hash/key_id": lambda value: value is None or isinstance(value, str),
}  # fmt: skip


def pointer_part(key):
    return key.replace("~", "~0").replace("/", "~1")


def fill_config(given, defaults=None, checks=None, at=""):
    """The effective config of a given one, or ConfigInvalid with every fault."""
    faults = []
    filled = fill_object(normal(given), DEFAULTS if defaults is None else defaults, CHECKS if checks is None else checks, at, faults)
    if faults:
        raise ConfigInvalid(faults)
    if defaults is None:
        for block in ("selection", "collapse"):
            kinds = filled[block]["kind_allowlist"]
            if kinds is not None:  # a set
                filled[block]["kind_allowlist"] = sorted(set(kinds), key=utf16_order)
    return filled


def fill_object(given, defaults, checks, at, faults):
    if not isinstance(given, dict):
        faults.append((at, "not an object"))
        return copy.deepcopy(defaults)
    for key in given:
        if key not in defaults:
            faults.append((f"{at}/{pointer_part(key)}", "unknown key"))
    filled = {}
    for key, default in defaults.items():
        pointer = f"{at}/{key}"
        if key not in given:
            filled[key] = copy.deepcopy(default)
        elif isinstance(default, dict):
            filled[key] = fill_object(given[key], default, checks, pointer, faults)
        else:
            filled[key] = given[key]
            check = checks[pointer]
            if not check(given[key]):
                faults.append((pointer, "wrong value"))
            elif isinstance(given[key], list):
                for index, item in enumerate(given[key]):
                    if not isinstance(item, str):
                        faults.append((f"{pointer}/{index}", "not a string"))
    return filled


def kinds_allow(allowlist, kind):
    return allowlist is None or "*" in allowlist or kind in allowlist


# ---------------------------------------------------------------------------------------------------------------------
# Pipeline (5)


class Selection:
    """What the pipeline decided. For each ordinal: `reason`, and one of the fates kept, dropped, collapsed, outside."""

    def __init__(self, fold, config):
        self.fold, self.config = fold, config
        self.nodes = fold.nodes
        self.limits = config["selection"]
        self.reason = {}
        self.costs = [self.cost(n) for n in range(len(self.nodes))]
        self.barrier = fold.checkpoint
        self.find_scope()
        self.find_candidates_and_pins()
        self.choose()
        self.drop_to_target()
        self.find_collapsed()

    # -- steps 1 to 4 -------------------------------------------------------------------------------------------------

    def find_scope(self):
        """Step 1."""
        everything = set(range(len(self.nodes)))
        if self.barrier is None or self.config["scope"] == "path":
            self.in_scope = everything
            return
        last = self.barrier.ordinal
        self.in_scope = {n for n in everything if n >= last or n in self.barrier.window}
        self.in_scope -= {n for n in self.in_scope if n < last and self.nodes[n].kind == "checkpoint"}

    def find_candidates_and_pins(self):
        nodes, limits = self.nodes, self.limits
        allowlist = limits["kind_allowlist"]

        def selectable(n):
            return nodes[n].kind not in CONTROL_KINDS

        # Step 2, without the pins.
        candidates = {n for n in self.in_scope if selectable(n) and kinds_allow(allowlist, nodes[n].kind)}

        # Step 4: each pin gets the first reason that fits.
        alive = [n for n in range(len(nodes)) if not nodes[n].edited_out and selectable(n)]
        pins = {}
        if self.barrier is not None and self.barrier.ordinal in alive and kinds_allow(allowlist, "checkpoint"):
            pins.setdefault(self.barrier.ordinal, "pin:checkpoint")
        if kinds_allow(allowlist, "message"):
            systems = [n for n in alive if nodes[n].role == "system"]
            if limits["pin_first_system"] and systems:
                pins.setdefault(systems[0], "pin:first_system")
            if limits["pin_latest_system"] and systems:
                pins.setdefault(systems[-1], "pin:latest_system")
            if limits["pin_latest_user_assistant"]:
                users = [n for n in alive if n in self.in_scope and nodes[n].is_user_input]
                assistants = [n for n in alive if n in self.in_scope and nodes[n].role == "assistant"]
                if users:
                    pins.setdefault(users[-1], "pin:latest_user")
                if assistants:
                    pins.setdefault(assistants[-1], "pin:latest_assistant")
        known = {node.id: node.ordinal for node in nodes}
        for name in limits["pin_ids"]:
            if name not in known:
                raise NodeUnknown(name)
        by_name = {n for n in range(len(nodes)) if limits["pin_labels"] and nodes[n].pinned_by_label and selectable(n)}
        for n in sorted(by_name):
            pins.setdefault(n, "pin:label")
        for name in limits["pin_ids"]:
            if selectable(known[name]):
                pins.setdefault(known[name], "pin:id")

        # Step 2, the pins: they and their units, from anywhere. A pin that was edited out brings nobody along.
        for n in sorted(pins):
            candidates.add(n)
            if not nodes[n].edited_out:
                candidates |= {m for m in range(len(nodes)) if nodes[m].unit == nodes[n].unit}

        # Step 3: forced out. A result goes with its call.
        for n in sorted(candidates):
            if nodes[n].edited_out:
                self.reason[n] = "edited_out"
        for n in sorted(candidates):
            if n in self.reason or not nodes[n].is_result:
                continue
            owners = [owner for _, owner in nodes[n].results if owner is not None]
            if not any(owner in candidates and not nodes[owner].edited_out for owner in owners):
                self.reason[n] = "orphan_result"
        self.candidates = candidates
        self.left = sorted(n for n in candidates if n not in self.reason)
        self.pins = {n: reason for n, reason in pins.items() if n in self.left}
        pinned_units = {nodes[n].unit for n in self.pins}
        self.pinned = {n for n in self.left if nodes[n].unit in pinned_units}  # the pins and the rest of their units

    # -- steps 5 to 7 -------------------------------------------------------------------------------------------------

    def cost(self, n):
        """What a node is charged: a tool result over max_item_bytes costs exactly that (4)."""
        node, item_limit = self.nodes[n], self.limits["max_item_bytes"]
        size = node.bytes
        if self.is_cut(n):
            size = item_limit
        return {"chars": node.chars, "bytes": size, "tokens": tokens_of(size), "nodes": 1}

    def is_cut(self, n):
        item_limit = self.limits["max_item_bytes"]
        return item_limit is not None and self.nodes[n].is_result and self.nodes[n].bytes > item_limit

    def total(self, ordinals, what):
        return sum(self.costs[n][what] for n in ordinals)

    def units(self, ordinals):
        """Units of these nodes, oldest first: by last ordinal, then by first."""
        groups = {}
        for n in sorted(ordinals):
            groups.setdefault(self.nodes[n].unit, []).append(n)
        return sorted(groups.values(), key=lambda group: (group[-1], group[0]))

    def choose(self):
        limits, nodes = self.limits, self.nodes
        self.over_budget = []
        held_turns = {nodes[n].turn for n in self.pinned if nodes[n].turn is not None}
        if limits["max_turns"] is not None and len(held_turns) > limits["max_turns"]:
            self.over_budget.append({"allowed": limits["max_turns"], "limit": "max_turns", "pinned": len(held_turns)})
        for limit, what in (("max_nodes", "nodes"), ("max_message_chars", "chars"), ("max_bytes", "bytes"), ("max_tokens", "tokens")):
            charged = self.total(self.pinned, what)
            if limits[limit] is not None and charged > limits[limit]:
                self.over_budget.append({"allowed": limits[limit], "limit": limit, "pinned": charged})
        open_units = self.units(n for n in self.left if n not in self.pinned)

        # Step 5.
        if limits["max_turns"] is not None:
            turns = sorted({nodes[n].turn for n in self.left if nodes[n].turn is not None}, reverse=True)
            wanted = turns[: limits["max_turns"]]
            stay = []
            for unit in open_units:
                turn = nodes[unit[0]].turn
                if limits["max_turns"] > 0 and (turn is None or turn in wanted):
                    stay.append(unit)
                else:
                    self.give_reason(unit, "limit:max_turns")
            open_units = stay

        # Step 6: a window without holes.
        if limits["max_nodes"] is not None:
            used, ended, stay = len(self.pinned), False, []
            for unit in reversed(open_units):
                if not ended and used + len(unit) <= limits["max_nodes"]:
                    used += len(unit)
                    stay.append(unit)
                else:
                    ended = True
                    self.give_reason(unit, "limit:max_nodes")
            open_units = list(reversed(stay))

        # Step 7.
        budgets = [("max_message_chars", "chars"), ("max_bytes", "bytes"), ("max_tokens", "tokens")]
        budgets = [(limit, what) for limit, what in budgets if limits[limit] is not None]
        kept = set(self.pinned)
        ended, ended_by = False, None
        for unit in reversed(open_units):
            missed = [
                what for limit, what in budgets
                if limits[limit] == 0 or self.total(kept, what) + self.total(unit, what) > limits[limit]
            ]  # fmt: skip
            if ended:
                self.give_reason(unit, f"budget:{missed[0] if missed else ended_by}")
            elif missed:
                self.give_reason(unit, f"budget:{missed[0]}")
                if limits["fill"] == "stop":
                    ended, ended_by = True, missed[0]
            else:
                kept.update(unit)
        self.kept = kept

    def give_reason(self, unit, reason):
        for n in unit:
            self.reason[n] = reason

    # -- steps 8 and 9 ------------------------------------------------------------------------------------------------

    def drop_to_target(self):
        """Step 8."""
        target, kinds = self.config["collapse"]["target"], self.config["collapse"]["kind_allowlist"]
        self.dropped_to_target = []
        if target is None:
            return

        def counted(ordinals):
            return [n for n in ordinals if kinds_allow(kinds, self.nodes[n].kind)]

        if len(counted(self.pinned)) > target:
            self.over_budget.append({"allowed": target, "limit": "target", "pinned": len(counted(self.pinned))})

        for unit in self.units(n for n in self.kept if n not in self.pinned):
            if len(counted(self.kept)) <= target:
                break
            if counted(unit):
                self.give_reason(unit, "collapse:target")
                self.kept -= set(unit)
                self.dropped_to_target += unit
        self.dropped_to_target.sort()

    def find_collapsed(self):
        """Step 9, and the reasons of what was kept and of what was never a candidate."""
        kinds = self.config["collapse"]["kind_allowlist"]
        self.collapsed = set()
        if self.config["collapse"]["mode"] == "all_but_last":
            touched = sorted(n for n in self.kept if kinds_allow(kinds, self.nodes[n].kind))
            if touched:
                last_unit = self.nodes[touched[-1]].unit
                self.collapsed = {n for n in touched if self.nodes[n].unit != last_unit and n not in self.pinned}
        for n in sorted(self.kept):
            if n in self.pins:
                self.reason[n] = self.pins[n]
            elif n in self.pinned:
                self.reason[n] = "pair"
            elif self.config["scope"] == "barrier" and self.barrier is not None and n < self.barrier.ordinal:
                self.reason[n] = "kept_window"
            else:
                self.reason[n] = "in_scope"
        self.outside = {}
        for node in self.nodes:
            n = node.ordinal
            if n in self.candidates:
                continue
            if n not in self.in_scope:
                self.outside[n] = "superseded_checkpoint" if node.kind == "checkpoint" else "before_barrier"
            else:
                self.outside[n] = "kind"
        self.dropped = sorted(n for n in self.candidates if n not in self.kept)

    def fate(self, n):
        if n in self.outside:
            return "outside"
        if n in self.collapsed:
            return "collapsed"
        return "kept" if n in self.kept else "dropped"

    def told_reason(self, n):
        """The reason that goes with the fate."""
        if n in self.outside:
            return self.outside[n]
        return "collapse:all_but_last" if n in self.collapsed else self.reason[n]

    def used(self):
        turns = {self.nodes[n].turn for n in self.kept if self.nodes[n].turn is not None}
        return {
            "bytes": self.total(self.kept, "bytes"), "chars": self.total(self.kept, "chars"), "nodes": len(self.kept),
            "tokens": self.total(self.kept, "tokens"), "turns": len(turns),
        }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Previews (8)


def whole_words(beginning):
    """The beginning of a blob up to its last space: what stands at the cut may be half a secret (case 17)."""
    if not isinstance(beginning, str):
        return beginning
    ends = [i for i, c in enumerate(beginning) if c in " \t\r\n"]
    return beginning[: ends[-1]] if ends else ""


def text_of(content):
    """(text, cut): string content, or the text blocks joined by LF, or the preview of a blob; None without content."""
    if content is NOTHING:
        return None, False
    if isinstance(content, str):
        return content, False
    if is_blob(content):
        shown = whole_words(content.get("preview"))
        return shown if isinstance(shown, str) else "", True
    texts = [text_of(block["text"]) for block in blocks_of(content, "text") if isinstance(block.get("text"), str) or is_blob(block.get("text"))]
    return "\n".join(text for text, _ in texts), any(cut for _, cut in texts)


def without_controls(text):
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join("\ufffd" if c not in "\n\t" and (ord(c) < 0x20 or 0x80 <= ord(c) < 0xA0) else c for c in text)


def preview_members(node, chars):
    text, cut = text_of(node.recorded_content)
    if text is None:
        return {}
    text = mask_text(without_controls(mask_text(text)))
    # All three stand where there is a preview, false or not: the printed z3 says so.
    return {"preview": text[:chars], "preview_redacted": MASK in text, "preview_truncated": cut or len(text) > chars}


# ---------------------------------------------------------------------------------------------------------------------
# Stages (6), collapse (7)


def counted(items):
    counts = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


class Compilation:
    """One path compiled with one config: the one result that every face shows."""

    def __init__(self, path, config=None, key=None, prompt_summary=NOTHING):
        self.config = fill_config({} if config is None else config)
        self.key = key if self.config["hash"]["key_id"] is not None else None
        if self.config["hash"]["key_id"] is not None and key is None:
            raise ValueError("the key of hash.key_id is missing")
        self.fold = Fold(path, self.config["sanitize"], self.key)
        self.nodes = self.fold.nodes
        self.chosen = Selection(self.fold, self.config)
        self.prompt_summary = prompt_summary
        self.make_raw()
        self.make_spec()
        self.header = self.make_header(self.config["header"]["mode"])
        previews = self.config["frozen"]["include_previews"] and self.config["header"]["mode"] == "sanitized_content"
        self.frozen = self.make_header("sanitized_content" if previews else "hash_only")
        hashed_raw = {key: member for key, member in self.raw.items() if key != "prompt_sha256"}
        self.hashes = {"node_hash": self.fold.node_hash, "selection_sha256": self.selection_sha256}
        for name, stage, payload in (("z1", "RAW", hashed_raw), ("z2", "SPEC", self.spec), ("z3", "HEADER", self.header), ("z4", "FROZEN", self.frozen)):
            self.hashes[name] = self.digest("weir.stage.v1", {"payload": payload, "stage": stage})

    def digest(self, domain, value):
        return digest(domain, value, self.key)

    def ids(self, ordinals):
        return [self.nodes[n].id for n in sorted(ordinals)]

    @property
    def config_sha256(self):
        return self.digest("weir.config.v1", self.config)

    @property
    def schema_version(self):
        return self.fold.schema_version

    def make_raw(self):
        self.raw = {
            "event_count": len(self.nodes), "kind_counts": self.fold.kind_counts, "node_count": len(self.nodes),
            "node_hash": self.fold.node_hash, "schema_version": self.schema_version,
        }  # fmt: skip
        if self.prompt_summary is not NOTHING:
            clean = sanitise("prompt_summary", normal(self.prompt_summary), self.config["sanitize"])
            self.raw["prompt_sha256"] = self.digest("weir.prompt.v1", clean)

    def make_barrier(self):
        barrier = self.chosen.barrier
        if barrier is None:
            return None
        first = min(self.chosen.in_scope)
        return {
            "before_count": first, "before_hash": self.fold.chain[first],
            "first_kept": self.nodes[first].id if first < barrier.ordinal else None, "node_id": barrier.id,
        }  # fmt: skip

    def make_spec(self):
        chosen = self.chosen
        selection = {
            "candidate_count": len(chosen.candidates),
            "dropped_count": len(chosen.dropped),
            "outside": counted(chosen.outside.values()),
            "over_budget": chosen.over_budget,
            "pinned_count": len(chosen.pins),
            "pinned_ids": self.ids(chosen.pins),
            "reason_counts": counted(chosen.reason[n] for n in sorted(chosen.candidates)),
            "selected_count": len(chosen.kept),
            "selected_ids": self.ids(chosen.kept),
            "used": chosen.used(),
        }
        self.spec = {
            "barrier": self.make_barrier(),
            "config": {name: self.config[name] for name in ("collapse", "scope", "selection")},
            "dropped": [{"id": self.nodes[n].id, "reason": chosen.reason[n]} for n in chosen.dropped],
            "schema_version": self.schema_version,
            "selected": [self.selected_item(n) for n in sorted(chosen.kept)],
            "selection": selection,
        }
        self.selection_sha256 = self.digest("weir.selection.v1", {name: self.spec[name] for name in ("barrier", "config", "dropped", "selection")})
        selection["selection_sha256"] = self.selection_sha256

    def selected_item(self, n):
        node = self.nodes[n]
        return {
            "digest": node.digest, "id": node.id, "kind": node.kind, "payload_hash": node.payload_hash, "payload_shape": node.shape,
            "reason": self.chosen.reason[n], "turn": node.turn,
        }  # fmt: skip

    def header_groups(self):
        """Kept nodes in append order; neighbouring collapsed ones are one list."""
        groups = []
        for n in sorted(self.chosen.kept):
            if n in self.chosen.collapsed and groups and isinstance(groups[-1], list):
                groups[-1].append(n)
            else:
                groups.append([n] if n in self.chosen.collapsed else n)
        return groups

    def collapsed_item(self, run):
        turns = [self.nodes[n].turn for n in run if self.nodes[n].turn is not None]
        out = {
            "bytes": sum(self.nodes[n].bytes for n in run), "count": len(run), "first_id": self.nodes[run[0]].id,
            "ids_sha256": self.digest("weir.ids.v1", self.ids(run)), "kind": "collapsed", "last_id": self.nodes[run[-1]].id,
        }  # fmt: skip
        if turns:
            out["turns"] = [min(turns), max(turns)]
        return out

    def header_item(self, n, mode):
        node = self.nodes[n]
        item = {
            "bytes": node.bytes, "content_hash": node.content_hash, "content_len": len(node.content) if isinstance(node.content, str) else None,
            "edited": node.edited, "kind": node.kind, "node_id": node.id, "payload_hash": node.payload_hash,
            "tool_calls_hash": node.tool_calls_hash, "turn": node.turn,
        }  # fmt: skip
        if node.kind == "message":
            item["is_error"] = node.payload_member("is_error") is True
            for member in ("name", "role"):
                value = node.payload_member(member)
                item[member] = value[:64] if isinstance(value, str) else None
            if isinstance(node.payload_member("tool_call_id"), str):
                item["tool_call_id"] = node.payload_member("tool_call_id")
            if isinstance(node.payload_member("tool_calls"), list):
                item["tool_call_count"] = len(node.payload_member("tool_calls"))
        if self.chosen.is_cut(n):
            item["shown_bytes"] = self.chosen.limits["max_item_bytes"]
        item = {name: value for name, value in item.items() if value is not None and value is not False}
        if mode == "sanitized_content":
            item.update(preview_members(node, self.config["header"]["preview_chars"]))
        return item

    def make_header(self, mode):
        messages = [self.collapsed_item(g) if isinstance(g, list) else self.header_item(g, mode) for g in self.header_groups()]
        return {
            "header_mode": mode, "messages": messages, "node_hash": self.fold.node_hash, "policy": "selected_nodes",
            "schema_version": self.schema_version, "selection_sha256": self.selection_sha256,
        }  # fmt: skip

    # -- what is shown ------------------------------------------------------------------------------------------------

    def elided(self, stage, places):
        """6, Size: lists give way one by one until the stage fits."""
        stage = copy.deepcopy(stage)
        limit = self.config["limits"]["max_stage_bytes"]
        for place in places:
            if limit is None or len(canonical_bytes(stage)) <= limit:
                break
            holder = stage
            for part in place[:-1]:
                holder = holder[part]
            full = holder[place[-1]]
            holder[place[-1]] = {"count": len(full), "elided": True, "sha256": self.digest("weir.list.v1", full)}
        return stage

    def stages(self, full=False):
        if full:
            return {"RAW": self.raw, "SPEC": self.spec, "HEADER": self.header, "FROZEN": self.frozen}
        return {
            "RAW": self.elided(self.raw, [("kind_counts",)]),
            "SPEC": self.elided(self.spec, [("dropped",), ("selected",), ("selection", "selected_ids"), ("selection", "pinned_ids")]),
            "HEADER": self.elided(self.header, [("messages",)]),
            "FROZEN": self.elided(self.frozen, [("messages",)]),
        }

    def collapse(self):
        """Section 7."""
        chosen, config = self.chosen, self.config["collapse"]
        drop, collapse = len(chosen.dropped_to_target), len(chosen.collapsed)
        return {
            "kind": "deterministic", "target": config["target"], "mode": config["mode"], "kinds": config["kind_allowlist"],
            "ordering": "append", "node_count": len(self.nodes), "dropped": drop, "collapsed": collapse,
            "drop": self.ids(chosen.dropped_to_target), "collapse": self.ids(chosen.collapsed),
            "stages": {
                "RAW": {"collapse": 0, "drop": 0}, "SPEC": {"collapse": 0, "drop": drop},
                "HEADER": {"collapse": collapse, "drop": drop}, "FROZEN": {"collapse": collapse, "drop": drop},
            },
        }  # fmt: skip

    def output(self, full=False):
        return {
            "kind": "ctree_compiler", "profile": "weir-1", "schema_version": self.schema_version, "compiler_version": COMPILER_VERSION,
            "node_count": len(self.nodes), "event_count": len(self.nodes), "has_prompt_summary": self.prompt_summary is not NOTHING,
            "config": self.config, "config_sha256": self.config_sha256, "hashes": self.hashes, "collapse": self.collapse(),
            "stages": self.stages(full), "warnings": self.fold.warnings,
        }  # fmt: skip

    # -- section 9 ----------------------------------------------------------------------------------------------------

    def explain(self):
        rows = []
        for node in self.nodes:
            n = node.ordinal
            rows.append({
                "ordinal": n, "node_id": node.id, "entry_id": node.entry_id, "kind": node.kind, "role": node.role, "turn": node.turn,
                "bytes": node.bytes, "tokens": node.tokens, "fate": self.chosen.fate(n), "pinned": n in self.chosen.pins,
                "reason": self.chosen.told_reason(n), "unit": node.unit,
            })  # fmt: skip
        return rows

    def explain_totals(self):
        rows = self.explain()
        return {"fate": counted(row["fate"] for row in rows), "reason": counted(row["reason"] for row in rows)}

    # -- section 11 ---------------------------------------------------------------------------------------------------

    def shown_node(self, n, payload="sanitized"):
        node = self.nodes[n]
        out = {
            "bytes": node.first_bytes, "digest": node.digest, "id": node.id, "kind": node.kind, "payload": node.payload,
            "payload_hash": node.payload_hash, "payload_shape": node.shape, "turn": node.turn,
        }  # fmt: skip
        if payload == "hash":
            del out["payload"]
        return out

    def node_events(self, payload="sanitized"):
        """The ctree_node events of the path."""
        return [{"node": self.shown_node(n, payload), "snapshot": self.fold.snapshot(n + 1)} for n in range(len(self.nodes))]

    def hash_summary(self):
        selection, collapse = self.spec["selection"], self.collapse()
        out = {
            "schema_version": self.schema_version,
            "snapshot": self.fold.snapshot(),
            "compiler": {name: self.hashes[name] for name in ("z1", "z2", "z3", "z4")},
            "selection": {
                "candidate_count": selection["candidate_count"], "collapsed_count": len(self.chosen.collapsed),
                "dropped_count": selection["dropped_count"], "selected_count": selection["selected_count"],
                "selection_sha256": self.selection_sha256,
            },
            "collapse": {name: collapse[name] for name in ("collapsed", "dropped", "mode", "ordering", "target")},
        }  # fmt: skip
        out["summary_sha256"] = self.digest("weir.summary.v1", out)
        return out

    def snapshot_event(self, full=False):
        return {
            "snapshot": self.fold.snapshot(), "compiler": self.output(full), "collapse": self.collapse(), "runner": None,
            "hash_summary": self.hash_summary(), "context_engine": None,
        }  # fmt: skip

    def ctrees(self, session, entry, full=False):
        """GET /sessions/{id}/ctrees."""
        return {
            "profile": "weir-1", "schema_version": self.schema_version, "session": session, "entry": entry, **self.snapshot_event(full),
            "last_node": self.shown_node(len(self.nodes) - 1) if self.nodes else None, "truncated": False,
        }  # fmt: skip

    def events_page(self, offset=0, limit=100):
        """GET .../ctrees/events."""
        shown = self.nodes[offset : offset + limit]
        return {
            "source": "log", "offset": offset, "limit": limit, "has_more": offset + limit < len(self.nodes), "truncated": False,
            "header": {"profile": "weir-1", "schema_version": self.schema_version},
            "events": [{"kind": node.kind, "node_id": node.id, "payload": node.payload, "turn": node.turn} for node in shown],
        }  # fmt: skip

    # -- the tree view, built as in 12.8 with the changes of section 11 -----------------------------------------------

    def tree(self, stage="FROZEN", include_previews=False, show="selected"):
        if stage not in ("RAW", "SPEC", "HEADER", "FROZEN") or show not in ("selected", "all"):
            raise InvalidField(f"{stage} {show}")
        view = [self.view("ctrees:root", None, "root", None, "C-Trees", {"stage": stage, **self.hashes})]
        turns = sorted({node.turn for node in self.nodes if node.turn is not None})
        view += [self.view(f"ctrees:turn:{turn}", "ctrees:root", "turn", turn, f"Turn {turn}", {}) for turn in turns]
        tasks = self.tasks()
        if tasks:
            view.append(self.view("ctrees:tasks", "ctrees:root", "task_root", None, "Tasks", {}))
            for name, parent, meta in tasks:
                above = "ctrees:tasks" if parent is None else f"ctrees:task:{parent}"
                view.append(self.view(f"ctrees:task:{name}", above, "task", None, f"Task {name}", meta))
        known = {name for name, _, _ in tasks}
        for node in self.nodes:
            if self.hidden(node.ordinal, stage) and show != "all":
                continue
            above = "ctrees:root" if node.turn is None else f"ctrees:turn:{node.turn}"
            if node.kind in TASK_KINDS and self.task_text(node, "task_id") in known:
                above = f"ctrees:task:{self.task_text(node, 'task_id')}"
            view.append(self.view(f"ctrees:node:{node.id}", above, node.kind, node.turn, self.label(node), self.leaf_meta(node, stage, include_previews)))
        if stage in ("HEADER", "FROZEN"):
            view += self.collapsed_views()
        hashes = {**self.hashes, "tree_sha256": self.digest("weir.tree.v1", [item["id"] for item in view])}
        return {
            "profile": "weir-1", "source": "log", "stage": stage, "root_id": "ctrees:root", "nodes": view,
            "selection": self.spec["selection"], "hashes": hashes, "truncated": False,
        }  # fmt: skip

    @staticmethod
    def view(name, parent, kind, turn, label, meta):
        return {"id": name, "kind": kind, "label": label, "meta": meta, "parent_id": parent, "turn": turn}

    def hidden(self, n, stage):
        if stage == "RAW":
            return False
        if n not in self.chosen.kept:
            return True
        return stage in ("HEADER", "FROZEN") and n in self.chosen.collapsed

    @staticmethod
    def task_text(node, member):
        value = node.payload_member(member)
        return trimmed(value) if isinstance(value, str) and trimmed(value) != "" else None

    def tasks(self):
        """[(id, parent or None, meta)] in first-seen order. A parent link that would close a cycle is ignored."""
        about = {}
        for node in self.nodes:
            name = self.task_text(node, "task_id") if node.kind in TASK_KINDS else None
            if name is None:
                continue
            meta = about.setdefault(name, {})
            for member in ("parent_task_id", "tree_path", "subagent_type"):
                value = self.task_text(node, member)
                if value is not None:
                    meta.setdefault(member, value)
        parents = {}
        for name, meta in about.items():
            parent = meta.get("parent_task_id")
            if parent not in about:
                continue
            above = parent
            while above is not None and above != name:
                above = parents.get(above)
            if above is None:
                parents[name] = parent
        return [(name, parents.get(name), meta) for name, meta in about.items()]

    def label(self, node):
        prefix = {"message": ("message", "role"), "lifecycle": ("lifecycle", "type"), "guardrail": ("guardrail", "type"), "task_event": ("task", "kind"), "subagent": ("subagent", "subagent_type")}
        if node.kind in prefix:
            word, member = prefix[node.kind]
            text = self.task_text(node, member)
            if text is not None:
                return f"{word}:{text}"
        return node.kind

    def leaf_meta(self, node, stage, include_previews):
        n = node.ordinal
        meta = {
            "digest": node.digest, "selected": n in self.chosen.kept, "kept": n in self.chosen.kept, "dropped": n in self.chosen.dropped,
            "collapsed": n in self.chosen.collapsed, "payload_hash": node.payload_hash, "reason": self.chosen.told_reason(n),
            "bytes": node.bytes, "entry_id": node.entry_id,
        }  # fmt: skip
        if stage in ("HEADER", "FROZEN") and node.kind == "message":
            item = self.header_item(n, "sanitized_content" if include_previews else "hash_only")
            wanted = ("role", "name", "content_hash", "content_len", "tool_call_count", "preview", "preview_redacted", "preview_truncated")
            meta.update({member: item[member] for member in wanted if member in item})
        return meta

    def collapsed_views(self):
        groups = {}
        for n in sorted(self.chosen.collapsed):
            groups.setdefault(self.nodes[n].turn, []).append(n)
        out = []
        for turn in sorted((turn for turn in groups if turn is not None)) + ([None] if None in groups else []):
            ids = self.ids(groups[turn])
            name, above = ("unknown", "ctrees:root") if turn is None else (turn, f"ctrees:turn:{turn}")
            meta = {"collapsed_ids": ids, "collapsed_sha256": self.digest("weir.ids.v1", ids)}
            out.append(self.view(f"ctrees:collapsed:{name}", above, "collapsed", turn, f"collapsed {len(ids)} messages", meta))
        return out
