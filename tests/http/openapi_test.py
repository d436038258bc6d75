"""Case 31: /openapi.json is a document of OpenAPI 3.1, it and the routes agree both ways, and its examples are answered as it
says."""

import json
import os
import re
import subprocess
import unittest

import json_schema
import server
from harness import compact, entry
from server import HttpTest, part

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# The contract's table; a part in braces stands for one part of a path, whatever it is called.
ROUTES = """
GET /v1/sessions
POST /v1/sessions
GET /v1/sessions/{}
DELETE /v1/sessions/{}
POST /v1/sessions/{}/entries
GET /v1/sessions/{}/entries
GET /v1/sessions/{}/entries/{}
GET /v1/sessions/{}/tree
GET /v1/sessions/{}/heads
PUT /v1/sessions/{}/heads/{}
DELETE /v1/sessions/{}/heads/{}
GET /v1/sessions/{}/events
POST /v1/sessions/{}/read
POST /v1/sessions/{}/refresh
GET /v1/sessions/{}/reads
GET /v1/sessions/{}/reads/digest
GET /v1/sessions/{}/ctrees
GET /v1/sessions/{}/ctrees/tree
GET /v1/sessions/{}/ctrees/events
GET /v1/sessions/{}/stages/{}
GET /v1/sessions/{}/explain
GET /v1/sessions/{}/diff
POST /v1/sessions/{}/context
GET /v1/sessions/{}/due
POST /v1/sessions/{}/compact
GET /v1/sessions/{}/snapshots
GET /v1/sessions/{}/snapshots/{}
GET /v1/sessions/{}/snapshots/{}/narrative
POST /v1/sessions/{}/snapshots/check
POST /v1/sessions/{}/notes
POST /v1/sessions/{}/stop
POST /v1/sessions/{}/resume
POST /v1/sessions/{}/research/{}
POST /v1/sessions/{}/import
POST /v1/sessions/{}/sync
GET /v1/sessions/{}/history
GET /v1/sessions/{}/export
GET /v1/blobs/{}
POST /v1/verify
GET /v1/stats
GET /sessions/{}/ctrees
GET /sessions/{}/ctrees/tree
GET /sessions/{}/ctrees/events
GET /sessions/{}/readcache-status
POST /sessions/{}/readcache-refresh
POST /sessions/{}/tree
POST /mcp
GET /mcp
DELETE /mcp
GET /healthz
GET /readyz
GET /metrics
GET /openapi.json
""".split("\n")
ROUTES = {tuple(line.split()) for line in ROUTES if line}


class OpenApiTest(HttpTest):
    def setUp(self):
        super().setUp()
        self.serve()
        self.examples_world()
        self.document = self.get("/openapi.json")

    def examples_world(self):
        """What the examples speak of: session demo with two compactions, notes, a label and a head; spare; two files."""
        self.world.file("notes.txt", "one\ntwo\nthree\n")
        self.world.file("long.txt", "a cache\nof lines\n")
        call = entry("Let me look.", "assistant", id="a1")
        call["body"]["tool_calls"] = [{"id": "c1", "name": "look", "arguments": {"at": "cache"}}]
        result = entry("warm", "tool", id="t1")
        result["body"].update({"tool_call_id": "c1", "name": "look"})
        self.put_entries("demo", [
            {"type": "session_info", "body": {"cwd": self.world.cwd}}, entry("You are terse.", "system", id="s1"), entry("Is the cache warm?", id="u1"), call, result, {"type": "label", "id": "l1", "body": {"target": "u1", "label": "question"}},
        ])  # fmt: skip
        demo = "/v1/sessions/demo"
        self.post(demo + "/read", {"path": "long.txt"})
        self.ask("PUT", demo + "/heads/side", {"entry": "t1"}, status=200)
        self.post(demo + "/notes", {"kind": "claim", "text": "The cache is warm."}, 201)
        self.post(demo + "/notes", {"kind": "next", "refs": ["Measure it."]}, 201)
        self.post(demo + "/compact", {}, 201)
        self.put_entries("demo", [entry("And the disk cache?", id="u2")])
        self.post(demo + "/compact", {}, 201)
        self.put_entries("demo", [entry("Go on.", id="u3")])
        self.post("/v1/sessions", {"id": "spare"}, 201)

    def operations(self):
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if method in METHODS:
                    yield method.upper(), path, operation, item

    def at(self, value):
        return json_schema.resolve(self.document, value["$ref"]) if "$ref" in value else value

    def parameters(self, operation, item):
        return [self.at(one) for one in [*item.get("parameters", []), *operation.get("parameters", [])]]

    def test_case_31_it_is_a_document_of_3_1(self):
        document = self.document
        self.assertRegex(document["openapi"], r"^3\.1\.\d+$")
        for key in ("title", "version"):
            self.assertTrue(document["info"][key])
        self.assertLessEqual(set(document), {"openapi", "info", "jsonSchemaDialect", "servers", "paths", "webhooks", "components", "security", "tags", "externalDocs"})
        seen, wrong = set(), []
        for method, path, operation, item in self.operations():
            where = f"{method} {path}"
            self.assertRegex(path, r"^/")
            name = operation.get("operationId")
            self.assertTrue(name, where)
            self.assertNotIn(name, seen)
            seen.add(name)
            parameters = self.parameters(operation, item)
            for one in parameters:
                self.assertIn(one["in"], ("path", "query", "header", "cookie"), where)
                self.assertTrue("schema" in one or "content" in one, where)
                wrong += json_schema.wrong_schema(one.get("schema", True), document, f"{where} {one['name']}")
                if one["in"] == "path":
                    self.assertIs(one.get("required"), True, where)
            keys = [(one["name"], one["in"]) for one in parameters]
            self.assertEqual(len(keys), len(set(keys)), where)
            self.assertEqual({one["name"] for one in parameters if one["in"] == "path"}, set(re.findall(r"\{([^}]+)\}", path)), where)
            self.assertTrue(operation["responses"], where)
            for status, response in operation["responses"].items():
                self.assertRegex(status, r"^([1-5](\d\d|XX)|default)$")
                response = self.at(response)
                self.assertTrue(response.get("description"), where)
                for kind, content in response.get("content", {}).items():
                    self.assertRegex(kind, r"^[a-z*]+/[a-z0-9.+*-]+")
                    wrong += json_schema.wrong_schema(content.get("schema", True), document, f"{where} {status}")
            body = operation.get("requestBody")
            if body:
                self.assertNotIn(method, ("GET", "HEAD"), where)
                for content in self.at(body)["content"].values():
                    wrong += json_schema.wrong_schema(content.get("schema", True), document, f"{where} body")
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            wrong += json_schema.wrong_schema(schema, document, name)
        self.assertEqual(wrong, [])

    def test_case_31_its_schemas_are_schemas_for_ajv(self):
        packages = os.path.join(os.environ.get("WEIR_DEPS", os.path.join(server.harness.SOURCE, "build", "deps")), "npm")
        if not os.path.isdir(os.path.join(packages, "ajv")):
            raise unittest.SkipTest("ajv is not there")
        program = """
import { readFileSync } from 'node:fs'; import Module, { createRequire } from 'node:module'; import { join } from 'node:path';
const [packages, file] = process.argv.slice(1); process.env.NODE_PATH = packages; Module._initPaths();
const Ajv = createRequire(join(packages, 'x.js'))('ajv/dist/2020').default;
const ajv = new Ajv({ strict: false, validateFormats: false }); const document = JSON.parse(readFileSync(file, 'utf8'));
let count = 0; const seen = (value, at) => { if (value === null || typeof value !== 'object') return;
  for (const [key, inner] of Object.entries(value)) { if (key === 'schema') { count += 1; if (!ajv.validateSchema(inner)) { console.log(at + ': ' + ajv.errorsText()); process.exit(1); } } else seen(inner, at + '/' + key); } };
seen(document.paths, '#/paths'); for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) { count += 1; if (!ajv.validateSchema(schema)) { console.log(name + ': ' + ajv.errorsText()); process.exit(1); } }
console.log(count);
"""
        ran = subprocess.run([os.environ.get("WEIR_NODE") or "node", "--input-type=module", "-e", program, packages, self.world.file("openapi.json", compact(self.document))], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertGreater(int(ran.stdout), 30)

    def test_case_31_every_route_is_in_it_and_no_other(self):
        found = {(method, re.sub(r"\{[^}]+\}", "{}", path)) for method, path, _, _ in self.operations()}
        self.assertEqual(sorted(ROUTES - found), [], "of the contract's table, not in the document")
        self.assertEqual(sorted(found - ROUTES), [], "in the document, not in the contract's table")

    def fill_in(self, path):
        for name, value in {"session": "demo", "s": "demo", "id": "demo", "head": "main", "h": "main", "name": "RAW", "stage": "RAW", "step": "status", "n": "1", "snapshot": "1", "sha256": "0" * 64, "blob": "0" * 64, "entry": "x", "e": "x"}.items():
            path = path.replace("{" + name + "}", value)
        return re.sub(r"\{[^}]+\}", "x", path)

    def test_case_31_every_operation_of_it_is_served(self):
        for method, path, operation, _ in self.operations():
            if path.endswith("/events") and "ctrees" not in path or path == "/mcp":
                continue
            with self.subTest(method=method, path=path):
                kinds = list(self.at(operation.get("requestBody", {})).get("content", {"application/json": {}}))
                answer = self.ask(method, self.fill_in(path) + ("?confirm=no" if method == "DELETE" and path == "/v1/sessions/{session}" else ""), b"{}" if method in ("POST", "PUT") else None, headers={"Content-Type": kinds[0]} if method in ("POST", "PUT") else {})
                self.assertNotIn(answer.status, (405, 500, 501), answer)
                if answer.status == 404:
                    self.assertNotEqual(answer.json["details"], {}, "no such route")
                self.described(operation, answer)

    def described(self, operation, answer):
        """The answer is one the document speaks of, and meets its schema."""
        responses = operation["responses"]
        key = str(answer.status)
        found = responses.get(key) or responses.get(key[0] + "XX") or responses.get("default")
        self.assertIsNotNone(found, f"{key} of {operation['operationId']} is not described\n{answer}")
        found = self.at(found)
        kind = answer.header("Content-Type", "").split(";")[0]
        if not answer.body:
            return
        self.assertIn(kind, found.get("content", {}), f"{operation['operationId']}: {answer}")
        schema = found["content"][kind].get("schema", True)
        if kind in ("application/json", "application/problem+json"):
            self.assertEqual(json_schema.wrong_with(answer.json, schema, self.document), [], f"{operation['operationId']}: {answer}")

    def example_of(self, value, other=None):
        if "example" in value:
            return value["example"]
        for one in value.get("examples", {}).values() if isinstance(value.get("examples"), dict) else []:
            return self.at(one)["value"]
        schema = value.get("schema", {})
        if isinstance(schema, dict):
            if "example" in schema:
                return schema["example"]
            if schema.get("examples"):
                return schema["examples"][0]
        return other

    def test_case_31_examples_are_answered_as_described(self):
        """A run is resumed after it was stopped."""
        asked = 0
        destroys = []
        for method, path, operation, item in sorted(self.operations(), key=lambda one: one[1].endswith("/resume")):
            if path == "/mcp" or re.fullmatch(r"/v1/sessions/\{[^}]+\}/events", path):
                continue
            place, query, missing = path, [], False
            for one in self.parameters(operation, item):
                example = self.example_of(one)
                if one["in"] == "path":
                    missing = missing or example is None
                    place = place.replace("{" + one["name"] + "}", part(str(example)))
                elif one["in"] == "query" and example is not None:
                    query.append(f"{one['name']}={part(str(example).lower() if isinstance(example, bool) else str(example))}")
            content = self.at(operation.get("requestBody", {})).get("content", {})
            body, headers = None, {}
            for kind, one in content.items():
                body = self.example_of(one)
                headers = {"Content-Type": kind}
            if missing or (content and body is None):
                continue
            request = (method, place + ("?" + "&".join(query) if query else ""), body, headers, operation)
            if method == "DELETE":
                destroys.append(request)
            else:
                asked += self.answered(*request)
        for request in destroys:
            asked += self.answered(*request)
        self.assertGreater(asked, 20, "examples that could be asked")

    def answered(self, method, where, body, headers, operation):
        with self.subTest(method=method, path=where):
            if method in ("POST", "PUT"):
                body = body if isinstance(body, str) else json.dumps({} if body is None else body)
            answer = self.ask(method, where, body, headers=headers)
            self.assertLess(answer.status, 300, answer)
            self.described(operation, answer)
        return 1

    def test_case_31_problems_meet_their_schema(self):
        by_route = {(method, path): operation for method, path, operation, _ in self.operations()}
        name = next(path for method, path in by_route if method == "GET" and re.fullmatch(r"/v1/sessions/\{[^}]+\}", path))
        one = by_route[("GET", name)]
        for answer in (self.ask("GET", "/v1/sessions/nope"), self.ask("GET", "/v1/sessions/nope?x=1"), self.ask("GET", "/v1/sessions/demo", token=False), self.ask("GET", "/v1/sessions/demo", headers={"Host": "evil"})):
            self.described(one, answer)
        entries = by_route[("POST", name + "/entries")]
        for body, headers in ((b"{", {}), ({"entries": 7}, {}), (b"{}", {"Content-Type": "text/plain"}), ({"entries": [entry("x")], "expect": "nope0"}, {}), ({"entries": [entry(str(i)) for i in range(1001)]}, {})):
            answer = self.ask("POST", "/v1/sessions/demo/entries", body, headers=headers)
            self.assertGreaterEqual(answer.status, 400)
            self.described(entries, answer)

    def test_case_31_it_is_the_same_in_two_processes(self):
        first = self.ask("GET", "/openapi.json").body
        self.restart()
        self.assertEqual(self.ask("GET", "/openapi.json").body, first)

    def test_case_31_it_asks_for_the_token(self):
        self.assertTrue(any(one.get("scheme", "").lower() == "bearer" for one in self.document["components"]["securitySchemes"].values()))
        self.problem("UNAUTHENTICATED", "GET", "/openapi.json", token=False)


if __name__ == "__main__":
    server.main()
