"""The program against the independent model in research_model.py, on random requests.

WEIR_PEER names the program (research_peer), WEIR_SESSIONS how many requests of each kind (150), WEIR_SEED where to start. Without the
program only the model runs over a few requests.

The program reads one JSON request per line on stdin and answers one JSON line each, in order:

 {"do":"t_order","a":s,"b":s}                -> {"order":-1|0|1}
 {"do":"url","url":s}                        -> {"normalized_url","cid","shown","user_info":bool} or {"error":"INVALID_URL"}
 {"do":"units","text":s}                     -> {"units":[{"kind":"heading|item|paragraph|table|fence","first","last","text"}]}, lines from 1
 {"do":"words","text":s}                     -> {"words":n}
 {"do":"output","text":s,"contract":{...},"tool_usage":any or absent}
                                             -> {"words","sources","failures":[{"code","details"}],"warnings":[...],"notes":[one per failure]}
 {"do":"sources","text":s,"contract":{...}}  -> {"urls":[{"url":as written,"line":trimmed source line,"ordinal":n}]}
 {"do":"numbers","text":s}                   -> {"numbers":[normal forms in order]}
 {"do":"summary","text":s,"perspective_id":s,"pool":[records],"max_summary_kb":x,"numbers":"refuse|warn"}
                                             -> {"claims":[{"claim","citation_cids","confidence","confidence_source","line","number_check"}],
                                                 "failures":[{"code","details"}],"warnings":[...],"mentioned":[cids, T-order]}
 {"do":"cut","text":s,"max_summary_kb":x}    -> {"text":s or null}; a text that fits comes back as it is
 {"do":"report","text":s,"cids":[bundle cids],"bundle":s,"pool":[validated cids]}
                                             -> {"findings":[{"code","line"?,"cid"?,"in_pool"?,"section"?,"number"?}],"metrics":{...},"warnings":[...]}
 {"do":"document","kind":"perspectives|manifest|gates|citation|pack","value":any,"pass":"read|write","run_id":s,"agents":[...]|absent}
                                             -> {"errors":[{"path","code","message"}]}
 {"do":"layout","kind":...,"value":...}      -> {"text":the file's bytes}; a citation is its line
 {"do":"digest_upstream","value":any}        -> {"canonical":s,"digest":"sha256:..."}
 {"do":"rate","value":double}                -> {"value":number}
 {"do":"kb","bytes":n}                       -> {"value":number}

A warning is a string (a code, perhaps with `:...`) or an object with "code"; codes are compared, as a set. Details are compared
for the members the contract names. A message is compared where the contract fixes its text."""

import json
import os
import random
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import research_cases as cases  # noqa: E402
import research_model as model  # noqa: E402

PEER = os.environ.get("WEIR_PEER", "")
COUNT = int(os.environ.get("WEIR_SESSIONS", "150"))
SEED = int(os.environ.get("WEIR_SEED", "0"))
SHOWN = 3  # differences shown of each kind


# ---------------------------------------------------------------------------------------------------------------------
# The model's answer


def answer(request):
    do = request["do"]
    if do == "t_order":
        return {"order": model.t_compare(request["a"], request["b"])}
    if do == "url":
        return model.normalise(request["url"]) or {"error": "INVALID_URL"}
    if do == "units":
        return {"units": model.units(request["text"])}
    if do == "words":
        return {"words": model.words(request["text"])}
    if do == "output":
        return model.check_output(request["text"], request["contract"], request.get("tool_usage"))
    if do == "sources":
        return {"urls": model.source_urls(request["text"], request["contract"])}
    if do == "numbers":
        return {"numbers": model.numbers(request["text"])}
    if do == "summary":
        return model.check_summary(request["text"], request["perspective_id"], request["pool"], request["max_summary_kb"], request["numbers"])
    if do == "cut":
        return {"text": model.cut(request["text"], request["max_summary_kb"])}
    if do == "report":
        return model.check_report(request["text"], request["cids"], request["bundle"], request["pool"])
    if do == "document":
        return {"errors": model.check_document(request["kind"], request["value"], request["pass"], request["run_id"], request.get("agents"))}
    if do == "layout":
        return {"text": model.file_text(request["kind"], request["value"])}
    if do == "digest_upstream":
        return {"canonical": model.canonical_upstream(request["value"]), "digest": model.digest_upstream(request["value"])}
    if do == "rate":
        return {"value": model.rate(request["value"])}
    return {"value": model.kb(request["bytes"])}


def urls_of(request):
    """What the model will have to parse, so that it can be parsed in one go."""
    if request["do"] == "url":
        return [request["url"]]
    if request["do"] in ("output", "sources"):
        return [item["url"] for item in model.source_urls(request["text"], request["contract"])]
    return []


# ---------------------------------------------------------------------------------------------------------------------
# What is compared: both answers go through the same sieve

DETAILS = {
    "INVALID_TOOL_BUDGET": ("tool", "limit"),
    "MISSING_REQUIRED_SECTION": ("section", "missing_sections"),
    "TOO_MANY_WORDS": ("max_words", "words", "excess"),
    "MALFORMED_SOURCES": ("line", "line_number", "reason"),
    "INVALID_TOOL_USAGE": ("tool", "recorded"),
    "TOOL_BUDGET_EXCEEDED": ("tool", "limit", "recorded"),
    "NUMBER_NOT_IN_QUOTE": ("claim", "number", "cids"),
    "SIZE_CAP_EXCEEDED": ("perspective_id", "summary_kb", "max_summary_kb", "bytes", "cap_bytes", "excess_bytes"),
    "RAW_URL_NOT_ALLOWED": ("line",),
}


def sieve(request, given, reference):
    """The comparable part of an answer; `reference` is the model's answer to the same request."""
    do = request["do"]
    if do == "url" and "shown" in given:
        return dict(given, shown=given["shown"].replace("[REDACTED]", "%5BREDACTED%5D"))
    if do == "units":
        return sieve_units(request["text"], given["units"])
    if do in ("output", "summary"):
        return sieve_check(do, request, given, reference)
    if do == "sources":
        section = model.sources_lines(request["text"], request["contract"]) or []
        bullets = all(model.BULLET.match(line) for _, line in section)
        return [dict(item, ordinal=item["ordinal"] if bullets else 0) for item in given["urls"]]
    if do == "report":
        names = ("code", "line", "cid", "in_pool", "section", "number")
        findings = [[finding.get(name) for name in names] for finding in given["findings"]]
        return {"findings": sorted(findings, key=json.dumps), "metrics": given["metrics"], "warnings": codes(given["warnings"])}
    if do == "document":
        return sieve_errors(request, given["errors"], reference["errors"])
    return given


def codes(warnings):
    return sorted({(warning if isinstance(warning, str) else warning["code"]).split(":")[0] for warning in warnings})


def sieve_units(text, units):
    """An open fence may or may not own the empty line after the last newline."""
    last = len(model.lines_of(text))
    return [dict(unit, text=unit["text"].rstrip(), last=last) if unit["kind"] == "fence" and unit["last"] >= last - 1 else unit for unit in units]


def sieve_check(do, request, given, reference):
    kept = {name: given[name] for name in ("words", "sources", "mentioned") if name in given}
    failures, unknown = [], set()
    for failure in given["failures"]:
        code, details = failure["code"], failure.get("details", {})
        if code == "UNKNOWN_CID":
            unknown |= set(details.get("cids", [details.get("cid")]))
            row = [code]
        else:
            row = [code, {name: details.get(name) for name in DETAILS.get(code, ())}]
        if failures[-1:] != [row] or code not in ("UNKNOWN_CID", "INVALID_TOOL_USAGE"):
            failures.append(row)
    warnings = codes(given["warnings"])
    if any(failure[0] == "MISSING_REQUIRED_SECTION" for failure in failures):
        warnings = [name for name in warnings if name != "SOURCES_EMPTY"]
    kept.update(failures=failures, unknown=sorted(unknown), warnings=warnings)
    if do == "output":
        worded = [failure["code"] not in ("INVALID_TOOL_BUDGET", "INVALID_TOOL_USAGE") for failure in given["failures"]]
        kept["notes"] = [note for note, has_text in zip(given["notes"], worded) if has_text]
    else:
        refused = request["numbers"] != "warn"
        kept["claims"] = []
        for claim, other in zip(given["claims"], reference["claims"] + given["claims"][len(reference["claims"]):]):
            ignored = ("number_check",) if refused and other.get("number_check") == "warned" else ()
            kept["claims"].append({name: value for name, value in claim.items() if name not in ignored})
    return kept


def sieve_errors(request, errors, reference):
    free = {(error["path"], error["code"]) for error in reference if error.get("free")}
    rows = []
    for error in errors:
        place = (error["path"], error["code"])
        rows.append([*place, None if place in free else error["message"]])
    return sorted(rows, key=json.dumps) if request["kind"] == "gates" else rows


# ---------------------------------------------------------------------------------------------------------------------
# The comparison


def ask(requests):
    """The program's answers. Fewer than asked if it ended early."""
    asked = "".join(json.dumps(request) + "\n" for request in requests)
    run = subprocess.run([PEER], input=asked.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    answers = [json.loads(line) for line in run.stdout.decode().split("\n") if line]
    return answers, run.returncode, run.stderr.decode("utf-8", "replace")


def differs(request, given, reference):
    try:
        return sieve(request, given, reference) != sieve(request, reference, reference)
    except (KeyError, TypeError, AttributeError):
        return True


def still_differs(request):
    answers, _, _ = ask([request])
    return not answers or differs(request, answers[0], answer(request))


def smaller(request):
    """A shorter text that still differs: lines, then words, are left out one by one."""
    if not isinstance(request.get("text"), str):
        return request
    tries = 300
    for separator in ("\n", " "):
        at = 0
        while tries:
            parts = request["text"].split(separator)
            if at >= len(parts) or len(parts) == 1:
                break
            tries -= 1
            shorter = dict(request, text=separator.join(parts[:at] + parts[at + 1:]))
            if still_differs(shorter):
                request = shorter
            else:
                at += 1
    return request


def shortened(value, most=3000):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[:most] + f"... ({len(text)})"


def requests_of(kind, count):
    made = [cases.REQUESTS[kind](random.Random(f"{kind} {seed}")) for seed in range(SEED, SEED + count)]
    model.parse_urls([url for request in made for url in urls_of(request)])
    return made


class Model(unittest.TestCase):
    """The model alone: every request has an answer, and texts are cut as promised."""

    def test_every_request_has_an_answer(self):
        for kind in cases.REQUESTS:
            for request in requests_of(kind, 30):
                with self.subTest(kind=kind, request=shortened(request)):
                    reference = answer(request)
                    self.assertFalse(differs(request, json.loads(json.dumps(reference)), reference))

    def test_cuts_fit_and_are_prefixes(self):
        for request in requests_of("cut", 100):
            text, kept = request["text"], answer(request)["text"]
            if kept is None or kept == text:
                continue
            self.assertLessEqual(len(kept.encode()), request["max_summary_kb"] * 1024)
            self.assertTrue(text.startswith(kept[:kept.rindex("\n\n[truncated: kept ")]))


@unittest.skipUnless(PEER and os.path.exists(PEER), "WEIR_PEER names no program")
class Oracle(unittest.TestCase):
    def compare(self, kind):
        made = requests_of(kind, COUNT)
        answers, status, complaint = ask(made)
        if len(answers) < len(made):
            self.fail(f"no answer (exit {status}) to {shortened(made[len(answers)])}\n{complaint[-2000:]}")
        shown, different = [], 0
        for seed, (request, given) in enumerate(zip(made, answers), SEED):
            if not differs(request, given, answer(request)):
                continue
            different += 1
            if len(shown) < SHOWN:
                request = smaller(request)
                again = ask([request])[0]
                shown.append(f"seed {seed}: {shortened(request)}\n  model   {shortened(answer(request))}\n  program {shortened(again[0] if again else None)}")
        self.assertEqual(different, 0, f"{different} of {len(made)} differ\n" + "\n".join(shown))


def add_tests():
    for kind in cases.REQUESTS:
        setattr(Oracle, f"test_{kind}", lambda self, kind=kind: self.compare(kind))


add_tests()

if __name__ == "__main__":
    unittest.main()
