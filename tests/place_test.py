"""A clone passes wherever it lies: tools/tidy is tried from clones below /tmp, in a home directory and on a path with spaces and other
letters, with no word of the place taken for a fault and a path of the place still found."""

import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEPS = os.environ.get("WEIR_DEPS", os.path.join(SOURCE, "build", "deps"))
FINDING = "a path of this machine"


def tidy_module():
    loader = importlib.machinery.SourceFileLoader("tidy", os.path.join(SOURCE, "tools", "tidy"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


def clone_to(target):
    """The working tree as it is, what is not committed too."""
    names = subprocess.run(["git", "ls-files", "-zco", "--exclude-standard"], cwd=SOURCE, capture_output=True, check=True).stdout
    for name in os.fsdecode(names).split("\0"):
        at = os.path.join(SOURCE, name)
        if name and os.path.lexists(at):
            os.makedirs(os.path.join(target, os.path.dirname(name)), exist_ok=True)
            shutil.copy2(at, os.path.join(target, name), follow_symlinks=False)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    os.makedirs(os.path.join(target, "build"), exist_ok=True)
    os.symlink(os.path.realpath(DEPS), os.path.join(target, "build", "deps"))
    return target


class PlaceTest(unittest.TestCase):
    def folder(self, inside):
        path = os.path.realpath(tempfile.mkdtemp(prefix="weir-place-", dir=inside))
        self.addCleanup(shutil.rmtree, path)
        return path

    def tidy(self, clone, *args, home=None):
        environment = {**os.environ, **({"HOME": home} if home else {})}
        return subprocess.run([os.path.join(clone, "tools", "tidy"), *args], cwd="/", capture_output=True, text=True, env=environment)

    def passes(self, clone, *args, home=None):
        """All of tidy is passed from there, and a path of the place in a file is found."""
        done = self.tidy(clone, *args, home=home)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        planted = os.path.join(clone, "docs", "planted.md")
        for path in (clone + "/src/base/error_code.h", *([home + "/.config/weir"] if home else [])):
            with self.subTest(path=path):
                with open(planted, "w", encoding="utf-8") as file:
                    file.write(f"It stands in {path}, as was seen.\n")
                done = self.tidy(clone, "--no-headers", home=home)
                self.assertEqual((done.returncode, done.stdout.split("\n")[0]), (1, f"docs/planted.md:1: {FINDING}"), done.stderr)
        os.remove(planted)

    def test_below_tmp(self):
        self.passes(clone_to(self.folder("/tmp")), "--no-headers")

    def test_in_a_home_directory(self):
        home = os.path.join(self.folder(None), "home", "anna")
        os.makedirs(os.path.join(home, ".config", "weir"))
        self.passes(clone_to(os.path.join(home, "weir")), "--no-headers", home=home)

    def test_on_a_path_with_spaces_and_other_letters(self):
        self.passes(clone_to(os.path.join(self.folder(None), "zwei W\u00f6rter \u2603", "we ir")))

    def test_in_places_whose_names_are_those_of_examples(self):
        tidy = tidy_module()
        lines = {line for path in tidy.worded() for line in tidy.read(path).split("\n") if "/" in line}
        self.assertGreater(len(lines), 1000)
        for root in "/repo /repo/weir /tmp/x /tmp/weir /home/user/weir /home/me/project /home/u/r /root/weir /src/weir /project /usr/src/weir /wharf/main /weir".split():
            for home in ("/", os.path.dirname(root)):
                with self.subTest(root=root, home=home):
                    there = lambda path: path.startswith(root + "/") and os.path.lexists(SOURCE + path[len(root) :])
                    of_machine = tidy.machine_paths(root, home, there)
                    self.assertEqual([line for line in lines if of_machine(line)], [])
                    self.assertTrue(of_machine(f"see '{root}/src/base/error_code.h'"))

    def test_what_lies_beside_the_clone_is_of_this_machine(self):
        tidy = tidy_module()
        there = lambda path: path == "/wharf/shared/plan.md"
        self.assertTrue(tidy.machine_paths("/wharf/main", "/root", there)("as /wharf/shared/plan.md says"))
        self.assertFalse(tidy.machine_paths("/wharf/main", "/root", there)("as /wharf/elsewhere or net/wharf/shared says"))
        self.assertTrue(tidy.machine_paths("/srv/anna/git/weir", "/root", there)("cloned to /srv/anna/git/other"))


if __name__ == "__main__":
    unittest.main()
