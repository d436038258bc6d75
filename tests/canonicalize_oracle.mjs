// Our canonical JSON against the npm package canonicalize, an implementation of RFC 8785 by others.
//   node canonicalize_oracle.mjs <canonicalize_peer> <folder of the package> [seed]
// Random JSON texts, the vectors of the RFC, and what both must refuse. Ends with 1 on any difference.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chance, fail } from './oracle_kit.mjs';

const [peer, folder, givenSeed] = process.argv.slice(2);
const { seed, random32, below, pick } = chance(givenSeed);
const version = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
if (version !== '5.1.0') fail(`canonicalize is ${version}, the pinned one is 5.1.0`);
const { default: canonicalize } = await import(pathToFileURL(resolve(folder, 'lib/canonicalize.js')));

const COUNT = 12000;

const times = (n, make) => Array.from({ length: n }, make);

function fromBits(high, low) {
  const view = new DataView(new ArrayBuffer(8));
  view.setUint32(0, high);
  view.setUint32(4, low);
  return view.getFloat64(0);
}

// ---- texts ----
function finite() {
  for (;;) {
    const number = fromBits(random32(), random32());
    if (Number.isFinite(number)) return number;
  }
}

const safe = (number) => (Number.isInteger(number) && Math.abs(number) > Number.MAX_SAFE_INTEGER ? number.toExponential() : String(number));
const digits = (n) => times(n, () => below(10)).join('');

// Integer tokens beyond 2^53 - 1 are left out: there Weir keeps the digits, which the C++ tests check.
const numberShapes = [
  () => safe(finite()),
  () => finite().toExponential(),
  () => finite().toExponential(below(21)),
  () => finite().toExponential().replace('e', 'E').replace('+', pick(['', '+'])),
  () => safe(fromBits(below(2) << 31, random32())), // subnormal
  () => safe(fromBits((below(2) << 31) | below(0x100000), random32())), // subnormal
  () => String((random32() % 0x200000) * 2 ** 32 + random32()), // up to 2^53 - 1
  () => '-' + String((random32() % 0x200000) * 2 ** 32 + random32()),
  () => pick(['9007199254740991', '-9007199254740991', '0', '-0', '0.0', '-0.0', '0e0', '-0E-7', '1', '1.0', '1e0', '100e-2']),
  () => String(below(1000)) + '.' + digits(1 + below(25)),
  () => pick(['', '-']) + (1 + below(9)) + '.' + digits(1 + below(30)) + pick(['e', 'E']) + pick(['', '+', '-']) + below(330),
  () => '0.' + '0'.repeat(below(12)) + digits(1 + below(20)),
  () => (1 + below(9)) + digits(14 + below(10)) + '.' + digits(1 + below(3)),
  () => '1e' + pick(['20', '21', '22', '23', '-5', '-6', '-7', '-323', '-324', '-325', '307', '308', '309', '400']),
  () => safe(2 ** (below(2098) - 1074)),
  () => safe((random32() + 0.5) / 2 ** below(60)),
];
const numberText = () => pick(numberShapes)();

const hex4 = (unit) => {
  const text = unit.toString(16).padStart(4, '0');
  return '\\u' + (below(2) ? text : text.toUpperCase());
};
const shortEscapes = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '"': '\\"', '\\': '\\\\', '/': '\\/' };
const characters = [
  () => String.fromCharCode(below(0x20)), // control characters
  () => pick(['"', '\\', '/', '\b', '\t', '\n', '\f', '\r', '\x7f']),
  () => String.fromCharCode(0x20 + below(0x5f)),
  () => String.fromCharCode(0x20 + below(0x5f)),
  () => String.fromCharCode(0x80 + below(0x780)),
  () => String.fromCharCode(0x800 + below(0xd000)),
  () => pick(['\u2028', '\u2029', '\ufeff', '\u0080', '\u00ad', '\ufffd', '\uffff', '\ufffe']),
  () => String.fromCharCode(0xe000 + below(0x2000)),
  () => String.fromCodePoint(0x10000 + below(0x100000)), // astral
];
const rawText = () => times(below(pick([2, 6, 30])), () => pick(characters)()).join('');

function stringText(text) {
  let out = '"';
  for (const character of text) {
    const code = character.charCodeAt(0);
    const must = code < 0x20 || character === '"' || character === '\\';
    if (character in shortEscapes && (must || below(2)) && below(2)) out += shortEscapes[character];
    else if (must || below(6) === 0) out += character.split('').map((unit) => hex4(unit.charCodeAt(0))).join('');
    else out += character;
  }
  return out + '"';
}

const space = () => (below(8) ? '' : pick([' ', '\t', '\r', '  ']));
const oddKeys = ['', '1', '10', '2', '02', 'a', 'A', 'aa', '__proto__', 'constructor', 'toJSON', '\ud800\udc00', '\ue000', '\uffff', '\udbff\udfff', '\u20ac', '\r', '\u0080', '\u00f6'];

function jsonText(depth) {
  const kind = below(depth > 0 ? 10 : 6);
  if (kind === 0) return pick(['null', 'true', 'false']);
  if (kind < 4) return numberText();
  if (kind < 6) return stringText(rawText());
  const count = below(pick([2, 4, 9]));
  if (kind < 8) return '[' + times(count, () => space() + jsonText(depth - 1) + space()).join(',') + ']';
  const keys = new Set(times(count, () => (below(2) ? pick(oddKeys) : rawText())));
  return '{' + [...keys].map((key) => space() + stringText(key) + space() + ':' + space() + jsonText(depth - 1) + space()).join(',') + '}';
}

// ---- comparing ----
function ask(lines) {
  const run = spawnSync(peer, { input: Buffer.concat(lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from('\n')]))), maxBuffer: 1 << 30 });
  if (run.status !== 0) fail(`${peer} ended with ${run.status ?? run.signal ?? run.error}`, String(run.stderr ?? ''));
  const answers = run.stdout.toString('utf8').split('\n').slice(0, -1);
  if (answers.length !== lines.length) fail(`${lines.length} texts, ${answers.length} answers`);
  return answers;
}

function expected(text) {
  try {
    return 'ok ' + canonicalize(JSON.parse(text));
  } catch {
    return 'refused';
  }
}

function compare(name, texts, wanted) {
  const answers = ask(texts);
  const counts = { ok: 0, refused: 0 };
  answers.forEach((answer, i) => {
    counts[answer.split(' ', 1)[0]] += 1;
    if (answer !== wanted[i]) fail(`${name}: difference with seed ${seed}`, `text     ${texts[i]}`, `expected ${wanted[i]}`, `got      ${answer}`);
  });
  console.log(`${name}: ${texts.length} texts, ${counts.ok} read, ${counts.refused} refused, no difference`);
  return counts;
}

// Random texts, and their canonical texts again.
const texts = times(COUNT, () => jsonText(5));
const wanted = texts.map(expected);
const counts = compare('random', texts, wanted);
if (counts.ok < 10000) fail(`only ${counts.ok} of the random texts are JSON`);
const canonical = wanted.filter((answer) => answer !== 'refused').map((answer) => answer.slice(3));
compare('canonical again', canonical, canonical.map((text) => 'ok ' + text));

// Appendix B of RFC 8785: bits and text.
const vectors = [
  ['0000000000000000', '0'], ['8000000000000000', '0'], ['0000000000000001', '5e-324'], ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'], ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'], ['c340000000000000', '-9007199254740992'], ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'], ['44b52d02c7e14af6', '1e+23'], ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'], ['444b1ae4d6e2ef4f', '999999999999999900000'], ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'], ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'], ['41b3de4355555554', '333333333.33333325'], ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'], ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'], ['43143ff3c1cb0959', '1424953923781206.2'],
];
const values = vectors.map(([bits]) => fromBits(parseInt(bits.slice(0, 8), 16), parseInt(bits.slice(8), 16)));
vectors.forEach(([bits, text], i) => {
  if (canonicalize(values[i]) !== text) fail(`canonicalize gives ${canonicalize(values[i])} for ${bits}, the RFC ${text}`);
});
compare('RFC 8785 B, bits to text', values.map((value) => value.toExponential(20)), vectors.map(([, text]) => 'ok ' + text));
compare('RFC 8785 B, text to text', vectors.map(([, text]) => text), vectors.map(([, text]) => 'ok ' + text));

// What must be refused, and who says so. JSON.parse takes the last of equal keys, so it is no judge of those.
const refusals = [
  ['RFC 8259', 'NaN'], ['RFC 8259', 'Infinity'], ['RFC 8259', '-Infinity'], ['RFC 8259', '[NaN]'], ['RFC 8259', '01'], ['RFC 8259', "'a'"],
  ['RFC 8259', '[1,]'], ['RFC 8259', '\ufeff1'], ['RFC 8259', '"\t"'], ['RFC 8259', ''],
  ['RFC 8785 3.2.2.3', '1e400'], ['RFC 8785 3.2.2.3', '-1e400'], ['RFC 8785 3.2.2.3', '1' + '0'.repeat(500) + 'e-100'],
  ['RFC 7493 2.1', '"\\ud800"'], ['RFC 7493 2.1', '"\\udc00"'], ['RFC 7493 2.1', '"\\udc00\\ud800"'], ['RFC 7493 2.1', '"\\ud800\\u0041"'],
  ['RFC 7493 2.1', '{"\\ud800":1}'], ['RFC 7493 2.1', Buffer.from([0x22, 0xff, 0x22])], ['RFC 7493 2.1', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['RFC 7493 2.3', '{"a":1,"a":1}'], ['RFC 7493 2.3', '{"a":1,"\\u0061":2}'], ['RFC 7493 2.3', '[{"b":{"c":1,"d":2,"c":3}}]'],
  ['Weir', '['.repeat(65) + ']'.repeat(65)], ['Weir', '1'.repeat(4097)],
];
compare('refusals', refusals.map(([, text]) => text), refusals.map(() => 'refused'));
for (const [by, text] of refusals) {
  const judged = typeof text === 'string' && by !== 'RFC 7493 2.3' && by !== 'Weir';
  if (judged && expected(text) !== 'refused') fail(`canonicalize takes ${text}, which ${by} refuses`);
}
