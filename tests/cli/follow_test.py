"""import --follow: a file that appears late, grows in half lines, is rotated, and holds what nobody knows."""

import os
import signal
import time

import harness
from harness import CliTest, compact, wait_until

STAMP = "2026-06-01T08:00:00.000Z"


def header(identity="live"):
    return compact({"type": "session", "version": 3, "id": identity, "timestamp": STAMP, "cwd": "/"}) + "\n"


def line(identity, parent, content=None, kind="message"):
    value = {"type": kind, "id": identity, "parentId": parent, "timestamp": STAMP}
    value.update({"message": {"role": "user", "content": content or identity}} if kind == "message" else {"payload": content or identity})
    return compact(value) + "\n"


def chain(first, last, prefix="n", before=None):
    lines, parent = [], before
    for i in range(first, last):
        lines.append(line(f"{prefix}{i:04}", parent))
        parent = f"{prefix}{i:04}"
    return lines


class Following:
    """A running `import --follow --json` and the bursts it told of."""

    def __init__(self, test, *args):
        self.test = test
        self.process = test.world.start("import", "pi", *args, "--follow", "--json")
        self.begin = harness.parse_line(self.process.stdout.readline())
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = b""

    def bursts(self):
        got = self.process.stdout.read()
        self.text += got or b""
        whole = self.text[: self.text.rfind(b"\n") + 1]
        return [harness.parse_line(each) for each in whole.decode().splitlines()]

    def entries(self):
        return sum(burst.get("entries", 0) for burst in self.bursts() if burst["type"] == "burst")

    def wait_for(self, count):
        reached = wait_until(lambda: self.entries() >= count or self.process.poll() is not None)
        self.test.assertTrue(reached and self.process.poll() is None, (self.text, self.process.poll(), self.process.poll() is not None and self.process.stderr.read()))
        self.test.assertEqual(self.entries(), count)

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        os.set_blocking(self.process.stdout.fileno(), True)
        out, err = self.process.communicate(timeout=20)
        self.text += out
        self.test.assertEqual(err, b"")
        return self.process.returncode, [harness.parse_line(each) for each in self.text.decode().splitlines()]


class FollowTest(CliTest):
    def follow(self, *args):
        following = Following(self, *args)
        self.addCleanup(lambda: following.process.poll() is None and following.process.kill())
        return following

    def write(self, text, mode="a", name="live.jsonl"):
        with open(os.path.join(self.world.cwd, name), mode) as file:
            file.write(text)

    def ids(self, session="live"):
        return [entry["id"] for entry in self.stream("export", "--session", session)[1]]

    def whole(self, text, session="live"):
        """What a single import of the same text would have made."""
        self.weir("import", "pi", self.world.file("whole.jsonl", text), "--as", "whole")
        fields = lambda name: [(e["id"], e["parent"], e["digest"]) for e in self.stream("export", "--session", name)[1]]
        self.assertEqual(fields(session), fields("whole"))

    def test_late_creation_half_lines_and_rotation_give_every_entry_once(self):
        following = self.follow("live.jsonl")
        self.assertEqual(following.begin, {"type": "begin", "format": "pi"})
        time.sleep(0.25)
        self.assertEqual(following.entries(), 0)
        # It appears, without a whole line at first.
        text = header()
        self.write(text[:20])
        time.sleep(0.25)
        self.write(text[20:])
        lines = chain(0, 6)
        # Half lines: nothing before the line feed, everything after it.
        for at, each in enumerate(lines):
            self.write(each[: len(each) // 2])
            time.sleep(0.15)
            self.assertEqual(following.entries(), at)
            self.write(each[len(each) // 2 : -1])
            time.sleep(0.15)
            self.assertEqual(following.entries(), at)
            self.write("\n")
            following.wait_for(at + 1)
        # Rotated: the same session goes on in another file of that name, with what it had before.
        more = chain(6, 10, before="n0005")
        self.write(text + "".join(lines + more[:2]), name="next", mode="w")
        os.rename(os.path.join(self.world.cwd, "live.jsonl"), os.path.join(self.world.cwd, "live.jsonl.1"))
        time.sleep(0.25)
        os.rename(os.path.join(self.world.cwd, "next"), os.path.join(self.world.cwd, "live.jsonl"))
        following.wait_for(8)
        self.write("".join(more[2:]))
        following.wait_for(10)
        code, bursts = following.stop()
        self.assertEqual(code, 130)
        self.assertEqual(bursts[-1], {"type": "end", "count": 10, "complete": True})
        self.assertEqual(self.ids(), [f"n{i:04}" for i in range(10)])
        self.whole(text + "".join(lines + more))
        self.sound()

    def test_rotation_to_a_new_session(self):
        self.write(header("first") + "".join(chain(0, 3, "a")))
        following = self.follow("live.jsonl")
        following.wait_for(3)
        self.write(header("second") + "".join(chain(0, 2, "b")), name="next", mode="w")
        os.replace(os.path.join(self.world.cwd, "next"), os.path.join(self.world.cwd, "live.jsonl"))
        following.wait_for(5)
        self.write("".join(chain(2, 4, "b", "b0001")))
        following.wait_for(7)
        following.stop()
        self.assertEqual(self.ids("first"), ["a0000", "a0001", "a0002"])
        self.assertEqual(self.ids("second"), ["b0000", "b0001", "b0002", "b0003"])

    def test_rotation_to_a_file_that_is_written_again_from_its_beginning(self):
        """The host writes its file anew, line by line; for a while it is shorter than what was imported."""
        lines = chain(0, 5)
        self.write(header() + "".join(lines))
        following = self.follow("live.jsonl")
        following.wait_for(5)
        os.remove(os.path.join(self.world.cwd, "live.jsonl"))
        time.sleep(0.25)
        self.write(header())
        for each in lines + chain(5, 7, before="n0004"):
            time.sleep(0.12)
            self.write(each)
        following.wait_for(7)
        following.stop()
        self.assertEqual(self.ids(), [f"n{i:04}" for i in range(7)])

    def test_a_burst_is_one_transaction(self):
        self.write(header() + "".join(chain(0, 500)))
        following = self.follow("live.jsonl")
        following.wait_for(500)
        self.assertEqual(len([b for b in following.bursts() if b["type"] == "burst"]), 1)
        following.stop()

    def test_unknown_types_are_kept_and_counted_by_name(self):
        self.write(header())
        following = self.follow("live.jsonl")
        self.write(line("a", None) + line("b", "a", kind="hologram") + line("c", "b") + compact({"type": "telemetry", "cpu": 1}) + "\n{broken\n" + line("d", "c"))
        following.wait_for(6)
        _, bursts = following.stop()
        burst = [b for b in bursts if b["type"] == "burst"][-1]
        self.assertEqual(burst["unknown"], {"hologram": 1, "telemetry": 1})
        self.assertEqual([item["line"] for item in burst["malformed"]], [6])
        types = {e["id"]: e["body"].get("custom_type") for e in self.stream("export", "--session", "live")[1]}
        self.assertEqual(types["b"], "pi:hologram")

    def test_strict_stops_at_the_first_unknown_and_keeps_what_came_before(self):
        self.write(header() + line("a", None))
        following = self.follow("live.jsonl", "--strict")
        following.wait_for(1)
        self.write(line("b", "a", kind="hologram"))
        self.assertEqual(following.process.wait(timeout=20), 3)
        code, lines = following.stop()
        self.assertEqual((code, lines[-2]["refused"], lines[-1]), (3, True, {"type": "end", "count": 1, "complete": True}))
        self.assertEqual(self.ids(), ["a"])

    def test_entries_synced_before_they_are_in_the_file_are_there_once(self):
        self.write(header() + line("f", None))
        following = self.follow("live.jsonl")
        following.wait_for(1)
        late = [line("g", "f"), line("h", "g")]
        request = {"format": "pi", "session": "live", "since": "f", "entries": [harness.parse_line(text) for text in late], "leaf": "h"}
        self.assertEqual(self.answer("sync", stdin=compact(request))["accepted"], 2)
        for text in late:
            self.write(text)
            time.sleep(0.3)
        self.write(line("i", "h"))
        following.wait_for(2)
        following.stop()
        self.assertEqual(self.ids(), ["f", "g", "h", "i"])

    def test_a_line_that_is_not_json_yet_waits_until_another_follows(self):
        self.write(header() + line("a", None) + "{not json\n")
        following = self.follow("live.jsonl")
        following.wait_for(1)
        self.write(line("b", "a"))
        following.wait_for(3)
        _, bursts = following.stop()
        self.assertEqual([item["line"] for item in bursts[-2]["malformed"]], [3])

    def test_several_files_at_once(self):
        self.write(header("one") + "".join(chain(0, 2)), name="one.jsonl")
        following = self.follow("one.jsonl", "two.jsonl")
        following.wait_for(2)
        self.write(header("two") + "".join(chain(0, 3)), name="two.jsonl")
        following.wait_for(5)
        self.write("".join(chain(2, 4, before="n0001")), name="one.jsonl")
        following.wait_for(7)
        following.stop()
        self.assertEqual((len(self.ids("one")), len(self.ids("two"))), (4, 3))

    def test_a_second_follower_and_a_plain_import_agree(self):
        self.write(header() + "".join(chain(0, 3)))
        one, two = self.follow("live.jsonl"), self.follow("live.jsonl")
        wait_until(lambda: one.entries() + two.entries() == 3)
        self.write("".join(chain(3, 9, before="n0002")))
        self.assertTrue(wait_until(lambda: one.entries() + two.entries() == 9), (one.text, two.text))
        self.assertEqual(self.answer("import", "pi", "live.jsonl")["entries"], 0)
        one.stop(), two.stop(signal.SIGTERM)
        self.assertEqual(self.ids(), [f"n{i:04}" for i in range(9)])

    def test_a_rewritten_line_ends_it_with_the_error(self):
        self.write(header() + "".join(chain(0, 3)))
        following = self.follow("live.jsonl")
        following.wait_for(3)
        self.write(header(), mode="w")
        time.sleep(0.25)
        self.assertIsNone(following.process.poll())
        self.write(line("n0000", None, "changed"))
        self.assertEqual(following.process.wait(timeout=20), 5)
        _, err = following.process.communicate()
        self.assertEqual(harness.parse_line(err)["error"]["code"], "SOURCE_REWRITTEN")
        self.assertEqual(len(self.ids()), 3)

    def test_text_output_tells_of_each_burst(self):
        self.write(header() + line("a", None))
        process = self.world.start("import", "pi", "live.jsonl", "--follow")
        self.assertEqual(process.stdout.readline().decode(), "imported live.jsonl → session live\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.world.finish(process).code, 143)


if __name__ == "__main__":
    harness.main()
