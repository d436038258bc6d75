#!/usr/bin/env python3
"""One place of one file is damaged: a flipped bit, a cut end, a block of zeros or of garbage, in the database, in the
write-ahead log, in the objects. What verify passes reads as it did before, byte for byte; what it reports is never printed
as if it were sound.

Classes: found, harmless (nothing anybody can read changed), MISSED (not reported, but reads differ or fail), SILENT
(reported, but a read printed something else and called it good), HANG, DIES. All but the first two are violations.

Then the same with a store that has something of everything, and with every command: none may answer something else than it
did, hang or die, and what `compact` and `context` write must be what they wrote before (every_command.py)."""
import fnmatch
import os
import shutil
import sqlite3
import subprocess
import sys

import every_command
import kit

MODES = ["flip", "flip", "flip", "cut", "zero", "garbage"]
BLOCK = 4096


def build(driver):
    """Two stores: one at rest, one as a killed process left it. -> [(directory, sessions)]"""
    rest = driver.directory()
    for kind, count in (("append", 60), ("branch", 40), ("import", 12), ("upkeep", 15)):
        status, _ = kit.run(driver.workload(rest, "--kind", kind, "--count", str(count), "--bytes", "66000"), 120)
        if status != 0:
            sys.exit(f"the workload fails: status {status}")
    for _ in range(8):
        killed = driver.copy(rest)
        process = subprocess.Popen(driver.workload(killed, "--count", "1000000", "--bytes", "3000"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        out = b""
        while out.count(b"\n") < 60:
            out += os.read(process.stdout.fileno(), 4096)
        kit.kill_group(process)
        process.wait()
        if not ends_unheard(driver, killed):
            break
        shutil.rmtree(killed)
    return [rest, killed]


def read_all(driver, store):
    status, out = kit.run([driver.program("weir"), "session", "list", "--json", "--store", store], 60)
    sessions = [part.split(b'"')[0].decode() for part in out.split(b'"id":"')[1:]]
    return sessions, *dump(driver, store, sessions)


def ends_unheard(driver, killed):
    """Was it killed while its last commit was written but not yet synced? Nobody was told of that one, and nothing but its own
    bytes speaks of it: cut off, it is as if it had never been."""
    whole, cut = driver.copy(killed), driver.copy(killed)
    log = os.path.join(cut, "weir.db-wal")
    os.truncate(log, os.path.getsize(log) - 1)
    verified, _ = kit.run([driver.program("weir"), "verify", "--store", cut], 60)
    unheard = verified == 0 and read_all(driver, cut) != read_all(driver, whole)
    shutil.rmtree(whole)
    shutil.rmtree(cut)
    return unheard


def files_of(store):
    out = []
    for folder, _, names in os.walk(store):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), store)
            size = os.path.getsize(os.path.join(store, path))
            if size and not fnmatch.fnmatch(path, "*-shm"):
                out.append((path, size))
    return sorted(out)


def damage(path, mode, rng):
    with open(path, "r+b") as file:
        data = file.read()
        if mode == "cut":
            n = rng.randint(1, min(BLOCK, len(data)))
            file.truncate(len(data) - n)
            return f"cut {n} bytes"
        if mode == "flip":
            bit = rng.randrange(len(data) * 8)
            file.seek(bit // 8)
            file.write(bytes([data[bit // 8] ^ 1 << bit % 8]))
            return f"bit {bit % 8} of byte {bit // 8}"
        at = rng.randrange((len(data) + BLOCK - 1) // BLOCK) * BLOCK
        n = min(BLOCK, len(data) - at)
        file.seek(at)
        file.write(bytes(n) if mode == "zero" else rng.randbytes(n))
        return f"{n} bytes of {mode} at {at}"


def dump(driver, store, sessions):
    """Everything that can be read: entries as they are stored, and with their blobs. -> (worst exit status, bytes)"""
    worst, everything = 0, b""
    for session in sessions:
        for form in ("jsonl", "pi"):
            status, out = kit.run([driver.program("weir"), "export", "--format", form, "--all", "--session", session, "--store", store], 60)
            if status is None:
                return None, b""
            # A blob that was purged on purpose cannot be put back; that is the same before and after.
            if status != 0 and not (form == "pi" and session.startswith("u") and status == 4):
                worst = max(worst, status if status > 0 else 1000)
            everything += out
    return worst, everything


def classify(verified, dumped, same):
    if verified is None or dumped is None:
        return "HANG"
    if verified < 0 or verified > 128 or dumped > 128:
        return "DIES"
    if verified != 0:
        return "SILENT" if dumped == 0 and not same else "found"
    return "harmless" if dumped == 0 and same else "MISSED"


def damage_row(path, rng):
    """Behind Weir's back, but not behind SQLite's: another type, or one entry less."""
    connection = sqlite3.connect(path)
    keys = [key for (key,) in connection.execute("SELECT key FROM entry WHERE session = 1 ORDER BY key")]
    key = rng.choice(keys[:-1])
    if rng.random() < 0.5:
        what, sql = "the entry is gone", "DELETE FROM entry WHERE key = ?"
    else:
        what, sql = "another type", "UPDATE entry SET type = CASE type WHEN 'message' THEN 'custom' ELSE 'message' END WHERE key = ?"
    connection.execute(sql, (key,))
    connection.commit()
    connection.close()
    return f"{what} at key {key}"


def every_answer(driver, trials):
    """Every command over one damaged place after another."""
    store, files = every_command.build(driver)
    copy = driver.copy(store)
    sound = every_command.run_all(driver, copy, files)
    shutil.rmtree(copy)
    for words, status, _ in sound:
        # due and diff say with 1 what they found.
        if status != 0 and not (status == 1 and words[0] in ("due", "diff")):
            driver.violated("sound store", [f"{' '.join(words)} ends with {status}"], store)
            return
    places = files_of(store)
    for trial in range(trials):
        if driver.time_is_over():
            break
        kind = driver.rng.choice(["weir.db"] * 6 + ["objects", "history"])
        mode = driver.rng.choice(["flip"] * 8 + ["zero", "row"])
        candidates = [place for place in places if place[0] == kind or place[0].startswith(kind + "/")]
        name, _ = driver.rng.choices(candidates, [size for _, size in candidates])[0]
        copy = driver.copy(store)
        if mode == "row":
            what = damage_row(os.path.join(copy, "weir.db"), driver.rng)
        else:
            what = damage(os.path.join(copy, name), mode, driver.rng)
        kept = driver.copy(copy) if driver.options.keep else None
        found = every_command.run_all(driver, copy, files)
        wrong = every_command.judge(sound, found)
        driver.count("commands' trials")
        driver.count("commands that refused", sum(now[1] != before[1] for before, now in zip(sound, found)))
        if wrong:
            driver.violated(f"commands, trial {trial} {name}: {what}", wrong, kept)
        shutil.rmtree(copy)
        if kept:
            shutil.rmtree(kept)


def every_place(driver, trials):
    """verify and export over one damaged place after another."""
    stores = []
    for store in build(driver):
        copy = driver.copy(store)
        sessions, dumped, clean = read_all(driver, copy)
        verified, _ = kit.run([driver.program("weir"), "verify", "--store", copy], 60)
        shutil.rmtree(copy)
        if dumped != 0 or not clean or verified != 0:
            driver.violated("clean store", [f"verify {verified}, dump {dumped}, {len(clean)} bytes, sessions {sessions}"], store)
            return
        stores.append((store, files_of(store), sessions, clean))
    for trial in range(trials):
        if driver.time_is_over(0.5 if driver.options.answers else 1):
            break
        store, files, sessions, clean = stores[trial % 2]
        # Half of the trials go to the database, the rest to the log and the objects.
        kind = driver.rng.choice(["weir.db", "weir.db", "weir.db-wal" if trial % 2 else "objects", "objects"])
        name, _ = driver.rng.choices([f for f in files if f[0] == kind or f[0].startswith(kind + "/")], [f[1] for f in files if f[0] == kind or f[0].startswith(kind + "/")])[0]
        mode = driver.rng.choice(MODES)
        copy = driver.copy(store)
        what = damage(os.path.join(copy, name), mode, driver.rng)
        kept = driver.copy(copy) if driver.options.keep else None
        verified, _ = kit.run([driver.program("weir"), "verify", "--store", copy], 60)
        dumped, seen = dump(driver, copy, sessions)
        verdict = classify(verified, dumped, seen == clean)
        driver.count("trials")
        driver.count(verdict)
        if verdict not in ("found", "harmless"):
            driver.violated(f"trial {trial} {name}: {what}", [f"{verdict}: verify {verified}, dump {dumped}"], kept)
        shutil.rmtree(copy)
        if kept:
            shutil.rmtree(kept)


def main():
    options = kit.arguments(__doc__, trials=150, answers=20)
    parts = [(every_place, options.trials, "found"), (every_answer, options.answers, "commands that refused")]
    with kit.Driver("bit_flips", options) as driver:
        for part, trials, _ in parts:
            if trials and not driver.violations:
                part(driver, trials)
        tested = [driver.counts.get(what, 0) > 0 for _, trials, what in parts if trials]
        return driver.finish(bool(tested) and all(tested))


if __name__ == "__main__":
    sys.exit(main())
