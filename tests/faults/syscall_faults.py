#!/usr/bin/env python3
"""The k-th system call fails, for every k that fits into the time: the workload may fail, but it lives, ends, lies about
nothing, and leaves a store the oracle accepts. After a failed sync nothing more is acknowledged, however often it is tried
again, until the store was opened again and verified.

Needs strace and the right to trace; says so and is skipped where that is missing."""
import os
import re
import shutil
import sys

import kit

# name, system calls, faults, workload options, rule
SWEEPS = [
    ("sync", "fsync,fdatasync", ["error=EIO"], ["--kind", "append", "--count", "9", "--bytes", "70000", "--stubborn"], "no ack after"),
    ("sync-threads", "fdatasync", ["error=EIO"], ["--kind", "append", "--count", "4", "--threads", "3", "--bytes", "70000", "--stubborn"], "no ack after"),
    ("sync-branch", "fdatasync", ["error=EIO"], ["--kind", "branch", "--count", "9", "--stubborn"], "no ack after"),
    ("sync-import", "fsync,fdatasync", ["error=EIO"], ["--kind", "import", "--count", "6", "--stubborn"], "no ack after"),
    ("sync-upkeep", "fsync,fdatasync", ["error=EIO"], ["--kind", "upkeep", "--count", "11", "--stubborn"], "no ack after"),
    ("sync-reopen", "fsync,fdatasync", ["error=EIO"], ["--kind", "upkeep", "--count", "11", "--reopen"], ""),
    ("write", "pwrite64,write", ["error=EIO", "error=ENOSPC"], ["--kind", "append", "--count", "5", "--bytes", "70000", "--stubborn"], ""),
    ("names", "openat,rename,ftruncate,unlink,mkdir", ["error=EIO", "error=ENOSPC"], ["--kind", "upkeep", "--count", "7", "--stubborn"], ""),
    ("read", "pread64,fstat,fcntl", ["error=EIO"], ["--kind", "append", "--count", "5", "--bytes", "70000", "--stubborn"], ""),
    ("full-for-good", "pwrite64,write,fallocate", ["error=ENOSPC sticky"], ["--kind", "append", "--count", "5", "--bytes", "70000", "--stubborn"], ""),
    ("kill", "fdatasync,fsync,pwrite64,rename,unlink", ["signal=KILL"], ["--kind", "upkeep", "--count", "11"], ""),
    ("kill-import", "fdatasync,pwrite64,rename", ["signal=KILL"], ["--kind", "import", "--count", "4"], ""),
]


def strace(log, syscall, inject, argv):
    """-> (exit status, output). Not with --seccomp-bpf: strace then drops injected signals."""
    more = ["-e", inject] if inject else []
    return kit.run(["strace", "-f", "-s", "200", "-e", f"trace={syscall},write", "-e", "signal=none", "-o", log, *more, *argv], 60)


def may_trace(driver):
    log = os.path.join(driver.scratch, "probe")
    try:
        status, _ = kit.run(["strace", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "-o", log, "true"], 20)
    except FileNotFoundError:
        kit.skip("strace is not installed")
    if status != 0:
        kit.skip("this process may not trace others (ptrace is not permitted), so no system call can be made to fail")


def calls_of_a_thread(log, syscall):
    """The most calls of one thread: strace counts per thread."""
    counts = {}
    with open(log, errors="replace") as file:
        for line in file:
            found = re.match(r"(\d+)\s+(\w+)\(", line)
            if found and found.group(2) == syscall:
                counts[found.group(1)] = counts.get(found.group(1), 0) + 1
    return max(counts.values(), default=0)


def what_the_log_says(log):
    """-> (was the fault injected, acknowledgements after it)"""
    hit, late = False, 0
    with open(log, errors="replace") as file:
        for line in file:
            if "(INJECTED)" in line:
                hit = True
            elif hit and re.match(r"\d+\s+write\(1, .*ACK ", line):
                late += 1
    return hit, late


def points(driver):
    """(sweep, system call, fault, k), shuffled so that a short run is a fair sample of a long one."""
    out = []
    for sweep in SWEEPS:
        for syscall in sweep[1].split(","):
            directory, log = driver.directory(), os.path.join(driver.scratch, "log")
            status, _ = strace(log, syscall, None, driver.workload(directory, *sweep[3]))
            shutil.rmtree(directory)
            if status != 0:
                driver.violated(sweep[0], [f"the workload fails without a fault: status {status}"])
                continue
            for fault in sweep[2]:
                out += [(sweep, syscall, fault, k) for k in range(1, calls_of_a_thread(log, syscall) + 1)]
    driver.rng.shuffle(out)
    return out


def try_point(driver, sweep, syscall, fault, k):
    directory, log = driver.directory(), os.path.join(driver.scratch, "log")
    what, _, sticky = fault.partition(" ")
    status, out = strace(log, syscall, f"inject={syscall}:{what}:when={k}{'+' if sticky else ''}", driver.workload(directory, *sweep[3]))
    acks = kit.acks_in(out)
    hit, late = what_the_log_says(log)
    killed = status is not None and (status < 0 or status > 128)
    driver.count("points")
    driver.count("injected", hit or killed)
    found = []
    if status is None:
        found.append("it hangs")
    elif killed != (what == "signal=KILL"):
        found.append(f"it ended with status {status}")
    if sweep[4] == "no ack after" and late:
        found.append(f"{late} acknowledgements after a failed sync")
    found += driver.check(directory, acks)
    if found:
        driver.violated(f"{sweep[0]} {syscall} {fault} k={k}", found, directory, acks)
    shutil.rmtree(directory)


def main():
    options = kit.arguments(__doc__, points=150)
    with kit.Driver("syscall_faults", options) as driver:
        may_trace(driver)
        todo = points(driver)
        driver.count("of", len(todo))
        for point in todo[: options.points]:
            if driver.time_is_over():
                break
            try_point(driver, *point)
        return driver.finish(driver.counts.get("injected", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
