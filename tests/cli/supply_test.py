"""What the program is built of and how: S17 and S19 of the security checklist."""
import json
import os
import re
import subprocess
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def elf(*options):
    return subprocess.run(["readelf", "-W", *options, harness.BIN], capture_output=True, text=True, check=True).stdout


class SupplyTest(unittest.TestCase):
    def test_s19_every_fetched_source_is_pinned_by_hash(self):
        for line in text_of("tools/pins").splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^npm \S+ [0-9][\w.-]* sha512-[A-Za-z0-9+/]{86}==$")
        lock = json.loads(text_of("tests/clients/package-lock.json"))
        for name, package in lock["packages"].items():
            if name and not package.get("link"):
                self.assertRegex(package.get("integrity", ""), r"^sha(512|1)-", name)

    def test_s19_the_bill_of_materials_names_what_is_built_in(self):
        bill = json.loads(subprocess.run([os.path.join(ROOT, "tools/sbom")], capture_output=True, text=True, check=True).stdout)
        named = {part["name"]: part for part in bill["components"]}
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        for name in ("better-sqlite3", "react-native-fast-url"):
            self.assertEqual(len(named[name]["hashes"][0]["content"]), 128)
        libraries = set(re.findall(r"Shared library: \[lib([a-z0-9]+)", elf("-d")))
        for library, package in {"crypto": "libssl-dev", "simdjson": "libsimdjson-dev", "re2": "libre2-dev", "zstd": "libzstd-dev", "fmt": "libfmt-dev", "utf8proc": "libutf8proc-dev"}.items():
            if library in libraries:
                self.assertIn(package, named)

    def test_s19_the_program_is_hardened(self):
        self.assertIn("DYN (Position-Independent Executable", elf("-h"))
        headers = elf("-l")
        self.assertIn("GNU_RELRO", headers)
        self.assertNotRegex(headers, r"GNU_STACK.*RWE")
        self.assertRegex(elf("-d"), r"BIND_NOW|NOW")
        symbols = elf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        self.assertRegex(symbols, r"__\w+_chk@")

    def test_s17_nothing_that_is_read_can_carry_code(self):
        # No loading of libraries, no shell, no interpreter: the calls are not there to be reached.
        symbols = elf("--dyn-syms")
        for call in ("dlopen", "system", "popen", "posix_spawn", "fork", "vfork"):
            self.assertNotRegex(symbols, rf"UND {call}(@|\s|$)", call)


if __name__ == "__main__":
    unittest.main()
