import { RandomSource } from './random-source.ts';
import type { Params, Place, Step } from './step.ts';
import { fileCall } from './steps/files.ts';
import { httpCall } from './steps/http.ts';
import { environmentCall, message } from './steps/messages.ts';
import { processCall } from './steps/processes.ts';
import { spoiled } from './steps/values.ts';

/** The steps of one sequence; parameters are out of the ordinary now and then. */
export function randomSequence(below: (bound: number) => number, place: Place): Step[] {
  const random = new RandomSource(below);
  return Array.from({ length: 3 + random.below(8) }, () => randomStep(random, place));
}

function randomStep(random: RandomSource, place: Place): Step {
  const kind = random.below(100);
  if (kind < 1) return { kind: 'resume' };
  if (kind < 2) return { kind: 'rival' };
  if (kind < 6) return { kind: 'raw', text: message(random) };
  random.oddities = 0;
  const [method, params] =
    kind < 55
      ? fileCall(random, place)
      : kind < 86
        ? processCall(random, place)
        : kind < 96
          ? httpCall(random, place)
          : environmentCall(random, place);
  const sent = params && withTime(spoiled(random, params));
  return { kind: 'call', method, ...(sent && { params: sent }), oddities: random.oddities };
}

/** With a limit of a few milliseconds the outcome would depend on the load of the machine. */
const withTime = (params: Params): Params => (params.timeoutMs === 7 ? { ...params, timeoutMs: 20_000 } : params);
