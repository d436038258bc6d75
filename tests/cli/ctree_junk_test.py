"""What the context compiler makes of settings, record files and stored outputs that are wrong: an error that says where,
never a crash and never half an answer."""

import json
import random

import ctree_case
from ctree_case import CtreeCase, worked_example
from harness import compact, parse_line


class ConfigTest(CtreeCase):
    def setUp(self):
        super().setUp()
        self.give(worked_example(), "demo")

    CONFIG_PLACES = {
        "/scope": "word", "/profile": "word", "/selection/max_nodes": "limit", "/selection/max_turns": "limit", "/selection/max_message_chars": "limit", "/selection/max_bytes": "limit", "/selection/max_tokens": "limit",
        "/selection/max_item_bytes": "limit", "/selection/fill": "word", "/selection/kind_allowlist": "list", "/selection/pin_ids": "list", "/selection/pin_first_system": "flag", "/selection/pin_latest_system": "flag",
        "/selection/pin_latest_user_assistant": "flag", "/selection/pin_labels": "flag", "/collapse/target": "limit", "/collapse/mode": "word", "/collapse/kind_allowlist": "list", "/header/mode": "word", "/header/preview_chars": "limit",
        "/frozen/include_previews": "flag", "/limits/max_stage_bytes": "limit", "/sanitize/secret_keys": "list", "/sanitize/volatile_keys": "list", "/hash/key_id": "name", "/selection": "block", "/collapse": "block", "/header": "block",
        "/frozen": "block", "/limits": "block", "/sanitize": "block", "/hash": "block",
    }  # fmt: skip
    WRONG = {
        "word": [-1, 1.5, "no such word", True, [], {}, None], "limit": [-1, 1.5, "2", True, [], {}], "list": [-1, 1.5, "2", True, {}, [1], [[]], [None]], "flag": [-1, 1.5, "2", 0, 1, [], {}, None],
        "name": [-1, 1.5, True, [], {}, "no such key"], "block": [-1, 1.5, "2", True, [], [{}]],
    }  # fmt: skip

    def at(self, pointer, value):
        parts = pointer[1:].split("/")
        return {parts[0]: value} if len(parts) == 1 else {parts[0]: {parts[1]: value}}

    def test_every_wrong_value_at_every_place_is_refused_with_its_pointer(self):
        """Case 27."""
        wrong = []
        for pointer, kind in self.CONFIG_PLACES.items():
            for value in self.WRONG[kind]:
                config = self.at(pointer, value)
                ran = self.world.run("--json", "compile", "--session", "demo", "--compile-config", self.config_file(config))
                told = parse_line(ran.errors)["error"] if ran.code else {}
                paths = [one["path"] for one in told.get("details", {}).get("errors", [])]
                if (ran.code, ran.out, told.get("code")) != (6, b"", "CONFIG_INVALID") or not paths or not paths[0].startswith(pointer):
                    wrong.append((config, ran.code, told.get("code"), paths))
        self.assertEqual(wrong, [])

    def test_an_unknown_key_is_refused_in_every_block(self):
        """Case 27."""
        for pointer, kind in [("", "block"), *self.CONFIG_PLACES.items()]:
            if kind != "block":
                continue
            config = {"surely_unknown": 1} if not pointer else self.at(pointer, {"surely_unknown": 1})
            error = self.refused("CONFIG_INVALID", "compile", "--session", "demo", "--compile-config", self.config_file(config), unchanged=False)
            self.assertEqual([one["path"] for one in error["details"]["errors"]], [pointer + "/surely_unknown"])

    def test_all_faults_are_listed_at_once(self):
        """Case 27."""
        config = {"selection": {"max_nodes": -1, "max_turns": 1.5, "max_bytes": "2", "max_tokens": True, "nope": 1, "fill": "fast"}, "scope": "x", "collapse": {"mode": "x"}, "header": {"preview_chars": 4097}, "limits": {"max_stage_bytes": 255}}
        error = self.refused("CONFIG_INVALID", "compile", "--session", "demo", "--compile-config", self.config_file(config))
        self.assertEqual(sorted(one["path"] for one in error["details"]["errors"]), sorted([
            "/selection/max_nodes", "/selection/max_turns", "/selection/max_bytes", "/selection/max_tokens", "/selection/nope", "/selection/fill", "/scope", "/collapse/mode", "/header/preview_chars", "/limits/max_stage_bytes"]))  # fmt: skip
        for command in (["explain", "--session", "demo"], ["diff", "demo", "demo"]):
            again = self.refused("CONFIG_INVALID", *command, "--compile-config", self.config_file(config))
            self.assertEqual(again["details"], error["details"])


class JunkTest(CtreeCase):
    """Case 54."""

    CODES = {"INVALID_JSON", "CONFIG_INVALID", "LIMIT_EXCEEDED", "SCHEMA_UNKNOWN", "PROFILE_MISMATCH", "INVALID_FIELD", "NODE_UNKNOWN", "NOT_REPRODUCIBLE"}

    def pieces(self):
        chance = random.Random(54)
        good = self.weir("--json", "compile", "--session", "s").out
        config = compact({"selection": {"max_nodes": 3, "pin_ids": []}, "header": {"mode": "sanitized_content"}}).encode()
        yield from (b"", b"\n", b"\0", b"\xff" * 40, b"{", b"[]", b"null", b"0", b'""', b"{}{}", b'{"a":', b"[" * 5000, b'{"a":' * 600 + b"1" + b"}" * 600, b"\xef\xbb\xbf{}", b'{"schema_version":{}}', b'{"schema_version":"weir-1"}', b'{"hashes":{}}', b"9" * 5000, b"1e999", b"-", b'"\\ud800"')
        yield from (b'{"kind":"ctree_compiler","profile":"weir-1","schema_version":"weir-1","hashes":%s,"stages":%s,"config":%s}' % parts for parts in ((b"{}", b"{}", b"{}"), (b"[]", b"[]", b"[]"), (b'{"z4":1,"selection_sha256":null}', b"0", b'""'), (b'{"z4":"x"}', b'{"SPEC":[]}', b"null")))
        for source in (good, config):
            for _ in range(8):
                changed = bytearray(source)
                for _ in range(chance.randint(1, 4)):
                    at = chance.randrange(len(changed))
                    pick = chance.random()
                    if pick < 0.4:
                        changed[at] = chance.randrange(256)
                    elif pick < 0.7:
                        del changed[at : at + chance.randint(1, 40)]
                    else:
                        changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 20)))
                yield bytes(changed)
        for _ in range(6):
            yield bytes(chance.randrange(256) for _ in range(chance.randint(1, 300)))

    def answered(self, codes, *args):
        """An answer (0, or 1 where something is compared) or one error line of a known code; never half an answer."""
        ran = self.world.run("--json", *args)
        if ran.code in (0, 1):
            self.assertIsInstance(json.loads(ran.out), dict)
        else:
            self.assertIn(ran.code, (4, 6), ran)
            self.assertEqual(ran.out, b"", ran)
            self.assertIn(parse_line(ran.errors.splitlines()[-1])["error"]["code"], codes, ran)
        for line in ran.err.splitlines():
            self.assertTrue(line.startswith((b"{", b"weir: ")), ran)
        return ran

    def setUp(self):
        super().setUp()
        self.give(worked_example())

    def test_json_of_the_foreign_profile_is_one_line(self):
        """Like every other answer of --json."""
        for args in ([], ["--tree"], ["--stage", "RAW"]):
            self.assertEqual(self.weir("--json", "compile", "--session", "s", "--profile", "breadboard-0.1", *args).out.count(b"\n"), 1, args)

    def test_junk_as_config_is_an_error_or_an_answer(self):
        for piece in self.pieces():
            file = self.config_file(piece)
            self.answered(self.CODES, "compile", "--session", "s", "--compile-config", file)
            self.answered(self.CODES, "explain", "--session", "s", "--compile-config", file)
            self.answered(self.CODES, "compile", "--session", "s", "--profile", "breadboard-0.1", "--compile-config", file)

    def test_junk_as_stored_output_is_an_error_or_an_answer(self):
        for piece in self.pieces():
            file = self.world.file("kept.json", piece)
            ran = self.answered(self.CODES, "compile", "--session", "s", "--expect", file)
            self.assertIn(ran.code, (0, 1, 6), ran)
            self.answered(self.CODES, "diff", file, "s")
            self.answered(self.CODES, "compile", "--session", "s", "--profile", "breadboard-0.1", "--expect", file)

    def test_a_stored_output_without_its_hashes_is_never_a_difference(self):
        """Section 1: an unknown version is SCHEMA_UNKNOWN, never "different"; what holds no hash cannot differ."""
        wrong = []
        for piece in (b"{}", b"[]", b"null", b"0", b'""', b'{"schema_version":"weir-1"}', b'{"profile":"weir-1","schema_version":"weir-1","hashes":{}}', b'{"profile":"weir-1","schema_version":"weir-1","hashes":{"z4":1,"selection_sha256":null}}'):
            file = self.world.file("kept.json", piece)
            for args in (["compile", "--session", "s", "--expect", file], ["diff", "s", file], ["diff", file, file], ["compile", "--session", "s", "--profile", "breadboard-0.1", "--expect", file]):
                ran = self.world.run("--json", *args)
                if ran.code != 6:
                    wrong.append((piece, args[0], ran.code))
        wrong += [("breadboard", ran.code) for ran in [self.world.run("compile", "--session", "s", "--profile", "breadboard-0.1", "--expect", self.world.file("kept.json", '{"schema_version":"0.1"}'))] if ran.code != 6]
        self.assertEqual(wrong, [])

    def test_a_stored_output_without_any_one_of_its_members_is_an_error_or_an_answer(self):
        """Also with a member of another type: nothing of the file is taken on trust."""
        good = json.loads(self.weir("--json", "compile", "--session", "s").out)
        places = [(key,) for key in good] + [("hashes", key) for key in good["hashes"]] + [("stages", key) for key in good["stages"]] + [("stages", "SPEC", "selection"), ("stages", "SPEC", "selection", "selected_ids")]
        wrong = []
        for place in places:
            for value in (..., None, 0, [1]):
                changed = json.loads(json.dumps(good))
                inner = changed
                for key in place[:-1]:
                    inner = inner[key]
                if value is ...:
                    del inner[place[-1]]
                else:
                    inner[place[-1]] = value
                file = self.world.file("kept.json", compact(changed))
                for args in (["diff", "s", file], ["diff", file, "s"]):
                    ran = self.world.run("--json", *args)
                    if ran.code not in (0, 1, 6) or (ran.code == 6) != (ran.out == b""):
                        wrong.append(("/".join(place), "removed" if value is ... else value, "a" if args[1] == file else "b", ran.code))
        self.assertEqual(wrong, [])

    def test_a_hash_that_is_no_hash_is_never_a_difference(self):
        """Two hashes are compared; a number or a missing one is none."""
        good = json.loads(self.weir("--json", "compile", "--session", "s").out)
        wrong = []
        for name in ("z4", "selection_sha256"):
            for value in (..., None, 7, {}):
                changed = json.loads(json.dumps(good))
                if value is ...:
                    del changed["hashes"][name]
                else:
                    changed["hashes"][name] = value
                file = self.world.file("kept.json", compact(changed))
                for args in (["compile", "--session", "s", "--expect", file], ["diff", "s", file]):
                    ran = self.world.run("--json", *args)
                    if ran.code != 6 and not (args[0] == "diff" and name == "selection_sha256"):
                        wrong.append((args[0], name, "removed" if value is ... else value, ran.code))
        self.assertEqual(wrong, [])

    def test_junk_as_record_file_is_an_error_or_an_answer(self):
        for piece in self.pieces():
            self.answered(self.CODES, "compile", "--profile", "breadboard-0.1", "--records", self.world.file("records.jsonl", piece))
            self.answered(self.CODES, "compile", "--tree", "--profile", "breadboard-0.1", "--records", self.world.file("records.jsonl", piece))

    def test_files_that_are_missing_or_folders_are_errors(self):
        for name in ("missing.json", self.world.cwd):
            for args in (["compile", "--session", "s", "--compile-config", name], ["compile", "--session", "s", "--expect", name], ["compile", "--profile", "breadboard-0.1", "--records", name], ["diff", "s", name]):
                ran = self.world.run("--json", *args)
                self.assertGreaterEqual(ran.code, 4, ran)
                self.assertEqual(ran.out, b"", ran)
                self.assertIn("error", parse_line(ran.errors))


if __name__ == "__main__":
    ctree_case.main()
