"""Random sessions against a slow reader who remembers only what was delivered: every line an answer claims, the reader
holds. WEIR_STEPS and WEIR_SEED lengthen and repeat a run."""

import os
import random
import re
import shutil

import harness
from harness import compact
from read_case import ReadCase

STEPS = int(os.environ.get("WEIR_STEPS", "220"))
SEED = int(os.environ.get("WEIR_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
HUNK = re.compile(r"^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$")


class Reader:
    """What stands in the context: text by line number of each file, from deliveries alone."""

    def __init__(self):
        self.files = {}

    def take(self, path, record, text, lines):
        """`lines` are the file's, which a diff makes of what was held."""
        held = self.files.setdefault(path, {})
        if record["mode"] in ("full", "full_fallback"):
            for first, last in record["shown"]:
                held.update(zip(range(first, last + 1), text.split("\n")))
            for line in [line for line in held if line > record["total_lines"]]:
                del held[line]
        elif record["mode"] in ("diff", "range_diff"):
            fresh = self.patched(dict(held), record, text.split("\n")[3:], lines)
            if record["mode"] == "diff":
                held.clear()
            held.update(fresh)
        elif "from" in record:
            first = record["from"][0]
            held.update({record["start"] + i: held.get(first + i) for i in range(record["end"] - record["start"] + 1)})

    def patched(self, held, record, said, lines):
        """Lines of hunks are in the text. Any other was held where it stood in the base, or where it stands now."""
        cut = said[-1].startswith("[readcache: ")
        fresh, old, new, i = {}, record["start"], record["start"], 0
        ends_open = False

        def keep():
            nonlocal old, new
            fresh[new] = held.get(old) if held.get(old) == lines[new - 1] else held.get(new)
            old, new = old + 1, new + 1

        said = said[:-1] if cut else said
        while i < len(said):
            _, n1, l2, n2 = map(int, HUNK.match(said[i]).groups())
            i += 1
            while new < l2 + (n2 == 0):
                keep()
            while n1 or n2:
                mark, line = said[i][0], said[i][1:]
                i += 1
                if mark in " -":
                    old, n1 = old + 1, n1 - 1
                if mark in " +":
                    fresh[new] = line
                    new, n2 = new + 1, n2 - 1
                if i < len(said) and said[i].startswith("\\"):
                    ends_open = mark in " +"
                    i += 1
        while new <= record["end"]:
            if cut:  # how far the rest moved is not told, only which lines changed
                fresh[new] = lines[new - 1] if lines[new - 1] in held.values() else None
                new += 1
            elif new == len(lines) and not ends_open and lines[-1] == "":
                fresh[new] = ""  # a final line feed
                new += 1
            else:
                keep()
        return fresh


class RandomSessionsTest(ReadCase):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        self.texts_of = {name: self.some_lines() for name in ("a", "b")}
        self.seen = set()

    def some_lines(self):
        return [f"{self.chance.randrange(6)} text" for _ in range(self.chance.randrange(1, 40))] + [""] * self.chance.randrange(2)

    def edit(self, name):
        lines = self.texts_of[name]
        for _ in range(self.chance.randrange(1, 4)):
            at = self.chance.randrange(len(lines) + 1)
            what = self.chance.randrange(5)
            if what == 0:
                lines.insert(at, f"{self.chance.randrange(6)} new")
            elif what == 1 and len(lines) > 1:
                del lines[min(at, len(lines) - 1)]
            elif what == 2 and at < len(lines):
                lines[at] = f"{self.chance.randrange(6)} text"
            elif what == 3:
                del lines[max(1, at) :]
            else:
                lines.extend(f"{i} tail" for i in range(self.chance.randrange(3)))
        if self.chance.random() < 0.1:
            self.texts_of[name] = self.some_lines()

    def path_to(self, entry):
        out = []
        while entry:
            out.append(entry)
            entry = self.tree[entry][0]
        return out[::-1]

    def reader_at(self, entry):
        reader, path = Reader(), self.path_to(entry)
        edited = {self.tree[step][2] for step in path if self.tree[step][1] == "edit"}
        for step in path:
            _, kind, what = self.tree[step]
            if kind == "compaction":
                reader = Reader()
            elif kind == "read" and step not in edited:
                reader.take(*what)
        return reader

    def check(self, name, answer, before):
        """What is claimed of the file is what the reader has, or is given now."""
        record, lines = answer["record"], self.texts_of[name]
        self.assertEqual(record["total_lines"], len(lines))
        after = Reader()
        after.files = {path: dict(held) for path, held in before.files.items()}
        after.take(record["path"], record, answer["text"], lines)
        held = after.files[record["path"]]
        if record["mode"] in ("full", "full_fallback"):
            claimed = [(first, last) for first, last in record["shown"]]
        elif record["mode"] in ("unchanged", "unchanged_range"):
            claimed = [(record["start"], record["end"])]
        else:
            claimed = record.get("known", [[record["start"], record["end"]]])
        for first, last in claimed:
            for line in range(first, last + 1):
                self.assertEqual(held.get(line), lines[line - 1], f"line {line} of {name}, {record}")

    def one_session(self, number, steps):
        chance, session = self.chance, f"s{number}"
        options = {"range_diff": chance.random() < 0.5, "shift_map": chance.random() < 0.5, "markers": chance.choice(["plain", "located"]), "marker_repeat": chance.choice([0, 1, 2]), "never_inflate": chance.random() < 0.2}
        options.update(max_lines=chance.choice([5, 12, 2000]), max_bytes=chance.choice([1024, 51200]), diff_bytes_ratio=1.0, diff_lines_ratio=1.0)
        options.update(view_intervals=chance.choice([1, 3, 4096]), versions_per_read=chance.choice([0, 1, 8]), store_max_bytes=chance.choice([0, 100, 8 << 20, 8 << 20]), line_count=chance.choice(["current", "legacy"]))
        self.config(**options)
        self.weir("session", "new", session)
        self.tree, head = {}, None
        for _ in range(steps):
            name, what = chance.choice("ab"), chance.random()
            self.file(name, self.texts_of[name])
            if what < 0.55:
                lines = len(self.texts_of[name])
                first = chance.randrange(1, lines + 1)
                args = chance.choice([[], [], ["--offset", first], ["--offset", first, "--limit", chance.randrange(1, 12)], ["--bypass"] if chance.random() < 0.2 else []])
                answer = self.read(name, *args, session=session)
                self.check(name, answer, self.reader_at(head))
                self.seen.add(answer["record"]["mode"])
                entry = self.last(session)["id"]
                self.tree[entry] = (head, "read", (answer["record"]["path"], answer["record"], answer["text"], list(self.texts_of[name])))
                head = entry
            elif what < 0.75:
                self.edit(name)
            elif what < 0.8:
                words = chance.choice([[], [str(chance.randrange(1, 9))], ["2-6"]])
                entry = self.refresh(name, *words, session=session)["entry"]
                self.tree[entry] = (head, "refresh", None)
                head = entry
            elif what < 0.83:
                entry = self.compact(session, first_kept=chance.choice(list(self.tree) or ["none"]))
                self.tree[entry] = (head, "compaction", None)
                head = entry
            elif what < 0.88 and self.tree:
                target = chance.choice(self.path_to(head) or list(self.tree))
                entry = self.add("context_edit", {"target": target, "replacement": chance.choice([None, "gone"])}, session)
                self.tree[entry] = (head, "edit", target)
                head = entry
            elif what < 0.96 and self.tree:
                head = chance.choice(list(self.tree))
                self.weir("head", "move", "main", head, "--session", session)
            else:
                for path in chance.sample(self.world.objects(), min(3, len(self.world.objects()))):
                    if chance.random() < 0.5:
                        os.remove(path)
                    else:
                        with open(path, "r+b") as file:
                            file.truncate(max(0, os.path.getsize(path) - 1))

    def test_no_answer_claims_a_line_the_reader_does_not_hold(self):
        """Case 50 through the command line: edits, forks, head moves, compactions, refreshes, context edits, lost blobs."""
        print(f"seed {SEED}", flush=True)
        try:
            for number in range(max(1, STEPS // 55)):
                self.one_session(number, 55)
                shutil.rmtree(os.path.join(self.world.store, "objects"))
                os.mkdir(os.path.join(self.world.store, "objects"), 0o700)
        except AssertionError as error:
            raise AssertionError(f"WEIR_SEED={SEED}: {compact({'modes': sorted(self.seen)})}") from error
        self.assertTrue({"full", "unchanged", "unchanged_range"} <= self.seen, self.seen)


if __name__ == "__main__":
    harness.main()
