#!/usr/bin/env python3
"""Reads that race with links, and paths that are traps, through the read door both ways (openat2, and component by component) and through
`weir mcp`: nothing from outside the root is ever shown, nothing hangs, nothing dies.

  --reads       of each race: how often a file is read while its directory and a link to the outside change places all the time"""
import ctypes
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

import kit

OUTSIDE, INSIDE = "OUTSIDE-5f1d", "INSIDE-a07c"
MOST_KB = 96 * 1024  # resident memory of a server at its peak
RENAME_EXCHANGE, AT_FDCWD = 2, -100


class Reader:
    """A server that answers the tool `read` on standard input."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        self.rest, self.id = b"", 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "races", "version": "1"}})

    def ask(self, method, params, seconds=10):
        """The answer, or None if there is none in time or none at all."""
        self.id += 1
        try:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return None
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            got = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        answer = json.loads(line)
        return answer if answer.get("id") == self.id else None

    def read(self, path):
        """-> "inside", "outside" or "refused"; None: it hangs or has died."""
        answer = self.ask("tools/call", {"name": "read", "arguments": {"path": path}})
        if answer is None:
            return None
        text = json.dumps(answer)
        if OUTSIDE in text or "root:x:" in text or "PATH=" in text:
            return "outside"
        return "refused" if "error" in answer or answer["result"].get("isError") else "inside"

    def peak_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

    def close(self):
        kit.kill_group(self.process)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def readers(driver, root):
    """name -> command; the last is the program itself, without a session, so that every read is the whole text."""
    yield "door", [driver.program("weir_read_server"), root]
    yield "door by component", [driver.program("weir_read_server"), root, "--by-component"]
    yield "weir mcp", [driver.program("weir"), "mcp", "--root", root, "--store", os.path.join(os.path.dirname(root), "store")]


def exchange_for_ever(one, other, pause_us):
    """Two names change places until this process is ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    one, other = os.fsencode(one), os.fsencode(other)
    while True:
        if libc.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0:
            sys.exit(f"renameat2: {os.strerror(ctypes.get_errno())}")
        if pause_us:
            time.sleep(pause_us / 1e6)


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def race(driver, name, command, root, pause_us):
    """Reads root/d/f.txt while root/d, a directory, and root/l, a link to the outside, change places."""
    swapper = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--exchange", os.path.join(root, "d"), os.path.join(root, "l"), str(pause_us)])
    reader, counts = Reader(command), {"inside": 0, "refused": 0, "outside": 0}
    try:
        began = time.monotonic()
        for i in itertools.count():
            # On a busy machine all reads may be done before the first exchange: it goes on until there was a race.
            raced, late = min(counts["inside"], counts["refused"]) > 0, driver.time_is_over() or time.monotonic() - began > 30
            if (i >= driver.options.reads and raced) or (i >= 200 and late and (raced or time.monotonic() - began > 60)):
                break
            got = reader.read(os.path.join(root, "d", "f.txt") if i % 2 else "d/f.txt" if name == "weir mcp" else os.path.join(root, "d", ".", "f.txt"))
            if got is None:
                return [f"it hangs or has died at read {i}"]
            counts[got] += 1
        if swapper.poll() is not None:
            return ["what exchanges the names has ended"]
    finally:
        swapper.kill()
        swapper.wait()
        reader.close()
    driver.count("reads", sum(counts.values()))
    print(f"{name}, {pause_us} us between exchanges: {counts}", flush=True)
    if counts["outside"]:
        return [f"{counts['outside']} of {sum(counts.values())} reads showed what lies outside"]
    if not counts["inside"] or not counts["refused"]:
        return [f"nothing was raced: {counts}"]
    return []


def set_traps(base):
    """base/root with everything in it that could lead out, stay for ever or be too much. -> what is in the way of a read and may be shown"""
    root = os.path.join(base, "root")
    put(os.path.join(base, "out", "s.txt"), OUTSIDE)
    put(os.path.join(base, "rootevil", "s.txt"), OUTSIDE)
    put(os.path.join(root, "ok.txt"), INSIDE)
    put(os.path.join(root, "sub", "deep.txt"), INSIDE)
    put(os.path.join(root, "escapes.txt"), INSIDE + " \x1b]0;t\x07 \u202e")
    with open(os.path.join(root, "bytes.txt"), "wb") as file:
        file.write(b"\xff\xfe\x00\x80 no text\n")
    links = {
        "in": "ok.txt", "in_abs": os.path.join(root, "ok.txt"), "out_abs": os.path.join(base, "out", "s.txt"), "out_rel": "../out/s.txt", "dir": "../out",
        "loop": "loop", "loop_a": "loop_b", "loop_b": "loop_a", "proc_root": "/proc/self/root", "environ": "/proc/self/environ", "zero": "/dev/zero",
        "cwd": "/proc/self/cwd", "up": "..", "dangling": "nowhere",
    }  # fmt: skip
    for name, target in links.items():
        os.symlink(target, os.path.join(root, name))
    os.symlink("../..", os.path.join(root, "sub", "up"))
    os.mkfifo(os.path.join(root, "fifo"))
    with socket.socket(socket.AF_UNIX) as made:  # by a short name: an address holds 107 bytes
        before = os.getcwd()
        os.chdir(root)
        made.bind("socket")
        os.chdir(before)
    with open(os.path.join(root, "sparse"), "wb") as file:
        file.truncate(1 << 40)
    put(os.path.join(root, "closed.txt"), INSIDE)
    os.chmod(os.path.join(root, "closed.txt"), 0)
    return root


def paths(root):
    """(path, what may come of it)"""
    r, shown, may, no = root + "/", ("inside",), ("inside", "refused"), ("refused",)
    return [
        (r + "ok.txt", shown), (r + "sub/deep.txt", shown), (r + "in", shown), (r + "in_abs", may), (r + "./ok.txt", may), (r + "sub/../ok.txt", may),
        (r + "//ok.txt", may), (r + "ok.txt/", may), (r + "escapes.txt", shown), (r + "bytes.txt", may), (r + "closed.txt", may if os.geteuid() == 0 else no),
        *((r + name, no) for name in "out_abs out_rel dir/s.txt loop loop_a proc_root/etc/passwd environ zero cwd/../../etc/passwd up/out/s.txt dangling fifo socket sparse sub missing".split()),
        *((r + name, no) for name in ("../out/s.txt", "sub/../../out/s.txt", "sub/up/out/s.txt", "/../out/s.txt", "%2e%2e/out/s.txt", "..\\out\\s.txt", "..;/out/s.txt")),
        *((path, no) for path in ("", ".", "/", "..", "~/x", "/etc/passwd", "/proc/self/environ", root, root + "evil/s.txt", r + "ok.txt\0.png", r + "x" * 300, r + "a/" * 3000 + "x", "file:///etc/passwd")),
    ]  # fmt: skip


def walk_into_traps(driver, name, command, root):
    found, reader = [], Reader(command)
    for path, allowed in paths(root):
        got = reader.read(path)
        driver.count("paths")
        if got not in allowed:
            found.append(f"{path.replace(root, 'ROOT')[:80]!r}: {got or 'it hangs or has died'}, allowed is {' or '.join(allowed)}")
        if got is None:
            reader.close()
            reader = Reader(command)
    if reader.peak_kb() > MOST_KB:
        found.append(f"it took {reader.peak_kb()} kB of memory")
    reader.close()
    return found


def main():
    if sys.argv[1:2] == ["--exchange"]:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        exchange_for_ever(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    options = kit.arguments(__doc__, reads=3000)
    with kit.Driver("read_races", options) as driver:
        base = os.path.realpath(driver.directory())
        root = set_traps(base)
        for name, command in readers(driver, root):
            if found := walk_into_traps(driver, f"paths, {name}", command, root):
                driver.violated(f"paths, {name}", found)
        for pause_us in (0, 100):
            base = os.path.realpath(driver.directory())
            root = os.path.join(base, "root")
            put(os.path.join(base, "out", "f.txt"), OUTSIDE)
            put(os.path.join(root, "d", "f.txt"), INSIDE)
            os.symlink("../out", os.path.join(root, "l"))
            for name, command in readers(driver, root):
                if found := race(driver, name, command, root, pause_us):
                    driver.violated(f"race, {name}, {pause_us} us", found)
        return driver.finish(driver.counts.get("reads", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
