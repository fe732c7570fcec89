import type { RandomSource } from '../random-source.ts';
import type { Params, Place } from '../step.ts';
import { chunk } from './files.ts';
import { path } from './paths.ts';
import { sandbox } from './sandboxes.ts';

type Call = readonly [method: string, params?: Params];

/** Commands that end by themselves, and change files in the directory of a sequence alone. */
const ending: readonly (readonly string[])[] = [
  ['/bin/true'],
  ['/bin/false'],
  ['/bin/echo', 'one', 'two'],
  ['/bin/echo', 'ä', '', '\u{1f600}'],
  ['sh', '-c', 'echo out; echo err >&2; exit 3'],
  ['sh', '-c', 'kill -9 $$'],
  ['sh', '-c', 'kill -TERM $$'],
  ['sh', '-c', 'exit 255'],
  ['sh', '-c', 'pwd; echo "$A"'],
  ...[
    'echo x > made; cat made',
    'mkdir -p deep/er && ls -d deep/er; cat file',
    'rm -rf folder; ls',
    'echo x > .git',
  ].map((script) => ['sh', '-c', `test -f program || exit 9; ${script}`]),
  ['sh', '-c', 'echo Permission denied; exit 1'],
  ['sh', '-c', 'stty size 2>/dev/null || echo none'],
  ['sh', '-c', 'readlink /proc/self/fd/0 | sed s/[0-9].*//'],
  ['sh', '-c', 'env | sort'],
  ['program'],
  ['./program'],
];

/** Commands that wait. */
const waiting: readonly (readonly string[])[] = [
  ['cat'],
  ['cat'],
  ['sleep', '900'],
  ['sh', '-c', 'echo ready; exec cat'],
];

const failing: readonly (readonly string[])[] = [
  [],
  [''],
  ['nowhere'],
  ['./nowhere'],
  ['../nowhere'],
  ['folder/nowhere'],
  ['/nowhere/x'],
  ['/etc'],
  ['/etc/passwd'],
  ['./folder'],
  ['.'],
  ['..'],
  ['/bin/echo', 'a\0b'],
  ['s\0h'],
  ['./s\0h'],
  ['/bin/s\0h'],
  ['folder'],
  ['./file'],
];

const environments: readonly Params[] = [
  { PATH: '/usr/bin:/bin', A: 'ä' },
  { PATH: '/usr/bin:/bin' },
  { PATH: '/usr/bin:/bin', TMPDIR: '/tmp' },
  { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', TERM: 'dumb' },
];

const oddEnvironments: readonly unknown[] = [
  {},
  { PATH: '/nowhere' },
  { PATH: '' },
  { PATH: '.:/usr/bin:/bin' },
  { PATH: '/usr/bin:/bin', A: 'a\0b' },
  { PATH: '/usr/bin:/bin', 'A\0': 'b' },
  { PATH: '/usr/bin:/bin', 'A=B': 'c' },
  { PATH: '/usr/bin:/bin', '': 'c' },
  { PATH: '/usr/bin:/bin', CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: 'x', node_repl_auth_token: 'y' },
  null,
];

const policies: readonly unknown[] = [
  { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] },
  { inherit: 'all', ignoreDefaultExcludes: false, exclude: ['H*'], set: { MONKEY: '1' }, includeOnly: [] },
  { inherit: 'core', ignoreDefaultExcludes: false, exclude: ['path'], set: { A: '1' }, includeOnly: ['?', 'PATH'] },
  { inherit: 'none', ignoreDefaultExcludes: true, exclude: ['*'], set: { B: '2' }, includeOnly: [] },
];

export function processCall(random: RandomSource, place: Place): Call {
  const processId = `p${random.below(3)}`;
  const calls: readonly (() => Call)[] = [
    () => ['process/start', startParams(random, processId, place.base)],
    () => ['process/start', startParams(random, processId, place.base)],
    () => ['process/start', startParams(random, processId, place.base)],
    () => ['process/write', { processId, writeId: writeId(random), chunk: chunk(random) }],
    () => ['process/write', { processId, writeId: writeId(random), chunk: chunk(random) }],
    () => ['process/read', readParams(random, processId)],
    () => ['process/read', readParams(random, processId)],
    () => ['process/terminate', { processId }],
    () => ['process/signal', { processId, signal: random.usually(['interrupt'], ['kill', 'INTERRUPT', '', 2], 6) }],
    () => ['process/resize', { processId, size: { rows: 3, cols: 4 } }],
  ];
  return random.pick(calls)();
}

const writeId = (random: RandomSource): unknown => random.usually(['w0', 'w1', 'w2'], ['', undefined, null]);

const readParams = (random: RandomSource, processId: string): Params => ({
  processId: random.usually([processId], ['', 'unknown']),
  afterSeq: random.pick([undefined, 0, 1, 2, 3, 1000, null]),
  maxBytes: random.pick([undefined, 0, 1, 3, 4096, null]),
  waitMs: random.pick([undefined, 0, 1, 10, null]),
});

function startParams(random: RandomSource, processId: string, base: string): Params {
  const argv = random.usually(random.oneIn(4) ? waiting : ending, failing, 5);
  return {
    processId,
    argv,
    cwd: random.usually([base, base, `${base}/`, `${base}/folder`, `${base}/folder/.`], [path(random, base)], 6),
    env: random.usually<unknown>(environments, oddEnvironments, 8),
    envPolicy: random.oneIn(8) ? random.pick(policies) : undefined,
    tty: random.oneIn(3),
    pipeStdin: random.usually([true, true, false, undefined], [null]),
    arg0: random.usually([undefined, undefined, undefined, 'zero'], ['a\0b', '']),
    ...(random.oneIn(30) && snapshotStart(random, base)),
    ...(random.oneIn(12) && sandboxedStart(random, base)),
  };
}

/** A shell whose state is captured and restored. */
const snapshotStart = (random: RandomSource, base: string): Params => ({
  env: { PATH: '/usr/bin:/bin', HOME: new URL('../home', `${base}/`).pathname },
  argv: random.pick([
    ['/bin/bash', '-lc', 'echo "$GREETING"; greet'],
    ['/bin/bash', '-c', 'echo "$GREETING"'],
    ['/bin/sh', '-lc', 'echo "$GREETING"'],
    ['/bin/echo', '-lc', 'x'],
    ['bash', '-lc', 'echo "$GREETING"'],
  ]),
  shellSnapshot: {
    scopeId: random.usually(['s0', 's1'], [''], 3),
    shell: random.usually(
      [{ name: 'bash', path: '/bin/bash' }],
      [
        { name: 'sh', path: '/bin/sh' },
        { name: 'fish', path: '/bin/fish' },
        { name: 'bash', path: '/nowhere/bash' },
        { name: 'bash', path: 'bash' },
      ],
      4,
    ),
  },
});

/** A command that waits says when its sandbox is there: what it put on the disk can be seen then. */
const sandboxedStart = (random: RandomSource, base: string): Params => ({
  argv: random.usually(random.oneIn(4) ? waiting.slice(-1) : ending, failing, 5),
  sandbox: sandbox(random, base),
});
