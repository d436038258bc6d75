// Normal forms of URLs against a model that stands on node's URL and URLSearchParams.
//   node url_oracle.mjs <url_peer> [seed] [count]
// Random odd URLs, and a list of those that parsers disagree about. Ends with 1 on any difference.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chance, fail } from './oracle_kit.mjs';

const [peer, givenSeed, givenCount] = process.argv.slice(2);
const { seed, below, pick } = chance(givenSeed);
const COUNT = Number(givenCount ?? 6000);
const times = (n, make) => Array.from({ length: n }, make);

// ---- the model ----
const order = ' _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789';
function rank(character) {
  if (order.includes(character)) return order.indexOf(character);
  if (/^[a-z]$/i.test(character)) return 100 + character.toLowerCase().charCodeAt(0);
  return 1000 + character.codePointAt(0);
}
function compareT(a, b) {
  const x = [...a], y = [...b];
  for (let i = 0; i < Math.min(x.length, y.length); i += 1) {
    if (rank(x[i]) !== rank(y[i])) return rank(x[i]) - rank(y[i]);
  }
  if (x.length !== y.length) return x.length - y.length;
  const i = x.findIndex((character, k) => character !== y[k]);
  return i < 0 ? 0 : x[i] === x[i].toLowerCase() ? -1 : 1;
}

const secretParts = new Set(['token', 'key', 'apikey', 'auth', 'session', 'sessionid', 'password', 'passwd', 'secret']);
const asciiLower = (text) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const isSecret = (key) => asciiLower(key).split(/[_.-]/).some((part) => secretParts.has(part));
const isTracking = (key) => /^(utm_|gclid$|fbclid$)/.test(asciiLower(key));

function shownOf(url) {
  const [, main, fragment] = /^([^#]*)(#.*)?$/s.exec(url.href);
  const mark = main.indexOf('?');
  if (mark < 0) return url.href;
  const masked = main.slice(mark + 1).split('&').map((pair) => {
    const at = pair.indexOf('=');
    if (at < 0 || at === pair.length - 1) return pair;
    const [[key]] = new URLSearchParams('x' + pair.slice(0, at)); // an `x` keeps an empty key
    return isSecret(key.slice(1)) ? pair.slice(0, at) + '=[REDACTED]' : pair;
  });
  return main.slice(0, mark + 1) + masked.join('&') + (fragment ?? '');
}

function expected(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return 'refused';
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'refused';
  const userInfo = url.username !== '' || url.password !== '';
  url.username = '';
  url.password = '';
  const pairs = [...url.searchParams].filter(([key]) => !isTracking(key)).map(([key, value]) => [key, isSecret(key) ? '[REDACTED]' : value]);
  pairs.sort(([k, v], [l, w]) => compareT(k, l) || compareT(v, w));
  const query = pairs.map(([key, value]) => encodeURIComponent(key) + '=' + encodeURIComponent(value)).join('&');
  const path = url.pathname.length > 1 && url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname;
  const normal = `${url.protocol}//${url.host}${path}${query && '?' + query}`;
  const cid = 'cid_' + createHash('sha256').update(normal).digest('hex');
  return 'ok ' + JSON.stringify({ cid, normal, shown: shownOf(url), user_info: userInfo });
}

// ---- URLs ----
const character = () => pick([
  () => String.fromCharCode(0x20 + below(0x5f)),
  () => pick([...'/?#[]@:!$&\'()*+,;=%\\|^`"<>{}~._- ']),
  () => String.fromCharCode(below(0x20)),
  () => pick(['%20', '%2e', '%2E', '%2F', '%25', '%00', '%zz', '%', '%e2%82', '%C3%A9', '%ff', '%F0%9F%98%80', '+']),
  () => pick(['é', 'ß', '日本', '😀', '\u00a0', '\u200b', '\ufeff', '\ud7ff', '\ue000', '\u{10ffff}', '\u0301']),
])();
const text = (most) => times(below(most), () => (below(3) ? pick([...'abcXYZ019-_.']) : character())).join('');

const number = () => pick([() => String(below(300)), () => '0x' + below(300).toString(16), () => '0' + below(300).toString(8), () => String(below(2 ** 31) * 3), () => pick(['0', '255', '256', '65535', '65536', '16777216', '4294967295', '4294967296', '0x', '08'])])();
const hosts = [
  () => pick(['example.com', 'EXAMPLE.Com', 'a', 'localhost', 'x-y.z_w', 'example.com.', '..', 'a..b', '.', '-a-', 'xn--', 'xn--a', 'xn--bcher-kva.example', 'XN--BCHER-KVA.example']),
  () => pick(['bücher.example', 'BÜCHER.example', 'faß.de', 'straße.de', '日本語.jp', 'ｅｘａｍｐｌｅ.com', 'a\u00adb.com', 'a\u200db.com', 'i❤.ws', '☃.net', 'ex。ample', '%65xample.com', 'ex%41mple', 'ex%2fample', '%ff.com', 'א.com', 'σς.gr', 'ﬁ.com', 'Å.com']),
  () => times(1 + below(5), number).join('.') + pick(['', '.']),
  () => '[' + pick(['::1', '::', '1:2:3:4:5:6:7:8', '1::8', '::ffff:1.2.3.4', '1:2:3', '::1.2.3.256', '2001:DB8::A', '0:0:1:0:0:0:1:0', 'g::', '::1%25eth0', '1:2:3:4:5:6:1.2.3.4']) + ']',
  () => text(8),
];
const host = () => pick(hosts)();
const keys = ['a', 'b', 'B', 'b1', 'b_x', 'utm_source', 'UTM_x', 'utm', 'gclid', 'FBCLID', 'fbclid2', 'key', 'api_key', 'API-KEY', 'keyword', 'x.token', 'to%6ben', '%75tm_a', 'session.id', 'sessionid', '', 'ä', 'token%5f', '😀', '\ue000'];
const pair = () => pick([() => pick(keys) + '=' + text(5), () => pick(keys), () => text(6), () => text(4) + '=' + text(4)])();
const url = () => [
  pick(['', '', '', ' ', '\t', '\u0000 ']),
  pick(['https://', 'http://', 'HTTPS://', 'hTTp://', 'https:', 'https:/', 'https:\\\\', 'http:///', 'ht\ntps://', 'ftp://', 'wss://', 'x', '//', 'file:///', 'https//']),
  pick(['', '', '', () => text(4) + '@', () => text(3) + ':' + text(3) + '@', '@', ':@', 'u:p@v@']),
  host,
  pick(['', '', '', () => ':' + below(70000), ':', ':443', ':80', ':0080', ':x', ': 8']),
  pick(['', '/', '/', () => '/' + times(below(5), () => pick(['..', '.', '%2e%2e', '%2E', 'a', 'A b', '', 'é', text(5)])).join(pick(['/', '/', '\\'])) + pick(['', '/', '//'])]),
  pick(['', '', '?', () => '?' + times(below(6), pair).join('&'), () => '?' + text(20)]),
  pick(['', '', '', '#', () => '#' + text(8), '#?token=a']),
  pick(['', '', ' ', '\n']),
].map((part) => (typeof part === 'function' ? part() : part)).join('');

const fixed = [
  'https://1.2.3.256/', 'https://1.2.65536/', 'https://1.16777216/', 'https://4294967296/', 'https://256/', 'https://0x/', 'https://09.1/', 'https://1.2.3.4.5/',
  'https://a.com/?', 'https://a.com/#', 'https://a.com/?#', 'https://a.com/?&', 'https://a.com/?=', 'https://a.com/?a=%E2%82%41', 'https://a.com/a//', 'https://a.com//',
  'https://a.com/;x=1?y;z', "https://a.com/'?'", 'https://a.com/|^`{}?|^`{}', 'https://a.com/%7Euser', 'https://a.com/~user', 'https://a.com/?b1=2&b_x=1',
  'https://example.com:443/', 'http://example.com:443/', 'https://example.com:0/', 'https://u:p%40@a.com/', 'https://@a.com/', 'https://:@a.com/',
];

// ---- comparing ----
const urls = [...fixed, ...times(COUNT, url)].map((one) => one.toWellFormed?.() ?? one);
const run = spawnSync(peer, { input: urls.map((one) => JSON.stringify(one) + '\n').join(''), maxBuffer: 1 << 30 });
if (run.status !== 0) fail(`${peer} ended with ${run.status ?? run.signal ?? run.error}`, String(run.stderr ?? ''));
const answers = run.stdout.toString('utf8').split('\n').slice(0, -1);
if (answers.length !== urls.length) fail(`${urls.length} URLs, ${answers.length} answers`);
let read = 0;
const differing = [];
answers.forEach((answer, i) => {
  if (answer !== 'refused') read += 1;
  const wanted = expected(urls[i]);
  if (answer !== wanted) differing.push([`url      ${JSON.stringify(urls[i])}`, `expected ${wanted}`, `got      ${answer}`].join('\n'));
});
if (differing.length > 0) fail(`${differing.length} differences with seed ${seed}`, ...differing.slice(0, 10));
console.log(`${urls.length} URLs, ${read} read, ${urls.length - read} refused, no difference`);
if (read < COUNT / 4) fail(`only ${read} of the random URLs are URLs`);
