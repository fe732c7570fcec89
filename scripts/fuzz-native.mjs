// Feeds the C parsers with mutated input under AddressSanitizer and UndefinedBehaviorSanitizer:
//   npm run fuzz:native              10 million rounds, shared among the parsers
//   FUZZ_ROUNDS=200000 FUZZ_SEED=7   fewer, and the same ones again
// Exit codes: 0 clean, 1 something was found; the round that found it is printed.
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativeSource } from './native-targets.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const output = join(root, 'build', 'fuzz');
const rounds = Number(process.env.FUZZ_ROUNDS ?? 10_000_000);
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));

const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer'];
const flags = ['-std=gnu17', '-O1', '-g', '-Wall', '-Wextra', '-Werror', ...sanitizers];

const json = ['shared/bytes', 'shared/json-read', 'shared/json-write'];
const broker = ['answers', 'command', 'control', 'escalation', 'handshake', 'sessions', 'shell'].map(
  (part) => `broker/${part}`,
);

const patterns = [
  'byte-set',
  'dfa',
  'dfa-states',
  'glob',
  'ignore-glob',
  'literal',
  'program',
  'regex-brackets',
  'regex-parse',
  'required',
  'syntax',
].map((part) => `search/${part}`);

/** A parser, the sources it consists of, and its share of all rounds. */
const targets = [
  { name: 'json', parts: json, share: 0.25 },
  { name: 'base64', parts: ['shared/base64', 'shared/base64-decode'], share: 0.15 },
  { name: 'stage', parts: ['stage/network', 'shared/send-descriptors', 'shared/bytes'], share: 0.05 },
  {
    name: 'answer',
    parts: [
      ...['wrapper/frames', 'wrapper/request', 'wrapper/complain'],
      ...['shared/base64', 'shared/limits', 'shared/send-descriptors', ...json],
    ],
    share: 0.1,
  },
  { name: 'request', parts: ['wrapper/request', 'shared/base64', 'shared/limits', ...json], share: 0.1 },
  { name: 'frames', parts: ['wrapper/frames', 'shared/bytes', 'shared/send-descriptors'], share: 0.04 },
  { name: 'watch', parts: ['watch/request', 'watch/changes'], defines: ['-DMOST_CHANGES=6'], share: 0.01 },
  { name: 'command', parts: ['broker/command', 'shared/limits', 'broker/strings', 'shared/bytes'], share: 0.1 },
  { name: 'broker', parts: [...broker, 'shared/limits', 'broker/strings', ...json], share: 0.1 },
  { name: 'regex', parts: patterns, share: 0.05 },
  { name: 'ignore', parts: ['search/ignore', ...patterns], share: 0.05 },
];

function build({ name, parts, defines = [] }) {
  const sources = [`fuzz/fuzz-${name}.c`, 'fuzz/fuzz-main.c', ...parts.map((part) => `${part}.c`)].map(nativeSource);
  const { status } = spawnSync('cc', [...flags, ...defines, '-o', join(output, name), ...sources], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
}

function run({ name, share }) {
  const count = Math.ceil(rounds * share);
  // A file, because a stage reads from whatever descriptor it is told to: a terminal or a socket would keep it waiting.
  const log = openSync(join(output, `${name}.log`), 'w');
  const child = spawn(join(output, name), [String(count), String(seed)], { stdio: ['ignore', 'ignore', log] });
  closeSync(log);
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      const clean = code === 0;
      if (!clean) process.stderr.write(readFileSync(join(output, `${name}.log`)));
      console.log(`${name}: ${clean ? `${count} rounds, clean` : `failed (${signal ?? code}) with seed ${seed}`}`);
      resolve(clean);
    });
  });
}

mkdirSync(output, { recursive: true });
for (const target of targets) build(target);
console.log(`seed ${seed}`);
const waiting = [...targets];
const results = await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    let clean = true;
    for (let target = waiting.shift(); target; target = waiting.shift()) clean = (await run(target)) && clean;
    return clean;
  }),
);
process.exitCode = results.every(Boolean) ? 0 : 1;
