import type { Outcome } from './server-side.ts';
import { memberOf, type Step } from './step.ts';

export const method = (step: Step): string => (step.kind === 'call' ? step.method : '');

export const param = (step: Step, ...names: readonly string[]): unknown => memberOf(step, 'params', ...names);

export const messageOf = (outcome: Outcome): string => String(memberOf(outcome, 'error', 'message') ?? '');

export const codeOf = (outcome: Outcome): unknown => memberOf(outcome, 'error', 'code');

export const outputOf = (outcome: Outcome): string =>
  ['stdout', 'stderr', 'pty'].map((stream) => memberOf(outcome, 'output', stream) ?? '').join('');

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Texts about the shape of parameters, up to the name of the expected type. */
const SHAPE =
  /^(?:invalid type: |invalid value|invalid length|invalid number|invalid URI|missing field |unknown variant |Invalid |unsupported path URI|query |fragments |'file:)/;

export const isAboutShape = (outcome: Outcome): boolean => codeOf(outcome) === -32602 && SHAPE.test(messageOf(outcome));

/** The mistake without the name of the expected type; an empty map in the place of a name is a wrong value there. */
export const mistake = (outcome: Outcome): string =>
  messageOf(outcome)
    .replace(/,? expected .*$/s, '')
    .replace(/^invalid value: map$/, 'invalid type: map')
    .replace(/^invalid type: (?:integer|floating point) `[^`]*`(?: as [ui]128)?$/, 'invalid type: number');

/** Whether an object stands where a name is expected: the reference takes its member for the name. */
export const isVariantAsMap = (reference: Outcome, ours: Outcome): boolean =>
  isAboutShape(reference) &&
  isAboutShape(ours) &&
  mistake(reference) === 'unknown variant `type`' &&
  mistake(ours) === 'invalid type: map';

/** The output without the directories before the name of the program. */
export const withoutPlace = (outcome: Outcome): string => outputOf(outcome).replaceAll(/\S*\/(?=program\b)/g, '');

/** The output without the line numbers that shells print. */
export const withoutLines = (outcome: Outcome): string => outputOf(outcome).replaceAll(/(?<=: line )\d+(?=: )/g, 'N');

/** Whether the reference did not find a program of the name that only the command itself should see. */
export function looksUpName(step: Step, reference: Outcome): boolean {
  const name = param(step, 'arg0');
  if (method(step) !== 'process/start' || param(step, 'tty') !== true || typeof name !== 'string') return false;
  return messageOf(reference).startsWith(`Unable to spawn ${name} because`);
}

/** The outcome of a command that prints its name, as if the request had no `arg0`. */
export function withItsName(step: Step, ours: Outcome): Outcome {
  const name = String(param(step, 'arg0'));
  const own = String(param(step, 'argv', '0'));
  if (typeof memberOf(ours, 'output', 'pty') !== 'string' || name === '') return ours;
  const pty = String(memberOf(ours, 'output', 'pty')).replaceAll(name, own);
  return { ...ours, output: { ...(ours.output as object), pty } };
}
