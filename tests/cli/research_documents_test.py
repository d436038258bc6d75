"""weir research: the documents of a run. What init, its patches and adoption write, what a perspectives file and a pack may
hold, and in which states a run takes a write."""

import copy
import json
import os
import re

import research_case as r
from harness import compact
from research_case import ResearchCase, perspective, perspectives, pretty

PATHS = "wave1_dir wave2_dir citations_dir summaries_dir synthesis_dir logs_dir gates_file perspectives_file citations_file summary_pack_file pivot_file".split()
SEED_PERSPECTIVES = {
    "schema_version": "perspectives.v1", "run_id": "dr_20260213_001", "created_at": "2026-02-13T12:05:00Z",
    "perspectives": [{
        "id": "p1", "title": "Technical overview", "track": "standard", "agent_type": "ClaudeResearcher",
        "prompt_contract": {"max_words": 900, "max_sources": 12, "tool_budget": {"search_calls": 4, "fetch_calls": 6}, "must_include_sections": ["Findings", "Sources", "Gaps"]},
        "expected_platforms": ["docs", "github", "blog"],
    }],
}  # fmt: skip
SEED_PACK = {
    "schema_version": "summary_pack.v1", "run_id": "dr_20260213_001", "generated_at": "2026-02-13T12:40:00Z", "limits": {"max_summary_kb": 5, "max_total_summary_kb": 60},
    "summaries": [{
        "perspective_id": "p1", "source_artifact": "wave-1/p1.md", "summary_md": "summaries/p1.summary.md",
        "key_claims": [{"claim": "X uses Y for Z.", "citation_cids": ["cid_abc"], "confidence": 85}],
    }],
    "total_estimated_tokens": 4200,
}  # fmt: skip


class InitTest(ResearchCase):
    def test_what_init_answers(self):
        answer = self.init()
        self.assertEqual({key: answer[key] for key in ("ok", "created", "run_id", "root", "revision", "status", "stage")},
                         {"ok": True, "created": True, "run_id": r.RUN, "root": self.root, "revision": 1, "status": "created", "stage": "init"})  # fmt: skip
        self.assertEqual(self.kinds(), ["RESEARCH_STARTED"])
        body = self.last("RESEARCH_STARTED")
        self.assertEqual((body["run_id"], body["mode"]), (r.RUN, "standard"))

    def test_the_manifest_of_a_new_run(self):
        self.init()
        made = self.json_of("manifest.json")
        self.assertEqual(list(made), "schema_version run_id created_at updated_at revision mode status query stage limits artifacts metrics failures agents".split())
        self.assertEqual({key: made[key] for key in ("schema_version", "run_id", "revision", "mode", "status", "metrics", "failures", "agents")},
                         {"schema_version": "manifest.v1", "run_id": r.RUN, "revision": 1, "mode": "standard", "status": "created", "metrics": {}, "failures": [],
                          "agents": {"policy": "existing-runtime-only"}})  # fmt: skip
        self.assertEqual(made["query"]["text"], r.QUERY)
        self.assertEqual(made["stage"]["current"], "init")
        for key, value in (("max_wave1_agents", 6), ("max_wave2_agents", 6), ("max_summary_kb", 5), ("max_total_summary_kb", 60), ("max_review_iterations", 4)):
            self.assertEqual(made["limits"][key], value, key)
        self.assertEqual(made["artifacts"]["root"], self.root)
        self.assertEqual(list(made["artifacts"]["paths"]), PATHS)
        for key in ("created_at", "updated_at"):
            self.assertTrue(r.is_time(made[key]), made[key])

    def test_the_gates_of_a_new_run(self):
        self.init()
        made = self.json_of("gates.json")
        self.assertEqual((made["schema_version"], made["run_id"], made["revision"], made["inputs_digest"]), ("gates.v1", r.RUN, 1, "sha256:0"))
        self.assertEqual([(id, one["id"], one["name"], one["class"], one["status"], one["checked_at"]) for id, one in made["gates"].items()], [
            ("A", "A", "Planning completeness", "hard", "not_run", None), ("B", "B", "Wave output contract compliance", "hard", "not_run", None),
            ("C", "C", "Citation validation integrity", "hard", "not_run", None), ("D", "D", "Summary pack boundedness", "hard", "not_run", None),
            ("E", "E", "Synthesis quality", "hard", "not_run", None), ("F", "F", "Rollout safety", "hard", "not_run", None)])  # fmt: skip

    def test_json_files_are_indented_by_two_and_end_in_a_line_feed(self):
        self.init(query="Größe € 😀?")
        for name in ("manifest.json", "gates.json"):
            text = self.text_of(name)
            self.assertEqual(text, pretty(json.loads(text)), name)
        self.assertIn("Größe € 😀?", self.text_of("manifest.json"))

    def test_case_45_init_twice_is_one_run(self):
        self.init()
        answer = self.same("init", "--query", r.QUERY)
        self.assertEqual((answer["created"], answer["revision"]), (False, 1))

    def test_case_45_init_again_later_is_still_that_run(self):
        self.bundled()
        self.assertIs(self.same("init", "--query", r.QUERY)["created"], False)

    def test_case_45_another_query_in_the_same_place_is_refused(self):
        self.init()
        self.refuse("ALREADY_EXISTS_CONFLICT", "init", "--query", "Another?")
        self.refuse("ALREADY_EXISTS_CONFLICT", "init", "--query", r.QUERY, "--mode", "deep")
        self.refuse("ALREADY_EXISTS_CONFLICT", "init", "--query", r.QUERY, "--limit", "max_summary_kb=7")

    def test_case_45_a_foreign_directory_is_refused(self):
        self.put("notes.txt", "mine")
        self.refuse("ALREADY_EXISTS_CONFLICT", "init", "--query", r.QUERY)
        os.remove(self.at("notes.txt"))
        self.put("manifest.json", "{}\n")
        self.refuse("ALREADY_EXISTS_CONFLICT", "init", "--query", r.QUERY)

    def test_case_45_an_upstream_run_needs_adopt(self):
        self.upstream()
        self.refuse("ALREADY_EXISTS_CONFLICT", "init", "--query", r.QUERY)

    def test_an_empty_directory_is_taken(self):
        os.mkdir(self.root)
        self.assertIs(self.init()["created"], True)

    def test_mode_sensitivity_and_limits_are_kept(self):
        self.init("--mode", "deep", "--sensitivity", "no_web", "--limit", "max_summary_kb=2.5", "--limit", "max_wave1_agents=10", "--limit", "max_pack_json_kb=80")
        made = self.json_of("manifest.json")
        self.assertEqual((made["mode"], made["query"]["sensitivity"]), ("deep", "no_web"))
        self.assertEqual((made["limits"]["max_summary_kb"], made["limits"]["max_wave1_agents"], made["limits"]["max_pack_json_kb"]), (2.5, 10, 80))
        self.assertEqual(self.last("RESEARCH_STARTED")["limits"]["max_summary_kb"], 2.5)

    def test_limits_out_of_their_range_are_refused_and_not_clamped(self):
        for number, limit in enumerate((
            "max_wave1_agents=0", "max_wave1_agents=1001", "max_wave1_agents=1.5", "max_wave2_agents=0", "max_review_iterations=-1", "max_review_iterations=51", "max_review_iterations=2.5",
            "max_summary_kb=0", "max_summary_kb=0.5", "max_summary_kb=1000.1", "max_total_summary_kb=0.99", "max_total_summary_kb=100001", "max_pack_json_kb=0", "max_synthesis_input_kb=100001",
            "min_wave_rate=0.79", "min_wave_rate=1.01", "max_summary_kb=nan", "max_summary_kb=inf", "max_summary_kb=five", "max_summary_kb=", "max_summary_kb", "max_sumary_kb=5", "=5",
        )):  # fmt: skip
            with self.subTest(limit=limit):
                self.run_id = f"dr_{number}"
                self.refuse("INVALID_ARGS", "init", "--query", r.QUERY, "--limit", limit)

    def test_limits_at_the_ends_of_their_range_are_taken(self):
        for number, limit in enumerate(("max_wave1_agents=1", "max_wave1_agents=1000", "max_review_iterations=0", "max_review_iterations=50", "max_summary_kb=1", "max_summary_kb=1000", "max_total_summary_kb=1", "max_total_summary_kb=100000", "min_wave_rate=0.8", "min_wave_rate=1")):
            with self.subTest(limit=limit):
                self.run_id = f"dr_{number}"
                self.init("--limit", limit)

    def test_arguments_that_are_wrong(self):
        for args in ((), ("--query", " \n\t"), ("--query", "\u00a0\ufeff")):
            with self.subTest(args=args):
                self.refuse("INVALID_ARGS", "init", *args)
        self.refuse("INVALID_ARGS USAGE", "init", "--query", "")
        for args in (("--mode", "fast"), ("--sensitivity", "secret")):
            with self.subTest(args=args):
                self.refuse("INVALID_ARGS USAGE", "init", "--query", r.QUERY, *args)
        self.refuse("INVALID_ARGS", "init", "--query", r.QUERY, "--reason", " ")

    def test_a_query_that_is_no_utf_8_is_refused(self):
        self.refuse("INVALID_UTF8 INVALID_ARGS", "init", "--query", b"caf\xe9?")

    def test_a_run_without_a_name_gets_one(self):
        answer = self.answer("research", "init", "--query", r.QUERY)
        self.assertRegex(answer["run_id"], r"^dr_\d{14}_[0-9a-z]{6}$")
        self.assertEqual(answer["root"], os.path.join(self.runs, answer["run_id"]))
        self.assertTrue(os.path.isfile(os.path.join(answer["root"], "manifest.json")))

    def test_case_3_a_run_id_that_climbs_is_refused(self):
        for name in ("../evil", "..", "a/../../evil", "x..y"):
            with self.subTest(name=name):
                self.run_id = name
                log = self.world.dump()
                self.error("PATH_TRAVERSAL INVALID_ARGS INVALID_FIELD", "init", "--query", r.QUERY)
                self.assertEqual(self.world.dump(), log)
                self.assertEqual(r.tree(r.ResearchCase._base), {"runs": r.tree(r.ResearchCase._base)["runs"], "outside": r.tree(r.ResearchCase._base)["outside"]})
        self.run_id = "../evil"
        self.assertEqual(self.error("PATH_TRAVERSAL", "init", "--query", r.QUERY)["code"], "PATH_TRAVERSAL")

    def test_a_run_that_is_not_there(self):
        self.init()
        self.run_id = "nobody"
        for args in (
            ("status",), ("verify",), ("cite", "--list"), ("cite", "--extract"), ("pack",), ("gate", "D"), ("bundle",), ("init", "--patch", self.world.file("p.json", "{}")),
            ("check", self.world.file("r.md", "x")), ("perspectives", os.path.join(r.EXAMPLE, "perspectives.json")), ("ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md"),
            ("summarize", f"p1={r.EXAMPLE}/summaries/p1.md"),
        ):  # fmt: skip
            with self.subTest(command=args[0]):
                self.refuse("NOT_FOUND", *args)

    def test_a_session_that_is_no_research_run(self):
        self.append("hello", session="talk")
        self.run_id = "talk"
        self.refuse("NOT_FOUND", "status")
        self.refuse("NOT_FOUND", "pack")

    def test_a_run_can_begin_in_a_session_that_talks_already(self):
        self.append("hello", session=r.RUN)
        self.init()
        self.assertEqual(self.kinds(), ["message", "RESEARCH_STARTED"])
        self.append("more", session=r.RUN)
        self.do("perspectives", os.path.join(r.EXAMPLE, "perspectives.json"))
        self.assertEqual(self.revision(), 2)

    def test_session_names_the_run_too(self):
        self.init()
        self.assertEqual(self.answer("research", "status", "--session", r.RUN)["run_id"], r.RUN)

    def test_where_the_run_lies_first_match_wins(self):
        del self.world.env["WEIR_RUNS_ROOT"]
        by_config, by_env, by_parent = (os.path.join(self.runs, name) for name in ("config", "env", "parent"))
        answer = lambda run, *args, **how: self.answer("research", "init", "--query", "Q", "--run", run, *args, **how)["root"]  # noqa: E731
        self.assertEqual(answer("r1"), os.path.join(self.world.home, ".config", "opencode", "research-runs", "r1"))
        self.world.user_config(f'[research]\nruns_root = "{by_config}"\n')
        self.assertEqual(answer("r2"), os.path.join(by_config, "r2"))
        env = {"WEIR_RUNS_ROOT": by_env}
        self.assertEqual(answer("r3", env=env), os.path.join(by_env, "r3"))
        self.assertEqual(answer("r4", "--runs-root", by_parent, env=env), os.path.join(by_parent, "r4"))
        self.assertEqual(answer("r5", "--runs-root", by_parent, "--run-root", os.path.join(self.runs, "own"), env=env), os.path.join(self.runs, "own"))
        self.assertTrue(os.path.isfile(os.path.join(self.runs, "own", "manifest.json")))

    def test_a_place_that_cannot_be_written_is_found_before_anything_is(self):
        blocked = self.world.file("a-file", "x")
        log = self.world.dump()
        self.error("WRITE_FAILED", "init", "--query", r.QUERY, "--runs-root", blocked)
        self.assertEqual(self.world.dump(), log)
        self.assertEqual(r.read(blocked), b"x")

    def test_a_dry_run_of_init_writes_nothing(self):
        self.assertIs(self.dry("init", "--query", r.QUERY)["created"], True)
        self.refuse("NOT_FOUND STORE_UNUSABLE", "status")

    def test_the_files_are_for_the_owner_alone_and_hold_what_was_asked(self):
        self.init()
        self.assertEqual(os.stat(self.at("manifest.json")).st_mode & 0o077, 0)

    def test_without_json_it_is_said_for_people(self):
        ran = self.weir("research", "init", "--query", r.QUERY, "--run", r.RUN)
        self.assertIn(r.RUN, ran.text)
        ran = self.weir("research", "status", "--run", r.RUN)
        self.assertIn("init", ran.text)
        ran = self.weir("research", "gate", "D", "--run", r.RUN, code=4)
        self.assertTrue(ran.errors.startswith("weir: NOT_FOUND: "), ran)


class PatchTest(ResearchCase):
    def setUp(self):
        super().setUp()
        self.begun()

    def bad(self, codes, value, *args):
        return self.refuse(codes, "init", "--patch", self.world.file("patch.json", value if isinstance(value, (str, bytes)) else compact(value)), *args)

    def test_a_patch_changes_limits_and_adds_a_revision(self):
        answer = self.patch({"limits": {"max_summary_kb": 7.5}}, "--reason", "longer ones")
        self.assertEqual((answer["new_revision"], answer["revision"]), (2, 2))
        self.assertTrue(r.is_time(answer["updated_at"]))
        self.assertEqual(self.json_of("manifest.json")["limits"]["max_summary_kb"], 7.5)
        self.assertEqual(self.json_of("manifest.json")["revision"], 2)
        body = self.last("RESEARCH_PATCHED")
        self.assertEqual((body["patch"], body["reason"]), ({"limits": {"max_summary_kb": 7.5}}, "longer ones"))

    def test_an_empty_patch_adds_a_revision(self):
        self.assertEqual(self.patch({})["new_revision"], 2)
        self.assertEqual(self.patch({})["new_revision"], 3)

    def test_null_takes_a_member_away(self):
        self.patch({"limits": {"max_pack_json_kb": 80}, "note": {"a": 1, "b": 2}})
        self.patch({"limits": {"max_pack_json_kb": None}, "note": {"a": None}})
        made = self.json_of("manifest.json")
        self.assertNotIn("max_pack_json_kb", made["limits"])
        self.assertEqual(made["note"], {"b": 2})

    def test_constraints_and_unknown_members_are_kept(self):
        self.patch({"query": {"constraints": {"language": "en"}}, "zzz": [1, None, "x"]})
        made = self.json_of("manifest.json")
        self.assertEqual((made["query"]["constraints"], made["zzz"], made["query"]["text"]), ({"language": "en"}, [1, None, "x"], r.QUERY))
        self.assertEqual(list(made)[-1], "zzz")

    def test_fixed_members_are_immutable(self):
        for value, path in (
            ({"schema_version": "manifest.v1"}, "$.schema_version"), ({"run_id": "x"}, "$.run_id"), ({"created_at": r.NOW}, "$.created_at"), ({"updated_at": r.NOW}, "$.updated_at"),
            ({"revision": 9}, "$.revision"), ({"artifacts": {"root": "/x"}}, "$.artifacts.root"), ({"artifacts": {"paths": {"wave1_dir": "../x"}}}, "$.artifacts.paths"), ({"run_id": None}, "$.run_id"),
        ):  # fmt: skip
            with self.subTest(path=path):
                paths = self.bad("IMMUTABLE_FIELD", value)["details"]["paths"]
                self.assertEqual(len(paths), 1)
                self.assertTrue(paths[0].startswith(path), paths)
        both = self.bad("IMMUTABLE_FIELD", {"run_id": "x", "revision": 2, "limits": {"max_summary_kb": 9}})
        self.assertEqual(sorted(both["details"]["paths"]), ["$.revision", "$.run_id"])

    def test_values_that_break_the_schema_are_all_listed(self):
        error = self.bad("SCHEMA_VALIDATION_FAILED", {"mode": "fast", "status": "asleep", "query": {"text": " "}, "metrics": [], "failures": {}})
        self.assertEqual(error["details"]["error_count"], 5)
        self.assertEqual(sorted(one["path"] for one in error["details"]["errors"]), ["$.failures", "$.metrics", "$.mode", "$.query.text", "$.status"])
        self.assertEqual(error["message"], error["details"]["errors"][0]["message"])
        self.assertEqual(error["details"]["path"], error["details"]["errors"][0]["path"])

    def test_limits_out_of_range(self):
        for value in ({"max_summary_kb": 0}, {"max_wave1_agents": 1.5}, {"max_total_summary_kb": -1}, {"min_wave_rate": 0.5}, {"max_review_iterations": 51}):
            with self.subTest(value=value):
                self.bad("INVALID_ARGS", {"limits": value})
        self.bad("INVALID_ARGS SCHEMA_VALIDATION_FAILED", {"limits": {"max_summary_kb": "5"}})
        self.bad("INVALID_ARGS SCHEMA_VALIDATION_FAILED", {"limits": {"max_summary_kb": None}})

    def test_text_that_is_no_patch(self):
        self.bad("INVALID_JSON", "{")
        self.bad("INVALID_JSON", '{"mode":"deep","mode":"quick"}')
        self.bad("INVALID_UTF8 INVALID_JSON", b'{"a":"\xff"}')
        self.bad("SCHEMA_VALIDATION_FAILED INVALID_ARGS", "[]")
        self.bad("INPUT_TOO_LARGE", '{"a":"' + "x" * (1 << 20) + '"}')
        self.refuse("NOT_FOUND", "init", "--patch", "nowhere.json")
        self.assertIn("line", self.bad("INVALID_JSON", '{\n"a":\n,}')["details"])

    def test_a_revision_that_is_not_the_current_one(self):
        error = self.bad("REVISION_MISMATCH", {}, "--expect-revision", 2)
        self.assertEqual(error["details"], {**error["details"], "expected": 2, "got": 1})
        self.patch({}, "--expect-revision", 1)
        self.bad("REVISION_MISMATCH", {}, "--expect-revision", 1)
        self.bad("INVALID_ARGS USAGE", {}, "--expect-revision", "x")

    def test_every_writing_command_takes_an_expected_revision(self):
        self.packed()
        revision = self.revision()
        for args in (
            ("perspectives", os.path.join(r.EXAMPLE, "perspectives.json")), ("ingest", "--wave", 1, f"p1={self.world.file('o.md', r.output())}"), ("cite", "--extract"),
            ("cite", "https://new.example/", "--status", "valid"), ("summarize", f"p1={self.world.file('s.md', r.summary())}"), ("pack",), ("gate", "B"),
        ):  # fmt: skip
            with self.subTest(args=args):
                self.refuse("REVISION_MISMATCH", *args, "--expect-revision", revision + 1)
        self.do("gate", "B", "--expect-revision", revision)

    def test_a_blank_reason_is_refused(self):
        self.bad("INVALID_ARGS USAGE", {}, "--reason", "")
        self.bad("INVALID_ARGS", {}, "--reason", " \u00a0")

    def test_a_dry_patch_writes_nothing(self):
        self.dry("init", "--patch", self.world.file("p.json", '{"mode":"deep"}'))
        self.assertEqual(self.revision(), 1)


class StateTest(ResearchCase):
    """Case 39."""

    def writes(self):
        return (
            ("perspectives", os.path.join(r.EXAMPLE, "perspectives.json")), ("ingest", "--wave", 1, f"p1={self.world.file('o.md', r.output())}"), ("cite", "--extract"),
            ("cite", "https://new.example/", "--status", "valid"), ("summarize", f"p1={self.world.file('s.md', r.summary())}"), ("pack",), ("gate", "B"), ("gate", "D"), ("bundle",),
            ("check", self.world.file("r.md", r.report())),
        )  # fmt: skip

    def closed(self, code):
        for args in self.writes():
            with self.subTest(args=args[:2]):
                self.refuse(code, *args)
        self.status()
        self.do("verify")
        self.dry("gate", "B")
        self.dry("pack")

    def test_case_39_a_paused_run_takes_no_write(self):
        self.bundled()
        self.assertEqual(self.patch({"status": "paused"})["status"], "paused")
        self.closed("PAUSED")
        self.assertEqual(self.patch({"status": "running"})["status"], "running")
        self.gate("B")

    def test_case_39_a_cancelled_run_takes_no_write(self):
        self.bundled()
        self.patch({"status": "cancelled"})
        self.closed("RUN_CANCELLED")

    def test_case_39_a_failed_run_takes_no_write(self):
        self.failed()
        self.closed("INVALID_STATE")

    def test_case_39_a_completed_run_takes_no_write(self):
        self.completed()
        self.assertEqual((self.status()["status"], self.status()["stage"]), ("completed", "finalize"))
        self.closed("INVALID_STATE")

    def test_case_39_nothing_makes_a_completed_run_a_failed_one(self):
        self.completed()
        for text in ("one\n", "two\n", "three\n", "four\n", "five\n"):
            self.refuse("INVALID_STATE", "check", self.world.file("r.md", text))
        ran = self.world.run("--json", "research", "init", "--patch", self.world.file("p.json", '{"status":"failed"}'), "--run", r.RUN)
        self.assertNotEqual(ran.code, 0, ran)
        self.assertEqual(self.status()["status"], "completed")
        self.assertFalse(os.path.exists(self.at("review/terminal-failure.json")))

    def test_case_39_a_failed_run_is_reopened_by_a_patch(self):
        self.failed()
        self.patch({"status": "running", "limits": {"max_review_iterations": 5}})
        self.assertEqual(self.check(r.report())["status"], "pass")
        self.assertEqual(self.status()["status"], "completed")

    def test_case_39_a_history_that_one_command_accepts_all_accept(self):
        history = [{"from": "init", "to": "wave1", "ts": r.NOW, "reason": "r", "inputs_digest": "sha256:x", "gates_revision": 1}]
        self.adopt(manifest={"stage": {"current": "wave1", "started_at": r.NOW, "history": history}})
        for command in ("status", "verify"):
            self.world.run("--json", "research", command, "--run", r.RUN)
        self.gate("B")
        self.do("cite", "--extract")
        self.patch({})
        self.gate("C")


class PerspectivesTest(ResearchCase):
    def setUp(self):
        super().setUp()
        self.begun()

    def give(self, value, *args):
        return self.do("perspectives", self.world.file("p.json", pretty(value)), *args)

    def bad(self, codes, value, *args):
        return self.refuse(codes, "perspectives", self.world.file("p.json", value if isinstance(value, (str, bytes)) else pretty(value)), *args)

    def errors(self, value, codes="SCHEMA_VALIDATION_FAILED"):
        error = self.bad(codes, value)
        listed = error["details"]["errors"]
        self.assertEqual(error["details"]["error_count"], len(listed))
        self.assertEqual((error["message"], error["details"]["path"]), (listed[0]["message"], listed[0]["path"]))
        return [(one["path"], one["message"]) for one in listed]

    def test_case_1_the_seeds_perspectives_pass_unchanged(self):
        answer = self.give(SEED_PERSPECTIVES)
        self.assertEqual((answer["wave"], answer["count"], answer["path"], answer["changed"], answer["revision"]), (1, 1, "perspectives.json", True, 2))
        self.assertEqual(self.json_of("perspectives.json"), SEED_PERSPECTIVES)
        self.assertEqual(answer["sha256"], "sha256:" + r.sha256(self.bytes_of("perspectives.json")))
        self.assertEqual(answer["bytes"], len(self.bytes_of("perspectives.json")))
        body = self.last("PERSPECTIVES_WRITTEN")
        self.assertEqual((body["wave"], body["document"], body["sha256"], body["bytes"]), (1, SEED_PERSPECTIVES, answer["sha256"], answer["bytes"]))

    def test_the_example_is_written_to_the_byte(self):
        self.give(json.loads(r.example("perspectives.json")))
        self.assertEqual(self.bytes_of("perspectives.json"), r.example("perspectives.json"))

    def test_a_run_runs_once_it_has_perspectives(self):
        self.give(SEED_PERSPECTIVES)
        self.assertEqual((self.status()["status"], self.status()["stage"]), ("running", "wave1"))
        made = self.json_of("manifest.json")
        self.assertEqual((made["status"], made["stage"]["current"], made["revision"]), ("running", "wave1", 2))
        [moved] = made["stage"]["history"]
        self.assertEqual((moved["from"], moved["to"], moved["gates_revision"]), ("init", "wave1", 1))
        self.assertRegex(moved["inputs_digest"], "^(sha256:)?[0-9a-f]{64}$")

    def test_case_2_five_errors_are_five_with_paths(self):
        bad = perspectives(perspective("p1", title="  ", track="Standard", max_words="many", must_include_sections=[3]))
        bad["schema_version"] = "perspectives.v2"
        self.assertEqual(self.errors(bad), [
            ("$.schema_version", "perspectives.schema_version must be perspectives.v1"), ("$.perspectives[0].title", "perspective.title missing"), ("$.perspectives[0].track", "perspective.track invalid"),
            ("$.perspectives[0].prompt_contract.max_words", "prompt_contract.max_words invalid"),
            ("$.perspectives[0].prompt_contract.must_include_sections[0]", "prompt_contract.must_include_sections entries must be non-empty strings")])  # fmt: skip

    def test_case_2_errors_of_both_passes_come_in_that_order(self):
        bad = perspectives(perspective("../x"), perspective("p2", track="odd"), created_at="yesterday")
        found = self.errors(bad)
        self.assertEqual(found[0], ("$.perspectives[1].track", "perspective.track invalid"))
        self.assertEqual({path for path, _ in found[1:]}, {"$.created_at", "$.perspectives[0].id"})

    def test_case_2_only_the_first_hundred_are_listed_and_all_counted(self):
        error = self.bad("SCHEMA_VALIDATION_FAILED", perspectives(*[{"id": f"p{i}"} for i in range(60)]))
        self.assertEqual((len(error["details"]["errors"]), error["details"]["error_count"] >= 200), (100, True))

    def test_case_2_a_value_of_the_wrong_type_is_not_descended_into(self):
        self.assertEqual(self.errors(perspectives(perspective(prompt_contract=[]))), [("$.perspectives[0].prompt_contract", "perspective.prompt_contract must be object")])
        self.assertEqual(self.errors({**perspectives(), "perspectives": [7]}), [("$.perspectives[0]", "perspective must be object")])
        self.assertEqual(self.errors({**perspectives(), "perspectives": {"0": {}}}), [("$.perspectives", "perspectives.perspectives must be array")])

    def test_case_3_ids_that_are_no_file_names(self):
        for id in ("../../evil", "a/b", ".x", "p1.", "x" * 65, "a\\b", "a b", "ä", "a..b", "-x", "_x", "p1\n", "a\u0000"):
            with self.subTest(id=id):
                self.assertEqual([path for path, _ in self.errors(perspectives(perspective(id)))], ["$.perspectives[0].id"])
        self.assertEqual(sorted(os.listdir(r.ResearchCase._base)), ["outside", "runs"])

    def test_case_3_ids_that_are(self):
        self.give(perspectives("x" * 64, "a.b-c_d", "0", "P-1"))

    def test_case_3_ids_are_unique_without_regard_to_case(self):
        self.bad("DUPLICATE_PERSPECTIVE_ID", perspectives("p1", "p1"))
        self.bad("DUPLICATE_PERSPECTIVE_ID", perspectives("p1", "P1"))

    def test_case_4_what_is_refused_on_write(self):
        self.assertEqual(self.errors(perspectives()), [("$.perspectives", "perspectives list is empty")])
        for value in (0, 1.5, -1):
            self.assertEqual(self.errors(perspectives(perspective(max_words=value))), [("$.perspectives[0].prompt_contract.max_words", "prompt_contract.max_words invalid")], value)
        for value in (-1, 0.5):
            self.assertEqual(self.errors(perspectives(perspective(max_sources=value))), [("$.perspectives[0].prompt_contract.max_sources", "prompt_contract.max_sources invalid")], value)
        for value in ("yesterday", "2026-02-13", "2026-02-13T12:05:00", "2026-02-13T12:05:00+02:00", "2026-02-30T12:05:00Z"):
            self.assertEqual([path for path, _ in self.errors(perspectives("p1", created_at=value))], ["$.created_at"], value)
        for value in (-1, 1.5, "4", None):
            self.assertEqual([path for path, _ in self.errors(perspectives(perspective(tool_budget={"search_calls": value})))], ["$.perspectives[0].prompt_contract.tool_budget.search_calls"], value)

    def test_case_4_what_may_be_empty_or_zero(self):
        self.give(perspectives(perspective(max_sources=0, tool_budget={}, must_include_sections=[])))

    def test_case_4_seven_under_a_cap_of_six(self):
        error = self.bad("WAVE_CAP_EXCEEDED", perspectives(*[f"p{i}" for i in range(7)]))
        self.assertEqual((error["details"]["cap"], error["details"]["count"]), (6, 7))
        self.give(perspectives(*[f"p{i}" for i in range(6)]))
        self.patch({"limits": {"max_wave2_agents": 1}})
        error = self.bad("WAVE_CAP_EXCEEDED", perspectives("g1", "g2"), "--wave", 2)
        self.assertEqual((error["details"]["cap"], error["details"]["count"]), (1, 2))

    def test_optional_members_have_their_shapes(self):
        good = {"expected_platforms": ["docs"], "platform_requirements": [{"name": "x", "reason": "y"}], "tool_policy": {"primary": ["a"], "secondary": [], "forbidden": ["b"]}, "source_artifact": "wave-1/own.md"}
        self.give(perspectives(perspective(**good)))
        for key, value in (
            ("expected_platforms", [" "]), ("expected_platforms", "docs"), ("platform_requirements", [{"name": "x"}]), ("platform_requirements", {}), ("tool_policy", {"primary": [1]}), ("tool_policy", []),
            ("source_artifact", "summaries/x.md"), ("source_artifact", 7),
        ):  # fmt: skip
            with self.subTest(key=key, value=value):
                self.assertTrue(all(path.startswith(f"$.perspectives[0].{key}") for path, _ in self.errors(perspectives(perspective(**{key: value})))))
        for value in ("wave-1/../../x.md", "/etc/passwd", "wave-1//x.md", "wave-1/./x.md", "wave-1\\x.md"):
            with self.subTest(value=value):
                self.bad("SCHEMA_VALIDATION_FAILED PATH_TRAVERSAL", perspectives(perspective(source_artifact=value)))

    def test_the_run_id_must_be_this_runs(self):
        self.bad("INVALID_STATE", perspectives("p1", run="dr_other"))

    def test_case_5_unknown_members_survive_and_change_the_digest(self):
        plain = self.give(perspectives("p1"))["sha256"]
        extra = perspectives(perspective("p1", zzz=True, aaa={"k": [1, None]}), extra=1)
        extra["perspectives"][0]["prompt_contract"]["tone"] = "dry"
        answer = self.give(extra)
        self.assertNotEqual(answer["sha256"], plain)
        self.assertEqual(self.json_of("perspectives.json"), extra)
        self.assertEqual(self.last("PERSPECTIVES_WRITTEN")["document"], extra)
        self.assertEqual(list(self.json_of("perspectives.json")["perspectives"][0])[-2:], ["aaa", "zzz"])
        self.do("verify", "--rebuild", os.path.join(self.outside, "again"))
        self.assertEqual(r.read(os.path.join(self.outside, "again", "perspectives.json")), self.bytes_of("perspectives.json"))

    def test_case_5_agents_are_checked_against_a_list_if_there_is_one(self):
        self.assertEqual(self.give(perspectives("p1", "p2"))["warnings"].count("AGENT_TYPE_UNCHECKED"), 1)
        self.world.user_config('[research]\nagents = ["ClaudeResearcher", "GeminiResearcher"]\n')
        self.assertEqual(self.give(perspectives("p1", perspective("p2", agent_type="GeminiResearcher")))["warnings"], [])
        self.assertEqual(self.errors(perspectives("p1", perspective("p2", agent_type="claudeResearcher"))), [("$.perspectives[1].agent_type", "perspective.agent_type unknown")])

    def test_the_waves_have_different_ids(self):
        self.give(perspectives("p1", "p2"))
        self.bad("DUPLICATE_PERSPECTIVE_ID", perspectives("p2"), "--wave", 2)
        self.bad("DUPLICATE_PERSPECTIVE_ID", perspectives("P2"), "--wave", 2)
        answer = self.give(perspectives("g1"), "--wave", 2)
        self.assertEqual((answer["wave"], answer["path"]), (2, "wave-2/wave2-perspectives.json"))
        self.assertEqual(self.json_of("wave-2/wave2-perspectives.json"), perspectives("g1"))
        self.bad("DUPLICATE_PERSPECTIVE_ID", perspectives("g1"))

    def test_wave_2_comes_after_wave_1_and_there_is_no_third(self):
        self.bad("INVALID_ARGS USAGE", perspectives("p1"), "--wave", 3)
        self.bad("INVALID_ARGS USAGE", perspectives("p1"), "--wave", 0)

    def test_the_same_again_adds_nothing(self):
        self.give(SEED_PERSPECTIVES)
        path = self.world.file("again.json", compact(SEED_PERSPECTIVES))
        self.assertIs(self.same("perspectives", path)["changed"], False)

    def test_text_that_is_no_document(self):
        self.bad("INVALID_JSON", "{")
        self.bad("INVALID_JSON", '{"schema_version":"perspectives.v1","schema_version":"perspectives.v1"}')
        self.bad("INVALID_UTF8 INVALID_JSON", b'{"a":"\xff"}')
        self.bad("INPUT_TOO_LARGE", '{"a":"' + "x" * (1 << 20) + '"}')
        self.refuse("NOT_FOUND", "perspectives", "nowhere.json")
        for text in ("null", "[]", "7", '"x"'):
            self.assertEqual(self.bad("SCHEMA_VALIDATION_FAILED", text)["message"], "perspectives must be an object")

    def test_a_dry_run_says_the_same_and_writes_nothing(self):
        path = self.world.file("p.json", pretty(SEED_PERSPECTIVES))
        said = self.dry("perspectives", path)
        done = self.do("perspectives", path)
        self.assertEqual((said["sha256"], said["bytes"], said["count"]), (done["sha256"], done["bytes"], done["count"]))

    def test_a_file_from_standard_input(self):
        self.assertEqual(self.do("perspectives", "-", stdin=pretty(SEED_PERSPECTIVES))["count"], 1)


class PackDocumentTest(ResearchCase):
    """Case 26, and the seed's pack."""

    def evaluated(self, pack):
        """Gate D's error on this pack, put in the place of the real one."""
        self.put("summaries/summary-pack.json", pack)
        return self.refuse("SCHEMA_VALIDATION_FAILED", "gate", "D")

    def test_case_1_the_seeds_pack_is_read_whole(self):
        self.begun()
        self.do("perspectives", self.world.file("p.json", pretty(SEED_PERSPECTIVES)))
        self.ingest({"p1": r.output()})
        self.put("summaries/p1.summary.md", "## Findings\nX uses Y for Z.\n")
        self.put("summaries/summary-pack.json", SEED_PACK)
        answer = self.gate("D", code=8)
        self.assertEqual(answer["checks"]["bounds"], "pass")
        self.assertEqual(answer["checks"]["input"], "pass")
        self.assertEqual((answer["metrics"]["summary_count"], answer["metrics"]["expected_count"]), (1, 1))
        self.assertIn("CLAIM_CID_UNKNOWN", answer["reasons"])
        self.assertNotIn("UNKNOWN_PERSPECTIVE", answer["reasons"])

    def test_case_1_a_summary_may_have_another_name(self):
        pack = copy.deepcopy(SEED_PACK)
        pack["summaries"][0]["key_claims"][0]["citation_cids"] = [r.C1]
        self.adopt(files={
            "perspectives.json": pretty(SEED_PERSPECTIVES), "wave-1/p2.md": None, "summaries/p1.md": None, "summaries/p2.md": None,
            "summaries/p1.summary.md": f"## Findings\n- X uses Y for Z [@{r.C1}]. (confidence: 85)\n", "summaries/summary-pack.json": pack,
        })  # fmt: skip
        ran = self.world.run("--json", "research", "gate", "D", "--run", r.RUN)
        self.assertIn(ran.code, (0, 8), ran)
        answer = json.loads(ran.text)
        self.assertEqual((answer["checks"]["bounds"], answer["metrics"]["summary_count_ratio"]), ("pass", 1))

    def test_case_26_a_pack_without_what_it_must_have(self):
        self.packed()
        whole = self.json_of("summaries/summary-pack.json")
        for key in ("schema_version", "run_id", "limits", "summaries", "total_estimated_tokens"):
            with self.subTest(key=key):
                error = self.evaluated({k: v for k, v in whole.items() if k != key})
                self.assertIn("$." + key, [one["path"] for one in error["details"]["errors"]])
        for key in ("perspective_id", "source_artifact", "summary_md", "key_claims"):
            with self.subTest(key=key):
                pack = copy.deepcopy(whole)
                del pack["summaries"][1][key]
                self.assertIn("$.summaries[1]." + key, [one["path"] for one in self.evaluated(pack)["details"]["errors"]])

    def test_case_26_all_errors_are_listed(self):
        self.packed()
        pack = self.json_of("summaries/summary-pack.json")
        del pack["limits"]
        pack["run_id"] = "dr_other"
        pack["summaries"][0]["key_claims"][0]["confidence"] = 900
        pack["summaries"][0]["key_claims"][1]["claim"] = " "
        pack["summaries"][1]["key_claims"][0]["citation_cids"] = []
        pack["summaries"].append(None)
        pack["total_estimated_tokens"] = "many"
        error = self.evaluated(pack)
        paths = [one["path"] for one in error["details"]["errors"]]
        self.assertEqual(sorted(path.split("citation_cids")[0] for path in paths), sorted([
            "$.run_id", "$.limits", "$.summaries[0].key_claims[0].confidence", "$.summaries[0].key_claims[1].claim", "$.summaries[1].key_claims[0].", "$.summaries[2]", "$.total_estimated_tokens"]))  # fmt: skip
        self.assertEqual(error["details"]["error_count"], 7)

    def test_case_26_a_pack_that_is_no_object_or_another_version(self):
        self.packed()
        for text in ("[]", "null", "7", '{"schema_version":"summary_pack.v2"}'):
            with self.subTest(text=text):
                self.assertEqual(self.evaluated(text)["message"], "summary-pack schema_version must be summary_pack.v1")
        self.put("summaries/summary-pack.json", "{")
        self.refuse("INVALID_JSON", "gate", "D")

    def test_a_pack_whose_paths_climb(self):
        self.packed()
        for path in ("../../etc/passwd", "summaries/../../x.md", "/etc/passwd", "wave-1/p1.md"):
            with self.subTest(path=path):
                pack = self.json_of("summaries/summary-pack.json")
                pack["summaries"][0]["summary_md"] = path
                self.put("summaries/summary-pack.json", pack)
                self.refuse("PATH_TRAVERSAL SCHEMA_VALIDATION_FAILED", "gate", "D")


class AdoptTest(ResearchCase):
    """Case 45."""

    def test_case_45_a_run_of_the_other_tool_is_taken_over(self):
        answer = self.adopt()
        self.assertIn("adopted", answer)
        self.assertIn("upstream_digests", answer)
        kinds = self.kinds()
        self.assertEqual(kinds[0], "RESEARCH_STARTED")
        for kind, count in (("PERSPECTIVES_WRITTEN", 1), ("WAVE_OUTPUT_INGESTED", 2), ("CITATION_RECORDED", 1), ("SUMMARY_INGESTED", 2), ("SUMMARY_PACK_BUILT", 1)):
            self.assertEqual(kinds.count(kind), count, kinds)
        self.assertEqual(self.status()["run_id"], r.RUN)
        self.assertEqual([one["id"] for one in self.status()["perspectives"]], ["p1", "p2"])

    def test_case_45_an_adopted_run_goes_on_to_the_end(self):
        self.adopt()
        self.do("cite", "--extract")
        self.do("pack")
        for name in "BCD":
            self.gate(name)
        self.do("bundle")
        self.check(r.report())
        self.assertEqual(self.status()["status"], "completed")
        self.verified()

    def test_case_45_an_upstream_digest_that_does_not_hold_is_a_warning(self):
        meta = {"schema_version": "summary_pack_meta.v1", "generated_at": r.NOW, "inputs_digest": "sha256:" + "0" * 64}
        answer = self.adopt(files={"summaries/summary-pack.meta.json": meta})
        self.assertTrue(answer["ok"])
        self.assertTrue(isinstance(answer["upstream_digests"], list))

    def test_adopting_validates_every_document(self):
        broken = r.manifest(self.root)
        broken["stage"]["current"] = "WAVE_ONE"
        for name, content, code in (
            ("manifest.json", {**broken}, "SCHEMA_VALIDATION_FAILED"), ("manifest.json", "{", "INVALID_JSON"), ("gates.json", {**r.gates(), "revision": 0}, "SCHEMA_VALIDATION_FAILED"),
            ("gates.json", r.gates("dr_other"), "INVALID_STATE"), ("perspectives.json", "[]", "SCHEMA_VALIDATION_FAILED"),
            ("perspectives.json", pretty(r.perspectives("p1", "p2", run="dr_other")), "INVALID_STATE"), ("citations/citations.jsonl", "{\n", "INVALID_JSON"),
            ("citations/citations.jsonl", compact({**r.record(r.URL1), "cid": r.C2}) + "\n", "CID_MISMATCH"), ("citations/citations.jsonl", compact(r.record(r.URL1, "great")) + "\n", "SCHEMA_VALIDATION_FAILED"),
            ("summaries/summary-pack.json", "[]", "SCHEMA_VALIDATION_FAILED"), ("wave-1/p1.md", b"\xff\n", "INVALID_UTF8"),
        ):  # fmt: skip
            with self.subTest(name=name, code=code):
                self.setUp()
                self.upstream(files={name: content})
                self.refuse(code, "init", "--adopt")

    def test_adopting_nothing_or_twice(self):
        self.refuse("NOT_FOUND", "init", "--adopt")
        self.adopt()
        count = len(self.kinds())
        ran = self.world.run("--json", "research", "init", "--adopt", "--run", r.RUN)
        self.assertIn(ran.code, (0, 5), ran)
        self.assertEqual(len(self.kinds()), count)

    def test_a_dry_adoption_writes_nothing(self):
        self.upstream()
        self.dry("init", "--adopt")

    def adopted_with(self, document):
        """Takes over a run that has got as far as these perspectives."""
        self.adopt(files={"perspectives.json": document, "wave-1/p1.md": None, "wave-1/p2.md": None, "summaries/p1.md": None, "summaries/p2.md": None, "summaries/summary-pack.json": None})

    def test_case_4_values_that_may_not_be_written_may_be_there_already(self):
        self.adopted_with(perspectives(perspective("p1", max_words=-1), "p2", created_at="yesterday"))
        error = self.sent_back("TOO_MANY_WORDS", "ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md")
        self.assertEqual(error["details"]["max_words"], -1)
        self.assertEqual(self.json_of("perspectives.json")["created_at"], "yesterday")
        self.verified()

    def test_case_4_a_budget_below_zero_is_found_when_an_output_comes(self):
        self.adopted_with(perspectives(perspective("p1", tool_budget={"search_calls": -1})))
        error = self.sent_back("INVALID_TOOL_BUDGET", "ingest", "--wave", 1, f"p1={r.EXAMPLE}/wave-1/p1.md")
        self.assertEqual((error["details"]["tool"], error["details"]["limit"]), ("search_calls", -1))

    def test_case_4_an_empty_list_is_no_coverage_of_one(self):
        self.adopted_with(perspectives())
        self.assertEqual(self.refuse("SCHEMA_VALIDATION_FAILED INVALID_STATE", "pack")["message"], "perspectives list is empty")
        self.gate("B", code=8)

    def test_case_3_an_id_that_climbs_is_not_adopted(self):
        for id in ("../../evil", "a/b", ".x"):
            with self.subTest(id=id):
                self.setUp()
                self.upstream(files={"perspectives.json": perspectives(perspective(id)), "wave-1/p1.md": None, "wave-1/p2.md": None, "summaries/p1.md": None, "summaries/p2.md": None, "summaries/summary-pack.json": None})
                ran = self.world.run("--json", "research", "init", "--adopt", "--run", r.RUN)
                if ran.code == 0:
                    self.refuse("PATH_TRAVERSAL", "ingest", "--wave", 1, f"{id}={r.EXAMPLE}/wave-1/p1.md")
                self.assertFalse([name for name in r.tree(r.ResearchCase._base) if "evil" in name])

    def test_what_the_manifest_held_besides_is_kept(self):
        failures = [{"ts": r.NOW, "stage": "init", "kind": "k", "message": "m", "retryable": True}]
        self.adopt(manifest={"zzz": {"a": 1}, "failures": failures, "agents": {"policy": "x"}, "mode": "deep", "limits": {"max_pack_json_kb": 77}})
        made = self.json_of("manifest.json")
        self.assertEqual((made["zzz"], made["failures"], made["agents"], made["mode"], made["limits"]["max_pack_json_kb"]), ({"a": 1}, failures, {"policy": "x"}, "deep", 77))

    def test_directories_with_other_names_are_not_passed_over(self):
        made = r.manifest(self.root)
        made["artifacts"]["paths"]["summaries_dir"] = "sums"
        self.upstream(files={"manifest.json": made, "summaries/p1.md": None, "summaries/p2.md": None, "summaries/summary-pack.json": None, "sums/p1.md": r.example("summaries/p1.md"), "sums/p2.md": r.example("summaries/p2.md")})
        ran = self.world.run("--json", "research", "init", "--adopt", "--run", r.RUN)
        if ran.code == 0:
            self.assertEqual(self.kinds().count("SUMMARY_INGESTED"), 2, ran)
            self.verified()


class NamesTest(ResearchCase):
    def test_an_unknown_command_or_option_is_usage(self):
        self.begun()
        for args in (("frobnicate",), ("status", "--frobnicate"), ("gate",), ("init", "--query", "x", "--frob")):
            with self.subTest(args=args):
                self.refuse("USAGE INVALID_ARGS", *args)

    def test_every_command_of_the_page_is_in_the_help(self):
        text = self.weir("help", "research").text
        for name in "init perspectives ingest cite summarize pack gate bundle check status verify".split():
            self.assertTrue(re.search(rf"\b{name}\b", text), name)


if __name__ == "__main__":
    r.main()
