type Random = (below: number) => number;
type Mutation = (text: string, random: Random) => string | Buffer;

const oddities = [
  'null',
  '-1',
  '1e400',
  '18446744073709551616',
  '9007199254740993',
  '1.0',
  '""',
  '[]',
  '{}',
  'true',
  '"\\ud800"',
  `${'['.repeat(5000)}${']'.repeat(5000)}`,
  `"${'x'.repeat(100_000)}"`,
];

const pick = <T>(list: readonly T[], random: Random): T => list[random(list.length)]!;
const cutAt = (text: string, random: Random): [string, string] => {
  const at = random(text.length + 1);
  return [text.slice(0, at), text.slice(at)];
};

const mutations: readonly Mutation[] = [
  (text) => text,
  (text) => Buffer.from(text),
  (text, random) => {
    const bytes = Buffer.from(text);
    for (let flips = 1 + random(4); flips > 0; flips--) bytes[random(bytes.length)]! ^= 1 << random(8);
    return bytes;
  },
  (text, random) => cutAt(text, random)[0],
  (text, random) => cutAt(text, random).join(String.fromCharCode(random(0x250))),
  (text, random) => text.replace(/"(\w+)":/, (member) => `${member}${pick(oddities, random)},${member}`),
  (text, random) => replaceValue(text, random),
  (text, random) => replaceValue(replaceValue(text, random) as string, random),
  (text) => text.replace(/"id":\d+,/, ''),
  (text, random) => text.replace(/"id":\d+/, `"id":${pick(oddities, random)}`),
  (text, random) => text.replace(/"params":\{/, () => `"params":{"extra":${pick(oddities, random)},`),
  (_text, random) =>
    `{"method":"${pick(['initialized', 'process/output', 'x', ''], random)}","params":${pick(oddities, random)}}`,
  (_text, random) => `{"id":${random(50)},"${pick(['result', 'error'], random)}":${pick(oddities, random)}}`,
  (_text, random) => Buffer.from(Array.from({ length: random(200) }, () => random(256))),
  (_text, random) =>
    pick(['', ' ', '\n', '[]', '{}', 'null', '{"id":1}', '{"method":1,"id":1}', '[{"id":1,"method":"x"}]'], random),
  (text, random) =>
    text.replace(
      /"method":"[^"]*"/,
      `"method":"${pick(['initialize', 'process/read', 'fs/readBlock', '__proto__', 'constructor'], random)}"`,
    ),
];

/** Some value of some member becomes something else. */
function replaceValue(text: string, random: Random): string {
  const values = [...text.matchAll(/:("(?:[^"\\]|\\.)*"|-?\d+|true|false|null)/g)];
  const chosen = values[random(Math.max(1, values.length))];
  if (!chosen) return text;
  const start = chosen.index + 1;
  return text.slice(0, start) + pick(oddities, random) + text.slice(start + chosen[1]!.length);
}

/** A message as a broken or hostile client might have sent it. */
export function mutate(text: string, random: Random): string | Buffer {
  return pick(mutations, random)(text, random);
}
