"""A slow and obvious model of research runs: text rules, wave outputs, URLs and cids, key claims, summaries, the pack, the
bundle, Gates B to E, the document validators and the retry counter. It is written from the contract page alone
and shares nothing with the program, so that the two can be compared.

Texts are str, files are bytes. A document error is {"path", "code", "message"}; where the page fixes no message text the
error also has "free": True, and the text here is only a guess. Texts hold no secrets here (the masking of texts is another
page's rule); secrets in query values of URLs are modelled. Comments name the section a rule is of.

Readings. Where the page can be read in two ways, this is what the model takes:

1    T-order: only ASCII letters share a rank; every other code point (controls too) follows by value.
3    An error list of pass 2 comes wholly after that of pass 1 and skips values that pass 1 refused.
4    `<field> invalid`: the field is named as in pass 1's messages (`perspective.id invalid`); treated as free text.
4.1  tool_budget keys are walked in canonical order; a bad value's path is the key's. Times on write: `...Z` only.
4    An unconfined path in a document is PATH_TRAVERSAL (1), at its path in the error list.
4.1  tool_policy has all three lists, a wrong one is named as a whole (as in gates); platform_requirements need `name` and `reason`, not blank.
4.2  `stage`, `limits`, `artifacts` that are no objects: `manifest.<x> missing` (free). Limits in upstream's order, Weir's own three
     after everything else, so that the first error stays upstream's. Range and integer rules belong to init and --patch, not to
     the validator; on write the times are strict.
4.3  A gate that is no object counts as missing; a wrong status is "not not_run", so it needs a checked_at. A blank checked_at is
     none (as upstream).
4.4  http_status may be null. found_by: `perspective_id` is needed, the others are checked where present; a wave is a number or upstream's folder name.
4.5  `$` that is no object has path `$.schema_version`. Order of entries is no schema rule (the shared case with zz, yy agrees).
5.1  White space = ECMAScript's, also as indent of an item; an item's marker needs white space after it, even at the line's
     end. A fence is closed only by a line of nothing but marks and white space. A table line has `|` as its first
     character, no indent. Lines are joined as they are, untrimmed. An info string with backticks still opens a fence.
5.2  "Spaces" are spaces and tabs.
5.3  "Started four" is per token.
5.4  One failure per bad tool, per bad Sources line, per exceeded tool; one for all missing sections. Sources counts well formed
     lines only (a refused line is no source), URLs of the whole section. No heading: step 4 is skipped, no SOURCES_EMPTY.
     A detail quotes at most 200 code points of a claim or line. SOURCES_EMPTY whenever that makes none. Lines in a fence inside the section are lines like any other. tool_usage null = no report.
5.5  Extraction is case-sensitive (5.4 says lower case); a scheme with nothing behind it is extracted and then rejected. Empty pieces between `&` give no pair (as upstream). Shown
     form = WHATWG serialisation without user info, values of secret keys that have one as `%5BREDACTED%5D`, an empty query
     or fragment kept with its mark: the shared extraction case shows `https://a.com` as `https://a.com/`. The second half of --extract takes its list as it stands.
     Bullet number of a line that is no bullet: bullets before it.
5.6  Between ids: `;` and then a space, tab or line end at least. Mentions and raw URLs are sought everywhere, also in headings and fences, per unit.
     Inline code is no exception, except for numbers. "Before a letter or digit" (of any script) belongs to `www.` alone, which may stand inside a word.
5.7  "Directly following" allows white space before the mention or mark (section 10 needs it). 。！？ take following closers,
     mentions and marks too. The abbreviations bind `.` alone; the word before it is the run of letters, digits ending it, so `U.S.` ends
     in a single letter. Closing quotes and brackets may follow a mention or mark too. Marks are written in any case. N begins with
     a digit or sign, else it is plain text; what is no plain decimal from 0 to 100 is INVALID_CONFIDENCE wherever an item, table or
     paragraph has it (9), and sets nothing; the first of the others in a claim wins.
     Line of a claim: where its sentence, row or item begins. A table row keeps its bars.
5.8  Removed parts leave a space; inline code ends with its line or unit. Letters are Latin, Greek and Cyrillic (a number between
     Han characters counts), here and in 5.7. A `,ddd` group must not go on with a
     digit. Normal form of a half is `0.5`, of `000` is `0`. A claim without numbers is `pass`. One failure per distinct number.
5.9  All failures are collected. RESERVED_LINE and RAW_URL_NOT_ALLOWED once per line; UNKNOWN_CID once, with all cids, T-order.
     Text that fits is not cut. Tables are cut only at their end.
6    B: sources_rate = outputs with a source / expected. Member names of the inputs of B, C, E are guesses. C without
     URLs: rates 0, only NO_URLS_EXTRACTED. D: a blank summary file is SUMMARY_INVALID (5.9), not missing.
7    E: UNKNOWN_CID once per cid and line; UNCITED_NUMBER once per number of a unit, at the number's line; uncited_numeric_claims
     counts those findings; mentions counts every cid written; numbers_not_in_input counts distinct numbers outside headings and
     fences. No bundle cids: utilization 0; no mentions: duplication 0.
8    Notes over 200 code points are cut at 200."""

import calendar
import copy
import hashlib
import json
import re
import subprocess
from decimal import Decimal
from fractions import Fraction
from math import floor

from ctree_model import number_text

# ---------------------------------------------------------------------------------------------------------------------
# Order, canonical JSON, digests, figures (1, DESIGN 3, 5.10, 6)

T_ALPHABET = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
BLANKS = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
BLANK = "[" + re.escape(BLANKS) + "]"
NOT_BLANK = "[^" + re.escape(BLANKS) + "]"


def is_ascii_letter(char):
    return "a" <= char <= "z" or "A" <= char <= "Z"


def ascii_lower(text):
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text)


def t_rank(char):
    if char in T_ALPHABET:
        return T_ALPHABET.index(char)
    if is_ascii_letter(char):
        return len(T_ALPHABET) + ord(ascii_lower(char)) - ord("a")
    return 1000 + ord(char)


def t_key(text):
    """T-order (1): ranks first, then the first case difference, lower before upper."""
    return [t_rank(char) for char in text], ["A" <= char <= "Z" for char in text]


def t_compare(a, b):
    return (t_key(a) > t_key(b)) - (t_key(a) < t_key(b))


def t_sorted(texts):
    return sorted(texts, key=t_key)


def canonical_keys(keys):
    return sorted(keys, key=lambda key: key.encode("utf-16-be"))


def string_text(text):
    return json.encoder.encode_basestring(text)


def compact(value, order):
    """Compact JSON with the keys of objects in the given order."""
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{string_text(key)}:{compact(value[key], order)}" for key in order(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(compact(item, order) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value)


def canonical(value):
    """RFC 8785 (DESIGN 3)."""
    return compact(value, canonical_keys)


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest(domain, value):
    """DESIGN 3, written as in section 1."""
    return sha256(domain.encode() + b"\0" + canonical(value).encode())


def upstream_keys(keys):
    """5.10: integer-like keys (array indices) first and ascending, then T-order."""
    indices = [key for key in keys if re.fullmatch(r"0|[1-9][0-9]{0,9}", key) and int(key) < 2**32 - 1]
    return sorted(indices, key=int) + t_sorted(key for key in keys if key not in indices)


def canonical_upstream(value):
    return compact(value, upstream_keys)


def digest_upstream(value):
    return sha256(canonical_upstream(value).encode())


def kb(count):
    """6, reported figures."""
    return (count * 10**6 + 512) // 1024 / 10**6


def rate(value):
    """6: the exact decimal expansion of the double, half up to 6 decimals."""
    return floor(Fraction(Decimal(value)) * 10**6 + Fraction(1, 2)) / 10**6


def over_kb(count, limit):
    """Comparisons are on unrounded values (6)."""
    return Fraction(count) > Fraction(limit) * 1024


def trim(text):
    return text.strip(BLANKS)


def is_blank(text):
    return not trim(text)


# ---------------------------------------------------------------------------------------------------------------------
# 5.1 Lines and units


def lines_of(text):
    return [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]


def line_starts(text):
    """Offset of each line in the text."""
    starts, at = [], 0
    for line in text.split("\n"):
        starts.append(at)
        at += len(line) + 1
    return starts


FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
ITEM = re.compile(BLANK + r"*(?:[-*+]|[0-9]{1,9}[.)])" + BLANK + "+")


def line_kinds(lines):
    """The kind of each line, seen alone: blank, heading, fence, table, item or text."""
    kinds, mark = [], None
    for line in lines:
        fence = FENCE.match(line)
        if mark:
            kinds.append("fence")
            if fence and fence[1][0] == mark[0] and len(fence[1]) >= len(mark) and is_blank(line[fence.end():]):
                mark = None
                kinds[-1] = "fence end"
        elif fence:
            kinds.append("fence start")
            mark = fence[1]
        elif is_blank(line):
            kinds.append("blank")
        elif HEADING.match(line):
            kinds.append("heading")
        elif line.startswith("|"):
            kinds.append("table")
        elif ITEM.match(line):
            kinds.append("item")
        else:
            kinds.append("text")
    return kinds


def units(text):
    """5.1: [{"kind", "first", "last", "text"}], lines counted from 1."""
    lines = lines_of(text)
    kinds = line_kinds(lines)
    found, at = [], 0
    while at < len(lines):
        kind, end = kinds[at], at + 1
        if kind == "blank":
            at += 1
            continue
        if kind == "fence start":
            while end < len(lines) and kinds[end - 1] != "fence end":
                end += 1
            kind = "fence"
        elif kind == "table":
            while end < len(lines) and kinds[end] == "table":
                end += 1
        elif kind in ("item", "text"):
            while end < len(lines) and kinds[end] == "text":
                end += 1
            kind = "item" if kind == "item" else "paragraph"
        found.append({"kind": kind, "first": at + 1, "last": end, "text": " ".join(lines[at:end])})
        at = end
    return found


# ---------------------------------------------------------------------------------------------------------------------
# 5.2 Required sections, 5.3 words


def headings(text):
    """[(line index, text after the hashes and their spaces)] outside fences."""
    lines = lines_of(text)
    return [
        (at, re.sub(r"^ {0,3}#{1,6}[ \t]*", "", lines[at]))
        for at, kind in enumerate(line_kinds(lines))
        if kind == "heading"
    ]


def heading_is(heading, name, fold=False):
    """5.2: exactly the name, then optional spaces, hashes, spaces."""
    if fold:
        heading, name = ascii_lower(heading), ascii_lower(name)
    return heading.startswith(name) and re.fullmatch(r"[ \t]*#*[ \t]*", heading[len(name):]) is not None


def has_section(text, name):
    return any(heading_is(heading, trim(name)) for _, heading in headings(text))


FIRST_GROUP = ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFF))
SECOND_GROUP = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))


def is_in(char, ranges):
    return any(first <= ord(char) <= last for first, last in ranges)


def token_words(token):
    first = sum(is_in(char, FIRST_GROUP) for char in token)
    second = sum(is_in(char, SECOND_GROUP) for char in token)
    if not first and not second:
        return 1
    return first + (second + 3) // 4 + any(char.isascii() and char.isalnum() for char in token)


def words(text):
    return sum(token_words(token) for token in re.split(BLANK + "+", text) if token)


# ---------------------------------------------------------------------------------------------------------------------
# 5.5 URLs

NODE = """
const out = [];
for (const line of require("fs").readFileSync(0, "utf8").split("\\n")) {
  if (!line) continue;
  let answer = null;
  try {
    const u = new URL(JSON.parse(line));
    const user_info = u.username !== "" || u.password !== "";
    u.username = u.password = "";
    answer = {protocol: u.protocol, host: u.host, pathname: u.pathname, search: u.search, href: u.href, user_info};
  } catch (error) {}
  out.push(JSON.stringify(answer));
}
console.log(out.join("\\n"));
"""
parsed_urls = {}


def parse_urls(urls):
    """Step 1 for many URLs at once: the WHATWG parser of Node, remembered."""
    new = [url for url in dict.fromkeys(urls) if url not in parsed_urls]
    if new:
        asked = "".join(json.dumps(url) + "\n" for url in new)
        run = subprocess.run(["node", "-e", NODE], input=asked.encode(), stdout=subprocess.PIPE, check=True)
        for url, answer in zip(new, run.stdout.decode().splitlines()):
            parsed_urls[url] = json.loads(answer)
    return [parsed_urls[url] for url in urls]


def percent_decode(text):
    data = text.replace("+", " ").encode()
    data = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), data)
    return data.decode("utf-8", "replace")


def percent_encode(text):
    safe = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()"
    return "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in text.encode())


SECRET_PARTS = ("token", "key", "apikey", "auth", "session", "sessionid", "password", "passwd", "secret")
REDACTED = "[REDACTED]"


def is_secret_key(key):
    return any(part in SECRET_PARTS for part in re.split(r"[_.-]", ascii_lower(key)))


def is_dropped_key(key):
    return ascii_lower(key).startswith("utm_") or ascii_lower(key) in ("gclid", "fbclid")


def normalise(url):
    """5.5: {"normalized_url", "cid", "shown", "user_info"}, or None for INVALID_URL."""
    parsed = parse_urls([url])[0]
    if parsed is None or parsed["protocol"] not in ("http:", "https:"):
        return None
    path = parsed["pathname"]
    if path != "/" and path.endswith("/"):
        path = path[:-1]
    pairs, shown_pieces = [], []
    for piece in parsed["search"][1:].split("&") if parsed["search"] else []:
        name, _, value = piece.partition("=")
        key, value = percent_decode(name), percent_decode(value)
        secret = is_secret_key(key)
        shown_pieces.append(name + "=" + percent_encode(REDACTED) if secret and value else piece)
        if piece and not is_dropped_key(key):
            pairs.append((key, REDACTED if secret else value))
    pairs.sort(key=lambda pair: (t_key(pair[0]), t_key(pair[1])))
    query = "&".join(percent_encode(key) + "=" + percent_encode(value) for key, value in pairs)
    base = parsed["protocol"] + "//" + parsed["host"]
    normalized = base + path + ("?" + query if pairs else "")
    shown, mark, fragment = parsed["href"].partition("#")
    if shown_pieces:
        shown = base + parsed["pathname"] + "?" + "&".join(shown_pieces)
    return {
        "normalized_url": normalized,
        "cid": cid_of(normalized),
        "shown": shown + mark + fragment,
        "user_info": parsed["user_info"],
    }


def cid_of(normalized_url):
    return "cid_" + hashlib.sha256(normalized_url.encode()).hexdigest()


def extract_urls(text):
    """5.5: the URLs of a text as they are written."""
    found, at = [], 0
    while True:
        match = re.compile("https?://").search(text, at)
        if not match:
            return found
        end, depth = match.end(), 0
        while end < len(text) and text[end] not in BLANKS and text[end] not in "<>[]\"'`":
            if text[end] == "(":
                depth += 1
            elif text[end] == ")":
                depth -= 1
                if depth < 0:
                    break
            end += 1
        found.append(text[match.start():end].rstrip(",.;:!?"))
        at = end


# ---------------------------------------------------------------------------------------------------------------------
# 5.4 Wave output

BULLET = re.compile(r"(?:[-*+]" + BLANK + r"+|[0-9]+\." + BLANK + "+)")


def sources_name(contract):
    for section in contract["must_include_sections"]:
        if ascii_lower(trim(section)) == "sources":
            return trim(section)
    return None


def sources_lines(text, contract):
    """5.4 (4), 5.5: [(line number, trimmed line)] of the non-blank lines of the section; None if it is absent."""
    name = sources_name(contract)
    all_headings = headings(text)
    starts = [at for at, heading in all_headings if heading_is(heading, name or "sources", fold=name is None)]
    if not starts:
        return None
    ends = [at for at, _ in all_headings if at > starts[0]]
    lines = lines_of(text)
    chosen = range(starts[0] + 1, ends[0] if ends else len(lines))
    return [(at + 1, trim(lines[at])) for at in chosen if not is_blank(lines[at])]


def source_urls(text, contract):
    """5.5, extract: [{"url", "line", "ordinal"}]."""
    found, ordinal = [], 0
    for _, line in sources_lines(text, contract) or []:
        ordinal += BULLET.match(line) is not None
        found += [{"url": url, "line": line, "ordinal": ordinal} for url in extract_urls(line)]
    return found


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def usage_number(value):
    """5.4 (5): numbers >= 0, digit strings read as numbers; None if it is neither."""
    if isinstance(value, str) and re.fullmatch("[0-9]+", value):
        return int(value)
    return value if is_number(value) and value >= 0 else None


def check_output(text, contract, tool_usage=None):
    """5.4: {"words", "sources", "failures", "warnings", "notes"}."""
    failures, warnings = [], []

    def fail(code, **details):
        failures.append({"code": code, "details": details})

    budget = contract["tool_budget"]
    limits = {tool: budget[tool] for tool in canonical_keys(budget) if is_number(budget[tool]) and budget[tool] >= 0}
    for tool in canonical_keys(budget):
        if tool not in limits:
            fail("INVALID_TOOL_BUDGET", tool=tool, limit=budget[tool])

    missing = [trim(name) for name in contract["must_include_sections"] if not has_section(text, name)]
    if missing:
        fail("MISSING_REQUIRED_SECTION", section=missing[0], missing_sections=missing)

    count = words(text)
    if count > contract["max_words"]:
        fail("TOO_MANY_WORDS", max_words=contract["max_words"], words=count, excess=count - contract["max_words"])

    sources = 0
    lines = sources_lines(text, contract) if sources_name(contract) is not None else None
    if lines is not None:
        for number, line in lines:
            if not BULLET.match(line):
                fail("MALFORMED_SOURCES", line=line[:200], line_number=number, reason="NOT_BULLET")
            elif "http://" not in line and "https://" not in line:
                fail("MALFORMED_SOURCES", line=line[:200], line_number=number, reason="MISSING_URL")
            else:
                sources += 1
        sources = max(sources, len(distinct_normalised(source_urls(text, contract))))
        if sources > contract["max_sources"]:
            fail("TOO_MANY_SOURCES", max_sources=contract["max_sources"], sources=sources, excess=sources - contract["max_sources"])
        if not sources:
            warnings.append("SOURCES_EMPTY")

    if tool_usage is None:
        warnings.append("TOOL_USAGE_MISSING")
    elif not isinstance(tool_usage, dict):
        fail("INVALID_TOOL_USAGE", recorded=tool_usage)
    else:
        for tool in canonical_keys(tool_usage):
            used = usage_number(tool_usage[tool])
            if used is None:
                fail("INVALID_TOOL_USAGE", tool=tool, recorded=tool_usage[tool])
        for tool in canonical_keys(tool_usage):
            used = usage_number(tool_usage[tool])
            if tool not in budget:
                warnings.append("UNBUDGETED_TOOL")
            elif used is not None and tool in limits and used > limits[tool]:
                fail("TOOL_BUDGET_EXCEEDED", tool=tool, limit=limits[tool], recorded=used)
    notes = [change_note(failure) for failure in failures]
    return {"words": count, "sources": sources, "failures": failures, "warnings": warnings, "notes": notes}


def distinct_normalised(found):
    parse_urls([item["url"] for item in found])
    answers = [normalise(item["url"]) for item in found]
    return {answer["normalized_url"] for answer in answers if answer}


def check_ingest(outputs, perspectives):
    """5.4, what ingest checks before: the first error {"code", "details"}, or None. Directories are not modelled."""
    if not outputs:
        return {"code": "INVALID_ARGS", "details": {}}
    known, seen = {item["id"]: item for item in perspectives}, set()
    for output in outputs:
        if "/" in output["perspective_id"] or "\\" in output["perspective_id"] or ".." in output["perspective_id"]:
            return {"code": "PATH_TRAVERSAL", "details": {"perspective_id": output["perspective_id"]}}
    for output in outputs:
        if is_blank(output["markdown"]):
            return {"code": "INVALID_ARGS", "details": {"perspective_id": output["perspective_id"]}}
    for output in outputs:
        if output["perspective_id"] in seen:
            return {"code": "DUPLICATE_PERSPECTIVE_ID", "details": {"perspective_id": output["perspective_id"]}}
        seen.add(output["perspective_id"])
    for output in outputs:
        if output["perspective_id"] not in known:
            return {"code": "PERSPECTIVE_NOT_FOUND", "details": {"perspective_id": output["perspective_id"]}}
    for output in outputs:
        contract = known[output["perspective_id"]]["prompt_contract"]
        failures = check_output(output["markdown"], contract, output.get("tool_usage"))["failures"]
        if failures:
            return dict(failures[0], perspective_id=output["perspective_id"])
    return None


# ---------------------------------------------------------------------------------------------------------------------
# 8 Notes and retries


def change_note(failure):
    """8: the note of one failure. None where the page gives no text."""
    code, details = failure["code"], failure["details"]
    text = None
    if code == "MISSING_REQUIRED_SECTION":
        text = "Add the missing section(s): " + ", ".join(details["missing_sections"])
    elif code == "TOO_MANY_WORDS":
        most, count, excess = (number_text(details[name]) for name in ("max_words", "words", "excess"))
        text = f"Use at most {most} words; this has {count} ({excess} too many)"
    elif code == "MALFORMED_SOURCES":
        text = f"Sources line {details['line_number']} is not a bullet with a URL"
    elif code == "TOO_MANY_SOURCES":
        text = f"Keep at most {number_text(details['max_sources'])} sources; found {details['sources']}"
    elif code == "TOOL_BUDGET_EXCEEDED":
        text = f"{details['tool']}: {number_text(details['recorded'])} used, {number_text(details['limit'])} allowed"
    elif code == "SIZE_CAP_EXCEEDED" and "cap_bytes" in details:
        text = f"Summary is {details['bytes']} bytes, cap {details['cap_bytes']}: cut at least {details['excess_bytes']} bytes"
    elif code == "UNKNOWN_CID":
        text = "Cite only pool ids; unknown: " + ", ".join(details["cids"])
    elif code == "RAW_URL_NOT_ALLOWED":
        text = f"Replace the raw URL on line {details['line']} by [@cid]"
    elif code == "NUMBER_NOT_IN_QUOTE":
        text = f"{details['number']} is not in the quoted evidence of " + ", ".join(details["cids"])
    return text[:200] if text is not None else None


def directive_note(failures):
    """8: the first failure's note and how many more there are; at most 200 code points (4.6)."""
    note = change_note(failures[0])
    more = f" (+{len(failures) - 1} more)" if len(failures) > 1 else ""
    return note[: 200 - len(more)] + more if note is not None else None


def retry_cap(gate, limits):
    """8: caps; 0 review iterations count as 1 (4.2)."""
    review = max(1, limits.get("max_review_iterations", 4))
    return {"A": 0, "B": 2, "C": 1, "D": 1, "E": review - 1, "F": 0}[gate]


def record_retry(history, gate, artifact, refused_sha256, limits):
    """8: history = [{"gate", "artifact", "refused_sha256"}], changed on success. {"attempt", "max_retries", "retry_count"}
    or {"error": RETRY_EXHAUSTED ...}."""
    most = retry_cap(gate, limits)
    mine = [item for item in history if item["gate"] == gate and item["artifact"] == artifact]
    for attempt, item in enumerate(mine, 1):
        if refused_sha256 is not None and item["refused_sha256"] == refused_sha256:
            return {"attempt": attempt, "retry_count": len(mine), "max_retries": most}
    if len(mine) >= most:
        return {"error": "RETRY_EXHAUSTED", "details": {"gate_id": gate, "retry_count": len(mine), "max_retries": most}}
    history.append({"gate": gate, "artifact": artifact, "refused_sha256": refused_sha256})
    return {"attempt": len(mine) + 1, "retry_count": len(mine) + 1, "max_retries": most}


def retry_counts(history):
    """8: per gate the highest count of an artifact."""
    counts = {}
    for item in history:
        count = sum(1 for other in history if (other["gate"], other["artifact"]) == (item["gate"], item["artifact"]))
        counts[item["gate"]] = max(counts.get(item["gate"], 0), count)
    return counts


# ---------------------------------------------------------------------------------------------------------------------
# 5.6 Mentions, raw URLs

MENTION = re.compile(r"\[@[A-Za-z0-9_:-]+(?:;[ \t\r\n]+@[A-Za-z0-9_:-]+)*\]")
RAW_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[Ww]{3}\.[^\W_]")


def mention_cids(mention):
    return re.findall(r"@([A-Za-z0-9_:-]+)", mention)


def mentions(text):
    """Every cid written in mentions, in order, with repetitions, per unit: [(cid, line)]."""
    found = []
    for unit in units(text):
        for match in MENTION.finditer(unit["text"]):
            found += [(cid, line_at(text, unit, match.start())) for cid in mention_cids(match[0])]
    return found


def has_malformed_mention(text):
    return any("[@" in MENTION.sub("", unit["text"]) for unit in units(text))


def mentioned_cids(text):
    return t_sorted({cid for cid, _ in mentions(text)})


def raw_url_lines(text):
    return [at for at, line in enumerate(lines_of(text), 1) if RAW_URL.search(line)]


def place_in_unit(text, unit, offset):
    """(line number, column) of an offset in the unit's joined text."""
    lines = lines_of(text)
    for number in range(unit["first"], unit["last"] + 1):
        length = len(lines[number - 1])
        if offset <= length or number == unit["last"]:
            return number, offset
        offset -= length + 1
    raise ValueError("offset outside the unit")


def line_at(text, unit, offset):
    return place_in_unit(text, unit, offset)[0]


# ---------------------------------------------------------------------------------------------------------------------
# 5.7 Key claims

MARK = re.compile(r"(?i:\(confidence:)" + BLANK + r"*([0-9+-][^()\[\]]*)\)")
AFTER_SENTENCE = re.compile(BLANK + "*(?:" + MENTION.pattern + "|" + MARK.pattern + ")")
CLOSERS = "\"'”’»›)]}」』〉》】〕）］"
ABBREVIATIONS = "Dr Mr Mrs Ms Prof St vs No Fig approx".split()  # e.g and i.e end in a single letter
LETTERS = ((0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xB5, 0xB5), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2AF), (0x370, 0x37D),
           (0x37F, 0x386), (0x388, 0x52F), (0x1E00, 0x1FFF))  # fmt: skip


def is_letter(char):
    """Latin, Greek, Cyrillic."""
    return is_in(char, LETTERS)


def is_abbreviated(text, at):
    """5.7: the full stop at `at` stands after a single letter or an abbreviation."""
    begin = at
    while begin > 0 and (is_letter(text[begin - 1]) or text[begin - 1] in "0123456789"):
        begin -= 1
    word = text[begin:at]
    return word in ABBREVIATIONS or (len(word) == 1 and is_letter(word))


def after_closers(text, at):
    while at < len(text) and text[at] in CLOSERS:
        at += 1
    return at


def sentence_ends(text):
    """5.7: offsets after each sentence of a paragraph's text; the last is the end of the text."""
    ends, at = [], 0
    while at < len(text):
        inside = MARK.match(text, at)
        if inside:
            at = inside.end()
            continue
        char = text[at]
        at += 1
        if char not in ".!?。！？":
            continue
        end = after_closers(text, at)
        following = AFTER_SENTENCE.match(text, end)
        while following:
            end = after_closers(text, following.end())
            following = AFTER_SENTENCE.match(text, end)
        if char in ".!?":
            if char == "." and is_abbreviated(text, at - 1):
                continue
            rest = text[end:].lstrip(BLANKS)
            if rest and (text[end] not in BLANKS or "a" <= rest[0] <= "z"):
                continue
        ends.append(end)
        at = max(at, end)
    if not ends or not is_blank(text[ends[-1]:]):
        ends.append(len(text))
    return ends


def sentences(text):
    """[(offset of its first character, sentence)]"""
    found, start = [], 0
    for end in sentence_ends(text):
        piece = text[start:end]
        found.append((start + len(piece) - len(piece.lstrip(BLANKS)), trim(piece)))
        start = end
    return [item for item in found if item[1]]


def claim_candidates(text):
    """5.7: [(line, text without its list marker)] of items, sentences and table rows, in document order."""
    lines = lines_of(text)
    for unit in units(text):
        if unit["kind"] == "item":
            yield unit["first"], ITEM.sub("", unit["text"], count=1)
        elif unit["kind"] == "paragraph":
            for offset, sentence in sentences(unit["text"]):
                yield line_at(text, unit, offset), sentence
        elif unit["kind"] == "table":
            for number in range(unit["first"], unit["last"] + 1):
                yield number, lines[number - 1]


def claim_text(text):
    """5.7: without mentions and marks, white space collapsed, no space before punctuation."""
    bare = MARK.sub(" ", MENTION.sub(" ", text))
    bare = trim(re.sub(BLANK + "+", " ", bare))
    return re.sub(r" ([.,;:!?])", r"\1", bare)


def mark_value(written):
    """5.7: N of a mark; None if it is no number from 0 to 100."""
    value = float(written) if re.fullmatch(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", trim(written)) else -1
    return value if 0 <= value <= 100 else None


def key_claims(text):
    """5.7: (claims, invalid marks, warnings). A claim: {"claim", "citation_cids", "confidence", "confidence_source", "line", "numbers"}."""
    claims, invalid, warnings = [], [], []
    for line, piece in claim_candidates(text):
        cids = {cid for mention in MENTION.findall(piece) for cid in mention_cids(mention)}
        marks = [mark_value(mark) for mark in MARK.findall(piece)]
        invalid += [{"line": line} for mark in marks if mark is None]
        if not cids:
            continue
        marks = [mark for mark in marks if mark is not None]
        claim = claim_text(piece)
        if not claim:
            warnings.append("EMPTY_CLAIM")
            continue
        claims.append({
            "claim": claim,
            "citation_cids": t_sorted(cids),
            "confidence": marks[0] if marks else 50,
            "confidence_source": "author" if marks else "default",
            "line": line,
            "numbers": list(dict.fromkeys(numbers(piece, markers=False))),
        })
    return claims, invalid, warnings


# ---------------------------------------------------------------------------------------------------------------------
# 5.8 Numbers

NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3}(?![0-9]))*(?:\.[0-9]+)*")


def blank_out(match):
    """What is removed leaves spaces, so that offsets stay."""
    return re.sub("[^\n]", " ", match[0])


def blank_code(text):
    """Inline code: from a run of backticks to the next run of the same length."""
    at = 0
    while True:
        opening = re.compile("`+").search(text, at)
        if not opening:
            return text
        for closing in re.compile("`+").finditer(text, opening.end()):
            if len(closing[0]) == len(opening[0]):
                span = text[opening.start():closing.end()]
                text = text[:opening.start()] + re.sub("[^\n]", " ", span) + text[closing.end():]
                at = closing.end()
                break
        else:
            at = opening.end()


MARKER = re.compile("(?m)^" + ITEM.pattern.replace(BLANK, BLANK.replace("\\\n", "")))


def numbers_at(text, markers=True):
    """5.8: [(offset, normal form)]"""
    if markers:
        text = MARKER.sub(blank_out, text)
    text = blank_code(text)
    text = MARK.sub(blank_out, MENTION.sub(blank_out, text))
    found = []
    for match in NUMBER.finditer(text):
        before, after = text[:match.start()], text[match.end():]
        near = [after[:1], before[-1:], before[-2:-1] if before[-1:] in ("-", "/") else ""]
        if match[0].count(".") > 1 or any(char and (char == "_" or is_letter(char)) for char in near):
            continue
        found.append((match.start(), normal_form(match[0])))
    return found


def normal_form(number):
    whole, _, fraction = number.replace(",", "").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return whole + ("." + fraction if fraction else "")


def numbers(text, markers=True):
    return [number for line in text.split("\n") for _, number in numbers_at(line, markers)]


def check_numbers(claim, records):
    """5.8, number in quote: (numbers missing from full quotes, number_check). records: cid -> record."""
    snippets = [records.get(cid, {}).get("evidence_snippet") for cid in claim["citation_cids"]]
    quoted = {number for snippet in snippets if snippet is not None for number in numbers(snippet)}
    absent = [number for number in claim["numbers"] if number not in quoted]
    if not absent:
        return [], "pass"
    if any(snippet is None for snippet in snippets):
        return [], "unchecked"
    return absent, "warned"


# ---------------------------------------------------------------------------------------------------------------------
# 5.9 Summary and cut


def validated(records):
    """4.4: the validated pool."""
    return {record["cid"] for record in records if record["status"] in ("valid", "paywalled")}


def check_summary(text, perspective_id, records, max_summary_kb, number_rule="refuse"):
    """5.9: {"claims", "failures", "warnings", "mentioned"}."""
    failures, warnings = [], []

    def fail(code, **details):
        failures.append({"code": code, "details": dict(details, perspective_id=perspective_id)})

    pool, by_cid = validated(records), {record["cid"]: record for record in records}
    if is_blank(text):
        fail("EMPTY_SUMMARY")
    for number, line in enumerate(lines_of(text), 1):
        if line.startswith("<<<weir:"):
            fail("RESERVED_LINE", line=number)
    for number in raw_url_lines(text):
        fail("RAW_URL_NOT_ALLOWED", line=number)
    unknown = [cid for cid in mentioned_cids(text) if cid not in pool]
    if unknown:
        fail("UNKNOWN_CID", cid=unknown[0], cids=unknown)
    if has_malformed_mention(text):
        warnings.append("MALFORMED_MENTION")
    claims, invalid, claim_warnings = key_claims(text)
    warnings += claim_warnings
    for mark in invalid:
        fail("INVALID_CONFIDENCE", **mark)
    for claim in claims:
        absent, claim["number_check"] = check_numbers(claim, by_cid)
        del claim["numbers"]
        for number in absent:
            if number_rule == "warn":
                warnings.append("NUMBER_NOT_IN_QUOTE")
            else:
                fail("NUMBER_NOT_IN_QUOTE", claim=claim["claim"][:200], number=number, cids=claim["citation_cids"])
    size = len(text.encode())
    if over_kb(size, max_summary_kb):
        cap = floor(Fraction(max_summary_kb) * 1024)
        fail("SIZE_CAP_EXCEEDED", summary_kb=kb(size), max_summary_kb=max_summary_kb, bytes=size, cap_bytes=cap, excess_bytes=size - cap)
    if not claims:
        warnings.append("NO_KEY_CLAIMS")
    return {"claims": claims, "failures": failures, "warnings": warnings, "mentioned": mentioned_cids(text)}


def cut_points(text):
    """5.9: offsets where the text may end, with the unit that ends there or is cut there."""
    starts, lines = line_starts(text), lines_of(text)
    points = []
    for at, unit in enumerate(units(text)):
        ends = sentence_ends(unit["text"]) if unit["kind"] == "paragraph" else [len(unit["text"])]
        for end in ends:
            line, column = place_in_unit(text, unit, end)
            points.append((starts[line - 1] + min(column, len(lines[line - 1])), at))
    return points


def cut(text, max_summary_kb):
    """5.9: the text within the cap; None if nothing fits."""
    size = len(text.encode())
    if not over_kb(size, max_summary_kb):
        return text
    starts, all_units, best = line_starts(text), units(text), None
    for offset, last in cut_points(text):
        while last >= 0 and all_units[last]["kind"] == "heading":
            offset = starts[all_units[last]["first"] - 1]
            last -= 1
        kept = text[:offset].rstrip(BLANKS)
        if not kept:
            continue
        whole = kept + f"\n\n[truncated: kept {len(kept.encode())} of {size} bytes]\n"
        if not over_kb(len(whole.encode()), max_summary_kb):
            best = whole
    return best


# ---------------------------------------------------------------------------------------------------------------------
# 1 JSON files: layout of the documents

ANY = None


def in_layout(value, layout):
    """The value with its members in the order of the tables, unknown ones after them in canonical order (1). A layout is
    ANY, [layout of the items], or {member: layout} whose member "*" is for unknown ones."""
    if isinstance(value, list):
        item = layout[0] if isinstance(layout, list) else ANY
        return [in_layout(entry, item) for entry in value]
    if not isinstance(value, dict):
        return value
    known = layout if isinstance(layout, dict) else {}
    order = [name for name in known if name in value and name != "*"]
    order += canonical_keys(name for name in value if name not in order)
    return {name: in_layout(value[name], known.get(name, known.get("*"))) for name in order}


def members(names, **layouts):
    return {name: layouts.get(name, ANY) for name in names.split()}


PATHS = "wave1_dir wave2_dir citations_dir summaries_dir synthesis_dir logs_dir gates_file perspectives_file citations_file summary_pack_file pivot_file"
LIMITS = "max_wave1_agents max_wave2_agents max_review_iterations max_summary_kb max_total_summary_kb max_pack_json_kb max_synthesis_input_kb min_wave_rate"
GATE = members(
    "id name class status checked_at metrics artifacts warnings notes checks reasons inputs_digest",
    checks=members("bounds input integrity"),
)
LAYOUTS = {
    "perspectives": members(
        "schema_version run_id created_at perspectives",
        perspectives=[members(
            "id title track agent_type prompt_contract expected_platforms platform_requirements tool_policy source_artifact",
            prompt_contract=members("max_words max_sources tool_budget must_include_sections"),
            platform_requirements=[members("name reason")],
            tool_policy=members("primary secondary forbidden"),
        )],
    ),
    "manifest": members(
        "schema_version run_id created_at updated_at revision mode status query stage limits artifacts metrics failures agents",
        query=members("text constraints sensitivity"),
        stage=members(
            "current started_at last_progress_at history",
            history=[members("from to ts reason inputs_digest gates_revision")],
        ),
        limits=members(LIMITS),
        artifacts=members("root paths", paths=members(PATHS)),
        metrics=members("retry_counts retry_history", retry_history=[members("ts gate_id attempt change_note reason")]),
        failures=[members("ts stage kind message retryable")],
    ),
    "gates": members(
        "schema_version run_id revision updated_at inputs_digest gates",
        gates={"A": GATE, "B": GATE, "C": GATE, "D": GATE, "E": GATE, "F": GATE, "*": GATE},
    ),
    "citation": members(
        "schema_version normalized_url cid url url_original status checked_at found_by notes http_status title publisher evidence_snippet checked_by",
        found_by=[members("wave perspective_id agent_type artifact_path source_line")],
    ),
    "pack": members(
        "schema_version run_id generated_at limits summaries total_estimated_tokens",
        limits=members("max_summary_kb max_total_summary_kb max_pack_json_kb max_synthesis_input_kb"),
        summaries=[members(
            "perspective_id source_artifact summary_md key_claims",
            key_claims=[members("claim citation_cids confidence")],
        )],
    ),
    "bundle": members(
        "schema_version run_id gate_d_digest bytes sha256 limit_kb parts cids total_estimated_tokens",
        parts=[members("n name source offset bytes sha256")],
    ),
}


def indented(value, indent=""):
    """2-space JSON (1), members as they stand."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{deeper}{string_text(name)}: {indented(value[name], deeper)}" for name in value]
        return "{\n" + ",\n".join(rows) + "\n" + indent + "}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(deeper + indented(item, deeper) for item in value) + "\n" + indent + "]"
    return compact(value, list)


def file_text(kind, value):
    """1: the bytes of a document as text; a citation is one line of JSONL."""
    ordered = in_layout(value, LAYOUTS[kind])
    return (compact(ordered, list) if kind == "citation" else indented(ordered)) + "\n"


# ---------------------------------------------------------------------------------------------------------------------
# 4 Validators


def is_text(value):
    """Not blank."""
    return isinstance(value, str) and not is_blank(value)


def is_integer(value, least):
    return is_number(value) and value == floor(value) and value >= least


def is_confined(path):
    """1, confined, as far as the text of the path tells."""
    return isinstance(path, str) and "\\" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?Z")


def is_time(value):
    """RFC 3339, UTC."""
    match = TIME.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return False
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    return 1 <= month <= 12 and 1 <= day <= days_of(year, month) and hour < 24 and minute < 60 and second < 60


def days_of(year, month):
    return 29 if month == 2 and calendar.isleap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def is_lenient_time(value):
    """What a reader accepts as a date; only clear cases are modelled."""
    return isinstance(value, str) and re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T|$)", value) is not None


class Errors:
    """4: errors of the two passes, each in document order."""

    def __init__(self):
        self.passes = ([], [])

    def add(self, path, message, number=1, code="SCHEMA_VALIDATION_FAILED", free=False):
        error = {"path": path, "code": code, "message": message}
        if free:
            error["free"] = True
        self.passes[number - 1].append(error)

    def free(self, path, message, number=1, code="SCHEMA_VALIDATION_FAILED"):
        self.add(path, message, number, code, free=True)

    def of(self, mode):
        return self.passes[0] + (self.passes[1] if mode == "write" else [])


def check_document(kind, value, mode="read", run_id=None, agents=None):
    """4: every error of a document; mode "read" is pass 1, "write" both."""
    errors = Errors()
    if kind == "perspectives":
        check_perspectives(errors, value, run_id, agents)
    elif kind == "manifest":
        check_manifest(errors, value)
    elif kind == "gates":
        check_gates(errors, value)
    elif kind == "citation":
        check_citation(errors, value)
    else:
        check_pack(errors, value, run_id)
    return errors.of(mode)


def check_perspectives(errors, value, run_id, agents):
    """4.1"""
    if not isinstance(value, dict):
        errors.add("$", "perspectives must be an object")
        return
    if value.get("schema_version") != "perspectives.v1":
        errors.add("$.schema_version", "perspectives.schema_version must be perspectives.v1")
    if not is_text(value.get("run_id")):
        errors.add("$.run_id", "perspectives.run_id missing")
    elif run_id is not None and value["run_id"] != run_id:
        errors.free("$.run_id", "perspectives.run_id invalid", 2, "INVALID_STATE")
    if not is_text(value.get("created_at")):
        errors.add("$.created_at", "perspectives.created_at missing")
    elif not is_time(value["created_at"]):
        errors.free("$.created_at", "perspectives.created_at invalid", 2)
    if not isinstance(value.get("perspectives"), list):
        errors.add("$.perspectives", "perspectives.perspectives must be array")
        return
    if not value["perspectives"]:
        errors.add("$.perspectives", "perspectives list is empty", 2)
    seen = set()
    for at, item in enumerate(value["perspectives"]):
        check_perspective(errors, f"$.perspectives[{at}]", item, seen, agents)


def check_perspective(errors, path, item, seen, agents):
    if not isinstance(item, dict):
        errors.add(path, "perspective must be object")
        return
    if not is_text(item.get("id")):
        errors.add(path + ".id", "perspective.id missing")
    else:
        name = item["id"]
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) or ".." in name or name.endswith("."):
            errors.free(path + ".id", "perspective.id invalid", 2)
        if ascii_lower(name) in seen:
            errors.free(path + ".id", "perspective.id duplicate", 2, "DUPLICATE_PERSPECTIVE_ID")
        seen.add(ascii_lower(name))
    if not is_text(item.get("title")):
        errors.add(path + ".title", "perspective.title missing")
    if item.get("track") not in ("standard", "independent", "contrarian"):
        errors.add(path + ".track", "perspective.track invalid")
    if not is_text(item.get("agent_type")):
        errors.add(path + ".agent_type", "perspective.agent_type missing")
    elif agents is not None and item["agent_type"] not in agents:
        errors.add(path + ".agent_type", "perspective.agent_type unknown", 2)
    check_contract(errors, path + ".prompt_contract", item.get("prompt_contract"))
    check_optional(errors, path, item)


def check_contract(errors, path, contract):
    if not isinstance(contract, dict):
        errors.add(path, "perspective.prompt_contract must be object")
        return
    for name, least in (("max_words", 1), ("max_sources", 0)):
        if not is_number(contract.get(name)):
            errors.add(f"{path}.{name}", f"prompt_contract.{name} invalid")
        elif not is_integer(contract[name], least):
            errors.add(f"{path}.{name}", f"prompt_contract.{name} invalid", 2)
    budget = contract.get("tool_budget")
    if not isinstance(budget, dict):
        errors.add(path + ".tool_budget", "prompt_contract.tool_budget must be object")
    else:
        for tool in canonical_keys(budget):
            if not is_integer(budget[tool], 0):
                errors.free(f"{path}.tool_budget.{tool}", "prompt_contract.tool_budget invalid", 2)
    sections = contract.get("must_include_sections")
    if not isinstance(sections, list):
        errors.add(path + ".must_include_sections", "prompt_contract.must_include_sections must be array")
    else:
        for at, section in enumerate(sections):
            if not is_text(section):
                message = "prompt_contract.must_include_sections entries must be non-empty strings"
                errors.add(f"{path}.must_include_sections[{at}]", message)


def check_optional(errors, path, item):
    """4.1, last row: all of it pass 2."""

    def bad(where, name):
        errors.free(path + where, f"perspective.{name} invalid", 2)

    def each(where, name, value, is_good):
        if not isinstance(value, list):
            bad(where, name)
            return
        for at, entry in enumerate(value):
            if not is_good(entry):
                bad(f"{where}[{at}]", name)

    if "expected_platforms" in item:
        each(".expected_platforms", "expected_platforms", item["expected_platforms"], is_text)
    if "platform_requirements" in item:
        needs = item["platform_requirements"]
        each(".platform_requirements", "platform_requirements", needs, lambda entry: isinstance(entry, dict))
        for at, entry in enumerate(needs if isinstance(needs, list) else []):
            for name in ("name", "reason"):
                if isinstance(entry, dict) and not is_text(entry.get(name)):
                    bad(f".platform_requirements[{at}].{name}", "platform_requirements")
    if "tool_policy" in item:
        policy = item["tool_policy"]
        if not isinstance(policy, dict):
            bad(".tool_policy", "tool_policy")
        else:
            for name in ("primary", "secondary", "forbidden"):
                listed = policy.get(name)
                if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
                    bad(f".tool_policy.{name}", "tool_policy")
    if "source_artifact" in item:
        source = item["source_artifact"]
        if isinstance(source, str) and not is_confined(source):
            errors.free(path + ".source_artifact", "perspective.source_artifact invalid", 2, "PATH_TRAVERSAL")
        elif not isinstance(source, str) or not re.match("wave-[12]/", source):
            bad(".source_artifact", "source_artifact")


MODES = ("quick", "standard", "deep")
STATUSES = ("created", "running", "paused", "failed", "completed", "cancelled")
STAGES = ("init", "perspectives", "wave1", "pivot", "wave2", "citations", "summaries", "synthesis", "review", "finalize")
SENSITIVITIES = ("normal", "restricted", "no_web")


def check_manifest(errors, value):
    """4.2"""
    if not isinstance(value, dict):
        errors.add("$", "manifest must be an object")
        return
    if value.get("schema_version") != "manifest.v1":
        errors.add("$.schema_version", "manifest.schema_version must be manifest.v1")
    for name in ("run_id", "created_at", "updated_at"):
        if not is_text(value.get(name)):
            errors.add("$." + name, f"manifest.{name} missing")
        elif name != "run_id" and not is_time(value[name]):
            errors.free("$." + name, f"manifest.{name} invalid", 2)
    if not is_integer(value.get("revision"), 1):
        errors.add("$.revision", "manifest.revision invalid")
    if value.get("mode") not in MODES:
        errors.add("$.mode", "manifest.mode invalid")
    if value.get("status") not in STATUSES:
        errors.add("$.status", "manifest.status invalid")
    check_query(errors, value.get("query"))
    check_stage(errors, value.get("stage"))
    check_limits(errors, value.get("limits"), UPSTREAM_LIMITS)
    artifacts = value.get("artifacts")
    if not isinstance(artifacts, dict):
        errors.free("$.artifacts", "manifest.artifacts missing")
    else:
        if not isinstance(artifacts.get("root"), str) or not artifacts["root"].startswith("/"):
            errors.add("$.artifacts.root", "manifest.artifacts.root must be absolute path")
        if not isinstance(artifacts.get("paths"), dict):
            errors.add("$.artifacts.paths", "manifest.artifacts.paths missing")
        else:
            for name in PATHS.split():
                if not is_text(artifacts["paths"].get(name)):
                    errors.add("$.artifacts.paths." + name, f"manifest.artifacts.paths.{name} missing")
    if not isinstance(value.get("metrics"), dict):
        errors.add("$.metrics", "manifest.metrics must be object")
    if not isinstance(value.get("failures"), list):
        errors.add("$.failures", "manifest.failures must be array")
    if isinstance(value.get("limits"), dict):
        check_limits(errors, value["limits"], [name for name in OWN_LIMITS if name in value["limits"]])


def check_query(errors, query):
    if not isinstance(query, dict):
        errors.add("$.query", "manifest.query missing")
        return
    if not is_text(query.get("text")):
        errors.add("$.query.text", "manifest.query.text missing")
    if "constraints" in query and not isinstance(query["constraints"], dict):
        errors.add("$.query.constraints", "manifest.query.constraints must be object")
    if "sensitivity" in query and query["sensitivity"] not in SENSITIVITIES:
        errors.add("$.query.sensitivity", "manifest.query.sensitivity invalid")


def check_stage(errors, stage):
    if not isinstance(stage, dict):
        errors.free("$.stage", "manifest.stage missing")
        return
    if stage.get("current") not in STAGES:
        errors.add("$.stage.current", "manifest.stage.current invalid")
    if not is_text(stage.get("started_at")):
        errors.add("$.stage.started_at", "manifest.stage.started_at missing")
    elif not is_time(stage["started_at"]):
        errors.free("$.stage.started_at", "manifest.stage.started_at invalid", 2)
    if "last_progress_at" in stage and not is_text(stage["last_progress_at"]):
        errors.free("$.stage.last_progress_at", "manifest.stage.last_progress_at must be non-empty string")
    elif "last_progress_at" in stage and not is_lenient_time(stage["last_progress_at"]):
        errors.add("$.stage.last_progress_at", "manifest.stage.last_progress_at must be valid ISO timestamp")
    elif "last_progress_at" in stage and not is_time(stage["last_progress_at"]):
        errors.free("$.stage.last_progress_at", "manifest.stage.last_progress_at invalid", 2)
    if not isinstance(stage.get("history"), list):
        errors.add("$.stage.history", "manifest.stage.history must be array")
        return
    for at, entry in enumerate(stage["history"]):
        path = f"$.stage.history[{at}]"
        if not isinstance(entry, dict):
            errors.free(path, "stage.history entry must be object")
            continue
        for name in ("from", "to", "ts", "reason", "inputs_digest"):
            if not is_text(entry.get(name)):
                errors.add(f"{path}.{name}", f"stage.history.{name} missing")
        if not is_integer(entry.get("gates_revision"), 0):
            errors.add(path + ".gates_revision", "stage.history.gates_revision invalid")
        if is_text(entry.get("ts")) and not is_time(entry["ts"]):
            errors.free(path + ".ts", "stage.history.ts invalid", 2)


UPSTREAM_LIMITS = ("max_wave1_agents", "max_wave2_agents", "max_summary_kb", "max_total_summary_kb", "max_review_iterations")
OWN_LIMITS = ("max_pack_json_kb", "max_synthesis_input_kb", "min_wave_rate")


def check_limits(errors, limits, names):
    if not isinstance(limits, dict):
        errors.free("$.limits", "manifest.limits missing")
        return
    for name in names:
        if not is_number(limits.get(name)):
            errors.add("$.limits." + name, f"manifest.limits.{name} invalid")


GATE_NAMES = {
    "A": "Planning completeness",
    "B": "Wave output contract compliance",
    "C": "Citation validation integrity",
    "D": "Summary pack boundedness",
    "E": "Synthesis quality",
    "F": "Rollout safety",
}


def check_gates(errors, value):
    """4.3"""
    if not isinstance(value, dict):
        errors.free("$", "gates must be an object")
        return
    if value.get("schema_version") != "gates.v1":
        errors.add("$.schema_version", "gates.schema_version must be gates.v1")
    if not is_text(value.get("run_id")):
        errors.add("$.run_id", "gates.run_id missing")
    if not is_integer(value.get("revision"), 1):
        errors.add("$.revision", "gates.revision invalid")
    if not is_text(value.get("updated_at")):
        errors.add("$.updated_at", "gates.updated_at missing")
    elif not is_time(value["updated_at"]):
        errors.free("$.updated_at", "gates.updated_at invalid", 2)
    if not is_text(value.get("inputs_digest")):
        errors.add("$.inputs_digest", "gates.inputs_digest missing")
    gates = value.get("gates")
    if not isinstance(gates, dict):
        errors.add("$.gates", "gates.gates missing")
        return
    for name in "ABCDEF":
        if not isinstance(gates.get(name), dict):
            errors.add("$.gates." + name, "missing required gate")
        else:
            check_gate(errors, name, gates[name])
    for name in canonical_keys(gates):
        if name in GATE_NAMES:
            continue
        if isinstance(gates[name], dict):
            check_gate(errors, name, gates[name])
        else:
            errors.free("$.gates." + name, "gate must be object")


def check_gate(errors, name, gate):
    path = "$.gates." + name
    if gate.get("id") != name:
        errors.add(path + ".id", "gate.id must match key")
    if not is_text(gate.get("name")):
        errors.free(path + ".name", "gate.name missing")
    if gate.get("class") not in ("hard", "soft"):
        errors.add(path + ".class", "gate.class invalid")
    if gate.get("status") not in ("not_run", "pass", "fail") + (("warn",) if gate.get("class") == "soft" else ()):
        errors.add(path + ".status", "gate.status invalid")
    checked_at = gate.get("checked_at", 0)
    if checked_at is not None and not is_text(checked_at):
        errors.add(path + ".checked_at", "gate.checked_at must be string or null")
    elif checked_at is None and gate.get("status") != "not_run":
        errors.add(path + ".checked_at", "gate.checked_at required when status != not_run")
    if not isinstance(gate.get("metrics"), dict):
        errors.add(path + ".metrics", "gate.metrics must be object")
    for field in ("artifacts", "warnings"):
        listed = gate.get(field)
        if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
            errors.add(f"{path}.{field}", f"gate.{field} must be string[]")
    if not isinstance(gate.get("notes"), str):
        errors.add(path + ".notes", "gate.notes must be string")


UPDATE_MEMBERS = ("status", "checked_at", "metrics", "artifacts", "warnings", "notes", "checks", "reasons", "inputs_digest")


def update_gate(document, gate_id, update):
    """4.3: the document after an internal update, or {"error": code, ...}."""
    if gate_id not in GATE_NAMES:
        return {"error": "UNKNOWN_GATE_ID"}
    if any(name not in UPDATE_MEMBERS for name in update):
        return {"error": "INVALID_ARGS"}
    changed = copy.deepcopy(document)
    gate = changed["gates"][gate_id]
    gate.update(update)
    if gate["class"] == "hard" and gate["status"] == "warn":
        return {"error": "LIFECYCLE_RULE_VIOLATION"}
    if gate["status"] != "not_run" and not is_text(update.get("checked_at")):
        return {"error": "LIFECYCLE_RULE_VIOLATION"}
    changed["revision"] += 1
    errors = check_document("gates", changed)
    if errors:
        return {"error": "SCHEMA_VALIDATION_FAILED", "errors": errors}
    return {"document": changed}


IMMUTABLE = ("schema_version", "run_id", "created_at", "updated_at", "revision")


def merge_patch(value, patch):
    """RFC 7396"""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), change)
    return merged


def patch_manifest(manifest, patch, expected_revision=None):
    """3, 4.2, init --patch: the new manifest, or {"error": code, ...}."""
    if expected_revision is not None and expected_revision != manifest["revision"]:
        return {"error": "REVISION_MISMATCH", "details": {"expected": expected_revision, "got": manifest["revision"]}}
    paths = ["$." + name for name in IMMUTABLE if name in patch]
    artifacts = patch.get("artifacts", {})
    if isinstance(artifacts, dict):
        paths += ["$.artifacts." + name for name in canonical_keys(artifacts)]
    else:
        paths.append("$.artifacts")
    if paths:
        return {"error": "IMMUTABLE_FIELD", "details": {"paths": paths}}
    changed = merge_patch(manifest, patch)
    changed["revision"] = manifest["revision"] + 1
    errors = check_document("manifest", changed)
    if errors:
        return {"error": "SCHEMA_VALIDATION_FAILED", "errors": errors}
    return {"manifest": changed}


CITATION_STATUSES = ("valid", "paywalled", "blocked", "mismatch", "invalid")


def check_citation(errors, value):
    """4.4. The page fixes no message of this document."""
    if not isinstance(value, dict):
        errors.free("$", "citation must be an object")
        return

    def bad(path, code="SCHEMA_VALIDATION_FAILED"):
        errors.free("$." + path, f"citation.{path} invalid", 1, code)

    if value.get("schema_version") != "citation.v1":
        bad("schema_version")
    if not is_text(value.get("normalized_url")):
        bad("normalized_url")
    if not is_text(value.get("cid")):
        bad("cid")
    elif is_text(value.get("normalized_url")) and value["cid"] != cid_of(value["normalized_url"]):
        bad("cid", "CID_MISMATCH")
    for name in ("url", "url_original"):
        if not is_text(value.get(name)):
            bad(name)
    if value.get("status") not in CITATION_STATUSES:
        bad("status")
    if not is_text(value.get("checked_at")):
        bad("checked_at")
    found_by = value.get("found_by")
    if not isinstance(found_by, list) or len(found_by) > 20:
        bad("found_by")
    else:
        for at, entry in enumerate(found_by):
            if not isinstance(entry, dict):
                bad(f"found_by[{at}]")
                continue
            wave = entry.get("wave", 1)
            if not is_integer(wave, 1) and not is_text(wave):
                bad(f"found_by[{at}].wave")
            if not is_text(entry.get("perspective_id")):
                bad(f"found_by[{at}].perspective_id")
            for name in ("agent_type", "artifact_path", "source_line"):
                if not isinstance(entry.get(name, ""), str):
                    bad(f"found_by[{at}].{name}")
    if not isinstance(value.get("notes"), str):
        bad("notes")
    if value.get("http_status") is not None and not is_integer(value["http_status"], 0):
        bad("http_status")
    for name in ("title", "publisher", "evidence_snippet", "checked_by"):
        if name in value and not isinstance(value[name], str):
            bad(name)
        elif name == "evidence_snippet" and len(value.get(name, "").encode()) > 2048:
            bad(name)


def check_pack(errors, value, run_id):
    """4.5"""
    message = "summary-pack schema_version must be summary_pack.v1"
    if not isinstance(value, dict):
        errors.add("$.schema_version", message)
        return
    if value.get("schema_version") != "summary_pack.v1":
        errors.add("$.schema_version", message)

    def bad(path, code="SCHEMA_VALIDATION_FAILED"):
        errors.free(path, "summary-pack" + path[1:] + " invalid", 1, code)

    if not is_text(value.get("run_id")) or (run_id is not None and value["run_id"] != run_id):
        bad("$.run_id")
    if not is_text(value.get("generated_at")):
        bad("$.generated_at")
    elif not is_time(value["generated_at"]):
        errors.free("$.generated_at", "summary-pack.generated_at invalid", 2)
    limits = value.get("limits")
    if not isinstance(limits, dict):
        bad("$.limits")
    else:
        for name in ("max_summary_kb", "max_total_summary_kb", "max_pack_json_kb", "max_synthesis_input_kb"):
            needed = name in ("max_summary_kb", "max_total_summary_kb")
            if (needed or name in limits) and not is_number(limits.get(name)):
                bad("$.limits." + name)
    if not isinstance(value.get("summaries"), list):
        bad("$.summaries")
    else:
        for at, entry in enumerate(value["summaries"]):
            check_pack_entry(bad, f"$.summaries[{at}]", entry)
    if not is_number(value.get("total_estimated_tokens")):
        bad("$.total_estimated_tokens")


def check_pack_entry(bad, path, entry):
    if not isinstance(entry, dict):
        bad(path)
        return
    if not is_text(entry.get("perspective_id")):
        bad(path + ".perspective_id")
    source, summary = entry.get("source_artifact"), entry.get("summary_md")
    if not isinstance(source, str):
        bad(path + ".source_artifact")
    elif not is_confined(source):
        bad(path + ".source_artifact", "PATH_TRAVERSAL")
    if not isinstance(summary, str):
        bad(path + ".summary_md")
    elif not is_blank(summary) and not is_confined(summary):
        bad(path + ".summary_md", "PATH_TRAVERSAL")
    elif not is_blank(summary) and not summary.startswith("summaries/"):
        bad(path + ".summary_md")
    if not isinstance(entry.get("key_claims"), list):
        bad(path + ".key_claims")
        return
    for at, claim in enumerate(entry["key_claims"]):
        where = f"{path}.key_claims[{at}]"
        if not isinstance(claim, dict):
            bad(where)
            continue
        if not is_text(claim.get("claim")):
            bad(where + ".claim")
        cids = claim.get("citation_cids")
        if not isinstance(cids, list) or not cids:
            bad(where + ".citation_cids")
        else:
            for index, cid in enumerate(cids):
                if not is_text(cid) or cid in cids[:index]:
                    bad(f"{where}.citation_cids[{index}]")
        confidence = claim.get("confidence")
        if not is_number(confidence) or not 0 <= confidence <= 100:
            bad(where + ".confidence")


# ---------------------------------------------------------------------------------------------------------------------
# 5.11 Pack build, 7 bundle. A run is a dict:
#   run_id, query, limits (the manifest's), perspectives (wave 1, objects), perspectives_2 (wave 2), outputs (id -> bytes of
#   accepted outputs), tool_usage (id -> report), records (citations, None if the file is absent), summaries (id -> bytes),
#   files (path -> bytes under summaries/; a directory is None), pack (bytes of summary-pack.json or None), allow_missing,
#   logged_pack, logged_summaries (bytes the log holds; absent = what is on disk), number_rules (id -> refuse|warn)


def limits_in_force(limits):
    """4.2: the four KB limits."""
    total = limits["max_total_summary_kb"]
    return {
        "max_summary_kb": limits["max_summary_kb"],
        "max_total_summary_kb": total,
        "max_pack_json_kb": limits.get("max_pack_json_kb", total),
        "max_synthesis_input_kb": limits.get("max_synthesis_input_kb", 2 * total),
    }


def expected_perspectives(run):
    """5.11: wave 1 and the wave-2 ones with an accepted output, T-order."""
    chosen = [(item, 1) for item in run["perspectives"]]
    chosen += [(item, 2) for item in run.get("perspectives_2", []) if item["id"] in run.get("outputs", {})]
    return sorted(chosen, key=lambda pair: t_key(pair[0]["id"]))


def tokens(size):
    return max(1, floor(Fraction(size, 4) + Fraction(1, 2)))


def build_pack(run, summaries=None):
    """5.11: {"pack", "meta", "warnings"} without times, or {"error", "details"}."""
    summaries = run["summaries"] if summaries is None else summaries
    for name in ("max_summary_kb", "max_total_summary_kb"):
        if run["limits"][name] <= 0:
            return {"error": "INVALID_STATE", "message": f"manifest.limits.{name} invalid", "details": {"value": run["limits"][name]}}
    limits = limits_in_force(run["limits"])
    if not run["perspectives"] and not run.get("perspectives_2"):
        return {"error": "SCHEMA_VALIDATION_FAILED", "message": "perspectives list is empty", "details": {"path": "$.perspectives"}}
    names = [ascii_lower(item["id"]) for item in run["perspectives"] + run.get("perspectives_2", [])]
    if len(set(names)) < len(names):
        return {"error": "DUPLICATE_PERSPECTIVE_ID", "details": {}}
    if run["records"] is None:
        return {"error": "NOT_FOUND", "details": {}}
    entries, meta, sizes, warnings = [], [], {}, []
    for item, wave in expected_perspectives(run):
        name = item["id"]
        if name not in summaries:
            if run.get("allow_missing"):
                continue
            return {"error": "NOT_FOUND", "details": {"perspective_id": name}}
        text = summaries[name].decode()
        answer = check_summary(text, name, run["records"], limits["max_summary_kb"], run.get("number_rules", {}).get(name, "refuse"))
        if answer["failures"]:
            return {"error": answer["failures"][0]["code"], "details": answer["failures"][0]["details"], "failures": answer["failures"]}
        sizes[name] = len(summaries[name])
        warnings += answer["warnings"]
        for index, claim in enumerate(answer["claims"]):
            meta.append({
                "perspective_id": name,
                "index": index,
                "line": claim["line"],
                "confidence_source": claim["confidence_source"],
                "number_check": claim["number_check"],
            })
        entries.append({
            "perspective_id": name,
            "source_artifact": item.get("source_artifact", f"wave-{wave}/{name}.md"),
            "summary_md": f"summaries/{name}.md",
            "key_claims": [{part: claim[part] for part in ("claim", "citation_cids", "confidence")} for claim in answer["claims"]],
        })
    total = sum(sizes.values())
    if over_kb(total, limits["max_total_summary_kb"]):
        details = {
            "total_summary_kb": kb(total),
            "max_total_summary_kb": limits["max_total_summary_kb"],
            "excess_bytes": total - floor(Fraction(limits["max_total_summary_kb"]) * 1024),
            "largest": t_sorted(name for name in sizes if sizes[name] == max(sizes.values()))[0],
        }
        return {"error": "SIZE_CAP_EXCEEDED", "details": details}
    pack = {"schema_version": "summary_pack.v1", "run_id": run["run_id"], "limits": limits, "summaries": entries, "total_estimated_tokens": tokens(total)}
    return {"pack": pack, "meta": meta, "warnings": warnings}


def pack_bytes(pack, generated_at):
    return file_text("pack", dict(pack, generated_at=generated_at)).encode()


def pack_digest(pack):
    return digest("weir.pack.v1", {name: pack[name] for name in pack if name != "generated_at"})


def pool_digest(records):
    """6: [[cid, status], ...] in T-order."""
    pairs = sorted(([record["cid"], record["status"]] for record in records), key=lambda pair: t_key(pair[0]))
    return digest("weir.pool.v1", pairs)


def citation_lines(cids, records):
    by_cid = {record["cid"]: record for record in records}
    names = ("cid", "evidence_snippet", "publisher", "status", "title")
    rows = [{name: by_cid[cid][name] for name in names if name in by_cid[cid]} for cid in t_sorted(cids) if cid in by_cid]
    return "".join(canonical(row) + "\n" for row in rows).encode()


def build_bundle(run, pack, files):
    """7: (stream, parts, cids). files: path -> bytes."""
    entries = [entry for entry in pack["summaries"] if files.get(entry["summary_md"]) is not None]
    cids = {cid for entry in entries for cid in mentioned_cids(files[entry["summary_md"]].decode("utf-8", "replace"))}
    bare = {name: pack[name] for name in pack if name != "generated_at"}
    contents = [
        ("query", "manifest.json", (run["query"] + "\n").encode()),
        ("pack", "summaries/summary-pack.json", file_text("pack", bare).encode()),
        ("citations", "citations/citations.jsonl", citation_lines(cids, run["records"] or [])),
    ]
    contents += [("summary:" + entry["perspective_id"], entry["summary_md"], files[entry["summary_md"]]) for entry in entries]
    stream, parts = b"", []
    for number, (name, source, data) in enumerate(contents, 1):
        stream += f"<<<weir:part {number}/{len(contents)} {name} {len(data)} {sha256(data)}>>>\n".encode()
        parts.append({"n": number, "name": name, "source": source, "offset": len(stream), "bytes": len(data), "sha256": sha256(data)})
        stream += data if data.endswith(b"\n") else data + b"\n"
    return stream + b"<<<weir:end>>>\n", parts, t_sorted(cids)


def bundle_index(run, pack, stream, parts, cids, gate_d_digest):
    """4.7"""
    return {
        "schema_version": "synthesis_input.v1",
        "run_id": run["run_id"],
        "gate_d_digest": gate_d_digest,
        "bytes": len(stream),
        "sha256": sha256(stream),
        "limit_kb": limits_in_force(run["limits"])["max_synthesis_input_kb"],
        "parts": parts,
        "cids": cids,
        "total_estimated_tokens": pack["total_estimated_tokens"],
    }


# ---------------------------------------------------------------------------------------------------------------------
# 6 Gates


def gate_answer(gate, reasons, metrics, warnings, inputs, checks=None):
    answer = {"gate": gate, "status": "fail" if reasons else "pass"}
    if checks is not None:
        answer["checks"] = checks
    answer.update(reasons=reasons, warnings=warnings, metrics=metrics, inputs=inputs)
    answer["inputs_digest"] = digest(f"weir.gate_{gate.lower()}.v1", inputs)
    return answer


def ratio(part, whole):
    return rate(part / whole) if whole else 0


def gate_b(run, perspectives_files):
    """6, B. perspectives_files: bytes of each perspectives document."""
    declared = run["perspectives"] + run.get("perspectives_2", [])
    accepted = [item for item in declared if item["id"] in run["outputs"]]
    invalid, with_sources, warnings = 0, 0, []
    for item in accepted:
        answer = check_output(run["outputs"][item["id"]].decode(), item["prompt_contract"], run.get("tool_usage", {}).get(item["id"]))
        invalid += bool(answer["failures"])
        with_sources += answer["sources"] > 0
        warnings += answer["warnings"]
    least, reasons = run["limits"].get("min_wave_rate", 1), []
    if not declared or Fraction(len(accepted), len(declared)) < Fraction(least):
        reasons.append("WAVE_RATE_BELOW_MIN")
    if invalid:
        reasons.append("OUTPUT_INVALID")
    metrics = {
        "wave_output_rate": ratio(len(accepted), len(declared)),
        "sources_rate": ratio(with_sources, len(declared)),
        "missing_count": len(declared) - len(accepted),
    }
    outputs = [{"perspective_id": name, "sha256": sha256(run["outputs"][name])} for name in t_sorted(run["outputs"])]
    inputs = {"perspectives": [sha256(data) for data in perspectives_files], "outputs": outputs, "min_wave_rate": least}
    return gate_answer("B", reasons, metrics, warnings, inputs)


def gate_c(run):
    """6, C"""
    urls = set()
    for item in run["perspectives"] + run.get("perspectives_2", []):
        if item["id"] in run["outputs"]:
            urls |= distinct_normalised(source_urls(run["outputs"][item["id"]].decode(), item["prompt_contract"]))
    status = {record["normalized_url"]: record["status"] for record in run["records"] or []}
    good = sum(status.get(url) in ("valid", "paywalled") for url in urls)
    bad = sum(status.get(url) in ("invalid", "blocked", "mismatch") for url in urls)
    unknown = sum(url not in status for url in urls)
    reasons = []
    if urls:
        reasons += ["VALIDATED_RATE_LOW"] * (10 * good < 9 * len(urls))
        reasons += ["INVALID_RATE_HIGH"] * (10 * bad > len(urls))
        reasons += ["UNCATEGORIZED_URLS"] * (unknown > 0)
    else:
        reasons.append("NO_URLS_EXTRACTED")
    metrics = {
        "validated_url_rate": ratio(good, len(urls)),
        "invalid_url_rate": ratio(bad, len(urls)),
        "uncategorized_url_rate": ratio(unknown, len(urls)),
    }
    inputs = {"urls": t_sorted(urls), "statuses": [[url, status[url]] for url in t_sorted(status)]}
    return gate_answer("C", reasons, metrics, [], inputs)


BOUNDS = ("COVERAGE_BELOW_MIN", "SUMMARY_TOO_LARGE", "TOTAL_TOO_LARGE", "SUMMARY_MISSING", "SUMMARY_UNREADABLE")
INPUT = ("PACK_TOO_LARGE", "SYNTHESIS_INPUT_TOO_LARGE")
INTEGRITY = (
    "UNKNOWN_PERSPECTIVE",
    "DUPLICATE_ENTRY",
    "CLAIM_CID_UNKNOWN",
    "MENTION_CID_UNKNOWN",
    "NO_KEY_CLAIMS",
    "SUMMARY_INVALID",
    "ARTIFACT_CHANGED",
    "PACK_STALE",
)


def gate_d(run):
    """6, D: the gate's answer, or {"error", ...}."""
    if run["pack"] is None:
        return {"error": "NOT_FOUND"}
    try:
        pack = json.loads(run["pack"].decode())
    except ValueError:
        return {"error": "INVALID_JSON"}
    errors = check_document("pack", pack, "read", run["run_id"])
    if errors:
        return {"error": "SCHEMA_VALIDATION_FAILED", "errors": errors}
    if run["perspectives"] is None:
        return {"error": "NOT_FOUND"}
    return evaluate_gate_d(run, pack)


def evaluate_gate_d(run, pack):
    limits, files, records = limits_in_force(run["limits"]), run["files"], run["records"] or []
    expected = [item["id"] for item, _ in expected_perspectives(run)]
    pool, found, warnings = validated(records), set(), []
    entries = pack["summaries"]
    sizes, covered, used, missing = [], set(), set(), 0
    for entry in entries:
        path = entry["summary_md"]
        if is_blank(path) or path not in files:
            found.add("SUMMARY_MISSING")
            missing += 1
        elif files[path] is None:
            found.add("SUMMARY_UNREADABLE")
            missing += 1
        else:
            sizes.append(len(files[path]))
            name = entry["perspective_id"]
            if name in expected and name not in covered and path not in used:
                covered.add(name)
                used.add(path)
    if missing:
        warnings.append(f"MISSING_SUMMARIES:{missing}")
    if any(limits[name] != pack["limits"].get(name, limits[name]) for name in limits):
        warnings.append("PACK_LIMITS_DIFFER")
    if not expected or 10 * len(covered) < 9 * len(expected):
        found.add("COVERAGE_BELOW_MIN")
    if sizes and over_kb(max(sizes), limits["max_summary_kb"]):
        found.add("SUMMARY_TOO_LARGE")
    if over_kb(sum(sizes), limits["max_total_summary_kb"]):
        found.add("TOTAL_TOO_LARGE")

    stream, _, _ = build_bundle(run, pack, files)
    if over_kb(len(run["pack"]), limits["max_pack_json_kb"]):
        found.add("PACK_TOO_LARGE")
    if over_kb(len(stream), limits["max_synthesis_input_kb"]):
        found.add("SYNTHESIS_INPUT_TOO_LARGE")

    names, paths = [entry["perspective_id"] for entry in entries], [entry["summary_md"] for entry in entries]
    if any(name not in expected for name in names):
        found.add("UNKNOWN_PERSPECTIVE")
    if len(set(names)) < len(names) or len(set(paths)) < len(paths):
        found.add("DUPLICATE_ENTRY")
    claims = [claim for entry in entries for claim in entry["key_claims"]]
    if any(cid not in pool for claim in claims for cid in claim["citation_cids"]):
        found.add("CLAIM_CID_UNKNOWN")
    if not claims:
        found.add("NO_KEY_CLAIMS")
    for entry in entries:
        data = files.get(entry["summary_md"])
        if data is None:
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError:
            found.add("SUMMARY_INVALID")
            continue
        rule = run.get("number_rules", {}).get(entry["perspective_id"], "refuse")
        codes = {failure["code"] for failure in check_summary(text, entry["perspective_id"], records, limits["max_summary_kb"], rule)["failures"]}
        if "UNKNOWN_CID" in codes:
            found.add("MENTION_CID_UNKNOWN")
        if codes - {"UNKNOWN_CID", "SIZE_CAP_EXCEEDED"}:
            found.add("SUMMARY_INVALID")
    logged = run.get("logged_summaries", run.get("summaries"))
    on_disk = {entry["perspective_id"]: files.get(entry["summary_md"]) for entry in entries}
    if run.get("logged_pack", run["pack"]) != run["pack"] or any(logged.get(name) != data for name, data in on_disk.items()):
        found.add("ARTIFACT_CHANGED")
    if build_pack(run).get("pack") != {name: pack[name] for name in pack if name != "generated_at"}:
        found.add("PACK_STALE")

    reasons = [name for name in BOUNDS + INPUT + INTEGRITY if name in found]
    checks = {}
    for name, group in (("bounds", BOUNDS), ("input", INPUT), ("integrity", INTEGRITY)):
        checks[name] = "fail" if found & set(group) else "pass"
    metrics = {
        "summary_count_ratio": ratio(len(covered), len(expected)),
        "max_summary_kb": kb(max(sizes, default=0)),
        "total_summary_pack_kb": kb(sum(sizes)),
        "summary_count": len(covered),
        "expected_count": len(expected),
        "pack_json_kb": kb(len(run["pack"])),
        "synthesis_input_kb": kb(len(stream)),
    }
    listed = []
    for entry in entries:
        data = files.get(entry["summary_md"])
        row = {"perspective_id": entry["perspective_id"], "summary_md": entry["summary_md"]}
        row.update(bytes=None if data is None else len(data), sha256=None if data is None else sha256(data))
        listed.append(row)
    inputs = {
        "run_id": run["run_id"],
        "limits": limits,
        "min_coverage": 0.9,
        "expected": expected,
        "entries": listed,
        "pack": {"bytes": len(run["pack"]), "digest": pack_digest(pack)},
        "pool": pool_digest(records),
        "synthesis_input": {"bytes": len(stream), "sha256": sha256(stream)},
    }
    return gate_answer("D", reasons, metrics, warnings, inputs, checks)


def changed_members(before, after):
    """6: names of the members of two inputs that differ; an item of a list is named by its index (section 10, 6)."""
    changed = []
    for name in before:
        old, new = before[name], after[name]
        if isinstance(old, list) and len(old) == len(new):
            changed += [f"{name}[{at}]" for at in range(len(old)) if old[at] != new[at]]
        elif old != new:
            changed.append(name)
    return changed


# ---------------------------------------------------------------------------------------------------------------------
# 7 Synthesis check (Gate E)

REPORT_SECTIONS = ("Summary", "Key Findings", "Evidence", "Caveats")


def check_report(text, bundle_cids, bundle, pool):
    """7: {"findings", "metrics", "warnings"}."""
    findings, warnings = [], []
    present = [name for name in REPORT_SECTIONS if has_section(text, name)]
    findings += [{"code": "MISSING_REQUIRED_SECTION", "section": name} for name in REPORT_SECTIONS if name not in present]
    written = mentions(text)
    if not written:
        findings.append({"code": "MISSING_CITATIONS"})
    for cid, line in dict.fromkeys(written):
        if cid not in bundle_cids:
            findings.append({"code": "UNKNOWN_CID", "line": line, "cid": cid, "in_pool": cid in pool})
    findings += [{"code": "RAW_URL_NOT_ALLOWED", "line": line} for line in raw_url_lines(text)]
    uncited, stated = [], []
    for unit in units(text):
        if unit["kind"] in ("heading", "fence"):
            continue
        found = [(line_at(text, unit, offset), number) for offset, number in numbers_at(unit["text"], unit["kind"] == "item")]
        stated += [number for _, number in found]
        cids = {cid for mention in MENTION.findall(unit["text"]) for cid in mention_cids(mention)}
        if not cids & set(bundle_cids):
            uncited += found
    findings += [{"code": "UNCITED_NUMBER", "line": line, "number": number} for line, number in uncited]
    used = {cid for cid, _ in written if cid in bundle_cids}
    utilization = len(used) / len(bundle_cids) if bundle_cids else 0.0
    duplication = 1 - len(used) / len(written) if written else 0.0
    known = set(numbers(bundle))
    new = {number for number in stated if number not in known}
    if len(used) * 10 < len(bundle_cids) * 6 or not bundle_cids:
        warnings.append("LOW_UTILIZATION")
    if written and 10 * (len(written) - len(used)) > 2 * len(written):
        warnings.append("HIGH_DUPLICATION")
    if new:
        warnings.append("NUMBER_NOT_IN_INPUT")
    if has_malformed_mention(text):
        warnings.append("MALFORMED_MENTION")
    metrics = {
        "report_sections_present": 100 * len(present) // 4,
        "uncited_numeric_claims": len(uncited),
        "citation_utilization_rate": rate(utilization),
        "duplicate_citation_rate": rate(duplication),
        "numbers_not_in_input": len(new),
    }
    return {"findings": findings, "metrics": metrics, "warnings": warnings}


def gate_e(report, bundle, bundle_cids, pool):
    """7: Gate E is the check."""
    answer = check_report(report.decode(), bundle_cids, bundle.decode(), pool)
    reasons = list(dict.fromkeys(finding["code"] for finding in answer["findings"]))
    inputs = {"synthesis": sha256(report), "bundle": sha256(bundle)}
    return gate_answer("E", reasons, answer["metrics"], answer["warnings"], inputs)


# ---------------------------------------------------------------------------------------------------------------------
# 4.4 cite --extract: the derived files, and records


def derived_files(run_id, outputs):
    """4.4: outputs = [(wave, perspective id, text, contract)]. (extracted-urls.txt, items of found-by.json, rejected)."""
    items, rejected = [], []
    for wave, name, text, contract in outputs:
        found = source_urls(text, contract)
        parse_urls([item["url"] for item in found])
        seen = set()
        for item in found:
            answer = normalise(item["url"])
            place = (item["ordinal"], answer["shown"] if answer else item["url"])
            if place in seen:
                continue
            seen.add(place)
            if answer is None:
                rejected.append(item["url"])
                continue
            items.append({"url_original": answer["shown"], "wave": f"wave-{wave}", "perspective_id": name, "source_line": item["line"], "ordinal": item["ordinal"]})
    urls = t_sorted({item["url_original"] for item in items})
    bounded = []
    for url in urls:
        bounded += [item for item in items if item["url_original"] == url][:20]
    return {
        "extracted": "".join(url + "\n" for url in urls),
        "found_by": {"schema_version": "found_by.v1", "run_id": run_id, "items": bounded},
        "rejected": rejected,
    }


def url_map(run_id, urls):
    """4.4: normalized-urls.txt and url-map.json of a list of URLs, taken as they stand."""
    parse_urls(urls)
    answers = {url: normalise(url) for url in urls}
    good = t_sorted(url for url in set(urls) if answers[url])
    items = [{"url_original": url, "normalized_url": answers[url]["normalized_url"], "cid": answers[url]["cid"]} for url in good]
    normalized = t_sorted({item["normalized_url"] for item in items})
    return {
        "normalized": "".join(url + "\n" for url in normalized),
        "url_map": {"schema_version": "url_map.v1", "run_id": run_id, "items": items},
        "rejected": [url for url in urls if not answers[url]],
    }


def record_citations(given, first_forms=None):
    """3, 4.4, cite --from: records of a caller's list, or {"error"}. first_forms: normalised URL -> first form seen."""
    first_forms, records = first_forms or {}, []
    if isinstance(given, dict) and isinstance(given.get("items"), list):
        given = given["items"]
    if isinstance(given, dict):
        given = [dict(item if isinstance(item, dict) else {"status": item}, url=url) for url, item in given.items()]
    for item in given:
        url = item.get("url_original") or item.get("url") or item.get("normalized_url")
        answer = normalise(url)
        if answer is None:
            return {"error": "INVALID_URL"}
        if item.get("status") not in CITATION_STATUSES:
            return {"error": "SCHEMA_VALIDATION_FAILED"}
        normalized = answer["normalized_url"]
        first = normalise(first_forms.get(normalized, url))
        record = {"schema_version": "citation.v1", "normalized_url": normalized, "cid": answer["cid"], "url": normalized, "url_original": first["shown"]}
        record["status"] = "invalid" if answer["user_info"] or first["user_info"] else item["status"]
        record["notes"] = item.get("notes", "")
        for name in ("http_status", "title", "publisher", "evidence_snippet", "checked_by"):
            if name in item:
                record[name] = item[name]
        records.append(record)
    return {"records": sorted(records, key=lambda record: t_key(record["normalized_url"]))}
