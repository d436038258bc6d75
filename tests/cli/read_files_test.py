"""weir read: which files are opened, under which names, and what becomes of those that are no plain text."""

import os
import socket
import subprocess

import harness
from harness import needs_root
from read_case import OF_A, ReadCase, numbered, sha


class PathTest(ReadCase):
    def test_every_spelling_of_one_file_is_one_path(self):
        """Case 36, H5."""
        self.file("d/a.txt", "alpha\nbeta\ngamma\n")
        os.mkdir(self.world.path("cwd", "s"))
        for name, target in (("relative", "d/a.txt"), ("absolute", self.world.path("cwd", "d", "a.txt")), ("folder", "d"), ("far", self.world.path("cwd", "d"))):
            os.symlink(target, self.world.path("cwd", name))
        self.config(marker_repeat=0)
        real = self.world.path("cwd", "d", "a.txt")
        record = self.read("d/a.txt")["record"]
        self.assertEqual((record["mode"], record["path"]), ("full", real))
        for spelling in ("relative", "absolute", "folder/a.txt", "far/a.txt", "./d/./a.txt", "d//a.txt", "s/../d/a.txt", "folder/../d/a.txt", "@d/a.txt", real, real.replace("/", "//")):
            with self.subTest(spelling=spelling):
                record = self.read(spelling)["record"]
                self.assertEqual((record["mode"], record["path"]), ("unchanged", real))
        self.assertEqual(self.status()["paths"], 1)

    def test_home_spaces_and_the_spellings_of_macos(self):
        """Case 41: each path variant."""
        self.config(roots=["/"])
        with open(os.path.join(self.world.home, "h.txt"), "w") as file:
            file.write("home\n")
        self.assertEqual(self.read("~/h.txt")["text"], "home\n")
        for stored, typed in (
            ("a b.txt", "a\u00a0b.txt"), ("c d.txt", "c\u3000d.txt"), ("Shot at 9.41\u202fAM.png.txt", "Shot at 9.41 AM.png.txt"), ("Shot at 9.42\u202fpm.txt", "Shot at 9.42 pm.txt"),
            ("cafe\u0301.txt", "caf\u00e9.txt"), ("it\u2019s.txt", "it's.txt"), ("l\u2019e\u0301te\u0301.txt", "l'\u00e9t\u00e9.txt"),
        ):  # fmt: skip
            with self.subTest(stored=stored):
                path = self.file(stored, stored)
                self.assertEqual(self.read(typed)["record"]["path"], path)
                self.assertEqual(self.read(typed.replace(".txt", ".txt:1") if "'" not in typed else typed)["record"]["path"], path)

    def test_other_spellings_are_those_of_the_file_and_not_of_where_it_lies(self):
        """A working directory with letters that have a second spelling: what is missing is missing, not outside the roots."""
        place = self.world.path("cwd", "d\u00f6rs it's 9 AM")
        for name, text in (("a", numbered(1, 10)), ("cafe\u0301.txt", "stored decomposed")):
            self.file(os.path.join(place, name), text)
        for given in ("", place + "/"):
            read = lambda path, code=0: harness.parse_line(getattr(self.weir("--json", "read", given + path, "--session", "s", cwd=place, code=code), "errors" if code else "text"))
            self.assertEqual(read("none.txt", 4)["error"]["code"], "NOT_FOUND")
            self.assertEqual(read("none.txt:3", 4)["error"]["code"], "NOT_FOUND")
            self.assertEqual(read("a:3-6")["record"]["scope"], "r:3:6")
            self.assertEqual(read("caf\u00e9.txt")["record"]["path"], os.path.join(place, "cafe\u0301.txt"))
            self.assertEqual(read("../x", 7)["error"]["code"], "OUTSIDE_ROOTS")

    def test_the_spelling_that_is_there_is_taken_before_any_other(self):
        self.file("it's.txt", "straight")
        self.file("it\u2019s.txt", "curly")
        self.assertEqual(self.read("it's.txt")["text"], "straight")

    def test_lines_can_be_named_after_a_colon(self):
        """Case 41."""
        self.file("a", numbered(1, 10))
        self.file("report:2024.txt", "whole\n")
        self.file("a:7", "a file of its own")
        for typed, scope in (("a:3-6", "r:3:6"), ("a:3", "r:3:10"), ("a:1-10", "full"), ("a:9-400", "r:9:10"), ("report:2024.txt", "full"), ("report:2024.txt:2", "r:2:2"), ("a:7", "full"), ("a:03-06", "r:3:6")):
            self.assertEqual(self.read(typed)["record"]["scope"], scope, typed)
        for typed, message in (
            ("a:3-", 'Invalid range suffix "3-". Use :<start> or :<start>-<end>.'), ("a:abc", 'Invalid range suffix "abc". Use :<start> or :<start>-<end>.'), ("a:-3", 'Invalid range suffix "-3". Use :<start> or :<start>-<end>.'),
            ("a:8-2", 'Invalid range "8-2": end line must be greater than or equal to start line.'), ("a:0-3", 'Invalid start line number "0". Line numbers must be positive integers.'), ("a:1-2-3", 'Invalid range suffix "1-2-3". Use :<start> or :<start>-<end>.'),
        ):  # fmt: skip
            self.assertEqual(self.refused("BAD_RANGE_SUFFIX", "read", typed, "--session", "s")["message"], message)
        for typed in ("a:", ":3", "none:3"):
            self.refused("NOT_FOUND", "read", typed, "--session", "s")
        self.refused("NOT_FOUND", "read", "a:3", "--offset", 1, "--session", "s")
        self.refused("NOT_FOUND", "read", "a:3", "--limit", 1, "--session", "s")

    def test_names_of_any_bytes(self):
        """Line feeds and control characters are recorded; what is not UTF-8 is served and leaves the log readable."""
        self.begin("s")
        for name in ("new\nline", "bell\x07", "-dash", "tab\there", "x" * 255, "a'\"\\b", "\u202eevil", "space ", " lead"):
            self.file(name, "text\n")
            self.assertEqual([self.answer("read", "--session", "s", "--", name)["record"]["mode"] for _ in range(2)], ["full", "unchanged"], name)
        raw = b"bad\xff.txt"
        with open(os.path.join(self.world.cwd.encode(), raw), "wb") as file:
            file.write(b"bytes\n")
        os.symlink(raw, os.path.join(self.world.cwd.encode(), b"link"))
        for name in (raw, "link"):
            for _ in range(2):
                answer = self.read(name)
                self.assertEqual((answer["kind"], answer["text"], answer["reason"]), ("uncached", "bytes\n", "path_not_utf8"))
        self.assertEqual(self.last()["body"]["data"]["path"], self.world.path("cwd", "bad\\xff.txt"))
        self.refused("INVALID_FIELD", "refresh", raw, "--session", "s")
        self.refused("NOT_FOUND", "read", b"none\xff", "--session", "s")
        self.assertEqual(self.mode("bell\x07"), "unchanged")
        self.assertEqual(self.status()["reads"]["malformed"], 0)
        self.sound()

    def test_an_image_under_such_a_name_gives_valid_json(self):
        with open(os.path.join(self.world.cwd.encode(), b"\xfe.png"), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.read(b"\xfe.png")["path"], self.world.path("cwd", "\\xfe.png"))


class RootsTest(ReadCase):
    def setUp(self):
        super().setUp()
        for folder in ("r", "rEvil", "r/sub"):
            os.makedirs(self.world.path(folder))
        for name in ("r/in.txt", "rEvil/out.txt", "r/sub/deep.txt"):
            with open(self.world.path(name), "w") as file:
                file.write(f"{name}\n")

    def root(self, path, *roots, **how):
        return self.answer("read", path, "--session", "s", *[word for root in roots for word in ("--root", self.world.path(root))], **how)

    def outside(self, path, *roots, **how):
        return self.refused("OUTSIDE_ROOTS", "read", path, "--session", "s", *[word for root in roots for word in ("--root", self.world.path(root))], **how)

    def test_a_root_ends_at_a_whole_name(self):
        """Case 39."""
        self.assertEqual(self.root(self.world.path("r/in.txt"), "r")["text"], "r/in.txt\n")
        for path in (self.world.path("rEvil/out.txt"), self.world.path("r/../rEvil/out.txt"), self.world.path("rEvil/none.txt"), "/etc/passwd"):
            self.assertIn(path, self.outside(path, "r")["message"])
        self.assertEqual(self.root(self.world.path("rEvil/out.txt"), "r", "rEvil")["text"], "rEvil/out.txt\n")

    def test_without_roots_nothing_is_read(self):
        """Case 39."""
        self.file("a.txt", "a\n")
        self.config(roots=[])
        self.outside("a.txt")

    def test_links_lead_where_roots_allow(self):
        links = {"out": "../rEvil/out.txt", "out-absolute": self.world.path("rEvil/out.txt"), "folder": "../rEvil", "dots": "sub/../../rEvil/out.txt", "magic": "/proc/self/root" + self.world.path("rEvil/out.txt")}
        for name, target in links.items():
            os.symlink(target, self.world.path("r", name))
        for name in ("out", "out-absolute", "folder/out.txt", "dots", "magic"):
            self.outside(self.world.path("r", name), "r")
            if name != "magic":
                self.assertEqual(self.root(self.world.path("r", name), "r", "rEvil")["record"]["path"], self.world.path("rEvil/out.txt"))
        os.symlink("loop", self.world.path("r", "loop"))
        self.refused("NOT_FOUND", "read", self.world.path("r/loop"), "--root", self.world.path("r"), "--session", "s")

    def test_a_root_may_be_a_link_and_be_said_in_three_ways(self):
        self.begin("s")
        os.symlink(self.world.path("r"), self.world.path("link"))
        for how in ({"roots": ["link"]}, {"env": {"WEIR_ROOTS": self.world.path("link")}}):
            with self.subTest(how=how):
                args, env = how.get("roots", []), how.get("env")
                for spelling in ("link/in.txt", "r/in.txt", "link/sub/../in.txt"):
                    self.root(self.world.path(spelling), *args, env=env)
                self.outside(self.world.path("rEvil/out.txt"), *args, env=env)
        self.assertEqual(self.status()["paths"], 1)

    def test_the_environment_names_several_roots_and_an_option_is_stronger(self):
        env = {"WEIR_ROOTS": self.world.path("r/sub") + ":" + self.world.path("rEvil")}
        self.root(self.world.path("r/sub/deep.txt"), env=env)
        self.root(self.world.path("rEvil/out.txt"), env=env)
        self.outside(self.world.path("r/in.txt"), env=env)
        self.outside(self.world.path("rEvil/out.txt"), "r", env=env)

    def test_a_project_cannot_open_doors(self):
        """A repository's own file must not let its reader out of it, by no name and through no link."""
        os.symlink(self.world.path("rEvil"), self.world.path("cwd", "elsewhere"))
        target = self.world.path("rEvil/out.txt")
        for roots in (["/"], [".."], [self.world.path("rEvil")], ["elsewhere"], ["./elsewhere/."], ["sub/../../rEvil"]):
            with self.subTest(roots=roots):
                self.world.project_config(f"read.roots = {harness.compact(roots)}\n")
                ran = self.world.run("--json", "read", target, "--session", "s")
                self.assertNotIn(b"rEvil/out.txt\\n", ran.out, ran)
                ran = self.world.run("--json", "read", "elsewhere/out.txt", "--session", "s")
                self.assertNotIn(b"rEvil/out.txt\\n", ran.out, ran)
                self.assertEqual([found["key"] for found in self.answer("config", "check", code=3)["ignored"]], ["read.roots"])

    def test_a_project_cannot_take_names_from_the_users_deny_list(self):
        self.config(deny=["*.private"])
        self.file("x.private", "p\n")
        for project in ("", "read.deny = []\n", 'read.deny = ["*.other"]\n', 'read.denied = "serve"\nread.hard_links = "allow"\n'):
            with self.subTest(project=project):
                self.world.project_config(project)
                self.assertEqual(self.read("x.private")["reason"], "denied_path")

    def test_a_root_that_starts_nowhere_is_none(self):
        """Without a working directory or a home, `.` and `~` must not come to mean everything."""
        out = self.world.path("rEvil/out.txt")
        for words in ("", "--root .", "--root ~"):
            gone = self.world.path("gone")
            os.mkdir(gone)
            script = f'cd "{gone}" && rmdir "{gone}" && unset HOME && "$0" --json read "{out}" --session s {words.replace("~", chr(39) + "~" + chr(39))}'
            done = subprocess.run(["sh", "-c", script, harness.BIN], capture_output=True, text=True, env=self.world.environment({}))
            self.assertNotEqual(done.returncode, 0, words)
            self.assertNotIn("out.txt\\n", done.stdout)

    def test_roots_of_a_configuration_file_start_where_it_stands(self):
        self.file("conf/c.toml", 'read.roots = ["."]\n')
        self.file("conf/in.txt", "inside\n")
        self.file("out.txt", "outside\n")
        for name, cwd in (("conf/c.toml", self.world.cwd), ("c.toml", self.world.path("cwd", "conf")), ("./conf/../conf/c.toml", self.world.cwd)):
            self.assertEqual(self.answer("read", self.world.path("cwd", "conf", "in.txt"), "--config", name, cwd=cwd)["text"], "inside\n")
            self.refused("OUTSIDE_ROOTS", "read", self.world.path("cwd", "out.txt"), "--config", name, cwd=cwd)
            self.refused("OUTSIDE_ROOTS", "read", "/etc/passwd", "--config", name, cwd=cwd)

    def test_a_root_that_is_not_there_is_an_error(self):
        self.file("a.txt", "a\n")
        ran = self.world.run("read", "a.txt", "--root", self.world.path("none"))
        self.assertNotEqual(ran.code, 0)
        self.assertIn("none", ran.errors)


class KindsTest(ReadCase):
    def test_what_is_no_regular_file_is_refused_at_once(self):
        """Case 38."""
        os.mkfifo(self.world.path("cwd", "fifo"))
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.world.path("cwd", "socket"))
        os.symlink("/dev/zero", self.world.path("cwd", "zero"))
        for name in ("fifo", "socket"):
            self.refused("NOT_REGULAR", "read", name, "--session", "s", timeout=10)
        self.refused("OUTSIDE_ROOTS", "read", "zero", "--session", "s", timeout=10)
        for device in ("/dev/zero", "/dev/null", "/dev/tty"):
            self.refused("NOT_REGULAR", "read", device, "--root", "/dev", "--session", "s", timeout=10)

    def test_every_error_of_the_table(self):
        """Case 40, H18."""
        path = self.file("a.txt", "1\n2\n3")
        self.assertEqual(self.refused("NOT_FOUND", "read", "none.txt", "--session", "s")["message"], f"ENOENT: no such file or directory, access '{self.world.path('cwd', 'none.txt')}'")
        self.assertEqual(self.refused("IS_DIRECTORY", "read", ".", "--session", "s")["message"], "EISDIR: illegal operation on a directory, read")
        self.assertEqual(self.refused("OFFSET_BEYOND_END", "read", "a.txt", "--offset", 9, "--session", "s")["message"], "Offset 9 is beyond end of file (3 lines total)")
        for option, word in (("offset", "0"), ("offset", "-1"), ("offset", "1.5"), ("offset", "x"), ("limit", "0"), ("limit", "+3"), ("limit", "1e3")):
            error = self.refused("BAD_RANGE", "read", path, f"--{option}={word}", "--session", "s")
            self.assertEqual(error["message"], f'Invalid {option} "{word}". {option.capitalize()} must be a positive integer.')
        for option in ("--offset", "--limit"):
            code = "OFFSET_BEYOND_END" if option == "--offset" else None
            for huge in ("4294967296", "18446744073709551615", "99999999999999999999999"):
                if code:
                    self.refused(code, "read", path, option, huge, "--session", "s")
                else:
                    self.assertEqual(self.read(path, option, huge)["record"]["scope"], "full")
        self.refused("NOT_FOUND", "read", "a.txt/b", "--session", "s")
        self.refused("NOT_FOUND", "read", "x" * 300, "--session", "s")
        self.refused("NOT_FOUND", "read", "d/" * 3000, "--session", "s")
        self.assertEqual(self.status()["reads"]["full"], 1)

    @needs_root
    def test_a_file_that_may_not_be_read(self):
        """Case 40. The program is started as root, because its own place may be closed to others, and gives that up."""
        path = self.file("closed.txt", "x\n")
        os.chmod(path, 0)
        for folder in (self.world.root, self.world.cwd):
            os.chmod(folder, 0o755)
        drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--reuid=0", "--clear-groups"]
        os.chown(path, 65534, 65534)
        if subprocess.run([*drop, "true"], capture_output=True).returncode != 0:
            self.skipTest("no setpriv that drops capabilities here")
        done = subprocess.run([*drop, harness.BIN, "--json", "read", "closed.txt"], capture_output=True, text=True, env=self.world.environment({}), cwd=self.world.cwd)
        self.assertEqual(done.returncode, 7, done)
        self.assertEqual(harness.parse_line(done.stderr)["error"]["message"], f"EACCES: permission denied, access '{path}'")

    def test_a_file_with_a_second_name_is_read_unless_that_is_refused(self):
        """Case 38."""
        os.link(self.file("a.txt", "a\n"), self.world.path("cwd", "b.txt"))
        self.assertEqual((self.mode("a.txt"), self.mode("b.txt")), ("full", "full"))
        self.config(hard_links="refuse")
        self.assertIn("2 names, 1 is allowed", self.refused("HARD_LINK", "read", "a.txt", "--session", "s")["message"])

    def test_a_sparse_file_of_3_gib_is_too_large(self):
        """Case 39."""
        with open(self.world.path("cwd", "big"), "wb") as file:
            file.truncate(3 << 30)
        error = self.refused("TOO_LARGE", "read", "big", "--session", "s")
        self.assertEqual((error["details"]["limit"], error["details"]["value"]), (256 << 20, 3 << 30))

    def test_images_and_other_bytes_are_named_and_not_recorded(self):
        """Case 40."""
        self.weir("session", "new", "s")
        for name, content, mime in (
            ("p", b"\x89PNG\r\n\x1a\n" + b"0" * 61, "image/png"), ("j", b"\xff\xd8\xff\xe0rest", "image/jpeg"), ("g", b"GIF89a.....", "image/gif"), ("w", b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            ("o", b"\xff\xfeA\0", "application/octet-stream"), ("cut", "ä".encode()[:1], "application/octet-stream"), ("late", b"x" * 200000 + b"\xff", "application/octet-stream"), ("surrogate", b"\xed\xa0\x80", "application/octet-stream"),
        ):  # fmt: skip
            path = self.file(name, content)
            self.assertEqual(self.read(name), {"kind": "not_text", "mime": mime, "bytes": len(content), "path": path})
        self.assertEqual((self.entries(), self.world.objects()), ([], []))
        self.assertEqual(self.weir("read", "p", "--session", "s").text, f"[{self.world.path('cwd', 'p')} is no text: image/png, 69 bytes]\n")


class TextTest(ReadCase):
    def test_lines_are_counted_by_line_feeds(self):
        for name, content, total in (("empty", "", 1), ("lf", "\n", 2), ("open", "a", 1), ("closed", "a\n", 2), ("crlf", "a\r\nb\r\n", 3), ("cr", "a\rb", 1), ("nul", "a\0b\nc", 2)):
            with self.subTest(name=name):
                self.file(name, content)
                answer = self.read(name)
                self.assertEqual((answer["text"], answer["record"]["total_lines"], answer["record"]["shown"]), (content, total, [[1, total]]))
                self.assertEqual(self.read(name)["text"], f"[readcache: unchanged, {total} lines]")
                self.assertEqual(self.weir("read", name, "--session", "s", "--bypass").out, content.encode())

    def test_the_empty_last_line_can_be_asked_for(self):
        self.file("a", "x\n")
        self.assertEqual((self.read("a:2")["text"], self.read("a:2")["text"]), ("", "[readcache: unchanged in lines 2-2 of 2]"))
        self.file("e", "")
        self.assertEqual(self.said("e:1"), ("full", "full", "no_base_hash"))
        self.refused("OFFSET_BEYOND_END", "read", "e:2", "--session", "s")

    def test_a_byte_order_mark_is_part_of_the_text(self):
        """Case 30, H3."""
        lines = numbered(1, 30)
        self.file("a", "\ufeff" + "\n".join(lines))
        answer = self.read("a")
        self.assertEqual((answer["text"][0], answer["record"]["served"]), ("\ufeff", sha("\ufeff" + "\n".join(lines))))
        self.assertEqual(self.weir("show", "sha256:" + answer["record"]["served"]).out, ("\ufeff" + "\n".join(lines)).encode())
        self.file("a", lines)
        self.assertEqual(self.texts("a")[3:6], ["@@ -1,4 +1,4 @@", "-\ufeffline 1", "+line 1"])

    def test_carriage_returns_stay_in_diffs(self):
        """Case 30."""
        lines = [line + "\r" for line in numbered(1, 30)]
        self.file("a", lines)
        self.read("a")
        self.file("a", lines[:9] + ["ten\r"] + lines[10:])
        self.assertEqual(self.texts("a")[6:9], [" line 9\r", "-line 10\r", "+ten\r"])
        self.file("a", [line.rstrip("\r") for line in lines])
        self.assertEqual(self.said("a")[0::2], ("full_fallback", "diff_not_useful"))

    def test_lines_that_look_like_headers_count_once(self):
        """Case 30, H7."""
        lines = numbered(1, 40)
        self.file("a", [*lines, "-- x", *lines])
        self.read("a")
        self.file("a", [*lines, "++ y", *lines])
        self.assertEqual(self.texts("a")[0], "[readcache: 1 lines changed of 81]")

    def test_an_empty_version_is_found_as_a_base(self):
        """Case 30, H4."""
        self.file("a", "")
        self.read("a")
        self.file("a", "now\nthere\nis\nsome\n")
        record = self.read("a")["record"]
        self.assertEqual((record["base"], record["reason"]), (sha(""), "diff_not_useful"))

    def test_a_diff_that_ends_in_blank_context_applies(self):
        """Case 31, H8."""
        body = "".join(f"line {i}\n" for i in range(60))
        for old, new in ((body + "x\n\n\n\n", body + "y\n\n\n\n"), (body + "x", body + "y\n"), (body, body + "b"), ("\n" * 300, "\n" * 150 + "b\n" + "\n" * 150)):
            with self.subTest(new=new[-20:]):
                session = sha(old + new)[:8]
                self.file("p.txt", old)
                self.read("p.txt", session=session)
                self.file("p.txt", new)
                answer = self.read("p.txt", session=session)
                self.assertEqual(answer["record"]["mode"], "diff")
                self.file("p.txt", old)
                subprocess.run(["patch", "-p1", "-s"], input=answer["text"].split("\n", 1)[1] + "\n", text=True, check=True, cwd=self.world.cwd)
                with open(self.world.path("cwd", "p.txt")) as file:
                    self.assertEqual(file.read(), new)

    def test_ten_lines_of_a_file_of_200_mib_cost_no_memory_and_one_open(self):
        """Case 34, H28."""
        path = self.world.path("cwd", "big.log")
        part = b"".join(b"%07d a line of a log that is far too long for anybody to read\n" % i for i in range(1 << 14))
        with open(path, "wb") as file:
            for _ in range((200 << 20) // len(part) + 1):
                file.write(part)
        self.begin("s")
        args = ["read", "big.log", "--offset", "1000000", "--limit", "10", "--session", "s", "--json"]
        trace = self.world.path("trace")
        probe = ["strace", "-f", "-o", trace, "-e", "trace=openat,openat2,open"] if has_strace() else []
        script = "import resource,subprocess,sys; p=subprocess.run(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
        done = subprocess.run(["python3", "-c", script, harness.BIN, *args], capture_output=True, text=True, env=self.world.environment({}), cwd=self.world.cwd)
        answer = harness.parse_line(done.stdout)
        self.assertEqual((answer["record"]["mode"], len(answer["text"].split("\n"))), ("full", 12))
        self.assertLess(int(done.stderr) >> 10, 64)
        self.assertEqual(self.world.objects(), [])
        if probe:
            done = subprocess.run([*probe, harness.BIN, *args], capture_output=True, text=True, env=self.world.environment({}), cwd=self.world.cwd)
            with open(trace) as file:
                self.assertEqual(sum("big.log" in line for line in file), 1)
            answer = harness.parse_line(done.stdout)
        else:
            answer = self.read(*args[1:6])
        self.assertEqual((answer["record"]["mode"], answer["record"]["reason"]), ("unchanged_range", "hash_match"))


def has_strace():
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0 if os.path.exists("/usr/bin/strace") else False


if __name__ == "__main__":
    harness.main()
