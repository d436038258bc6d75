"""Case 32: health without a token, metrics with one, from closed sets of labels."""

import os
import re

import server
from harness import entry
from server import HttpTest, snapshot_case

# Name and the labels it has.
NAMES = {
    "weir_build_info": None, "weir_http_requests_total": {"route", "method", "status"}, "weir_http_request_seconds": None, "weir_mcp_requests_total": {"era", "method", "result"},
    "weir_append_entries_total": set(), "weir_append_seconds": None, "weir_conflicts_total": set(), "weir_reads_total": {"mode"}, "weir_read_bytes_total": {"kind"},
    "weir_compactions_total": {"result"}, "weir_check_failures_total": {"check"}, "weir_import_lines_total": {"format", "result"}, "weir_masked_total": {"rule"},
    "weir_fold_cache_bytes": set(), "weir_sessions": set(), "weir_store_bytes": set(), "weir_store_free_bytes": set(), "weir_sse_clients": set(), "weir_auth_failures_total": set(),
}  # fmt: skip
SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')


def parse(text):
    """{metric: {(sorted labels): value}}, and the types; an unsound page is an error."""
    samples, types, helps = {}, {}, {}
    if not text.endswith("\n"):
        raise ValueError("no line feed at the end")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name in types:
                raise ValueError("a type twice: " + name)
            types[name] = kind
        elif line.startswith("# HELP "):
            helps[line.split(" ")[2]] = line
        elif line.startswith("#") or not line:
            continue
        else:
            found = SAMPLE.match(line)
            if not found:
                raise ValueError("no sample: " + line)
            labels = found.group(2) or ""
            pairs = LABEL.findall(labels)
            if ",".join(f'{key}="{value}"' for key, value in pairs) != labels.rstrip(","):
                raise ValueError("labels: " + line)
            key = tuple(sorted(pairs))
            values = samples.setdefault(found.group(1), {})
            if key in values:
                raise ValueError("a sample twice: " + line)
            values[key] = float(found.group(3))
    return samples, types


class MetricsTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def metrics(self):
        answer = self.ask("GET", "/metrics", status=200)
        self.assertEqual(answer.header("Content-Type", "").split(";")[0], "text/plain", answer)
        return (*parse(answer.text), answer.text)

    def value(self, name, **labels):
        samples, _, _ = self.metrics()
        return sum(value for key, value in samples.get(name, {}).items() if set(labels.items()) <= set(key))

    def test_case_32_health_needs_no_token(self):
        answer = self.ask("GET", "/healthz", token=False, status=200)
        self.assertEqual(answer.text.strip(), "ok")
        ready = self.ask("GET", "/readyz", token=False, status=200)
        self.assertEqual(ready.json.get("reasons", []), [])
        self.problem("DENIED", "GET", "/healthz", headers={"Host": "evil.example"}, token=False)

    def test_case_32_metrics_need_one(self):
        self.problem("UNAUTHENTICATED", "GET", "/metrics", token=False)
        self.problem("UNAUTHENTICATED", "GET", "/metrics", headers={"Authorization": "Bearer no"})

    def test_case_32_every_name_is_there_with_its_type_and_its_labels(self):
        samples, types, text = self.metrics()
        for name, labels in NAMES.items():
            with self.subTest(name=name):
                self.assertIn(name, types, text)
                wanted = "histogram" if name.endswith("_seconds") else "counter" if name.endswith("_total") else "gauge"
                self.assertIn(types[name], (wanted, "summary") if wanted == "histogram" else (wanted,))
                if labels is not None:
                    for key in samples.get(name, {}):
                        self.assertEqual({label for label, _ in key}, labels)
        self.assertEqual(sorted(set(types) - set(NAMES)), [], "no other of ours")

    def test_case_32_histograms_are_sound(self):
        self.put_entries("s", [entry("x")])
        samples, types, _ = self.metrics()
        for name in [name for name, kind in types.items() if kind == "histogram"]:
            groups = {}
            for key, value in samples[name + "_bucket"].items():
                labels = dict(key)
                groups.setdefault(tuple(sorted((k, v) for k, v in labels.items() if k != "le")), []).append((float(labels["le"].replace("+Inf", "inf")), value))
            for key, buckets in groups.items():
                buckets.sort()
                self.assertEqual(buckets[-1][0], float("inf"))
                self.assertEqual([count for _, count in buckets], sorted(count for _, count in buckets))
                self.assertEqual(buckets[-1][1], samples[name + "_count"][key])

    def test_case_32_they_count_what_happens(self):
        path = self.world.file("a.txt", "one\ntwo\n")
        self.put_entries("s", [entry("one", id="a1"), entry("two")])
        self.assertEqual(self.value("weir_append_entries_total"), 2)
        self.problem("CONFLICT", "POST", "/v1/sessions/s/entries", {"entries": [entry("x")], "expect": "nope0"})
        self.assertEqual(self.value("weir_conflicts_total"), 1)
        self.follow("s")
        for _ in range(3):
            self.post("/v1/sessions/s/read", {"path": path})
        self.assertEqual((self.value("weir_reads_total", mode="full"), self.value("weir_reads_total", mode="unchanged")), (1, 2))
        self.assertGreater(self.value("weir_read_bytes_total"), 0)
        self.post("/v1/sessions/s/compact", {}, 201)
        self.assertEqual(self.value("weir_compactions_total"), 1)
        secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuV"
        self.put_entries("s", [entry(secret)])
        self.assertEqual(self.value("weir_masked_total"), 1)
        for _ in range(3):
            self.ask("GET", "/v1/sessions", token=False, status=401)
        self.assertEqual(self.value("weir_auth_failures_total"), 3)
        self.assertEqual(self.value("weir_sessions"), 1)
        self.assertGreater(self.value("weir_store_bytes"), 0)
        self.assertGreater(self.value("weir_store_free_bytes"), 0)
        before = self.value("weir_http_requests_total", status="404")
        self.ask("GET", "/v1/sessions/nope", status=404)
        self.ask("GET", "/nothing", status=404)
        self.assertEqual(self.value("weir_http_requests_total", status="404"), before + 2)
        stream = self.server.events("/v1/sessions/s/events", "0")
        stream.collect(1, 3)
        self.assertEqual(self.value("weir_sse_clients"), 1)
        stream.close()
        self.assertTrue(server.wait_until(lambda: self.value("weir_sse_clients") == 0, 5))
        with open(os.path.join(server.harness.DATA, "pi-v3.jsonl"), "rb") as file:
            self.ask("POST", "/v1/sessions/pi-v3/import?format=pi", file.read(), headers={"Content-Type": "application/x-ndjson"}, status=(200, 201))
        self.assertEqual(self.value("weir_import_lines_total", format="pi"), 31)

    def test_case_32_no_session_id_path_or_secret_is_in_them(self):
        secret = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuV"
        path = self.world.file("zebra-file.txt", "one\n")
        self.put_entries("zebra-session", [entry("x " + secret, id="zebra-entry"), *snapshot_case.example()])
        self.post("/v1/sessions/zebra-session/read", {"path": path})
        self.ask("PUT", "/v1/sessions/zebra-session/heads/zebra-head", {"entry": "zebra-entry"})
        for where in ("zebra-session/entries/zebra-entry", "zebra-session/zebra-route", "zebra-other", "zebra-session/stages/zebra-stage", "zebra-session/history?q=zebra-word", "zebra-session/entries?zebra-key=1", secret):
            self.ask("GET", "/v1/sessions/" + where)
        self.ask("GET", "/zebra-top/" + secret)
        self.ask("ZEBRA", "/v1/sessions")
        self.ask("GET", "/v1/sessions", headers={"Accept": "zebra/zebra", "User-Agent": "zebra-agent", "Authorization": "Bearer zebra-token"})
        self.ask("POST", "/v1/sessions/zebra-session/import?format=zebra-format", b"{}", headers={"Content-Type": "application/x-ndjson"})
        self.ask("POST", "/v1/sessions/zebra-session/notes", {"kind": "zebra-kind"})
        self.server.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "zebra/method", "params": {}})
        samples, _, text = self.metrics()
        self.assertNotIn("zebra", text.lower())
        self.assertNotIn(secret, text)
        self.assertNotIn(self.server.token, text)
        self.assertNotIn(self.world.root, text)
        routes = {dict(key)["route"] for key in samples["weir_http_requests_total"]}
        self.assertTrue(any("{" in route for route in routes), routes)
        self.assertLess(len(routes), 60)
        for key in samples["weir_http_requests_total"]:
            self.assertRegex(dict(key)["status"], r"^[1-5](\d\d|xx)$")

    def test_case_32_many_names_make_few_series(self):
        before = len(self.metrics()[2].splitlines())
        for i in range(200):
            self.ask("GET", f"/v1/sessions/name{i}")
            self.ask("GET", f"/other{i}")
        self.assertLess(len(self.metrics()[2].splitlines()) - before, 60)


if __name__ == "__main__":
    server.main()
