// pi's session manager: opening a session of COUNT messages of BYTES bytes and building its context, and appending.
//   node pi.mjs DIR COUNT BYTES
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const root = join(process.env.MODULES, "@mariozechner", "pi-coding-agent");
const { SessionManager } = await import(pathToFileURL(join(root, "dist", "core", "session-manager.js")));

const [directory, countText, bytesText] = process.argv.slice(2);
const count = Number(countText), bytes = Number(bytesText);
const text = "the ledger is posted and the test passed; ".repeat(Math.ceil(bytes / 42)).slice(0, bytes);
const manager = SessionManager.create(directory, directory);
const now = () => process.hrtime.bigint();
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const cpu = process.cpuUsage();
let begin = now();
for (let i = 0; i < count; ++i) {
  manager.appendMessage(i % 2 === 0
    ? { role: "user", content: [{ type: "text", text }], timestamp: i }
    : { role: "assistant", content: [{ type: "text", text }], api: "x", provider: "x", model: "x", usage, stopReason: "stop", timestamp: i });
}
const seconds = Number(now() - begin) / 1e9, used = process.cpuUsage(cpu);
console.log(`put_ops_s ${count / seconds} 1/s`);
console.log(`cpu_us_per_put ${(used.user + used.system) / count} us`);
begin = now();
const opened = SessionManager.open(manager.getSessionFile());
if (opened.buildSessionContext().messages.length !== count) process.exit(1);
console.log(`open_and_fold_ms ${Number(now() - begin) / 1e6} ms`);
