// The schemas in schemas/ against Weir's own validators.
//   node schemas_test.mjs <schema_peer> <folder of npm packages> <root of the repository> [seed] [count]
// ajv judges by the schemas, the peer by the validators, on documents written by hand, recorded ones, and random changes of
// all of them. They must agree but for the exceptions that schemas/README.md names. Ends with 1 on any difference.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { chance, fail } from './oracle_kit.mjs';

const [peer, packages, root, givenSeed, givenCount] = process.argv.slice(2);
const { seed, below, pick } = chance(givenSeed);
const COUNT = Number(givenCount ?? 8000);

// ajv finds the packages it needs beside itself, as no node_modules is there.
process.env.NODE_PATH = resolve(packages);
Module._initPaths();
const require = createRequire(join(resolve(packages), 'x.js'));
const Ajv2020 = require('ajv/dist/2020').default;

const kinds = ['perspectives', 'summary_pack', 'manifest', 'gates', 'citation'];
const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
const validators = Object.fromEntries(kinds.map((kind) => {
  const schema = JSON.parse(readFileSync(join(root, `schemas/${kind}.v1.json`), 'utf8'));
  if (!ajv.validateSchema(schema)) fail(`schemas/${kind}.v1.json is no schema`, ajv.errorsText());
  return [kind, ajv.compile(schema)];
}));

// ---- what the schemas cannot say: an error of Weir's that they need not have ----
const RUN = 'dr_fx';
const AGENTS = ['ClaudeResearcher', 'GeminiResearcher'];
const at = (value, path) => path.replace(/\[(\d+)\]/g, '.$1').split('.').slice(1).reduce((found, key) => found?.[key], value);
const matches = (kind, path, value) => {
  const { properties, $defs } = JSON.parse(readFileSync(join(root, `schemas/${kind}.v1.json`), 'utf8'));
  return new RegExp((properties[path] ?? {}).pattern ?? $defs.utc.pattern, 'u').test(value);
};
const notBlank = (value) => typeof value === 'string' && /\S/u.test(value);
const exceptions = {
  unique_ids: (kind, error) => error.code === 'DUPLICATE_PERSPECTIVE_ID',
  run_id: (kind, error, value) => /^\$\.run_id$/.test(error.path) && /^(perspectives|summary-pack)\.run_id invalid$/.test(error.message) && notBlank(value.run_id),
  agent_type: (kind, error) => error.message === 'perspective.agent_type unknown',
  calendar: (kind, error, value) => /\.(created|generated)_at invalid$/.test(error.message) && matches(kind, 'time', at(value, error.path)),
  gate_key: (kind, error, value) => error.message === 'gate.id must match key' && !/^\$\.gates\.[A-F]\.id$/.test(error.path) && value.gates && Object.entries(value.gates).some(([key, gate]) => !/^[A-F]$/.test(key) && typeof gate?.id === 'string' && gate.id !== key && error.path === `$.gates.${key}.id`),
  cid_hash: (kind, error, value) => error.code === 'CID_MISMATCH' && matches('citation', 'cid', value.cid),
  snippet_bytes: (kind, error, value) => error.message === 'citation.evidence_snippet invalid' && typeof value.evidence_snippet === 'string' && [...value.evidence_snippet].length <= 2048,
};
const named = [...readFileSync(join(root, 'schemas/README.md'), 'utf8').matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name);
if (JSON.stringify(named) !== JSON.stringify(Object.keys(exceptions))) fail('schemas/README.md names other exceptions', named.join(' '), Object.keys(exceptions).join(' '));

// ---- documents ----
const readLines = (name) => readFileSync(join(root, 'tests/data/research-cases', name), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line.replaceAll('$RUN', '/run')));
const readJson = (name) => JSON.parse(readFileSync(join(root, 'tests/data/research-cases/example', name), 'utf8'));
const cidOf = (url) => 'cid_' + createHash('sha256').update(url).digest('hex');

const documents = []; // [kind, value]
const add = (kind, ...values) => values.forEach((value) => documents.push([kind, value]));
for (const kind of ['perspectives', 'manifest', 'gates']) add(kind, ...readLines(`${kind}.jsonl`).map((one) => one.args.value));
for (const one of readLines('gate_d_evaluate.jsonl')) {
  try {
    add('summary_pack', JSON.parse(one.files['summaries/summary-pack.json']));
  } catch {
    // a case without a pack, or with one that is no JSON
  }
}
for (const one of readLines('citations_validate.jsonl')) add('citation', ...(one.files_written['citations/citations.jsonl'] ?? '').split('\n').filter(Boolean).map((line) => JSON.parse(line)));
add('perspectives', { ...readJson('perspectives.json'), run_id: RUN });
add('summary_pack', { ...readJson('summaries/summary-pack.json'), run_id: RUN });
add('citation', ...readLines('example/citations/citations.jsonl'));

// By hand: a document of each kind with every optional member.
const clone = (value) => JSON.parse(JSON.stringify(value));
const full = Object.fromEntries(kinds.map((kind) => [kind, clone(documents.find(([other, value]) => other === kind && value !== null && validators[kind](value))[1])]));
for (const document of Object.values(full)) if ('run_id' in document) document.run_id = RUN;
Object.assign(full.perspectives.perspectives[0], { expected_platforms: ['docs'], platform_requirements: [{ name: 'n', reason: 'r' }], tool_policy: { primary: ['a'], secondary: [], forbidden: ['b'] }, source_artifact: 'wave-2/a/b.md' });
Object.assign(full.summary_pack.limits, { max_pack_json_kb: 60, max_synthesis_input_kb: 120.5 });
Object.assign(full.manifest.limits, { max_pack_json_kb: 60, max_synthesis_input_kb: 120.5, min_wave_rate: 0.8 });
Object.assign(full.manifest.stage, { last_progress_at: '2026-02-13T12:00:00.000Z', history: [{ from: 'init', to: 'wave1', ts: 't', reason: 'r', inputs_digest: 'sha256:0', gates_revision: 1 }] });
full.gates.gates.D = { ...full.gates.gates.A, id: 'D', status: 'pass', checked_at: 't', checks: { bounds: 'pass' }, reasons: ['X'], inputs_digest: 'sha256:0', artifacts: ['a'], warnings: ['w'] };
full.gates.gates.G = { ...full.gates.gates.A, id: 'G', class: 'soft', status: 'warn', checked_at: 't' };
Object.assign(full.citation, { http_status: 200, title: 'T', publisher: 'P', evidence_snippet: 'é', checked_by: 'c', found_by: [{ wave: 1, perspective_id: 'p1', agent_type: 'a', artifact_path: 'wave-1/p1.md', source_line: '-' }] });
for (const kind of kinds) add(kind, full[kind]);
const changed = (kind, change) => {
  const value = clone(full[kind]);
  change(value);
  add(kind, value);
};
for (const n of [0, 19, 20, 21]) changed('citation', (d) => { d.found_by = Array.from({ length: n }, () => d.found_by[0]); });

// One document for each exception, and whom it belongs to.
const excepted = {
  unique_ids: ['perspectives', (d) => d.perspectives.push({ ...d.perspectives[0], id: d.perspectives[0].id.toUpperCase() })],
  run_id: ['perspectives', (d) => { d.run_id = 'another'; }],
  agent_type: ['perspectives', (d) => { d.perspectives[0].agent_type = 'nobody'; }],
  calendar: ['perspectives', (d) => { d.created_at = '2026-02-30T12:00:00Z'; }],
  gate_key: ['gates', (d) => { d.gates.G = { ...d.gates.A, id: 'H' }; }],
  cid_hash: ['citation', (d) => { d.normalized_url += 'x'; }],
  snippet_bytes: ['citation', (d) => { d.evidence_snippet = 'é'.repeat(1025); }],
};
const firstExcepted = documents.length;
for (const [kind, change] of Object.values(excepted)) changed(kind, change);
changed('summary_pack', (d) => { d.run_id = 'another'; });
changed('summary_pack', (d) => { d.generated_at = '2026-04-31T12:00:00Z'; });

// ---- random changes ----
const odd = [
  null, true, false, 0, 1, -1, 1.5, 100, 101, 1e300, '', ' ', '\u00a0\ufeff', 'x', 'p1', 'P1', 'a..b', 'p.', '.x', '../x', '/abs', 'wave-1/x', 'wave-1/../x', 'wave-1/x/', 'summaries/x.md', 'summaries',
  'summaries//x', 'summaries/./x', 'a\\b', 'a/b', 'a\u0000b', 'a\nb', '\u200b', 'é', '2026-02-13T12:00:00Z', '2026-02-13t12:00:00.5+00:00', '2026-02-13T12:00:00+01:00', '2026-02-29T12:00:00Z', '2026-02-13', '2026', '2026-02-13T12:00', '2026-13-01', '2026-02-13T24:00', '2026-02-13T25:00', '2026-02-13T12:00:60Z', '2026-02-13T12:00.5+23:59',
  'soft', 'hard', 'warn', 'pass', 'not_run', 'standard', 'Standard', 'valid', 'great', 'sha256:0', 'cid_a', cidOf('https://a.com/x'), 'https://a.com/x', 'x'.repeat(2048), 'é'.repeat(2048), 'x'.repeat(2049), 'a'.repeat(64), 'a'.repeat(65),
  [], {}, [1], ['x'], ['x', 'x'], ['x', ''], [null], { a: 1 }, { a: -1 }, { name: 'n', reason: 'r' }, [{}], [{ name: 'n', reason: '' }], { primary: [], secondary: [], forbidden: [] },
];
const extraKeys = ['zz', 'G', 'source_artifact', 'tool_policy', 'platform_requirements', 'expected_platforms', 'max_pack_json_kb', 'min_wave_rate', 'last_progress_at', 'checks', 'reasons', 'inputs_digest', 'http_status', 'evidence_snippet', 'title', 'wave', 'sensitivity', 'constraints', 'agents'];
function places(value, found = []) {
  if (value === null || typeof value !== 'object') return found;
  found.push(value);
  Object.values(value).forEach((inner) => places(inner, found));
  return found;
}
function mutate(value) {
  const holders = places(value);
  if (holders.length === 0) return;
  const holder = pick(holders);
  const keys = Object.keys(holder);
  const other = () => clone(below(4) ? pick(odd) : pick(documents)[1]);
  const action = below(10);
  if (action === 0 && !Array.isArray(holder)) holder[pick(extraKeys)] = other();
  else if (keys.length === 0) Array.isArray(holder) ? holder.push(other()) : (holder.a = other());
  else if (action < 3) Array.isArray(holder) ? holder.splice(below(keys.length), 1) : delete holder[pick(keys)];
  else if (action < 5 && Array.isArray(holder)) holder.push(clone(holder[below(holder.length)]));
  else if (action === 5) holder[pick(keys)] = clone(holder[pick(keys)]);
  else holder[pick(keys)] = other();
}
// Each place of the full documents with each odd value, and without what is there.
for (const kind of kinds) {
  places(full[kind]).forEach((holder, h) => {
    for (const key of Object.keys(holder)) {
      const inPlace = (change) => changed(kind, (d) => change(places(d)[h]));
      inPlace((there) => (Array.isArray(there) ? there.splice(Number(key), 1) : delete there[key]));
      for (const value of odd) inPlace((there) => { there[key] = clone(value); });
    }
  });
}
const sources = documents.filter(([, value]) => value !== null && typeof value === 'object');
for (let i = 0; i < COUNT; i += 1) {
  const [kind, source] = pick(sources);
  const value = clone(source);
  for (let n = 1 + below(pick([1, 1, 2, 4])); n > 0; n -= 1) mutate(value);
  if (kind === 'citation' && typeof value.normalized_url === 'string' && below(4)) value.cid = cidOf(value.normalized_url);
  documents.push([kind, value]);
}
for (const kind of kinds) add(kind, null, [], 'x', 3, {}, true);

// ---- comparing ----
const requests = documents.map(([kind, value]) => JSON.stringify({ kind, pass: 'write', run_id: RUN, agents: AGENTS, value }));
const run = spawnSync(peer, { input: requests.map((line) => line + '\n').join(''), maxBuffer: 1 << 30 });
if (run.status !== 0) fail(`${peer} ended with ${run.status ?? run.signal ?? run.error}`, String(run.stderr ?? ''));
const answers = run.stdout.toString('utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
if (answers.length !== documents.length) fail(`${documents.length} documents, ${answers.length} answers`);

const counts = Object.fromEntries(kinds.map((kind) => [kind, { valid: 0, invalid: 0 }]));
const met = Object.fromEntries(Object.keys(exceptions).map((name) => [name, 0]));
documents.forEach(([kind, value], i) => {
  const { errors } = answers[i];
  const bySchema = validators[kind](value);
  const reasons = errors.map((error) => Object.keys(exceptions).find((name) => exceptions[name](kind, error, value)));
  const byWeir = reasons.every((reason) => reason !== undefined);
  if (byWeir) reasons.forEach((reason) => { met[reason] += 1; });
  if (bySchema !== byWeir) {
    fail(`${kind}: difference with seed ${seed}`, `value  ${JSON.stringify(value).slice(0, 3000)}`, `schema ${bySchema ? 'valid' : ajv.errorsText(validators[kind].errors)}`, `weir   ${JSON.stringify(errors)}`);
  }
  counts[kind][bySchema ? 'valid' : 'invalid'] += 1;
});
Object.keys(excepted).forEach((name, i) => {
  const reasons = answers[firstExcepted + i].errors.map((error) => Object.keys(exceptions).find((other) => exceptions[other](documents[firstExcepted + i][0], error, documents[firstExcepted + i][1])));
  if (reasons.length !== 1 || reasons[0] !== name) fail(`the document for ${name} is refused for ${JSON.stringify(answers[firstExcepted + i].errors)}`);
});
for (const [kind, { valid, invalid }] of Object.entries(counts)) {
  if (COUNT >= 8000 && (valid < 50 || invalid < 50)) fail(`${kind}: ${valid} valid, ${invalid} invalid: too few to tell`);
  console.log(`${kind}: ${valid} valid, ${invalid} invalid, no difference`);
}
console.log('exceptions met: ' + Object.entries(met).map(([name, n]) => `${name} ${n}`).join(', '));
