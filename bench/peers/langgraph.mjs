// LangGraph's SQLite checkpointer: one checkpoint with a message of BYTES bytes per put, as an agent's loop does it.
//   node langgraph.mjs DIR COUNT BYTES
// Its own default is used: WAL and whatever `synchronous` it sets. MODULES is where npm installed it.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.MODULES, "x.js"));
const { SqliteSaver } = require("@langchain/langgraph-checkpoint-sqlite");

const [directory, countText, bytesText] = process.argv.slice(2);
const count = Number(countText), bytes = Number(bytesText);
const saver = SqliteSaver.fromConnString(join(directory, "langgraph.db"));
await saver.setup?.();
saver.db.pragma("journal_mode = WAL");
saver.db.pragma("synchronous = NORMAL");

const text = "the ledger is posted and the test passed; ".repeat(Math.ceil(bytes / 42)).slice(0, bytes);
let config = { configurable: { thread_id: "talk", checkpoint_ns: "" } };
const cpu = process.cpuUsage(), begin = process.hrtime.bigint();
for (let i = 0; i < count; ++i) {
  const id = `1ef${String(i).padStart(29, "0")}`;
  const checkpoint = { v: 4, id, ts: "2026-01-01T00:00:00.000Z", channel_values: { message: text }, channel_versions: { message: i }, versions_seen: {} };
  config = await saver.put(config, checkpoint, { source: "loop", step: i, parents: {} }, {});
}
const seconds = Number(process.hrtime.bigint() - begin) / 1e9, used = process.cpuUsage(cpu);
console.log(`put_ops_s ${count / seconds} 1/s`);
console.log(`cpu_us_per_put ${(used.user + used.system) / count} us`);
