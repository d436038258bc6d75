"""A session file cut short, by the command line: what is whole is imported, the torn rest is left and read later.
(Every byte of every sample is cut in src/importers/pi_torn_test.cc.)"""

import os

import harness
from harness import CliTest

SAMPLE = os.path.join(harness.DATA, "pi-1.5.0-session.jsonl")


class TornTest(CliTest):
    def fields(self, session):
        return [(e["id"], e["parent"], e["digest"], e["at"]) for e in self.stream("export", "--session", session)[1]]

    def test_a_cut_file_is_a_prefix_and_becomes_the_whole(self):
        with open(SAMPLE, "rb") as file:
            data = file.read()
        self.weir("import", "pi", SAMPLE, "--as", "whole")
        whole = self.fields("whole")
        ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
        cuts = sorted({at for end in ends for at in (end - 1, end, end + 1)} | set(range(1, len(data), 499)) - {len(data) + 1})
        for cut in cuts:
            with self.subTest(cut=cut):
                lines = data[:cut].count(b"\n")
                name = f"cut-{cut}"
                path = self.world.file("cut.jsonl", data[:cut])
                report = self.answer("import", "pi", path, "--as", name)
                self.assertEqual(report["torn"], 0 if cut >= len(data) or data[:cut].endswith(b"\n") else 1)
                self.assertEqual((report["lines"], report["entries"]), (lines, max(0, lines - 1)))
                if lines:
                    self.assertEqual(self.fields(name), whole[: lines - 1])
                rest = self.answer("import", "pi", self.world.file("cut.jsonl", data), "--as", name)
                self.assertEqual((rest["torn"], rest["entries"]), (0, 14 - max(0, lines - 1)))
                self.assertEqual(self.fields(name), whole)

    def test_a_torn_line_is_told_and_nothing_of_it_is_stored(self):
        with open(SAMPLE, "rb") as file:
            data = file.read()
        ran = self.weir("import", "pi", self.world.file("cut.jsonl", data[:-20]))
        self.assertIn("  beside the tree 0  orphans 0  torn 1  held 0\n", ran.text)
        self.assertNotIn("4e31d811", "\n".join(self.world.dump()))

    def test_a_torn_line_is_no_reason_for_strict_to_refuse(self):
        with open(SAMPLE, "rb") as file:
            data = file.read()
        report = self.answer("import", "pi", self.world.file("cut.jsonl", data[:-20]), "--strict")
        self.assertEqual((report["refused"], report["torn"], report["entries"]), (False, 1, 13))


if __name__ == "__main__":
    harness.main()
