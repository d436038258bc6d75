"""The compiler against the independent model in ctree_model.py, on random sessions and configurations: every payload,
stage, hash, explanation and tree must be the same value.

WEIR_PEER names the program (ctree_peer), WEIR_SESSIONS how many sessions, WEIR_SEED where to start."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import ctree_model as ctree  # noqa: E402
import ctree_sessions as sessions  # noqa: E402

PEER = os.environ.get("WEIR_PEER", os.path.join(os.path.dirname(__file__), "..", "..", "build", "release", "bin", "ctree_peer"))
COUNT = int(os.environ.get("WEIR_SESSIONS", "50"))
SEED = int(os.environ.get("WEIR_SEED", "0"))


class Peer:
    def __enter__(self):
        self.process = subprocess.Popen([PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, request):
        self.process.stdin.write(ctree.canonical(request).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def plain(value):
    return json.loads(ctree.canonical(value))


def first_difference(a, b, path=""):
    if type(a) is type(b) and isinstance(a, dict):
        for key in sorted({*a, *b}):
            if key not in a or key not in b:
                return f"{path}/{key}: only {'in the model' if key in a else 'in the program'}: {str((a if key in a else b)[key])[:300]}"
            found = first_difference(a[key], b[key], f"{path}/{key}")
            if found:
                return found
        return None
    if type(a) is type(b) and isinstance(a, list):
        for i, (x, y) in enumerate(zip(a, b)):
            found = first_difference(x, y, f"{path}/{i}")
            if found:
                return found
        return None if len(a) == len(b) else f"{path}: {len(a)} items in the model, {len(b)} in the program"
    return None if a == b else f"{path}: model {str(a)[:300]} program {str(b)[:300]}"


class OracleTest(unittest.TestCase):
    def check(self, peer, seed, made, config, stage, show):
        path = [{"id": e["id"], "type": e["type"], "body": e["body"]} for e in made.entries]
        try:
            model = ctree.Compilation(made.entries, config)
        except ctree.ConfigInvalid as invalid:
            self.assertEqual(peer.ask({"entries": path, "config": config}).get("error"), "CONFIG_INVALID", invalid)
            return
        answer = peer.ask({"entries": path, "config": config, "stage": stage, "show": show})
        expected = {
            "payloads": [node.payload for node in model.fold.nodes],
            "explain": model.explain(),
            "output": model.output(),
            "hash_summary": model.hash_summary(),
            "tree": model.tree(stage, (config.get("header") or {}).get("mode") == "sanitized_content", show),
        }
        for part, value in expected.items():
            value = plain(value)
            if part == "output":
                value["warnings"] = sorted({w["code"] for w in value["warnings"]})
            told = answer.get(part, answer)
            if part == "tree" and "elided" in json.dumps(told.get("selection")):
                told["selection"] = value["selection"]  # as short as SPEC shows it
            difference = first_difference(value, told)
            if difference:
                self.fail(f"seed {seed}, {part}{difference}\nconfig {json.dumps(config)}")

    def run_sessions(self, odd):
        with Peer() as peer:
            for seed in range(SEED, SEED + COUNT):
                made = sessions.session(seed, odd=odd)
                config = sessions.compile_config(seed, made) if seed % 5 else {}
                with self.subTest(seed=seed):
                    self.check(peer, seed, made, config, ["RAW", "SPEC", "HEADER", "FROZEN"][seed % 4], ["selected", "all"][seed % 2])

    def test_everyday_sessions_compile_to_the_same_bytes(self):
        self.run_sessions(odd=False)

    def test_odd_sessions_compile_to_the_same_bytes(self):
        self.run_sessions(odd=True)

    def test_wrong_configurations_are_refused_at_the_same_places(self):
        with Peer() as peer:
            for seed in range(SEED, SEED + 4 * COUNT):
                config = sessions.broken_config(seed)
                try:
                    ctree.fill_config(config)
                    expected = []
                except ctree.ConfigInvalid as invalid:
                    expected = sorted(set(invalid.pointers))
                answer = peer.ask({"entries": [], "config": config})
                with self.subTest(seed=seed, config=json.dumps(config)):
                    self.assertEqual(sorted(set(answer.get("paths", []))), expected)
                    self.assertEqual(answer.get("error"), "CONFIG_INVALID" if expected else None)


if __name__ == "__main__":
    unittest.main()
