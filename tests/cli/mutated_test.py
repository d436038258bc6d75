"""S16: 300 mutated session files and 20 bombs. Whatever they hold, the program ends with an answer; a refusal leaves the
store as it was, an import leaves it sound."""

import os
import resource
import shutil
import sys

import harness
from harness import CliTest

sys.path.insert(0, harness.DATA)
from make_pi_session import Numbers  # noqa: E402

COUNT = 300
SOURCES = ["pi-1.5.0-session.jsonl", "pi-v3.jsonl", "pi-v2.jsonl", "pi-v1.jsonl", "pi-messy.jsonl"]
PIECES = [b"\x00", b"\xff\xfe", b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"\r\n", b'"$blob"', b'"id":', b"null", b"1e999", b"-0", b"\\ud800", b'"type":"session"', b"9" * 300, b'{"type":"session","version":3,"id":"x"}\n', b"\xed\xa0\x80", b'"parentId":"l1"', b"[" * 70]


def mutate(data, numbers):
    out = bytearray(data)
    for _ in range(1 + numbers.below(4)):
        at = numbers.below(len(out)) if out else 0
        what = numbers.below(8)
        if what == 0:
            out[at : at + 1] = bytes([numbers.below(256)])
        elif what == 1:
            del out[at : at + 1 + numbers.below(40)]
        elif what == 2:
            out[at:at] = numbers.pick(PIECES)
        elif what == 3:
            del out[at:]
        elif what == 4:
            lines = bytes(out).split(b"\n")
            i, k = numbers.below(len(lines)), numbers.below(len(lines))
            lines[i], lines[k] = lines[k], lines[i]
            out = bytearray(b"\n".join(lines))
        elif what == 5:
            lines = bytes(out).split(b"\n")
            lines.insert(numbers.below(len(lines)), lines[numbers.below(len(lines))])
            out = bytearray(b"\n".join(lines))
        elif what == 6:
            end = min(len(out), at + 200)
            out[at:end] = out[at:end][::-1]
        else:
            out[at : at + 1] = bytes([out[at] ^ (1 << numbers.below(8))]) if out else b""
    return bytes(out)


def bombs():
    header = b'{"type":"session","version":3,"id":"bomb","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
    line = b'{"type":"custom","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x","data":%s}\n'
    yield "deep arrays", header + line % (b"[" * 1_000_000 + b"]" * 1_000_000)
    yield "deep objects", header + line % (b'{"a":' * 500_000 + b"1" + b"}" * 500_000)
    yield "deep and never closed", header + b"[" * 3_000_000 + b"\n"
    yield "a header that is deep", b'{"type":"session","version":3,"id":"bomb","x":' + b"[" * 1_000_000 + b"\n"
    yield "a line of 11 MB", header + line % (b'"' + b"x" * 11_000_000 + b'"')
    yield "a header of 11 MB", b'{"type":"session","version":3,"id":"bomb","x":"' + b"x" * 11_000_000 + b'"}\n'
    yield "no line feed at all", b"x" * 12_000_000
    yield "only line feeds", b"\n" * 2_000_000
    yield "only zeros", b"\x00" * 2_000_000
    yield "a number of a million digits", header + line % (b"9" * 1_000_000)
    yield "a huge exponent", header + line % b"1e999999999"
    yield "a hundred thousand keys", header + line % (b"{" + b",".join(b'"k%06d":0' % i for i in range(100_000)) + b"}")
    yield "one key a hundred thousand times", header + line % (b"{" + b",".join([b'"k":0'] * 100_000) + b"}")
    yield "a hundred thousand escapes", header + line % (b'"' + b"\\u0000" * 100_000 + b'"')
    yield "lone surrogates all over", header + line % (b'"' + b"\\ud800" * 100_000 + b'"')
    yield "one id many times", header + (line % b"1") * 3000
    yield "an id of a megabyte", header + (b'{"type":"custom","id":"%s","parentId":null,"customType":"x"}\n' % (b"i" * 1_000_000))
    yield "a parent of a megabyte", header + (b'{"type":"custom","id":"a","parentId":"%s","customType":"x"}\n' % (b"p" * 1_000_000))
    yield "thousands of types nobody knows", header + b"".join(b'{"type":"t%d"}\n' % i for i in range(5000))
    yield "its own parent", header + b'{"type":"custom","id":"a","parentId":"a","customType":"x"}\n{"type":"custom","id":"b","parentId":"c"}\n{"type":"custom","id":"c","parentId":"b"}\n'


class MutatedTest(CliTest):
    def setUp(self):
        super().setUp()
        self.append("was there before", session="old")
        self.append("L" * 70000, session="old")
        self.small = self.world.path("small")
        shutil.copytree(self.world.store, self.small)

    def renew(self):
        """Back to the small store: the looks at all of it stay cheap."""
        self.sound()
        shutil.rmtree(self.world.store)
        shutil.copytree(self.small, self.world.store)

    def take(self, data, name):
        """Imports and checks what must hold whatever the file is. Answers the exit code."""
        before = self.world.dump()
        path = self.world.file("mutated.jsonl", data)
        ran = self.world.run("import", "pi", path, "--as", name, "--json", timeout=30)
        self.assertIn(ran.code, (0, 6), f"{name}: {ran}")
        if ran.code != 0:
            self.assertEqual(self.world.dump(), before, f"{name}: refused, and the store has changed")
            self.assertEqual(ran.out, b"", name)
            harness.parse_line(ran.errors)
            return ran.code
        report = harness.parse_line(ran.text)
        self.assertLessEqual(report["torn"], 1)
        if report["session"] is None:
            self.assertEqual(self.world.dump(), before, name)
        return ran.code

    def test_300_mutated_files(self):
        numbers = Numbers(16)
        sources = []
        for name in SOURCES:
            with open(os.path.join(harness.DATA, name), "rb") as file:
                sources.append(file.read())
        codes = []
        for i in range(COUNT):
            codes.append(self.take(mutate(sources[i % len(sources)], numbers), f"m{i}"))
            if i % 20 == 19:
                self.renew()
        # Both ways are met often enough to mean something.
        self.assertGreater(codes.count(0), COUNT // 2)
        self.assertGreater(codes.count(6), 5)
        self.sound()

    def test_mutated_files_of_a_known_session(self):
        """The file was imported, then mutated: the rest is taken, or SOURCE_REWRITTEN leaves everything as it was."""
        numbers = Numbers(17)
        with open(os.path.join(harness.DATA, "pi-v3.jsonl"), "rb") as file:
            data = file.read()
        path = self.world.file("known.jsonl", data)
        self.weir("import", "pi", path)
        seen = set()
        for i in range(60):
            before = self.world.dump()
            self.world.file("known.jsonl", mutate(data, numbers))
            ran = self.world.run("import", "pi", path, "--as", "pi-v3", "--json", timeout=30)
            self.assertIn(ran.code, (0, 5, 6), ran)
            seen.add(ran.code)
            if ran.code == 0 and harness.parse_line(ran.text)["entries"] > 0:
                self.weir("purge", "--session", "pi-v3", "--yes")
                self.weir("import", "pi", self.world.file("fresh.jsonl", data), "--as", "pi-v3")
            elif ran.code != 0:
                self.assertEqual(self.world.dump(), before, ran)
        self.assertIn(5, seen)
        self.sound()

    def test_20_bombs(self):
        names = []
        for name, data in bombs():
            with self.subTest(bomb=name):
                names.append(name)
                self.take(data, f"b{len(names)}")
                self.renew()
        self.assertEqual(len(names), 20)
        self.sound()

    def test_bombs_take_bounded_memory(self):
        """Limits hold before anything is allocated for them: 256 MiB of address space is enough for each."""
        for name, data in bombs():
            with self.subTest(bomb=name):
                path = self.world.file("bomb.jsonl", data)
                ran = self.world.run("import", "pi", path, "--as", "bounded", "--json", before=lambda: resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20)))
                self.assertIn(ran.code, (0, 5, 6), ran)

    def test_files_that_are_no_files(self):
        os.mkfifo(self.world.path("cwd", "fifo"))
        os.symlink("/nowhere/at/all", self.world.path("cwd", "dangling"))
        for name in ("fifo", "dangling", "/dev/null", "/dev/zero", "."):
            before = self.world.dump()
            ran = self.world.run("import", "pi", name, "--json", timeout=20)
            self.assertIn(ran.code, (0, 4, 6, 12), ran)
            self.assertEqual(self.world.dump(), before, name)


if __name__ == "__main__":
    harness.main()
