#!/usr/bin/env python3
"""The write-ahead log is cut at every 512 bytes and at random places, as a power cut leaves it: the store opens and
verifies, and holds a prefix that never shrinks as more of the log is there. With the log's index beside it, which says how
much was synced, the loss is reported, and nothing but a loss."""
import os
import re
import shutil
import struct
import subprocess
import sys

import kit


def killed_store(driver):
    """A store whose log was not yet written back."""
    directory = driver.directory()
    process = subprocess.Popen(driver.workload(directory, "--count", "1000000", "--bytes", "70000"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    out = b""
    while out.count(b"\n") < 40:
        out += os.read(process.stdout.fileno(), 4096)
    kit.kill_group(process)
    process.wait()
    return directory, kit.acks_in(out + process.stdout.read())


def published(directory):
    """Where the last frame ends that the log's index names. A killed process may have written more, and told nobody."""
    with open(os.path.join(directory, "weir.db-shm"), "rb") as file:
        frames = struct.unpack_from("=I", file.read(48), 16)[0]
    with open(os.path.join(directory, "weir.db-wal"), "rb") as file:
        page = struct.unpack_from(">I", file.read(32), 8)[0]
    return 32 + frames * (24 + page)


def main():
    options = kit.arguments(__doc__, points=120)
    with kit.Driver("torn_tails", options) as driver:
        directory, acks = killed_store(driver)
        wal = os.path.join(directory, "weir.db-wal")
        size = os.path.getsize(wal)
        driver.count("wal_bytes", size)
        found = driver.check(driver.copy(directory, ["*-shm"]), acks)
        if found:
            driver.violated("uncut", found, directory, acks)
        cuts = sorted({*range(0, size, 512), *(driver.rng.randrange(size) for _ in range(size // 512))})
        if len(cuts) > options.points:
            cuts = sorted(driver.rng.sample(cuts, options.points))
        before = 0
        for cut in cuts:
            if driver.time_is_over():
                break
            driver.count("cuts")
            copy = driver.copy(directory, ["*-shm"])
            os.truncate(os.path.join(copy, "weir.db-wal"), cut)
            status, out = kit.run([driver.program("weir_check"), copy, os.devnull, "--state", "torn"], 60)
            text = out.decode().strip()
            entries = re.search(r"(\d+) entries", text)
            entries = int(entries.group(1)) if entries else 0
            if status != 0:
                driver.violated(f"cut at {cut}", [text], copy)
            elif entries < before:
                driver.violated(f"cut at {cut}", [f"{entries} entries, a shorter log had {before}"], copy)
            before = entries
            shutil.rmtree(copy)
            if driver.counts["cuts"] % 4 == 0:
                copy = driver.copy(directory)
                os.truncate(os.path.join(copy, "weir.db-wal"), cut)
                status, out = kit.run([driver.program("weir"), "verify", "--store", copy], 60)
                lost = cut < published(directory)
                driver.count("reported", status in (3, 9))
                if lost != (status in (3, 9)) or status not in (0, 3, 9):
                    driver.violated(f"cut at {cut} with its index", [f"verify says {status}: {out.decode().strip()[:200]}"], copy)
                shutil.rmtree(copy)
        return driver.finish(driver.counts.get("cuts", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
