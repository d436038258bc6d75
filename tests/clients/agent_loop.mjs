// An agent's whole loop with a real client: read, edit outside, read, read, note, compact, read, context; and all else that
// a host asks. Lines as of the Test Anything Protocol; exit 1 if a step fails.
//   node agent_loop.mjs GENERATION SETTINGS.json
// Settings: see connect.mjs, and {session, file, long, cli:{weir, env, cwd}}; `file` holds sixty numbered lines, `session` a
// user message, `long` is a session that takes a while to search for the first time.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from './connect.mjs';

const [generation, path] = process.argv.slice(2);
const settings = JSON.parse(readFileSync(path, 'utf8'));
const { session, file, long } = settings;
const isModern = generation === 'client' || generation === 'client-auto';
const TOOLS = ['read', 'refresh', 'note', 'context', 'compact', 'history', 'status'];

let count = 0;
let failed = 0;
async function step(name, run) {
  count += 1;
  try {
    await run();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${count} - ${name}`);
    console.log(String(error?.stack ?? error).replace(/^/gm, '# '));
  }
}

const weir = (args, input = '') =>
  execFileSync(settings.cli.weir, ['--json', ...args], { input, env: settings.cli.env, cwd: settings.cli.cwd, encoding: 'utf8' });
const append = (content, role = 'user') =>
  JSON.parse(weir(['append', '--session', session], JSON.stringify({ type: 'message', body: { role, content } })));

const agent = await connect(generation, settings);
const { client } = agent;

// A call that must go well, and what every such answer has in common.
async function call(name, args, options) {
  const result = await agent.call(name, args, options);
  assert.notEqual(result.isError, true, JSON.stringify(result.content));
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, 'text');
  return result;
}

async function text(name, args, options) {
  const result = await call(name, args, options);
  assert.equal(result.structuredContent, undefined, 'a text tool has no structuredContent');
  return result;
}

async function data(name, args, options) {
  const result = await call(name, args, options);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, 'the text block is the same JSON');
  return result.structuredContent;
}

async function read(expect, args = {}) {
  const result = await text('read', { path: file, session, ...args });
  const record = result._meta['dev.weir/read'];
  assert.ok([expect].flat().includes(record.mode), `mode ${record.mode}`);
  return { text: result.content[0].text, record };
}

async function fails(promise, codes) {
  const error = await promise.then(() => undefined, (e) => e);
  assert.ok(error, 'it must be refused');
  assert.ok(codes.includes(error.code), `code ${error.code}: ${error.message}`);
}

const entries = () => weir(['log', '--session', session]).trim().split('\n').map((l) => JSON.parse(l)).filter((l) => 'seq' in l).length;

// ---- introductions and lists ----

await step('the revision agreed on', () => assert.equal(agent.revision(), isModern ? '2026-07-28' : '2025-11-25'));

await step('the server says who it is', () => {
  assert.equal(client.getServerVersion().name, 'weir');
  const capabilities = client.getServerCapabilities();
  assert.deepEqual(capabilities.resources, { subscribe: true, listChanged: true });
  for (const kind of ['tools', 'prompts', 'completions']) assert.deepEqual(capabilities[kind], {}, kind);
  assert.ok(client.getInstructions().length > 0);
});

await step('tools/list', async () => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name), TOOLS);
  for (const tool of tools) {
    assert.ok(tool.description.length < 200, tool.name);
    assert.equal(tool.inputSchema.type, 'object');
    assert.equal('outputSchema' in tool && tool.outputSchema !== undefined, !['read', 'context'].includes(tool.name), tool.name);
  }
});

await step('resources/list and templates', async () => {
  const { resources } = await client.listResources();
  const uris = resources.map((r) => r.uri);
  assert.ok(uris.includes(`weir://session/${session}`), uris.join(' '));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(resourceTemplates.map((t) => t.uriTemplate), [
    'weir://session/{id}',
    'weir://session/{id}/head/{name}',
    'weir://session/{id}/entry/{eid}',
    'weir://session/{id}/snapshot/{n}',
    'weir://session/{id}/narrative/{n}',
    'weir://session/{id}/stage/{name}{?at}',
    'weir://blob/{sha256}',
  ]);
});

await step('prompts/list', async () => {
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((p) => p.name), ['resume-work', 'check-claims', 'explain-context']);
});

// ---- the loop ----

const original = readFileSync(file, 'utf8');

await step('read: the full text', async () => {
  const { text: shown } = await read('full');
  assert.equal(shown, original);
});

await step('read after an edit from outside: a diff', async () => {
  writeFileSync(file, original.replace('line number 30\n', 'line number thirty\n'));
  const { text: shown } = await read(['diff', 'full']);
  assert.match(shown, /line number thirty/);
});

await step('read again: the marker', async () => {
  const { text: shown } = await read('unchanged');
  assert.match(shown, /^\[readcache: unchanged/);
  assert.ok(shown.length < 80);
});

await step('read with bypass_cache: the full text', async () => {
  const { text: shown } = await read('full', { bypass_cache: true });
  assert.equal(shown, readFileSync(file, 'utf8'));
});

await step('note: a claim', async () => {
  const noted = await data('note', { kind: 'claim', text: 'the file has sixty lines', session });
  assert.equal(noted.type, 'CLAIM_PROPOSED');
  assert.equal(noted.id, 'c1');
  assert.equal(typeof noted.entry, 'string');
  assert.equal(noted.due, false);
});

await step('history finds the claim', async () => {
  const { matches } = await data('history', { query: 'sixty lines', session });
  assert.equal(matches[0].type, 'CLAIM_PROPOSED');
  assert.equal(matches[0].before_barrier, false);
});

await step('compact: a dry run writes nothing', async () => {
  const before = entries();
  const verdict = await data('compact', { dry_run: true, session });
  assert.equal(verdict.status, 'PASS');
  assert.deepEqual(verdict.failed, []);
  assert.match(verdict.narrative, /sixty lines/);
  assert.equal(entries(), before);
});

let compacted;
await step('compact: a barrier', async () => {
  compacted = await data('compact', { session });
  assert.equal(compacted.status, 'PASS');
  assert.equal(compacted.sequence, 1);
  assert.match(compacted.snapshot_id, /^snap1_/);
});

await step('status names the barrier', async () => {
  const status = await data('status', { session });
  assert.equal(status.session, session);
  assert.equal(status.head, 'main');
  assert.equal(status.barrier, `compaction:${compacted.entry}`);
  assert.equal(status.due, false);
});

await step('read after the compaction: full again', async () => {
  const { text: shown } = await read('full');
  assert.equal(shown, readFileSync(file, 'utf8'));
});

await step('context: the next prompt', async () => {
  const before = entries();
  const result = await text('context', { session });
  const answer = JSON.parse(result.content[0].text);
  assert.match(JSON.stringify(answer.messages), /sixty lines/);
  const about = result._meta['dev.weir/context'];
  assert.equal(typeof about.manifest, 'string');
  assert.ok(about.bytes > 0 && about.included > 0 && about.left_out >= 0);
  // The prompt does not hold the file, so the read cache must not say that the reader does.
  assert.equal(entries(), before + 2, 'the manifest is an entry, and the withdrawal of the read');
});

await step('refresh: the next read is full', async () => {
  await read('full');
  await read('unchanged');
  const refreshed = await data('refresh', { path: file, session });
  assert.equal(typeof refreshed.entry, 'string');
  await read('full');
});

// ---- what is refused ----

await step('a failing tool is a result', async () => {
  for (const [name, args, code] of [
    ['read', { path: `${file}.none`, session }, 'NOT_FOUND'],
    ['read', { session }, 'INVALID_FIELD'],
    ['read', { path: file, offset: 'one', session }, 'BAD_RANGE'],
    ['read', { path: 7, offset: 'one', session }, 'INVALID_FIELD'],
    ['status', { session: 'nowhere' }, 'NOT_FOUND'],
  ]) {
    const result = await agent.call(name, args);
    assert.equal(result.isError, true);
    const error = JSON.parse(result.content[0].text);
    assert.equal(error.code, code, result.content[0].text);
    assert.deepEqual(Object.keys(error).sort(), ['code', 'details', 'message']);
  }
});

await step('an unknown tool, prompt and resource are errors', async () => {
  await fails(agent.call('no-such-tool', {}), [-32602]);
  await fails(client.getPrompt({ name: 'no-such-prompt' }), [-32602]);
  const uri = `weir://session/${session}/entry/none`;
  await fails(client.readResource({ uri }), [-32602, -32002]);
  // As it was sent: the newer client translates the older code.
  const [, { error }] = agent.seen.findLast(([way, m]) => way === 'in' && m.error);
  assert.equal(error.code, isModern ? -32602 : -32002);
  assert.equal(error.data.uri, uri);
});

// ---- resources, prompts, completion ----

await step('resources/read: session, head, narrative', async () => {
  const get = async (uri) => (await client.readResource({ uri })).contents;
  const [about] = await get(`weir://session/${session}`);
  assert.equal(about.mimeType, 'application/json');
  assert.equal(about.uri, `weir://session/${session}`);
  JSON.parse(about.text);
  JSON.parse((await get(`weir://session/${session}/head/main`))[0].text);
  const [narrative] = await get(`weir://session/${session}/narrative/1`);
  assert.equal(narrative.mimeType, 'text/markdown');
  assert.match(narrative.text, /sixty lines/);
});

await step('prompts/get', async () => {
  const { messages } = await client.getPrompt({ name: 'resume-work', arguments: { session } });
  assert.equal(messages.length, 1);
  assert.equal(messages[0].role, 'user');
  assert.match(messages[0].content.text, /sixty lines/);
  for (const name of ['check-claims', 'explain-context']) {
    const got = await client.getPrompt({ name, arguments: { session } });
    assert.ok(got.messages.length > 0, name);
  }
});

await step('completion of a prompt and of a template', async () => {
  const prompt = await client.complete({
    ref: { type: 'ref/prompt', name: 'resume-work' },
    argument: { name: 'session', value: session.slice(0, -1) },
  });
  assert.ok(prompt.completion.values.includes(session));
  const template = await client.complete({
    ref: { type: 'ref/resource', uri: 'weir://session/{id}/head/{name}' },
    argument: { name: 'name', value: 'ma' },
    context: { arguments: { id: session } },
  });
  assert.deepEqual(template.completion.values, ['main']);
  assert.equal(template.completion.total, 1);
  assert.equal(template.completion.hasMore, false);
});

// ---- what is told without being asked for ----

await step('a change from outside is told', async () => {
  const head = `weir://session/${session}/head/main`;
  const heard = [];
  const stop = await agent.watch([head], (uri) => heard.push(uri));
  append('a word from elsewhere');
  for (let i = 0; i < 100 && heard.length === 0; i += 1) await sleep(50);
  assert.deepEqual([...new Set(heard)], [head]);
  await stop();
});

// The first search of a session takes long, because its text is indexed then. So this comes before a search that ends.
await step('cancelled: no answer follows, the next request has one', async () => {
  const stop = new AbortController();
  const before = agent.seen.length;
  const asked = agent
    .call('history', { query: 'a word that is nowhere', session: long }, { signal: stop.signal })
    .then(() => 'answered', () => 'given up');
  const sent = () => agent.seen.slice(before).find(([way, m]) => way === 'out' && m.method === 'tools/call');
  while (!sent()) await sleep(1);
  await sleep(30); // over HTTP the two are requests of their own, and none may overtake the other
  const [, request] = sent();
  stop.abort('enough');
  assert.equal(await asked, 'given up');
  await data('status', { session });
  await sleep(500);
  const answers = agent.seen.filter(([way, m]) => way === 'in' && m.id === request.id && m.method === undefined);
  assert.deepEqual(answers, []);
});

await step('progress rises and stops with the answer', async () => {
  const seen = [];
  let ended = false;
  await data('history', { query: 'a word that is nowhere', session: long }, {
    onprogress: (p) => {
      assert.equal(ended, false);
      seen.push(p.progress);
    },
  });
  ended = true;
  const before = seen.length;
  await sleep(300);
  assert.equal(seen.length, before);
  assert.ok(seen.length > 0, 'there was none');
  for (let i = 1; i < seen.length; i += 1) assert.ok(seen[i] > seen[i - 1], seen.join(' '));
});

await agent.close();
console.log(`1..${count}`);
process.exitCode = failed === 0 ? 0 : 1;
