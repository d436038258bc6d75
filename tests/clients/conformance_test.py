"""The public conformance suite against one running `weir serve --conformance`: no failure, no warning, no list of expected
failures. Its scenarios for tasks are not scored, and tasks are not served."""

import glob
import json
import os

from weirproc import ClientTest, main, package

SUITE = package("@modelcontextprotocol", "conformance", "dist", "index.js")
REVISIONS = ["2026-07-28", "2025-11-25"]


class ConformanceTest(ClientTest):
    def findings(self, folder):
        """What is not well, but for tasks; and how many scenarios and checks were run."""
        found, scenarios, checks = [], 0, 0
        for path in sorted(glob.glob(os.path.join(folder, "*", "checks.json"))):
            name = os.path.basename(os.path.dirname(path))
            if name.startswith("server-tasks-"):
                continue
            scenarios += 1
            with open(path) as file:
                for check in json.load(file):
                    checks += 1
                    if check["status"] in ("FAILURE", "WARNING"):
                        found.append(f"{name}: {check['status']} {check['id']}: {check.get('errorMessage')} {json.dumps(check.get('details'))[:600]}")
        return found, scenarios, checks

    def test_case_11_both_requirement_sets_against_one_server(self):
        server = self.serve("--conformance")
        for revision in REVISIONS:
            with self.subTest(revision=revision):
                folder = self.world.path("results-" + revision)
                ran = self.run_node(SUITE, "server", "--url", server.mcp, "--requirements", revision, "-o", folder)
                found, scenarios, checks = self.findings(folder)
                self.assertEqual(found, [], "\n".join(found))
                self.assertEqual(ran.returncode, 0, ran.stdout[-3000:] + ran.stderr)
                self.assertGreaterEqual(scenarios, 30, ran.stdout[-3000:])
                self.assertGreaterEqual(checks, 60, ran.stdout[-3000:])
        self.assertEqual(server.stop(), 0, server.said_last)


if __name__ == "__main__":
    main()
