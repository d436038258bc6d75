// What the oracles share: chance that a seed repeats (mulberry32), and how they end when something differs.
export function fail(...lines) {
  console.error(lines.join('\n'));
  process.exit(1);
}

// Prints the seed it took.
export function chance(givenSeed) {
  const seed = givenSeed === undefined ? Date.now() >>> 0 : Number(givenSeed) >>> 0;
  console.log(`seed ${seed}`);
  let state = seed;
  function random32() {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
  const below = (n) => random32() % n;
  const pick = (list) => list[below(list.length)];
  return { seed, random32, below, pick };
}
