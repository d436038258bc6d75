"""What the parts of bench/run share: scratch directories, turns, peers from npm, and the table."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(ROOT, "build/release/bin")
MODULES = os.path.join(ROOT, "build/bench-peers/node_modules")
PEERS = [
    "@langchain/langgraph-checkpoint-sqlite@1.0.4", "@langchain/langgraph-checkpoint@1.1.5", "@langchain/core@1", "@mariozechner/pi-coding-agent@0.73.1",
    "@modelcontextprotocol/server-filesystem@2026.8.31", "@modelcontextprotocol/sdk@1.32.2",
]  # fmt: skip


def memory_directory():
    return "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()


class Scratch:
    """A directory for one run of one program, gone afterwards."""

    def __init__(self, where):
        self.where = where

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="weir-bench-", dir=self.where)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def figures(command, cwd=None, environment=None, input=None, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd, input=input, env={**(environment or os.environ), **more})
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    out = {}
    for line in done.stdout.splitlines():
        if line and not line.startswith("#"):
            name, value, *_unit = line.split()  # a count has no unit
            out[name] = float(value)
    return out


def rounds(count, programs):
    """Runs {name: function -> figures} in turns; the median of each figure."""
    seen = {name: [] for name in programs}
    for _ in range(count):
        for name, run in programs.items():
            seen[name].append(run())
    return {name: {key: statistics.median(r[key] for r in runs) for key in runs[0]} for name, runs in seen.items() if runs}


def install_peers():
    if all(os.path.isdir(os.path.join(MODULES, p.rsplit("@", 1)[0])) for p in PEERS):
        return True
    print("# installing peers from npm", file=sys.stderr)
    os.makedirs(os.path.dirname(MODULES), exist_ok=True)
    done = subprocess.run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", os.path.dirname(MODULES), *PEERS], capture_output=True, text=True)
    if done.returncode != 0:
        print("# peers cannot be installed: " + done.stderr.strip()[-300:], file=sys.stderr)
    return done.returncode == 0


class Table:
    def __init__(self):
        self.rows = []

    def add(self, name, value, unit, peer="-", ratio=None, bar=None):
        self.rows.append({"name": name, "value": value, "unit": unit, "peer": peer, "ratio": ratio, "bar": bar})
        shown = "-" if ratio is None else f"{ratio:.2f}"
        print(f"{name:<34} {value:>12.5g} {unit:<6} {peer:<28} {shown:>7}  {bar or ''}", flush=True)
