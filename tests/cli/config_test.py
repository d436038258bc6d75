"""Configuration: five origins, and a project's file that cannot open doors."""

import os

import harness
from harness import CliTest, compact, entry


class OriginTest(CliTest):
    def shown(self, *args, **how):
        return {item["key"]: (item["value"], item["origin"]) for item in self.answer("config", "show", *args, **how)["config"]}

    def test_each_of_the_five_origins(self):
        user = self.world.user_config('store.path = "/u/store"\nlog.level = "info"\ncontext.format = "openai"\nread.deny = ["*.user"]\n')
        project = self.world.project_config('# about this project\n\nlog.level = "debug"\ncontext.format = "plain"\n[compaction]\nevent_threshold = 7\n')
        got = self.shown("--store", "flagged", env={"WEIR_STORE": "/e/store", "WEIR_LOG": "error"})
        self.assertEqual(got["store.path"], (os.path.join(self.world.cwd, "flagged"), "flag"))
        self.assertEqual(got["log.level"], ("error", "env WEIR_LOG"))
        self.assertEqual(got["context.format"], ("plain", f"project {project}:4"))
        self.assertEqual(got["compaction.event_threshold"], (7, f"project {project}:6"))
        self.assertEqual(got["read.deny"], (["*.user"], f"user {user}:4"))
        self.assertEqual(got["compile.profile"], ("weir-1", "default"))

    def test_one_key_through_all_five(self):
        """store.path from the default up to the flag, each beating the one before (a project may not set it)."""
        self.assertEqual(self.shown("store.path")["store.path"], (self.world.store, "default"))
        user = self.world.user_config('[store]\npath = "~/mine"\n')
        self.assertEqual(self.shown("store.path")["store.path"], (os.path.join(self.world.home, "mine"), f"user {user}:2"))
        self.assertEqual(self.shown("store.path", env={"WEIR_STORE": "rel"})["store.path"], (os.path.join(self.world.cwd, "rel"), "env WEIR_STORE"))
        self.assertEqual(self.shown("store.path", "--store", "/f", env={"WEIR_STORE": "rel"})["store.path"], ("/f", "flag"))

    def test_another_key_through_four(self):
        self.assertEqual(self.shown("log.level")["log.level"], ("warn", "default"))
        user = self.world.user_config('log.level = "info"')
        self.assertEqual(self.shown("log.level")["log.level"], ("info", f"user {user}:1"))
        project = self.world.project_config('\nlog.level = "debug"')
        self.assertEqual(self.shown("log.level")["log.level"], ("debug", f"project {project}:2"))
        self.assertEqual(self.shown("log.level", env={"WEIR_LOG": "error"})["log.level"], ("error", "env WEIR_LOG"))

    def test_text_output_with_and_without_origin(self):
        self.assertEqual(self.weir("config", "show", "store.durability").text, 'store.durability = "full"\n')
        self.assertEqual(self.weir("config", "show", "store.durability", "--origin").text, 'store.durability = "full"  # default\n')
        self.assertEqual(len(self.weir("config", "show").lines), len(self.shown()))

    def test_another_user_file_by_option_and_variable(self):
        path = self.world.file("other.toml", 'log.level = "debug"\n')
        self.assertEqual(self.shown("log.level", "--config", path)["log.level"], ("debug", f"user {path}:1"))
        self.assertEqual(self.shown("log.level", env={"WEIR_CONFIG": path})["log.level"], ("debug", f"user {path}:1"))
        self.refused("NOT_FOUND", "config", "show", "--config", "/nowhere.toml")

    def test_without_xdg_variables_the_places_are_under_home(self):
        bare = {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
        self.assertEqual(self.shown("store.path", env=bare)["store.path"][0], os.path.join(self.world.home, ".local/share/weir"))
        self.assertEqual(self.answer("config", "path", env=bare)["user"]["path"], os.path.join(self.world.home, ".config/weir/config.toml"))

    def test_the_project_file_is_the_nearest_one_upwards(self):
        project = self.world.project_config('log.level = "debug"\n')
        deep = os.path.join(self.world.cwd, "a", "b", "c")
        os.makedirs(deep)
        self.assertEqual(self.shown("log.level", cwd=deep)["log.level"], ("debug", f"project {project}:1"))
        self.assertEqual(self.answer("config", "path", cwd=deep)["project"], {"path": project, "there": True})
        nearer = self.world.file("a/.weir/config.toml", 'log.level = "info"\n')
        self.assertEqual(self.shown("log.level", cwd=deep)["log.level"], ("info", f"project {nearer}:1"))

    def test_relative_paths_are_relative_to_where_they_stand(self):
        self.world.project_config('read.roots = [".", "src"]\n')
        deep = os.path.join(self.world.cwd, "deep")
        os.makedirs(deep)
        self.assertEqual(self.shown("read.roots", cwd=deep)["read.roots"][0], [self.world.cwd, os.path.join(self.world.cwd, "src")])
        self.assertEqual(self.shown("read.roots", env={"WEIR_ROOTS": "/a:b:~/c"})["read.roots"], (["/a", os.path.join(self.world.cwd, "b"), os.path.join(self.world.home, "c")], "env WEIR_ROOTS"))

    def test_sizes_take_units(self):
        for text, value in (('"60kib"', 61440), ('"60kb"', 60000), ('"2MiB"', 2097152), ("17", 17), ('"1gb"', 1000000000)):
            self.world.user_config(f"handover.max_bytes = {text}\n")
            self.assertEqual(self.shown("handover.max_bytes")["handover.max_bytes"][0], value)


class DoorsTest(CliTest):
    DOORS = """
store.path = "/tmp/evil"
store.durability = "normal"
mask.enabled = false
mask.off = ["openai_key"]
mask.extra = []
http.listen = "0.0.0.0:80"
http.allow_hosts = ["evil.example"]
http.allow_origins = ["https://evil.example"]
http.token_file = "token"
import.roots = ["/"]
limits.store_bytes = 1
limits.session_entries = 1
read.roots = ["/", "..", "ok", "a/../../up", "/etc"]
log.level = "info"
"""

    def test_a_project_file_cannot_open_doors_and_config_check_names_each(self):
        plain = {item["key"]: item["value"] for item in self.answer("config", "show")["config"]}
        project = self.world.project_config(self.DOORS)
        report = self.answer("config", "check", code=3)
        self.assertFalse(report["ok"])
        closed = [item["key"] for item in report["ignored"]]
        self.assertEqual(closed[:12], ["store.path", "store.durability", "mask.enabled", "mask.off", "mask.extra", "http.listen", "http.allow_hosts", "http.allow_origins", "http.token_file", "import.roots", "limits.store_bytes", "limits.session_entries"])
        self.assertEqual(closed[12:], ["read.roots"] * 4)
        self.assertEqual([item["line"] for item in report["ignored"]], list(range(2, 14)) + [14] * 4)
        self.assertEqual({item["file"] for item in report["ignored"]}, {project})
        now = {item["key"]: (item["value"], item["origin"]) for item in self.answer("config", "show")["config"]}
        for key in set(closed) - {"read.roots"}:
            self.assertEqual(now[key], (plain[key], "default"), key)
        self.assertEqual(now["read.roots"][0], [os.path.join(self.world.cwd, "ok")])
        self.assertEqual(now["log.level"][0], "info")

    def test_a_project_file_does_not_turn_masking_off(self):
        self.world.project_config("mask.enabled = false\n")
        self.append("postgres://bob:" + "hunter2" + "@db/x")
        self.assertEqual(self.tell(), ["postgres://bob:***REDACTED***@db/x"])

    def test_a_project_file_does_not_move_the_store(self):
        self.world.project_config(f'store.path = "{self.world.path("evil")}"\n')
        self.append("x")
        self.assertFalse(os.path.exists(self.world.path("evil")))
        self.assertTrue(os.path.exists(self.world.store))

    def test_roots_outside_the_project_leave_the_users_in_force(self):
        roots, runs, key = self.world.path("roots"), self.world.path("runs"), self.world.path("key")
        self.world.user_config(f'read.roots = ["{roots}"]\nresearch.runs_root = "{runs}"\ncompile.hash_key_file = "{key}"\n')
        project = self.world.project_config('research.runs_root = "/runs"\nread.roots = ["/"]\ncompile.hash_key_file = "../key"\n')
        now = {item["key"]: item["value"] for item in self.answer("config", "show")["config"]}
        self.assertEqual((now["read.roots"], now["research.runs_root"], now["compile.hash_key_file"]), ([roots], runs, key))
        ignored = self.answer("config", "check", code=3)["ignored"]
        self.assertEqual([(item["file"], item["line"], item["key"]) for item in ignored], [(project, 1, "research.runs_root"), (project, 2, "read.roots"), (project, 3, "compile.hash_key_file")])
        self.world.project_config('research.runs_root = "runs"\nread.roots = []\n')
        now = {item["key"]: item["value"] for item in self.answer("config", "show")["config"]}
        self.assertEqual((now["read.roots"], now["research.runs_root"]), ([], os.path.join(self.world.cwd, "runs")))

    def test_the_user_may_do_all_of_it(self):
        self.world.user_config("mask.enabled = false\n")
        secret = "postgres://bob:" + "hunter2" + "@db/x"
        self.append(secret)
        self.assertEqual(self.tell(), [secret])

    def test_text_of_config_check(self):
        self.assertEqual(self.weir("config", "check").text, "configuration is in order\n")
        project = self.world.project_config('mask.enabled = false\nread.roots = ["/"]\n')
        self.assertEqual(
            self.weir("config", "check", code=3).text,
            f"ignored {project}:1: mask.enabled: a project's file cannot set it\nignored {project}:2: read.roots: '/' is outside the project\n",
        )

    def test_doctor_tells_of_it_too(self):
        self.weir("init")
        self.world.project_config("mask.enabled = false\n")
        report = self.answer("doctor", code=3)
        self.assertIn("project config", [check["name"] for check in report["checks"] if not check["ok"]])


class WrongConfigTest(CliTest):
    def test_unknown_keys_and_wrong_types_name_file_line_and_the_nearest_key(self):
        for text, line, key, near in (
            ('log.level = "warn"\nlog.levle = "info"\n', 2, "log.levle", "log.level"),
            ('[store]\n\ndurabilty = "full"\n', 3, "store.durabilty", "store.durability"),
            ("mask.enabled = 1\n", 1, "mask.enabled", "true or false"),
            ('compaction.event_threshold = "many"\n', 1, "compaction.event_threshold", "an integer"),
            ("compaction.event_threshold = -1\n", 1, "compaction.event_threshold", "0 or more"),
            ('read.roots = "."\n', 1, "read.roots", "an array of strings"),
            ('store.durability = "sloppy"\n', 1, "store.durability", "full|normal"),
            ('handover.max_bytes = "lots"\n', 1, "handover.max_bytes", "a size"),
            ('mask.extra = [{name = "x"}]\n', 1, "mask.extra", "{name, pattern}"),
            ("zzz = 1\n", 1, "zzz", "not a known key"),
            ('\nmask.off = ["jwt", "url_pasword"]\n', 2, "mask.off", "did you mean url_password?"),
            ('mask.off = ["nope"]\n', 1, "mask.off", "no family of secrets is called 'nope'"),
            ('[mask]\nextra = [{name = "x", pattern = "("}]\n', 2, "mask.extra", "pattern of 'x'"),
        ):
            with self.subTest(text=text):
                path = self.world.user_config(text)
                for args in (["config", "show"], ["config", "check"], ["append", "--session", "s"], ["init"]):
                    error = self.refused("INVALID_FIELD", *args, stdin=compact(entry("x")))
                    self.assertEqual(error["details"]["errors"][0]["path"], key)
                    self.assertIn(f"{path}:{line}", error["message"])
                    self.assertIn(near, error["message"])
        self.assertFalse(os.path.exists(self.world.store))

    def test_what_is_no_toml(self):
        path = self.world.user_config('log.level = "warn"\nthis is not toml\n')
        error = self.refused("INVALID_FIELD", "config", "show")
        self.assertIn(f"{path}:2", error["message"])

    def test_wrong_values_in_the_environment(self):
        error = self.refused("INVALID_FIELD", "config", "show", env={"WEIR_LOG": "loud"})
        self.assertIn("env WEIR_LOG", error["message"])

    def test_patterns_and_families_of_masks_are_checked(self):
        self.weir("init")
        for text in ('mask.off = ["no_such_family"]\n', 'mask.extra = [{name = "x", pattern = "("}]\n'):
            self.world.user_config(text)
            self.refused("INVALID_FIELD", "append", "--session", "s", stdin=compact(entry("x")))

    def test_doctor_sees_masks_with_which_nothing_runs(self):
        self.weir("init")
        self.world.user_config('mask.off = ["nope"]\n')
        self.assertIn("config", [check["name"] for check in self.answer("doctor", code=3)["checks"] if not check["ok"]])

    def test_a_store_that_is_not_built_yet_is_refused_and_a_directory_named_on_the_way_wins(self):
        path = self.world.user_config('store.url = "postgresql://bob:' + "hunter2" + '@db/weir"\n')
        for args in (["init"], ["log"], ["config", "check"]):
            error = self.refused("STORE_UNUSABLE", *args)
            self.assertIn("PostgreSQL", error["message"])
            self.assertIn(f"{path}:1", error["message"])
        self.assertFalse(os.path.exists(self.world.store))
        self.assertNotIn("hunter2", self.weir("config", "show").text)
        self.weir("init", env={"WEIR_STORE": self.world.path("by-variable")})
        self.weir("init", "--store", self.world.path("by-flag"))

    def test_a_key_nobody_knows_on_the_command_line(self):
        error = self.refused("INVALID_FIELD", "config", "show", "log.levle")
        self.assertIn("did you mean log.level?", error["message"])

    def test_help_works_with_a_broken_configuration(self):
        self.world.user_config("broken")
        self.weir("help")
        self.weir("config", "path")
        self.weir("--version")
        self.assertIn("config", [check["name"] for check in self.answer("doctor", code=3)["checks"] if not check["ok"]])


class EffectTest(CliTest):
    def test_extra_families_mask_and_families_can_be_left_alone(self):
        token = "acme_" + "0123456789abcdef" * 2
        self.world.user_config('mask.extra = [{name = "acme", pattern = "acme_[0-9a-f]{32}"}]\nmask.off = ["url_password"]\n')
        answer = self.answer("append", "--session", "s", stdin=compact(entry(f"{token} and postgres://bob:hunter2@db/x")))
        self.assertEqual(answer["masked"], {"acme": 1})
        self.assertEqual(self.tell(), ["***REDACTED*** and postgres://bob:hunter2@db/x"])

    def test_durability_normal_is_a_named_option(self):
        self.world.user_config('store.durability = "normal"\n')
        self.append("x")
        self.sound()


if __name__ == "__main__":
    harness.main()
