"""The server's token: where it is kept, who may see it, how it is replaced."""

import os
import re
import stat
import subprocess

import harness
from harness import CliTest, needs_root

TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class TokenCase(CliTest):
    def setUp(self):
        super().setUp()
        self.file = self.world.path("state", "weir", "token")

    def kept(self, path=None):
        with open(path or self.file, encoding="ascii") as file:
            return file.read()

    def made(self, *args, **how):
        return self.answer("token", "rotate", "--yes", *args, **how)["token"]


class ShowTest(TokenCase):
    def test_there_is_none_before_the_first_server(self):
        error = self.refused("NOT_FOUND", "token", "show", "--yes")
        self.assertEqual(error["details"]["path"], self.file)
        self.assertIn("weir serve", error["message"])

    def test_it_is_shown_with_yes(self):
        token = self.made()
        self.assertRegex(token, TOKEN)
        self.assertEqual(self.kept(), token + "\n")
        self.assertEqual(self.weir("token", "show", "--yes").text, token + "\n")
        self.assertEqual(self.weir("token", "--yes").text, token + "\n")
        self.assertEqual(self.answer("token", "show", "--yes"), {"token_file": self.file, "token": token})

    def test_it_is_shown_on_a_terminal_and_nowhere_else(self):
        token = self.made()
        self.assertEqual(self.world.terminal("token", "show").out, token.encode() + b"\n")
        for how in ([], ["--json"], ["--read"]):
            ran = self.weir("token", "show", *how, code=7)
            self.assertNotIn(token, ran.text + ran.errors)
        self.assertIn("--yes", self.refused("DENIED", "token", "show")["message"])

    def test_it_stands_where_the_settings_say(self):
        other = self.world.path("elsewhere", "secret")
        for env, config in (({"WEIR_TOKEN_FILE": other}, ""), ({}, f'http.token_file = "{other}"\n')):
            self.world.user_config(config)
            self.assertEqual(self.answer("token", "rotate", "--yes", env=env)["token_file"], other)
        self.assertFalse(os.path.exists(self.file))
        home = os.path.join(self.world.home, ".local", "state", "weir", "token")
        self.world.user_config("")
        self.assertEqual(self.answer("token", "rotate", "--yes", env={"XDG_STATE_HOME": ""})["token_file"], home)
        error = self.refused("STORE_UNUSABLE", "token", "show", "--yes", env={"XDG_STATE_HOME": "", "HOME": ""})
        self.assertEqual(error["details"], {"key": "http.token_file"})

    def test_a_project_cannot_say_where(self):
        self.world.project_config('http.token_file = "mine"\n')
        self.assertEqual(self.answer("token", "rotate", "--yes")["token_file"], self.file)

    def test_what_others_may_know_is_refused(self):
        token = self.made()
        os.chmod(self.file, 0o640)
        error = self.refused("STORE_UNUSABLE", "token", "show", "--yes")
        self.assertIn("0640", error["message"])
        self.assertNotIn(token, str(error))

    def test_what_is_no_token_is_refused(self):
        self.made()
        for text in ("", "short\n", "A" * 43 + "=\n", "A" * 100, "ä" * 21 + "A\n"):
            with open(self.file, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn("holds no token", self.refused("STORE_UNUSABLE", "token", "show", "--yes")["message"])

    @needs_root
    def test_somebody_elses_is_refused(self):
        self.made()
        os.chown(self.file, 12345, 12345)
        self.assertIn("belongs to user 12345", self.refused("STORE_UNUSABLE", "token", "show", "--yes")["message"])


class RotateTest(TokenCase):
    def test_modes_whatever_the_umask(self):
        self.made(umask=0)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.file)).st_mode), 0o700)

    def test_another_each_time_and_nothing_else_is_left(self):
        tokens = {self.made() for _ in range(20)}
        self.assertEqual(len(tokens), 20)
        self.assertIn(self.kept().rstrip("\n"), tokens)
        self.assertEqual(os.listdir(os.path.dirname(self.file)), ["token"])

    def test_many_at_once_leave_one_whole_token(self):
        running = [self.world.start("token", "rotate", "--yes") for _ in range(8)]
        printed = {self.world.finish(one).text for one in running}
        self.assertEqual(len(printed), 8)
        self.assertIn(self.kept(), printed)
        self.assertEqual(os.listdir(os.path.dirname(self.file)), ["token"])

    def test_it_mends_what_show_refuses(self):
        self.made()
        for spoil in (lambda: os.chmod(self.file, 0o666), lambda: os.truncate(self.file, 3)):
            spoil()
            self.refused("STORE_UNUSABLE", "token", "show", "--yes")
            token = self.made()
            self.assertEqual(self.weir("token", "show", "--yes").text, token + "\n")
            self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)

    def test_without_yes_nothing_happens(self):
        before = self.made()
        self.refused("DENIED", "token", "rotate")
        self.assertEqual(self.kept(), before + "\n")

    def test_a_person_is_asked_before_one_is_replaced(self):
        first = self.world.terminal("token", "rotate")
        self.assertRegex(first.text, TOKEN)
        self.assertNotIn(b"[y/N]", first.out)
        for answer, code in ((b"n\n", 7), (b"y\n", 0)):
            before = self.kept()
            ran = self.world.terminal("token", "rotate", answer=answer)
            self.assertEqual(ran.code, code, ran)
            self.assertIn(b"[y/N]", ran.out)
            self.assertEqual(self.kept() == before, code != 0)

    def test_a_dry_run_makes_nothing(self):
        self.assertEqual(self.answer("token", "rotate", "--dry-run"), {"token_file": self.file, "token": None})
        self.assertIn("would", self.weir("token", "rotate", "--dry-run").text)
        self.assertFalse(os.path.exists(self.file))

    def test_the_one_for_reading_is_another(self):
        both = self.made()
        reading = self.made("--read")
        self.assertNotEqual(both, reading)
        self.assertEqual((self.kept(), self.kept(self.file + ".read")), (both + "\n", reading + "\n"))
        self.assertEqual(self.answer("token", "show", "--read", "--yes"), {"token_file": self.file + ".read", "token": reading})

    def test_none_for_reading_until_it_is_made(self):
        self.made()
        self.assertIn("rotate --read", self.refused("NOT_FOUND", "token", "show", "--read", "--yes")["message"])


class TraceTest(TokenCase):
    def test_reading_it_with_weir_leaves_no_trace_in_the_store(self):
        token = self.made()
        self.append("x")
        self.assertIn(token, self.weir("read", self.file, "--session", "s", "--root", self.world.path("state")).text)
        self.assertEqual([line["body"].get("custom_type") for line in self.log()], ["read_uncached", None])
        found = subprocess.run(["grep", "-rlF", token, self.world.store], capture_output=True, text=True)
        self.assertEqual(found.stdout, "")


class DoctorTest(TokenCase):
    def checks(self, *args, code=0):
        return {check["name"]: check for check in self.answer("doctor", *args, code=code)["checks"]}

    def setUp(self):
        super().setUp()
        self.weir("init")

    def test_a_token_that_is_open_to_others_is_found_and_mended(self):
        self.assertTrue(self.checks()["token"]["ok"])
        token = self.made()
        self.assertEqual(self.checks()["token"]["detail"], self.file)
        os.chmod(self.file, 0o644)
        check = self.checks(code=3)["token"]
        self.assertFalse(check["ok"])
        self.assertIn("doctor --fix", check["fix"])
        self.assertTrue(self.checks("--fix")["token"]["ok"])
        self.assertEqual((self.kept(), stat.S_IMODE(os.stat(self.file).st_mode)), (token + "\n", 0o600))

    def test_the_one_for_reading_is_looked_at_where_there_is_one(self):
        self.assertNotIn("read token", self.checks())
        self.made("--read")
        os.chmod(self.file + ".read", 0o604)
        self.assertFalse(self.checks(code=3)["read token"]["ok"])

    def test_what_is_no_token_is_named(self):
        self.made()
        os.truncate(self.file, 5)
        self.assertIn("rotate", self.checks(code=3)["token"]["fix"])

    @needs_root
    def test_somebody_elses_is_named(self):
        self.made()
        os.chown(self.file, 12345, 12345)
        self.assertIn("12345", self.checks(code=3)["token"]["detail"])


if __name__ == "__main__":
    harness.main()
