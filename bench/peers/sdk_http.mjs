// The TypeScript SDK's server over Streamable HTTP, with one tool that reads a file below DIR.
//   node sdk_http.mjs DIR json|events
// Prints its port. As fast as it goes: sessions (not a new server for every request), node's own HTTP without a framework; `json`
// answers a call with one JSON object, `events`, which is the SDK's default, with an event stream.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(join(process.env.MODULES, "x.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { z } = await load("zod");

const [directory, answers] = process.argv.slice(2);
const sessions = new Map();

async function begin() {
  const server = new McpServer({ name: "peer", version: "1" });
  server.registerTool("read", { description: "Read a text file.", inputSchema: { path: z.string() } }, async ({ path }) => ({
    content: [{ type: "text", text: await readFile(join(directory, path), "utf8") }],
  }));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: answers === "json",
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await server.connect(transport);
  return transport;
}

const listener = createServer({ keepAliveTimeout: 60000 }, async (request, response) => {
  const transport = sessions.get(request.headers["mcp-session-id"]) ?? (await begin());
  await transport.handleRequest(request, response);
});
listener.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: listener.address().port })));
process.stdin.on("end", () => process.exit(0)).resume();
