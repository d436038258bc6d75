"""Rows of the faces for programs: MCP over lines and over HTTP, the routes, and event streams."""
import contextlib
import json
import os

from http_servers import HttpServer
from kit import BIN, MODULES, ROOT, Scratch, figures, memory_directory, rounds

# As an agent reads: files that end so that a cut answer is seen, in a directory of their own; no session, so every answer is the text.
SMALL, LARGE, LAST_LINE = "small.txt", "large.txt", "the last line of the file\n"
READ_WHOLE = "read.max_bytes = \"1mib\"\nread.max_lines = 100000\n"  # else 200 KB are cut at 50


def count_of_rounds(args):
    """One when it is to be quick: within a round the servers take turns many times."""
    return 1 if args.quick else args.rounds


def files_to_read(path):
    folder = os.path.join(path, "files")
    os.mkdir(folder)
    line = "\tconst auto balance = ledger.at(account).sum();  // in \"minor units\", never rounded\n"
    for name, size in ((SMALL, 2_000), (LARGE, 200_000)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write((line * (size // len(line) + 1))[: size - len(LAST_LINE) - 1] + "\n" + LAST_LINE)
    with open(os.path.join(path, "config.toml"), "w", encoding="ascii") as file:
        file.write(READ_WHOLE)
    return folder


def surroundings(path):
    """No setting of the machine's user reaches the servers."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "XDG_"))}
    return {**kept, "HOME": path, "XDG_STATE_HOME": os.path.join(path, "state"), "MODULES": MODULES}


def over_lines(args, peers):
    """One run of everything that is asked over standard input and output."""
    calls, large, starts = (1000, 100, 4) if args.quick else (5000, 500, 10)
    with Scratch(memory_directory()) as path:
        folder = files_to_read(path)

        def reading(tool, name, **more):
            path = name if tool == "read" else os.path.join(folder, name)
            return json.dumps({"name": tool, "arguments": {"path": path, **more}}, separators=(",", ":"))

        weir = [args.weir, "mcp", "--root", folder, "--store", path + "/s", "--config", path + "/config.toml", ";"]
        command = [f"{BIN}/bench_faces", "stdio", calls, large, starts, "weir", reading("read", SMALL), reading("read", LARGE), *weir]
        command += ["recorded", reading("read", SMALL, session="bench", bypass_cache=True), "-", *weir]
        command += ["floor", reading("read", SMALL), reading("read", LARGE), f"{BIN}/floor_mcp", folder, ";"]
        if peers:
            program = os.path.join(MODULES, "@modelcontextprotocol/server-filesystem/dist/index.js")
            command += ["peer", reading("read_text_file", SMALL), reading("read_text_file", LARGE), "node", program, folder, ";"]
        return figures(command, cwd=folder, environment=surroundings(path))


def line_rows(table, args, peers):
    got = rounds(count_of_rounds(args), {"all": lambda: over_lines(args, peers)})["all"]
    for name, figure, unit, scale, bar in (
        ("2k_p50", "2k_p50_us", "us", 1, "bar 60 us, stretch 25"), ("2k_p99", "2k_p99_us", "us", 1, "bar 1 ms"), ("2k_cpu", "2k_cpu_us", "us", 1, "bar 40 us"),
        ("200k_p50", "200k_p50_us", "ms", 1000, "bar 1.2 ms"), ("start", "start_ms", "ms", 1, "bar 50 ms, stretch 10"), ("memory", "memory_mb", "MB", 1, "bar 24 MB"),
    ):  # fmt: skip
        ours = got["weir_" + figure]
        if peers:
            table.add("mcp_read_" + name, ours / scale, unit, "server-filesystem 2026.8.31", got["peer_" + figure] / ours, bar)
            table.add("mcp_read_" + name + "_peer", got["peer_" + figure] / scale, unit)
        table.add("mcp_read_" + name, ours / scale, unit, "floor: open, read, escape", got["floor_" + figure] / ours, bar)
    table.add("mcp_read_200k_bytes", got["weir_200k_bytes"], "B", "server-filesystem 2026.8.31" if peers else "-", got["weir_200k_bytes"] / got["peer_200k_bytes"] if peers else None, "bar 0.55 (bytes, lower is better)")
    table.add("mcp_read_2k_recorded_p50", got["recorded_2k_p50_us"], "us", "not recorded", got["weir_2k_p50_us"] / got["recorded_2k_p50_us"], "in a session: each read is an entry")
    table.add("mcp_tools_bytes", got["weir_tools_bytes"], "B", "server-filesystem 2026.8.31" if peers else "-", got["weir_tools_bytes"] / got["peer_tools_bytes"] if peers else None, "bar 6 KB (bytes, lower is better)")


def over_http(args, peers, connections):
    """Requests a second of Weir's two ways to read, and of the SDK's server, which takes its turns between them."""
    seconds = 1 if args.quick else 4
    with Scratch(memory_directory()) as path, contextlib.ExitStack() as ends:
        folder = files_to_read(path)
        environment = surroundings(path)
        weir = ends.enter_context(HttpServer([args.weir, "serve", "--json", "--listen", "127.0.0.1:0", "--root", folder, "--store", path + "/s"], environment))
        weir.ask("POST", "/v1/sessions", {"id": "bench"})
        whole = os.path.join(folder, SMALL)
        asked = {
            "route": (weir, weir.request("POST", "/v1/sessions/bench/read", {"path": whole, "record": "none"})),
            "mcp": (weir, weir.tool_call({"path": whole})),
        }
        if peers:
            for answers in ("json", "events"):
                peer = ends.enter_context(HttpServer(["node", f"{ROOT}/bench/peers/sdk_http.mjs", folder, answers], environment))
                asked["sdk_" + answers] = (peer, peer.tool_call({"path": SMALL}))
        command = [f"{BIN}/bench_faces", "http", seconds, connections]
        for name, (server, request) in asked.items():
            file = os.path.join(path, name)
            with open(file, "wb") as out:
                out.write(request)
            command += [name, server.pid, server.port, file]
        return figures(command)


def http_rows(table, args, peers):
    for connections in (1, 8):
        got = rounds(count_of_rounds(args), {"all": lambda: over_http(args, peers, connections)})["all"]
        label = f"{connections}_connection{'s' if connections > 1 else ''}"
        for name, title in (("route", "http_read_2k_"), ("mcp", "http_mcp_read_2k_")):
            for answers in ("json", "events") if peers else ():
                ours, theirs = got[name + "_per_s"], got[f"sdk_{answers}_per_s"]
                table.add(title + label, ours, "1/s", f"SDK 1.32.2, {answers}: {theirs:.0f}", ours / theirs, "bar 10")
            if not peers:
                table.add(title + label, got[name + "_per_s"], "1/s")
            table.add(title + label + "_p99", got[name + "_p99_us"] / 1000, "ms")
            table.add(title + label + "_cpu", got[name + "_cpu_us"], "us")


def over_events(args):
    appends = 100 if args.quick else 500
    with Scratch(memory_directory()) as path:
        with HttpServer([args.weir, "serve", "--json", "--listen", "127.0.0.1:0", "--store", path + "/s"], surroundings(path)) as weir:
            weir.ask("POST", "/v1/sessions", {"id": "bench"})
            body = {"entries": [{"type": "message", "body": {"role": "user", "content": "x" * 1000}}]}
            requests = {"listen": weir.request("GET", "/v1/sessions/bench/events"), "append": weir.request("POST", "/v1/sessions/bench/entries", body)}
            for name, request in requests.items():
                with open(os.path.join(path, name), "wb") as out:
                    out.write(request)
            return figures([f"{BIN}/bench_faces", "events", 100, appends, weir.port, path + "/listen", path + "/append"])


def event_rows(table, args):
    got = rounds(count_of_rounds(args), {"all": lambda: over_events(args)})["all"]
    table.add("sse_100_listeners_p50", got["delivered_p50_ms"], "ms", bar="from the append's first byte")
    table.add("sse_100_listeners_p99", got["delivered_p99_ms"], "ms", bar="bar 20 ms")
    table.add("sse_append_answered_p50", got["answered_p50_ms"], "ms")


def faces_rows(table, args, peers):
    line_rows(table, args, peers)
    http_rows(table, args, peers)
    event_rows(table, args)
