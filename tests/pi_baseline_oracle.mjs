// Our plain read against pi's own read tool: text, notice and details.truncation on random texts, ranges and limits.
//   node pi_baseline_oracle.mjs <baseline_peer> <folder of pi's package> <legacy|current> [seed]
// Ends with 1 on any difference. Of pi only read, truncate and the path functions run; what they import besides is stubbed,
// so that the package is enough without its dependencies.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chance, fail } from './oracle_kit.mjs';

const [peer, folder, lineCount, givenSeed] = process.argv.slice(2);
const { seed, below, pick } = chance(givenSeed);
const COUNT = 5000;

// ---- pi's read tool, its surroundings stubbed ----
const hooks = `
  import { readFileSync } from 'node:fs';
  import { fileURLToPath } from 'node:url';
  const REAL = /\\/(read|truncate|path-utils|paths)\\.js$/, importer = new Map();
  export async function resolve(specifier, context, next) {
    const own = context.parentURL?.startsWith(${JSON.stringify(pathToFileURL(resolve(folder)).href)});
    if (!own || /^(node:|fs|os|path)/.test(specifier) || (REAL.test(specifier) && !specifier.includes('renderers'))) return next(specifier, context);
    const source = readFileSync(fileURLToPath(context.parentURL), 'utf8');
    const quoted = specifier.replace(/[.*+?^$()|[\\]\\\\]/g, '\\\\$&');
    const names = [...source.matchAll(new RegExp('import \\\\{([^}]*)\\\\} from "' + quoted + '"', 'g'))].flatMap((m) => m[1].split(','));
    const exports = names.map((name) => 'export const ' + name.trim().split(' as ')[0] + ' = any;').join('');
    const any = 'const any = new Proxy(function () {}, { get: (t, k) => (k === Symbol.toPrimitive ? () => "" : any), apply: () => any });';
    return { url: 'data:text/javascript,' + encodeURIComponent(any + exports), shortCircuit: true };
  }`;
register('data:text/javascript,' + encodeURIComponent(hooks));
const { createReadToolDefinition } = await import(pathToFileURL(resolve(folder, 'dist/core/tools/read.js')));
let content = '';
const operations = { access: async () => {}, readFile: async () => Buffer.from(content), detectImageMimeType: async () => undefined };
const tool = createReadToolDefinition('/', { operations });

async function expected({ text, offset, limit }) {
  content = text;
  try {
    const { content: blocks, details } = await tool.execute('id', { path: 'a.txt', offset, limit });
    return { text: blocks[0].text, truncation: details?.truncation };
  } catch (error) {
    return { error: error.message };
  }
}


// Around the limits: few lines, close to 2000 of them, close to 51,200 bytes, long first lines.
function makeText() {
  const lines = pick([below(5), below(60), 1990 + below(20), 2000 + below(2000)]);
  const width = pick([0, 3, 12, below(60), Math.floor(51200 / (lines + 1)) + below(3) - 1]);
  const ink = pick(['x', 'é', '€', '😀', 'x\r', ' ']);
  const out = Array.from({ length: lines }, () => ink.repeat(Math.max(0, Math.floor((width + below(3) - 1) / Buffer.byteLength(ink)))));
  if (below(8) === 0 && lines > 0) out[below(2) % lines] = 'y'.repeat(51190 + below(20));
  const text = out.join('\n') + pick(['', '\n', '\n', '\n\n']);
  const missing = 51200 + below(5) - 2 - Buffer.byteLength(text);
  return below(4) === 0 && missing > 0 ? 'z'.repeat(missing) + text : text;
}
function makeRequest() {
  const text = makeText(), lines = text.split('\n').length, request = { text };
  if (below(2)) request.offset = 1 + below(lines + (below(10) ? 0 : 3));
  if (below(3) === 0) request.limit = 1 + below(pick([3, 2100, lines + 5]));
  return request;
}

const requests = Array.from({ length: COUNT }, makeRequest);
const input = requests.map((request) => JSON.stringify({ ...request, line_count: lineCount }) + '\n').join('');
const run = spawnSync(peer, { input, maxBuffer: 1 << 30 });
if (run.status !== 0) fail(`${peer} ended with ${run.status ?? run.signal ?? run.error}`);
const answers = run.stdout.toString('utf8').split('\n').slice(0, -1);
if (answers.length !== COUNT) fail(`${COUNT} requests, ${answers.length} answers`);

const sorted = (value) => JSON.stringify(value, (_, v) => (v && typeof v === 'object' ? Object.fromEntries(Object.entries(v).sort()) : v));
const counts = { plain: 0, lines: 0, bytes: 0, 'first line': 0, error: 0 };
for (let i = 0; i < COUNT; ++i) {
  const wanted = await expected(requests[i]), got = JSON.parse(answers[i]);
  const cut = wanted.truncation;
  counts[wanted.error ? 'error' : !cut ? 'plain' : cut.firstLineExceedsLimit ? 'first line' : cut.truncatedBy] += 1;
  if (sorted(wanted) !== sorted(got)) {
    const short = (value) => sorted(value).replace(/(.)\1{30,}/g, '$1...').slice(-600);
    fail(`difference with seed ${seed}, request ${i}`, short(requests[i]), `expected ${short(wanted)}`, `got      ${short(got)}`);
  }
}
if (Object.values(counts).some((count) => count < 20)) fail(`not everything was tried: ${JSON.stringify(counts)}`);
console.log(`${JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version} (${lineCount}): ${COUNT} texts, no difference, ${JSON.stringify(counts)}`);
