#!/usr/bin/env python3
"""A fault kit of others, if there is one, on this project's workload and oracle: power-cut states from a trace of its system calls,
kill -9, failing system calls, damage at rest, reads that race with links. The build registers it where it finds the kit.

  --long        full sweeps instead of short ones"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import kit

HERE = os.path.dirname(os.path.abspath(__file__))
BESIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))), "shared", "tools")


def jobs(driver, store, long):
    """(name, command) of each run; the tools' own exit status is 0 for no violation, 1 for violations, 2 for no test."""
    weir, workload = shlex.quote(driver.program("weir")), driver.program("weir_workload")
    tool = lambda name: [sys.executable, os.path.join(driver.options.kit, "faults", name + ".py")]
    oracle = lambda *more: ["--check-cmd", " ".join([shlex.quote(driver.program("weir_check")), "{dir}", "{acks}", "--state", "{state}", *more])]
    count = lambda short, full: ["--count", str(full if long else short)]
    kinds = ["append", "branch", "import", "upkeep"]
    for meta in ("posix", "ext4"):
        for kind in kinds if long else [kinds[driver.rng.randrange(4)]]:
            states = "min,meta,zero,torn,rand,all"
            yield f"crashstates {meta} {kind}", [*tool("crashstates"), "--meta", meta, "--states", states, "--rand", "2", "--every", "1" if long else "3", "--seed", str(driver.options.seed),
                                                 *oracle(), "--", workload, "{root}", "--kind", kind, "--bytes", "70000", *count(6, 24)]
    for kind in ("append", "upkeep") if long else ("upkeep",):
        yield f"crashstates normal {kind}", [*tool("crashstates"), "--meta", "posix", "--states", "min,meta,zero,torn,rand,all", "--every", "1" if long else "4", *oracle("--durability", "normal"),
                                             "--", workload, "{root}", "--kind", kind, "--bytes", "70000", "--durability", "normal", *count(11, 30)]
    for kind in kinds if long else ["append"]:
        yield f"killloop {kind}", [*tool("killloop"), "--cycles", "400" if long else "8", "--max-ms", "120", "--vary", "sync=full,normal", "--seed", str(driver.options.seed), *oracle(),
                                   *(["--fresh"] if kind != "append" else []), "--", workload, "{root}", "--kind", kind, "--count", "1000000", "--durability", "{sync}"]
    for kind in kinds if long else ["upkeep"]:
        stubborn = ["--", workload, "{root}", "--kind", kind, "--bytes", "70000", "--stubborn", *count(6, 11)]
        yield f"eiosweep poison {kind}", [*tool("eiosweep"), "--sys", "fsync,fdatasync", "--err", "EIO", "--poison", *oracle(), *stubborn]
        if long:
            yield f"eiosweep {kind}", [*tool("eiosweep"), "--sys", "pwrite64,write,openat,rename,ftruncate", "--err", "EIO,ENOSPC", *oracle(), *stubborn]
            yield f"eiosweep sticky {kind}", [*tool("eiosweep"), "--sys", "pwrite64,write", "--err", "ENOSPC", "--sticky", *oracle(), *stubborn]
            yield f"eiosweep kill {kind}", [*tool("eiosweep"), "--kill", "--sys", "fdatasync,fsync,pwrite64,rename,unlink", *oracle(), "--", workload, "{root}", "--kind", kind, *count(6, 11)]
    for mode in ("flip", "cut", "zero", "garbage") if long else ("flip",):
        yield f"bitflip {mode}", [*tool("bitflip"), "--store", store, "--mode", mode, "--trials", "1250" if long else "40", "--clean", "3", "--fail-closed", "--seed", str(driver.options.seed),
                                  "--verify", f"{weir} verify --store {{dir}}", "--dump", f"{weir} export --format jsonl --all --session append --store {{dir}}"]
    race = lambda name: [sys.executable, os.path.join(driver.options.kit, "race", name + ".py")]
    for way in ([], ["--by-component"]):
        served = ["--", driver.program("weir_read_server"), "{root}", *way]
        yield " ".join(["race", *way]), [*race("race"), "--reads", "20000" if long else "3000", "--tool", "read", *served]
        yield " ".join(["paths", *way]), [*race("cases"), *served]


def make_store(driver):
    directory = driver.directory()
    kit.run(driver.workload(directory, "--count", "60", "--bytes", "66000"), 60)
    process = subprocess.Popen(driver.workload(directory, "--count", "1000000", "--bytes", "2000"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    out = b""
    while out.count(b"\n") < 40:
        out += os.read(process.stdout.fileno(), 4096)
    kit.kill_group(process)
    process.wait()
    return directory


def may_trace():
    try:
        return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def main():
    options = kit.arguments(__doc__, long=0, only="", kit=BESIDE)
    if not os.path.isdir(os.path.join(options.kit, "faults")):
        kit.skip(f"there is no fault kit at {options.kit}")
    tracing = may_trace()
    with kit.Driver("shared_kit", options) as driver:
        store = make_store(driver)
        for name, command in jobs(driver, store, bool(options.long)):
            if driver.time_is_over() or options.only not in name:
                continue
            if not tracing and name.split()[0] in ("crashstates", "eiosweep"):
                print(f"SKIPPED {name}: this process may not trace others")
                driver.count("skipped")
                continue
            began = time.monotonic()
            keep = ["--keep", os.path.join(options.keep, kit.file_name(name))] if options.keep else []
            at = command.index("--") if "--" in command else len(command)
            status, out = kit.run(command[:at] + keep + command[at:], max(60, driver.deadline - began + 120))
            text = out.decode("utf-8", "replace").strip()
            driver.count("runs")
            for line in text.split("\n"):
                if line.startswith("{"):
                    summary = json.loads(line)
                    driver.count("states", summary.get("states", 0))
                    driver.count("points", summary.get("points", 0) + summary.get("cycles", 0) + summary.get("trials", 0))
            print(f"{name}: status {status}, {time.monotonic() - began:.1f} s: {text[:300]}", flush=True)
            if status != 0:
                driver.violated(name, [text[:600] or f"status {status}"])
        shutil.rmtree(store)
        return driver.finish(driver.counts.get("runs", 0) > 0)


if __name__ == "__main__":
    sys.exit(main())
