#!/usr/bin/env python3
"""The disk fills up: writes are refused with an error, never with a signal, nothing acknowledged is lost, reads go on, and
once there is room again so do writes. On a small file system in memory where mounting is allowed, and under a limit on file
sizes (SIGXFSZ ignored) anywhere."""
import os
import resource
import shutil
import subprocess
import sys

import kit

KINDS = [
    ["--kind", "append", "--bytes", "900"],
    ["--kind", "append", "--bytes", "70000", "--threads", "4"],
    ["--kind", "import"],
    ["--kind", "upkeep"],
    ["--kind", "mix", "--threads", "3", "--bytes", "70000"],
]


def judge(driver, where, directory, acks):
    copy = driver.copy(directory)
    found = driver.check(copy, acks)
    if found:
        driver.violated(where, found, directory, acks)
    shutil.rmtree(copy)
    driver.count("checked")


def under_a_limit(driver):
    for kind in KINDS:
        for limit in (4096, 60000, 200000, 1000000):
            if driver.time_is_over():
                return
            where, directory = f"files of at most {limit} bytes, {' '.join(kind)}", driver.directory()
            # The limit holds for the child alone.
            status, out = kit.run(driver.workload(directory, *kind, "--count", "600"), 120,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            acks = kit.acks_in(out)
            driver.count("refused", status == 1)
            if status is None or status not in (0, 1):
                driver.violated(where, [f"status {status}"], directory, acks)
            judge(driver, where, directory, acks)
            more, out = kit.run(driver.workload(directory, *kind, "--count", "5"), 120)
            acks += kit.acks_in(out)
            if more != 0:
                driver.violated(where, [f"with room again: status {more}"], directory, acks)
            judge(driver, where + ", with room again", directory, acks)
            shutil.rmtree(directory)


def on_a_small_disk(driver, place):
    """Runs inside a mount name space of its own, which takes the mounts with it."""
    for kind in KINDS:
        for room in (200000, 1500000):
            if driver.time_is_over():
                return
            where = f"disk with {room} bytes free, {' '.join(kind)}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", place], check=True)
            filler, directory = os.path.join(place, "filler"), os.path.join(place, "store")
            # Made while there is room: the store refuses to begin on a disk that is nearly full.
            first, out = kit.run(driver.workload(directory, *kind, "--count", "3"), 60)
            acks = kit.acks_in(out)
            free = os.statvfs(place).f_bavail * os.statvfs(place).f_bsize
            with open(filler, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(1, free - room))
            status, out = kit.run(driver.workload(directory, *kind, "--count", "3000"), 120)
            acks += kit.acks_in(out)
            driver.count("refused", status == 1)
            if first != 0 or status != 1:
                driver.violated(where, [f"status {first}, then {status}"], directory, acks)
            judge(driver, where, directory, acks)
            if kit.run([driver.program("weir"), "verify", "--store", directory], 60)[0] != 0:
                driver.violated(where, ["verify on the full disk fails"], directory, acks)
            os.unlink(filler)
            status, out = kit.run(driver.workload(directory, *kind, "--count", "5"), 120)
            acks += kit.acks_in(out)
            if status != 0:
                driver.violated(where, [f"with room again: status {status}"], directory, acks)
            judge(driver, where + ", with room again", directory, acks)
            subprocess.run(["umount", place], check=True)
    driver.count("mounted")


def may_mount():
    return subprocess.run(["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"],
                          capture_output=True).returncode == 0


def main():
    options = kit.arguments(__doc__, inside=0)
    if not options.inside and may_mount():
        more = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.execvp("unshare", ["unshare", "--mount", *more, sys.executable, *sys.argv, "--inside", "1", "--seed", str(options.seed)])
    with kit.Driver("disk_full", options) as driver:
        if options.inside:
            place = driver.directory()
            try:
                on_a_small_disk(driver, place)
            finally:
                subprocess.run(["umount", place], capture_output=True)
        else:
            print("no small file system: mounting is not permitted here; a limit on file sizes stands in for it")
        under_a_limit(driver)
        return driver.finish(driver.counts.get("refused", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
