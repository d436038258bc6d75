"""Shared by the fault drivers: programs, scratch directories, the ACK protocol, the oracle, the summary."""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # CTest shows the test as skipped, with what was printed


def arguments(description, **defaults):
    """Options every driver has, and its own with their defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder with weir, weir_workload and weir_check")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run; a new one is drawn and printed otherwise")
    parser.add_argument("--seconds", type=float, default=150, help="no new trial is begun after that time")
    parser.add_argument("--keep", help="folder for the stores of the first violations")
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def run(argv, seconds, **more):
    """In a process group of its own, of which nothing is left. -> (exit status or None for a hang, standard output)"""
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, **more)
    try:
        out, _ = process.communicate(timeout=seconds)
        return process.returncode, out
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, _ = process.communicate()
        return None, out
    finally:
        kill_group(process)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def acks_in(output):
    """Tokens of the complete lines; a killed program may have written half of one."""
    return [line[4:] for line in output.decode("utf-8", "replace").split("\n")[:-1] if line.startswith("ACK ")]


def file_name(text):
    return "".join(c if c.isalnum() else "-" for c in text)


class Driver:
    """One run of a driver: its programs, its scratch directory (in memory if there is such a place), its violations."""

    def __init__(self, name, options):
        self.name, self.options, self.rng = name, options, random.Random(options.seed)
        self.deadline = time.monotonic() + options.seconds
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
        self.scratch = tempfile.mkdtemp(prefix=f"weir-{name}-", dir=memory)
        self.violations, self.counts, self.made = [], {}, 0
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that clean-up runs

    def __enter__(self):
        print(f"{self.name}: seed {self.options.seed}", flush=True)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def program(self, name):
        return os.path.join(os.path.abspath(self.options.bin), name)

    def directory(self):
        """A fresh one, private as a store's must be."""
        self.made += 1
        path = os.path.join(self.scratch, f"d{self.made}")
        os.mkdir(path, 0o700)
        return path

    def copy(self, directory, without=()):
        self.made += 1
        path = os.path.join(self.scratch, f"d{self.made}")
        shutil.copytree(directory, path, ignore=shutil.ignore_patterns(*without))
        return path

    def time_is_over(self, share=1.0):
        """Of the whole time, or of a share of it."""
        return time.monotonic() > self.deadline - (1 - share) * self.options.seconds

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    def workload(self, directory, *more):
        return [self.program("weir_workload"), directory, *more]

    def check(self, directory, acks, *more):
        """The oracle's violations; none: the store is what it must be."""
        path = os.path.join(self.scratch, "acks")
        with open(path, "w") as file:
            file.write("".join(token + "\n" for token in acks))
        status, out = run([self.program("weir_check"), directory, path, *more], 120)
        if status == 0:
            return []
        lines = out.decode("utf-8", "replace").strip().split("\n")
        return [f"the oracle hangs or dies: status {status} {lines[0]}"] if status != 1 else lines

    def violated(self, where, found, directory=None, acks=()):
        self.violations.append(f"{where}: {found[0]}")
        print(f"VIOLATION {where}: " + "\n  ".join(found[:14]), flush=True)
        if self.options.keep and directory and len(self.violations) <= 5:
            target = os.path.join(self.options.keep, f"{self.name}-{len(self.violations)}")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(directory, os.path.join(target, "store"))
            with open(os.path.join(target, "violations.txt"), "w") as file:
                file.write("\n".join([where, *found, "", *acks]) + "\n")

    def finish(self, tested):
        """Prints the summary; the exit status is 1 for violations and 2 if nothing was tested."""
        print(json.dumps({"driver": self.name, "seed": self.options.seed, **self.counts, "violations": len(self.violations)}), flush=True)
        return 1 if self.violations else 0 if tested else 2


def skip(why):
    print("SKIPPED: " + why)
    sys.exit(SKIPPED)
