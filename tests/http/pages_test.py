"""The pages about the faces say what the program does: routes, conversations, snippets, and the names of tests."""

import json
import os
import re
import shlex
import subprocess

import server
from server import BIN, HttpTest, harness

HOME = "/home/me/ledger"  # where the pages' reader works
NOTES = "Totals are in minor units.\nRounding is half to even.\nNobody rounds twice.\n"


def page_of(name):
    with open(os.path.join(harness.SOURCE, name), encoding="utf-8") as file:
        return file.read()


def block(page, heading):
    """The first fenced block below a heading."""
    return re.search(r"```\w*\n(.*?)```", page.split(f"## {heading}\n", 1)[1], re.S).group(1)


class PagesTest(HttpTest):
    def says(self, said, printed):
        """`...` on the page stands for whatever is there."""
        wanted = ".*".join(re.escape(part) for part in printed.split("..."))
        self.assertRegex(said.replace(self.world.cwd, HOME), f"(?s)\\A{wanted}\\Z")

    def setUp(self):
        super().setUp()
        self.world.file("notes.md", NOTES)

    # ---- docs/http.md ----

    def test_the_routes_are_those_of_the_document(self):
        made = self.world.path("http.md")
        subprocess.run([os.path.join(harness.SOURCE, "tools", "generate-http-docs"), "--out", made], check=True, env={**os.environ, "WEIR_BIN": BIN})
        with open(made, encoding="utf-8") as file:
            self.assertEqual(file.read(), page_of("docs/http.md"), "docs/http.md is not what the routes make: make docs")

    def test_the_conversation_over_http_is_what_is_answered(self):
        self.serve()
        steps = re.findall(r"^\$ curl (.*)\n((?:(?!\$ ).*\n)*)", block(page_of("docs/http.md"), "A conversation"), re.M)
        self.assertGreater(len(steps), 5)
        for command, printed in steps:
            with self.subTest(command=command):
                self.says(self.curl(command), printed)

    def curl(self, command):
        """The few options of curl that the page uses."""
        words = shlex.split(command.replace("$WEIR", "").replace(HOME, self.world.cwd))
        method, path, body, headers, show_status = None, None, None, {}, False
        while words:
            word = words.pop(0)
            if word == "-X":
                method = words.pop(0)
            elif word == "-d":
                body = words.pop(0)
            elif word == "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = value
            elif word == "-i":
                show_status = True
            else:
                path = word
        method = method or ("GET" if body is None else "POST")
        answer = self.server.ask(method, path, body, headers=headers)
        shown = f"HTTP/1.1 {answer.status} ...\n" if show_status else ""
        return shown + answer.text + ("" if answer.text.endswith("\n") else "\n")

    # ---- docs/mcp.md ----

    def test_the_conversation_over_lines_is_what_is_answered(self):
        lines = block(page_of("docs/mcp.md"), "A conversation").splitlines()
        environment = self.world.environment(None)
        environment["PATH"] = os.path.dirname(BIN) + ":" + os.environ["PATH"]
        child = subprocess.Popen([BIN, "mcp", "--session", "demo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=self.world.cwd, text=True)
        try:
            self.assertGreater(len([line for line in lines if line.startswith("< ")]), 5)
            for line in lines:
                with self.subTest(line=line[:100]):
                    if line.startswith("> "):
                        child.stdin.write(line[2:] + "\n")
                        child.stdin.flush()
                    elif line.startswith("< "):
                        answer = child.stdout.readline()
                        while '"id"' not in answer:  # a notification, which comes when it comes
                            answer = child.stdout.readline()
                        self.says(answer.rstrip("\n"), line[2:])
                    elif line.startswith("$ "):
                        subprocess.run(["sh", "-c", line[2:]], check=True, cwd=self.world.cwd, env=environment, stdout=subprocess.DEVNULL)
        finally:
            child.stdin.close()
            self.assertEqual(child.wait(timeout=20), 0)
            child.stdout.close()

    def test_the_snippets_are_those_that_the_server_prints(self):
        page, readme = page_of("docs/mcp.md"), page_of("README.md")
        self.serve("--store", self.world.store)
        for snippet in self.server.told["agents"]:
            with self.subTest(agent=snippet["agent"], transport=snippet["transport"]):
                text = snippet["text"].replace(f":{self.server.port}/", ":7717/")
                store = json.dumps(self.world.store, ensure_ascii=False)
                for more in (f',"--store",{store}', f', "--store", {store}', f" --store {shlex.quote(self.world.store)}"):
                    text = text.replace(more, "")
                self.assertIn(text, page)
                if snippet["transport"] == "stdio":
                    for line in text.splitlines():
                        self.assertIn(line, readme)

    def test_tools_resources_and_prompts_are_those_that_are_listed(self):
        page = page_of("docs/mcp.md")
        asked = [("tools/list", "tools", "name", "Tools"), ("resources/templates/list", "resourceTemplates", "uriTemplate", "Resources"), ("prompts/list", "prompts", "name", "Prompts and completion")]
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        requests = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": {"_meta": meta}}) + "\n" for i, (method, *_) in enumerate(asked))
        child = subprocess.Popen([BIN, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.world.environment(None), cwd=self.world.cwd, text=True)
        child.stdin.write(requests)
        child.stdin.flush()
        answers = {answer["id"]: answer["result"] for answer in (json.loads(child.stdout.readline()) for _ in asked)}
        child.stdin.close()
        self.assertEqual(child.wait(timeout=20), 0)
        child.stdout.close()
        for i, (_, member, key, heading) in enumerate(asked):
            section = page.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
            table = section.split("\n\n")[1 if member != "resourceTemplates" else 0]
            named = re.findall(r"^\| `([^`]+)` \|", section, re.M)
            listed = [one[key] for one in answers[i][member]]
            self.assertEqual([name for name in named if name in listed], listed, table)

    # ---- docs/security.md ----

    def test_every_test_that_the_security_page_names_is_there(self):
        table = page_of("docs/security.md").split("## Promised, and what shows it\n")[1].split("\n## ")[0]
        numbers = re.findall(r"^\| (S\d+(?:, S\d+)*) \|", table, re.M)
        self.assertEqual(sorted(int(n[1:]) for row in numbers for n in row.split(", ")), list(range(1, 21)))
        sources = ""
        for folder in ("tests", "src"):
            for where, _, names in os.walk(os.path.join(harness.SOURCE, folder)):
                for name in names:
                    if name.endswith(("_test.py", "_test.cc")):
                        with open(os.path.join(where, name), encoding="utf-8") as file:
                            sources += file.read()
        for name in re.findall(r"`(test_\w+|[A-Z]\w+)`", table):
            self.assertRegex(sources, rf"(def |, ){name}\b", name)


if __name__ == "__main__":
    server.main()
