#!/usr/bin/env python3
"""Two to sixteen processes write to one store at once, from the moment it does not exist yet, some of them purging and
collecting garbage, others reading and verifying: nothing is lost, seqs have no gap, the chain is sound, nobody raises a
false alarm."""
import os
import shutil
import subprocess
import sys
import time

import kit


def start(driver, argv):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def one_round(driver, writers, count, durability):
    directory = os.path.join(driver.directory(), "store")
    common = ["--count", str(count), "--durability", durability]
    processes = [start(driver, driver.workload(directory, "--writer", str(i), "--bytes", "70000" if i % 3 == 0 else "700", "--threads", str(1 + i % 2), *common)) for i in range(writers)]
    processes.append(start(driver, driver.workload(directory, "--kind", "upkeep", *common)))
    processes.append(start(driver, driver.workload(directory, "--kind", "branch", *common)))
    where, acks, alarms = f"{writers} writers, {durability}", [], 0
    while any(p.poll() is None for p in processes[:writers]):
        if time.monotonic() > driver.deadline + 60:
            driver.violated(where, ["it hangs"])
            break
        if os.path.exists(os.path.join(directory, "weir.db-wal")):
            status, out = kit.run([driver.program("weir"), "verify", "--quick", "--store", directory], 60)
            driver.count("verified")
            # While the store is being made there may be none yet.
            alarms += status not in (0, 10)
            if status not in (0, 10):
                driver.violated(where, [f"verify of a store in use: status {status} {out.decode('utf-8', 'replace')[:200]}"])
        time.sleep(0.05)
    for process in processes:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            kit.kill_group(process)
            out, err = process.communicate()
        acks += kit.acks_in(out)
        if process.returncode != 0:
            driver.violated(where, [f"a writer ended with {process.returncode}: {err.decode('utf-8', 'replace')[:300]}"], directory, acks)
    driver.count("rounds")
    driver.count("acks", len(acks))
    wanted = sum(count * (1 + i % 2) for i in range(writers)) + 2 * count
    if len(acks) != wanted:
        driver.violated(where, [f"{len(acks)} acknowledgements of {wanted}"], directory, acks)
    found = driver.check(directory, acks, "--durability", durability)
    if found:
        driver.violated(where, found, directory, acks)
    shutil.rmtree(directory)


def main():
    options = kit.arguments(__doc__, rounds=4, count=150)
    with kit.Driver("many_writers", options) as driver:
        for i in range(options.rounds):
            if driver.time_is_over():
                break
            writers = (2, 5, 16, 9)[i % 4] if i < 4 else driver.rng.randint(2, 16)
            one_round(driver, writers, options.count, "normal" if i % 4 == 3 else "full")
        return driver.finish(driver.counts.get("rounds", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
