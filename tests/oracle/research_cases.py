"""Random requests for research_oracle_test.py: texts, URLs and documents that stress the rules of research runs. Every
function takes a random.Random and returns a request. What the contract leaves open (see the readings in research_model.py)
is not generated where two readings would only argue about taste."""

import copy

import research_model as model

DELETE = object()
CIDS = ["cid_a", "cid_b", "cid_c", "c:1", "X-9", "cid_B"]
BLANK_TEXTS = ["", " ", "\u00a0", "\ufeff", "\t\n", "\u2003\u3000"]
TIME = "2026-02-13T12:00:00.000Z"


def one_of(rng, *choices):
    return rng.choice(choices)


def chance(rng, percent):
    return rng.random() * 100 < percent


# ---------------------------------------------------------------------------------------------------------------------
# Texts

WORDS = "gain Load fell rose by network The a Packet loss of HTTP mobile x été naïve Über 中文字 日本 カタカナ ไทยภาษา ລາວ ភាសា emoji😀 zero\u200bwidth well-known".split()
NUMBERS = (
    "12 12% 1,234 1,234.50 0.50 007 3.14 1.2.3 10.0.0.1 v2 3rd HTTP/3 UTF-8 COVID-19 x_9 9_x -5 +7 2020-21 5-year 1/2 12,34 1,2345 "
    "2020,2021 100,000,000 5ms (42) $3.50 €7 1e5 増12個 5µm é5 ж-5 #8 99.90 5. 6, 7; 3.5% 0 0.0 1.10 12:30"
).split()
OPENINGS = ["Dr. ", "e.g. ", "No. 5 ", "J. ", "U.S. ", "A/B. ", "É. ", "approx. ", "Fig. 2 ", "(i.e. ", "vs. "]
ENDS = [".", ".", ".", "!", "?", "。", "！", "？", '."', "。」", ".)", ".”", "?'", "...", "?!", ".]"]
MALFORMED = ["[@a b]", "[@]", "[@cid_a", "[@a, @b]", "[@ cid_a]", "[@a; b]", "[@a;@b]", "[@a;\u00a0@b]", "[@é]", "[@@a]"]
RAW = ["https://x.org/a", "HTTP://X.ORG", "ftp://f", "www.x.org", "WWW.A", "www.日本.jp", "git+ssh://h", "//e.com", "www. x", "mailto:a@b", "http:/x", "x://y"]
CODE = ["`12`", "`x 5 y`", "``a ` 7``", "`v 3`"]


def mention(rng):
    ids = [rng.choice(CIDS) for _ in range(one_of(rng, 1, 1, 1, 2, 3))]
    return "[" + "; ".join("@" + name for name in ids) + "]"


def confidence(rng):
    if chance(rng, 4):
        return f"(confidence: {one_of(rng, 101, 900, -3, '85%', '+5', '1e1', '5.', '100.5', 'high', '')})"
    return f"({one_of(rng, 'confidence', 'confidence', 'Confidence')}: {one_of(rng, 0, 5, 50, 85, 100, 99.5, rng.randrange(101))})"


def phrase(rng, cite=40, odd=10):
    """A few words, some numbers, perhaps code, a mention, a mark."""
    parts = []
    for _ in range(rng.randrange(1, 7)):
        parts.append(rng.choice(NUMBERS) if chance(rng, 25) else rng.choice(WORDS))
    if chance(rng, odd):
        parts.insert(rng.randrange(len(parts) + 1), rng.choice(CODE))
    if chance(rng, odd):
        parts.insert(rng.randrange(len(parts) + 1), rng.choice(MALFORMED))
    text = " ".join(parts)
    if chance(rng, 8):
        text = text.replace(" ", one_of(rng, "\u00a0", "  ", "\t", "\u3000"), 1)
    if chance(rng, cite):
        text += " " + mention(rng)
    return text


def sentence(rng, cite=40):
    text = phrase(rng, cite)
    if chance(rng, 60):
        text = text[0].upper() + text[1:]
    if chance(rng, 15):
        before = phrase(rng, cite / 2, 0) + " " if chance(rng, 50) else ""
        text = before + rng.choice(OPENINGS) + text
    text += rng.choice(ENDS)
    if chance(rng, cite / 2):
        text += one_of(rng, "", " ", " ") + mention(rng)
    if chance(rng, 15):
        text += " " + confidence(rng)
    return text


def paragraph(rng):
    text = one_of(rng, " ", " ", "  ", "\u00a0").join(sentence(rng) for _ in range(rng.randrange(1, 5)))
    if chance(rng, 20):
        text = text.replace(" ", "\n", 1)
    return text


def item(rng):
    marker = one_of(rng, "- ", "* ", "+ ", "1. ", "23) ", "-\t", "1234567890. ", "-", "1.", "123456789. ", "- \u00a0")
    text = " " * one_of(rng, 0, 0, 0, 2, 4, 6) + marker + phrase(rng, 60)
    if chance(rng, 60):
        text += "."
    if chance(rng, 30):
        text += " " + confidence(rng)
    if chance(rng, 20):
        text += "\n  " + phrase(rng)
    if chance(rng, 4):
        text = one_of(rng, "- ", "1. ", "") + mention(rng) + one_of(rng, "", " (confidence: 7)")
    return text


def table(rng):
    return "\n".join("| " + phrase(rng) + " | " + phrase(rng) + " |" for _ in range(rng.randrange(1, 4)))


def fence(rng):
    mark = one_of(rng, "```", "~~~", "````", "~~~~~")
    inside = one_of(rng, "## Findings", "code 5 [@cid_a]", "~~~", "```", "", "- x", "``` not an end", "    ```")
    end = one_of(rng, mark, mark, mark + mark[0], "  " + mark + "  ", mark[1:], "")
    return " " * one_of(rng, 0, 0, 3, 4) + mark + one_of(rng, "", "json") + "\n" + inside + "\n" + end


def heading(rng):
    name = one_of(rng, "Findings", "Sources", "sources", "Gaps", "Summary", "Key Findings", "Evidence", "Caveats", "In 2026", "findings", "")
    hashes = "#" * one_of(rng, 1, 2, 2, 2, 3, 6, 7)
    gap = one_of(rng, " ", " ", " ", "  ", "\t", "", "\u00a0")
    tail = one_of(rng, "", "", "", " ##", "#", " ", " # x", ":", "\t#\t")
    return " " * one_of(rng, 0, 0, 0, 1, 3, 4) + hashes + gap + name + tail


def markdown(rng, most=10):
    """A text of units, with CRLF, blank-looking lines and a missing final newline now and then."""
    parts = []
    for _ in range(rng.randrange(0 if chance(rng, 5) else 1, most)):
        parts.append(rng.choice((heading, heading, paragraph, paragraph, item, item, item, table, fence))(rng))
        parts.append(one_of(rng, "\n", "\n", "\n\n", "\n\n", "\n \n", "\n\u00a0\ufeff\n", "\n---\n", "\n\n\n"))
    text = "".join(parts)
    if chance(rng, 10):
        text = text.replace("\n", "\r\n")
    if chance(rng, 5):
        text = "\ufeff" + text
    if chance(rng, 30):
        text = text.rstrip("\n")
    return text


# ---------------------------------------------------------------------------------------------------------------------
# URLs

HOSTS = [
    "example.com", "EXAMPLE.Com", "example.com.", "bücher.example", "日本.jp", "127.0.0.1", "0x7f.1", "2130706433", "[::1]", "[2001:DB8::1]",
    "a_b.org", "xn--bcher-kva.example", "exa%6Dple.com", "ex ample.com", "a..b", "256.256.256.256", "", "1.2.3", "[::1", "faß.de", "a%00b.c", "host<x", "σς.gr", "a-.b",
]  # fmt: skip
USERS = ["", "", "", "", "", "user@", "u:p@", ":p@", "u%40:@"]
PORTS = ["", "", "", "", ":80", ":443", ":8080", ":0", ":65535", ":65536", ":", ":x", ":0443"]
SEGMENTS = ["a", "B", ".", "..", "", "%2e", "%2E%2e", "ü", "%c3%bc", "a b", "%", "%zz", "x\\y", "a;b", "(c)", "~", "'", "^", "|", "{}", "日", "a+b", "%2F", "@", ":"]
KEYS = [
    "a", "b", "b1", "b_x", "B", "A", "utm_source", "UTM_x", "%75tm_a", "gclid", "FbClid", "utm", "utm_", "q", "keyword", "api_key", "api-key", "Token", "access.token",
    "sessionid", "mykey", "key", "x_AUTH_y", "secret", "%6Bey", "ö", "", "a b", "a+b", "%E4", "password1", "日", "tokens", "pass.wd", "PassWd",
]  # fmt: skip
VALUES = ["1", "2", "", "x", "X", "a+b", "a%20b", "a%2Bb", "%C3%A9", "é", "%ff", "%E2%82", "a=b", "[x]", "'", "()", "!*~", "%2f/", "日本", "%", "%4", "😀", "a;b", "\"", "<", "%00", "A", "~-_."]


def url(rng):
    if chance(rng, 4):
        return one_of(rng, "", "example.com/x", "//a.b", "mailto:a@b.c", "ftp://a.b/c", "javascript:1", "http", "https:", "data:,x", "file:///a", "http:///a.b/c", "https:a.b/c", "HTTP:\\\\a.b\\c")
    scheme = one_of(rng, "https://", "https://", "http://", "HTTP://", "https:/", "https:\\\\", " https://", "ht\ttps://")
    path = "".join(one_of(rng, "/", "/", "/", "\\") + rng.choice(SEGMENTS) for _ in range(rng.randrange(0, 5)))
    query = ""
    if chance(rng, 60):
        pairs = []
        for _ in range(rng.randrange(0, 5)):
            key = rng.choice(KEYS)
            secret = model.is_secret_key(model.percent_decode(key))
            pairs.append(key + "=" + rng.choice(VALUES) if secret or not chance(rng, 15) else key)
        query = "?" + "&".join(pairs)
    hash_ = one_of(rng, "", "", "", "", "#", "#frag", "#a?b")
    return scheme + rng.choice(USERS) + rng.choice(HOSTS[:8] if chance(rng, 60) else HOSTS) + rng.choice(PORTS) + path + query + hash_ + one_of(rng, "", "", "", " ", "\n")


def t_order_request(rng):
    alphabet = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0129aAbBzZ" + "éßÄ日\t\x01\u00a0😀"
    a = "".join(rng.choice(alphabet) for _ in range(rng.randrange(0, 6)))
    b = a
    if chance(rng, 70):
        b = "".join(rng.choice(alphabet) for _ in range(rng.randrange(0, 6)))
    if chance(rng, 50):
        b = a[: rng.randrange(len(a) + 1)] + b
    if chance(rng, 30):
        b = "".join(char.swapcase() if char.isascii() and chance(rng, 40) else char for char in b)
    return {"do": "t_order", "a": a, "b": b}


def url_request(rng):
    return {"do": "url", "url": url(rng)}


def units_request(rng):
    return {"do": "units", "text": markdown(rng)}


def words_request(rng):
    return {"do": "words", "text": markdown(rng)}


def numbers_request(rng):
    return {"do": "numbers", "text": "\n".join(phrase(rng, 30, 15) for _ in range(rng.randrange(1, 4)))}


# ---------------------------------------------------------------------------------------------------------------------
# Wave outputs


def source_line(rng):
    address = one_of(rng, "https://a.com", "http://b.com/x?utm_a=1", "https://a.com/", "https://c.org/p_(q)", "https://d.net/x,", "HTTPS://E.com", "https://", "http://[bad", "https://f.io/?key=1", "https://日本.jp/ü")
    text = one_of(rng, address, f"<{address}>", f"({address})", f"[t]({address})", f"see {address}. Yes", f"{address} {rng.choice(['http://z.com', 'https://a.com'])}", f'"{address}"', f"{address}](x)")
    marker = one_of(rng, "- ", "- ", "- ", "* ", "+ ", "1. ", "12. ", "  - ", "-\t", "\u00a0- ") if chance(rng, 93) else one_of(rng, "", "1) ", "-", "• ")
    return marker + (text if chance(rng, 95) else "no address")


def wave_output(rng):
    parts = []
    names = ["Findings", one_of(rng, "Sources", "Sources", "Sources", "Sources", "sources", "SOURCES"), "Gaps"]
    rng.shuffle(names)
    for name in names:
        if chance(rng, 5):
            continue
        parts.append("#" * one_of(rng, 1, 2, 2, 2, 6) + " " + name + one_of(rng, "", "", " ##", "  "))
        if name.lower() == "sources":
            parts += [one_of(rng, "", "\u00a0") if chance(rng, 10) else source_line(rng) for _ in range(rng.randrange(0, 6))]
            if chance(rng, 5):
                parts += ["```", "## Gaps", "```"]
        else:
            parts += [rng.choice((paragraph, item, table, item))(rng) for _ in range(rng.randrange(0, 3))]
            if chance(rng, 8):
                parts.append(fence(rng))
        parts.append("")
    text = "\n".join(parts)
    return text.replace("\n", "\r\n") if chance(rng, 10) else text


def contract(rng):
    budget = {}
    for tool in ("fetch_calls", "search_calls"):
        if chance(rng, 80):
            budget[tool] = one_of(rng, 0, 4, 6, 2.5) if chance(rng, 97) else one_of(rng, -1, "4", None, True, [1])
    sections = ["findings" if chance(rng, 5) else "Findings", one_of(rng, "Sources", "Sources", "Sources", "sources"), "Gaps"]
    sections = [name for name in sections if chance(rng, 80)]
    return {"max_words": one_of(rng, 900, 900, 900, 20, 40, 80, 10.5, -1), "max_sources": one_of(rng, 0, 1, 2, 12), "tool_budget": budget, "must_include_sections": sections}


def output_request(rng):
    request = {"do": "output", "text": wave_output(rng) if chance(rng, 85) else markdown(rng), "contract": contract(rng)}
    if chance(rng, 70):
        request["tool_usage"] = one_of(rng, {}, None, [1], "x") if chance(rng, 15) else {
            tool: one_of(rng, 0, 1, 3, 5, 7, "4", "12", 2.5) if chance(rng, 96) else one_of(rng, -1, "x", "", None, True, "1.5", {})
            for tool in ("fetch_calls", "search_calls", "shell_calls")
            if chance(rng, 60)
        }
    return request


def sources_request(rng):
    return {"do": "sources", "text": wave_output(rng), "contract": contract(rng)}


# ---------------------------------------------------------------------------------------------------------------------
# Summaries and reports


def summary_text(rng):
    text = markdown(rng, 8)
    if chance(rng, 8):
        text += "\n" + phrase(rng) + " " + rng.choice(RAW) + "\n"
    if chance(rng, 4):
        text += "\n" + one_of(rng, "<<<weir:end>>>", " <<<weir:x", "<<<weir:") + "\n"
    if chance(rng, 3):
        text = rng.choice(BLANK_TEXTS)
    return text


def pool(rng):
    records = []
    for cid in CIDS:
        if chance(rng, 96):
            status = one_of(rng, "valid", "valid", "paywalled") if chance(rng, 95) else one_of(rng, "blocked", "invalid", "mismatch")
            record = {"cid": cid, "status": status}
            if chance(rng, 60):
                record["evidence_snippet"] = "It was " + " ".join(rng.choice(NUMBERS) for _ in range(rng.randrange(0, 40))) + " in all."
            records.append(record)
    return records


def size_limit(rng, text):
    """Around the size of the text, or far from it."""
    size = len(text.encode())
    return one_of(rng, 5, 5, 5, size / 1024, max(1, size - 1) / 1024, (size + 1) / 1024, max(1, size // 2) / 1024)


def summary_request(rng):
    text = summary_text(rng)
    return {
        "do": "summary",
        "text": text,
        "perspective_id": "p1",
        "pool": pool(rng),
        "max_summary_kb": size_limit(rng, text),
        "numbers": one_of(rng, "refuse", "refuse", "warn"),
    }


def cut_request(rng):
    text = markdown(rng, 14)
    limit = rng.randrange(1, len(text.encode()) + 60) / 1024 if text and chance(rng, 90) else size_limit(rng, text)
    return {"do": "cut", "text": text, "max_summary_kb": limit or 1}


def report_request(rng):
    parts = []
    for name in ("Summary", "Key Findings", "Evidence", "Caveats"):
        if chance(rng, 90):
            parts.append("## " + name + one_of(rng, "", "", " #"))
        parts += [rng.choice((paragraph, item, item, table, fence))(rng) + one_of(rng, "", "\n") for _ in range(rng.randrange(0, 3))]
    if chance(rng, 6):
        parts.append(phrase(rng) + " " + rng.choice(RAW))
    cids = model.t_sorted(name for name in CIDS if chance(rng, 80))
    known = model.t_sorted(set(cids) | {name for name in CIDS if chance(rng, 50)})
    numbers = " ".join(rng.choice(NUMBERS) for _ in range(rng.randrange(0, 40)))
    return {"do": "report", "text": "\n".join(parts) + "\n", "cids": cids, "bundle": "It holds " + numbers + " in all.\n", "pool": known}


# ---------------------------------------------------------------------------------------------------------------------
# Documents


def perspective(name, track="standard"):
    budget = {"fetch_calls": 6, "search_calls": 4}
    asked = {"max_words": 900, "max_sources": 12, "tool_budget": budget, "must_include_sections": ["Findings", "Sources", "Gaps"]}
    return {"id": name, "title": "Title " + name, "track": track, "agent_type": "Researcher", "prompt_contract": asked}


def perspectives_document():
    return {"schema_version": "perspectives.v1", "run_id": "run", "created_at": TIME, "perspectives": [perspective("p1"), perspective("p2", "contrarian")]}


def manifest_document():
    paths = {name: name.replace("_", "-") for name in model.PATHS.split()}
    entry = {"from": "init", "to": "wave1", "ts": TIME, "reason": "x", "inputs_digest": "sha256:0", "gates_revision": 1}
    return {
        "schema_version": "manifest.v1",
        "run_id": "run",
        "created_at": TIME,
        "updated_at": TIME,
        "revision": 1,
        "mode": "standard",
        "status": "running",
        "query": {"text": "Q", "constraints": {}, "sensitivity": "normal"},
        "stage": {"current": "wave1", "started_at": TIME, "last_progress_at": TIME, "history": [entry, dict(entry)]},
        "limits": {"max_wave1_agents": 6, "max_wave2_agents": 6, "max_review_iterations": 4, "max_summary_kb": 5, "max_total_summary_kb": 60},
        "artifacts": {"root": "/run", "paths": paths},
        "metrics": {},
        "failures": [],
        "agents": {"policy": "existing-runtime-only"},
    }


def gates_document():
    gates = {}
    for name, title in model.GATE_NAMES.items():
        gates[name] = {"id": name, "name": title, "class": "hard", "status": "not_run", "checked_at": None, "metrics": {}, "artifacts": [], "warnings": [], "notes": ""}
    gates["D"].update(status="pass", checked_at=TIME)
    return {"schema_version": "gates.v1", "run_id": "run", "revision": 1, "updated_at": TIME, "inputs_digest": "sha256:0", "gates": gates}


def citation_document():
    url_ = "https://a.com/x"
    found = {"wave": 1, "perspective_id": "p1", "agent_type": "Researcher", "artifact_path": "wave-1/p1.md", "source_line": "- " + url_}
    return {
        "schema_version": "citation.v1",
        "normalized_url": url_,
        "cid": model.cid_of(url_),
        "url": url_,
        "url_original": url_,
        "status": "valid",
        "checked_at": TIME,
        "found_by": [found],
        "notes": "",
        "title": "T",
        "evidence_snippet": "12%",
    }


def pack_document():
    def entry(name):
        claims = [{"claim": "X.", "citation_cids": ["cid_a", "cid_b"], "confidence": 85}, {"claim": "Y.", "citation_cids": ["cid_a"], "confidence": 0}]
        return {"perspective_id": name, "source_artifact": f"wave-1/{name}.md", "summary_md": f"summaries/{name}.md", "key_claims": claims}

    limits = {"max_summary_kb": 5, "max_total_summary_kb": 60, "max_pack_json_kb": 60, "max_synthesis_input_kb": 120}
    return {"schema_version": "summary_pack.v1", "run_id": "run", "generated_at": TIME, "limits": limits, "summaries": [entry("p1"), entry("p2")], "total_estimated_tokens": 10}


DOCUMENTS = {
    "perspectives": perspectives_document,
    "manifest": manifest_document,
    "gates": gates_document,
    "citation": citation_document,
    "pack": pack_document,
}

NO_TEXT = [DELETE, None, 7, "", "\u00a0\ufeff", [], {}]
NO_OBJECT = [DELETE, None, [], "x", 3]
NO_ARRAY = [DELETE, None, {}, "x", 3]
NO_NUMBER = [DELETE, None, "5", True, []]
NO_CHOICE = [DELETE, None, "Standard", "x", "", 7]


def text_at(*paths):
    return [(path, NO_TEXT) for path in paths]


P = "perspectives.{}"
C = P + ".prompt_contract"
G = "gates.{gate}"
K = "summaries.{}.key_claims.{}"
CHANGES = {
    "perspectives": text_at("run_id", "created_at", P + ".id", P + ".title", P + ".agent_type") + [
        ("schema_version", [DELETE, "perspectives.v2", 1]),
        ("run_id", ["other"]),
        ("created_at", ["yesterday", "2026-02-30T12:00:00Z", "2026-02-13T12:00:00Z", "2026-02-13 12:00:00Z", "2026-02-13T25:00:00Z", "2026-02-13T12:00:00.5Z"]),
        ("perspectives", NO_ARRAY + [[]]),
        (P, [None, 3, "x", []]),
        (P + ".id", ["../../evil", "a/b", ".x", "p1.", "a" * 65, "a" * 64, "P1", "P2", "p1", "p2", "a..b", "ä", "a b", "x-_.9", "-a"]),
        (P + ".track", NO_CHOICE + ["independent"]),
        (P + ".agent_type", ["Other", "researcher"]),
        (C, NO_OBJECT),
        (C + ".max_words", NO_NUMBER + [0, 1.5, -1, 1, 2.0]),
        (C + ".max_sources", NO_NUMBER + [0, 1.5, -1]),
        (C + ".tool_budget", NO_OBJECT + [{}, {"a": -1, "b": 1.5}, {"a": None, "b": "4"}, {"a": 0}]),
        (C + ".must_include_sections", NO_ARRAY + [[], ["\u00a0"], ["A", 3, "", "B"], [None]]),
        (P + ".expected_platforms", ["docs", [], ["docs"], ["", 3], None, {}]),
        (P + ".platform_requirements", [[], [{"name": "a", "reason": "b"}], [{"name": "", "reason": "b"}], [3, {"name": "a", "reason": None}], {}]),
        (P + ".tool_policy", [{"primary": ["a"], "secondary": [], "forbidden": []}, {"primary": "a", "secondary": [], "forbidden": [3]}, []]),
        (P + ".source_artifact", ["wave-1/x.md", "wave-2/a/b.md", "wave-3/x.md", "../x.md", "wave-1/../x", "/wave-1/x", "wave-1//x", "wave-1\\x", "wave-1/./x", "", 3, "wave-1/"]),
        ("extra", [1, {"z": None}]),
    ],
    "manifest": text_at("run_id", "created_at", "updated_at", "query.text", "stage.started_at", "artifacts.paths.wave1_dir", "artifacts.paths.pivot_file") + [
        ("schema_version", [DELETE, "manifest.v2", 1]),
        ("updated_at", ["garbage"]),
        ("revision", NO_NUMBER + [0, 1.5, -1, 2.0]),
        ("mode", NO_CHOICE + ["quick", "deep"]),
        ("status", NO_CHOICE + ["cancelled", "done"]),
        ("query", NO_OBJECT),
        ("query.constraints", [DELETE, None, [], "x", {"a": 1}]),
        ("query.sensitivity", [DELETE, None, "No_web", "restricted", "no_web", 3]),
        ("stage", NO_OBJECT),
        ("stage.current", NO_CHOICE + ["pivot", "perspectives"]),
        ("stage.last_progress_at", [DELETE, "yesterday", "", 3, "2026-02-13T12:00:00Z"]),
        ("stage.history", NO_ARRAY + [[]]),
        ("stage.history.{}", [None, 3, "x"]),
        ("stage.history.{}.from", NO_TEXT),
        ("stage.history.{}.inputs_digest", NO_TEXT),
        ("stage.history.{}.gates_revision", NO_NUMBER + [1.5, 2]),
        ("limits", NO_OBJECT),
        ("limits.max_wave1_agents", NO_NUMBER + [0, 5000]),
        ("limits.max_summary_kb", NO_NUMBER + [0.5]),
        ("limits.max_pack_json_kb", [None, "5", 5, 0.5]),
        ("limits.min_wave_rate", [None, "1", 0.8]),
        ("artifacts", NO_OBJECT),
        ("artifacts.root", [DELETE, None, "", "run", "./run", 3, "/"]),
        ("artifacts.paths", NO_OBJECT),
        ("metrics", NO_OBJECT),
        ("failures", NO_ARRAY),
        ("agents", [DELETE]),
        ("extra", [1]),
    ],
    "gates": text_at("run_id", "updated_at", "inputs_digest", G + ".name") + [
        ("schema_version", [DELETE, "gates.v2"]),
        ("revision", NO_NUMBER + [0, 1.5]),
        ("gates", NO_OBJECT),
        (G, [DELETE]),
        (G + ".id", [DELETE, "Z", "a", 3]),
        (G + ".class", [DELETE, "Hard", "soft", 3]),
        (G + ".status", ["pass", "fail", "warn", "Pass", "not_run"]),
        (G + ".checked_at", [DELETE, 3, TIME, None, False]),
        (G + ".metrics", NO_OBJECT),
        (G + ".artifacts", NO_ARRAY + [["a"], ["a", 3]]),
        (G + ".warnings", NO_ARRAY + [[""], [None]]),
        (G + ".notes", [DELETE, None, 3, "n"]),
        ("gates.G", [{"id": "G", "name": "G", "class": "soft", "status": "warn", "checked_at": TIME, "metrics": {}, "artifacts": [], "warnings": [], "notes": ""}]),
    ],
    "citation": text_at("normalized_url", "cid", "url", "url_original", "checked_at") + [
        ("schema_version", [DELETE, "citation.v2"]),
        ("normalized_url", ["https://b.com/"]),
        ("cid", ["cid_1", "x"]),
        ("status", NO_CHOICE + ["paywalled", "blocked", "great", "Valid"]),
        ("found_by", NO_ARRAY + [[], [{}] * 21, [{}] * 20, [3, None]]),
        ("notes", [DELETE, None, 3, "n"]),
        ("http_status", [200, "200", 1.5, None]),
        ("title", [DELETE, None, 3]),
        ("publisher", ["x", 3]),
        ("evidence_snippet", [DELETE, "é" * 1024, "é" * 1024 + "x", 3]),
        ("checked_by", ["x", 3]),
        ("extra", [1]),
    ],
    "pack": text_at("run_id", "generated_at", "summaries.{}.perspective_id", K + ".claim") + [
        ("schema_version", [DELETE, "summary_pack.v2", 1]),
        ("run_id", ["other"]),
        ("limits", NO_OBJECT),
        ("limits.max_summary_kb", NO_NUMBER + [9999]),
        ("limits.max_pack_json_kb", [DELETE, "60", 3]),
        ("summaries", NO_ARRAY + [[]]),
        ("summaries.{}", [None, 3, "x"]),
        ("summaries.{}.source_artifact", [DELETE, None, 3, "../x.md", "/x", "a/b.md"]),
        ("summaries.{}.summary_md", [DELETE, None, 3, "summaries", "x.md", "summaries/../x", "summaries/p1.summary.md", "summaries/a/b.md", "summaries\\x"]),
        ("summaries.{}.key_claims", NO_ARRAY + [[]]),
        (K, [None, 3, []]),
        (K + ".citation_cids", NO_ARRAY + [[], ["a", "b"], ["a", "a"], [3, "a"]]),
        (K + ".confidence", NO_NUMBER + [0, 100, 101, 900, -1, 50.5]),
        ("total_estimated_tokens", [DELETE, None, "10", 132]),
        ("extra", ["x" * 50]),
    ],
}


def change(rng, document, path, value):
    """Sets the member at a path of names and indices; does nothing where the way is gone."""
    parts = [part.format(rng.randrange(2), gate=rng.choice("ABCDEF")) for part in path.split(".")]
    place = document
    for part in parts[:-1]:
        if isinstance(place, list):
            place = place[int(part)] if part.isdigit() and int(part) < len(place) else None
        else:
            place = place.get(part) if isinstance(place, dict) else None
    last = parts[-1]
    if isinstance(place, list) and last.isdigit() and int(last) < len(place):
        place[int(last)] = copy.deepcopy(value)
    elif isinstance(place, dict):
        if value is DELETE:
            place.pop(last, None)
        else:
            place[last] = copy.deepcopy(value)


def document_request(rng):
    kind = rng.choice(list(DOCUMENTS))
    value = DOCUMENTS[kind]()
    for _ in range(rng.randrange(0, 7)):
        path, values = rng.choice(CHANGES[kind])
        change(rng, value, path, rng.choice(values))
    if chance(rng, 3):
        value = one_of(rng, None, [], "x", 3)
    request = {"do": "document", "kind": kind, "value": value, "pass": "read", "run_id": "run"}
    if kind == "perspectives":
        request["pass"] = one_of(rng, "read", "write", "write", "write")
        if chance(rng, 50):
            request["agents"] = ["Researcher", "ClaudeResearcher"]
    return request


def shuffled(rng, value):
    """The same value with members in another order and unknown ones added."""
    if isinstance(value, list):
        return [shuffled(rng, entry) for entry in value]
    if not isinstance(value, dict):
        return value
    members = [(name, shuffled(rng, entry)) for name, entry in value.items()]
    for name in ("zz", "Zz", "é", "a0", "\u20ac", "😀", "_x"):
        if chance(rng, 10):
            members.append((name, random_value(rng, 2)))
    rng.shuffle(members)
    return dict(members)


def random_value(rng, depth):
    if depth and chance(rng, 40):
        keys = ["a", "A", "b", "B", "b1", "b_x", "10", "9", "0", "01", "-1", "é", "z", "x y", "~", "1.5", "日", ""]
        return {key: random_value(rng, depth - 1) for key in rng.sample(keys, rng.randrange(0, 6))}
    if depth and chance(rng, 30):
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(0, 4))]
    numbers = [0, 1, -7, 1.5, 1e21, 1e-7, 123456789012, 0.1, 5e-324, 1.7976931348623157e308, 100.0, -0.0, 333333333.33333329]
    texts = ["", "x", 'q"\\/', "\n\t\x01\x1f\x7f", "é日😀", "\u2028", "</s>"]
    return rng.choice(numbers + texts + [None, True, False])


def layout_request(rng):
    kind = rng.choice(list(DOCUMENTS))
    return {"do": "layout", "kind": kind, "value": shuffled(rng, DOCUMENTS[kind]())}


def digest_request(rng):
    return {"do": "digest_upstream", "value": random_value(rng, 4)}


def rate_request(rng):
    count = rng.randrange(1, 2000)
    value = one_of(rng, rng.random(), rng.randrange(count + 1) / count, (rng.randrange(10**6) * 2 + 1) / 2e6, rng.randrange(2**14) / 2**14, 0.8999995, 0.0, 1.0)
    return {"do": "rate", "value": value}


def kb_request(rng):
    return {"do": "kb", "bytes": one_of(rng, rng.randrange(200), rng.randrange(2**20), rng.randrange(2**10) * 16 + 8, rng.randrange(2**40))}


REQUESTS = {
    "t_order": t_order_request,
    "url": url_request,
    "units": units_request,
    "words": words_request,
    "output": output_request,
    "sources": sources_request,
    "numbers": numbers_request,
    "summary": summary_request,
    "cut": cut_request,
    "report": report_request,
    "document": document_request,
    "layout": layout_request,
    "digest_upstream": digest_request,
    "rate": rate_request,
    "kb": kb_request,
}
