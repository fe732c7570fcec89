import type { RandomSource } from '../random-source.ts';
import type { Params, Place } from '../step.ts';
import { path } from './paths.ts';
import { sandboxOfToday } from './sandboxes.ts';

/** Messages that test the envelope rather than a method. */
const texts = [
  '{"id":5,"method":"environment/status","x":"\\ud83d"}',
  '{"id":5,"method":"environment/status","params":{"a":1}}',
  '{"id":5,"method":"environment/status","params":[]}',
  '{"id":5,"method":"environment/status","params":null,"trace":null}',
  '{"id":5,"method":"environment/status","trace":{"traceparent":"x"}}',
  '{"id":5,"method":"environment/status","trace":7}',
  '{"id":5.0,"method":"environment/status"}',
  '{"id":null,"method":"environment/status"}',
  '{"id":true,"method":"environment/status"}',
  '{"id":"text","method":"environment/status"}',
  '{"id":"","method":"environment/status"}',
  '{"id":-7,"method":"environment/status"}',
  '{"id":9223372036854775807,"method":"environment/status"}',
  '{"id":9223372036854775808,"method":"environment/status"}',
  '{"id":5,"id":6,"method":"environment/status"}',
  '{"id":5,"method":"environment/status","params":{"a":1,"a":2}}',
  '{"id":5,"method":"nothing/known"}',
  '{"id":5,"method":""}',
  '{"id":5,"method":7}',
  '{"id":5,"method":"environment/status","jsonrpc":"1.0"}',
  '{"id":5,"method":"environment/status"',
  '{"id":5,"method":"environment/status"}}',
  '\ufeff{"id":5,"method":"environment/status"}',
  '{"id":5,"method":"initialize","params":{"clientName":"again"}}',
  '{"id":5,"method":"initialize","params":{}}',
  ' ',
  'null',
  '[]',
  '{}',
  '"text"',
  '{"error":{"code":1,"message":"x"}}',
];

export const message = (random: RandomSource): string => random.pick(texts);

/** Requests about the machine. */
export function environmentCall(random: RandomSource, { base }: Place): readonly [string, Params?] {
  const calls: readonly (() => readonly [string, Params?])[] = [
    () => ['environment/status', {}],
    () => ['environment/info'],
    () => [
      'environmentConfig/read',
      {
        cwd: path(random, base),
        configPaths: random.usually<unknown>([[['model']], [['a', 'b'], ['model']]], [[], [[]], [['']]]),
        requirementsPaths: random.usually<unknown>([[], [['x']]], [[[]], null]),
      },
    ],
    () => [
      'capabilityRoots/discoverV1',
      {
        roots: Array.from({ length: random.below(3) }, (_, index) => ({
          id: `root ${index}`,
          path: `${base}/${random.pick(['', 'folder', 'link/', 'file', 'none'])}`,
          sandbox: random.oneIn(20) ? sandboxOfToday(random, base) : undefined,
        })),
      },
    ],
    () => ['capabilities/discoverV2', { cwd: path(random, base) }],
  ];
  return random.pick(calls)();
}
