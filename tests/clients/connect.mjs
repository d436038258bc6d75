// The two generations of the official TypeScript SDK behind one small set of calls, over both transports.
//   sdk     @modelcontextprotocol/sdk 1.x, which speaks up to 2025-11-25
//   client  @modelcontextprotocol/client 2.x, which speaks 2026-07-28
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const INFO = { name: 'weir-agent-loop', version: '1.0.0' };

// Packages are beside the build, not beside the sources.
const load = (folder) => {
  const require = createRequire(join(folder, 'package.json'));
  return (name) => import(pathToFileURL(require.resolve(name)).href);
};

// Every message that passes, in order: ['out' or 'in', message].
function recorded(transport) {
  const seen = [];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    for (const one of [message].flat()) seen.push(['out', one]);
    return send(message, options);
  };
  let hear;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => hear && ((message, extra) => {
      seen.push(['in', message]);
      hear(message, extra);
    }),
    set: (handler) => {
      hear = handler;
    },
  });
  return seen;
}

const http = (Transport, settings) => {
  const headers = {};
  if (settings.tokenFile) headers.Authorization = `Bearer ${readFileSync(settings.tokenFile, 'utf8').trim()}`;
  return new Transport(new URL(settings.url), { requestInit: { headers } });
};

const stdio = (Transport, settings) =>
  new Transport({ command: settings.weir, args: ['mcp', ...settings.mcpArgs], env: settings.env, cwd: settings.cwd, stderr: 'inherit' });

async function subscribe(client, uris) {
  for (const uri of uris) await client.subscribeResource({ uri });
  return async () => {
    for (const uri of uris) await client.unsubscribeResource({ uri });
  };
}

async function sdk(from, settings) {
  const { Client } = await from('@modelcontextprotocol/sdk/client/index.js');
  const { ResourceUpdatedNotificationSchema } = await from('@modelcontextprotocol/sdk/types.js');
  const transport = settings.url
    ? http((await from('@modelcontextprotocol/sdk/client/streamableHttp.js')).StreamableHTTPClientTransport, settings)
    : stdio((await from('@modelcontextprotocol/sdk/client/stdio.js')).StdioClientTransport, settings);
  const seen = recorded(transport);
  const client = new Client(INFO, { capabilities: {} });
  await client.connect(transport);
  return {
    client,
    seen,
    revision: () => transport.protocolVersion ?? seen.find(([way, m]) => way === 'in' && m.result?.protocolVersion)[1].result.protocolVersion,
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    // Hears of changes of these resources until the answer is called.
    watch: async (uris, heard) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, (note) => heard(note.params.uri));
      return subscribe(client, uris);
    },
    close: async () => {
      if (settings.url) await transport.terminateSession();
      await client.close();
    },
  };
}

async function modern(from, settings, mode) {
  const { Client, StreamableHTTPClientTransport } = await from('@modelcontextprotocol/client');
  const transport = settings.url
    ? http(StreamableHTTPClientTransport, settings)
    : stdio((await from('@modelcontextprotocol/client/stdio')).StdioClientTransport, settings);
  const seen = recorded(transport);
  const client = new Client(INFO, { capabilities: {}, versionNegotiation: { mode } });
  await client.connect(transport);
  return {
    client,
    seen,
    revision: () => client.getNegotiatedProtocolVersion(),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    watch: async (uris, heard) => {
      client.setNotificationHandler('notifications/resources/updated', (note) => heard(note.params.uri));
      if (mode === 'legacy') return subscribe(client, uris);
      const stream = await client.listen({ resourceSubscriptions: uris });
      return () => stream.close();
    },
    close: () => client.close(),
  };
}

// settings: {clients, weir, mcpArgs, env, cwd} for stdio, {clients, url, tokenFile} for HTTP.
export function connect(generation, settings) {
  const from = load(settings.clients);
  if (generation === 'sdk') return sdk(from, settings);
  if (generation === 'client') return modern(from, settings, { pin: '2026-07-28' });
  if (generation === 'client-auto') return modern(from, settings, 'auto');
  if (generation === 'client-legacy') return modern(from, settings, 'legacy');
  throw new Error(`no generation ${generation}`);
}
