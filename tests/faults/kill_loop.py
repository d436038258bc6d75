#!/usr/bin/env python3
"""kill -9 at random moments, again and again: nothing acknowledged is lost, nothing is torn, and the next start goes on.

Each cycle starts a workload of one kind on that kind's store, kills its process group after a random time, and asks the
oracle about a copy of the store with every token acknowledged so far."""
import os
import shutil
import subprocess
import sys
import time

import kit

KINDS = {
    "append": ["--kind", "append", "--bytes", "900"],
    "blobs": ["--kind", "append", "--threads", "4", "--bytes", "70000"],
    "branch": ["--kind", "branch"],
    "import": ["--kind", "import"],
    "upkeep": ["--kind", "upkeep"],
    "mix": ["--kind", "mix", "--threads", "3", "--bytes", "70000"],
}
STORE_MB = 24  # a store that grew beyond this is left for a new one: copying and checking it takes the time


def size_mb(directory):
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(directory) for name in names) / 1e6


def killed_after(argv, seconds):
    """-> (was it killed, standard output)"""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    out, end = b"", time.monotonic() + seconds
    os.set_blocking(process.stdout.fileno(), False)
    while time.monotonic() < end and process.poll() is None:
        out += process.stdout.read() or b""
        time.sleep(0.0005)
    killed = process.poll() is None
    kit.kill_group(process)
    process.wait()
    os.set_blocking(process.stdout.fileno(), True)
    out += process.stdout.read()
    process.stdout.close()
    return killed, out


def main():
    options = kit.arguments(__doc__, cycles=40, max_ms=250.0)
    with kit.Driver("kill_loop", options) as driver:
        stores, rng = {}, driver.rng
        for cycle in range(options.cycles):
            if driver.time_is_over():
                break
            kind = list(KINDS)[cycle % len(KINDS)]
            directory, acks = stores.get(kind) or (driver.directory(), [])
            durability = rng.choice(["full", "full", "normal"])
            seconds = rng.uniform(2, options.max_ms) / 1000
            killed, out = killed_after(driver.workload(directory, *KINDS[kind], "--count", "1000000", "--durability", durability), seconds)
            new = kit.acks_in(out)
            acks = acks + new
            driver.count("cycles")
            driver.count("killed", killed)
            driver.count("acks", len(new))
            if not killed:
                driver.violated(f"cycle {cycle} {kind}", ["the workload ended by itself"], directory, acks)
            copy = driver.copy(directory)
            found = driver.check(copy, acks)
            shutil.rmtree(copy)
            if found:
                driver.violated(f"cycle {cycle} {kind} {durability} after {seconds * 1000:.1f} ms", found, directory, acks)
            if found or size_mb(directory) > STORE_MB:
                shutil.rmtree(directory)
                stores.pop(kind, None)
            else:
                stores[kind] = (directory, acks)
        return driver.finish(driver.counts.get("acks", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
