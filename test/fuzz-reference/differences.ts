import { posix } from 'node:path';
import type { Outcome } from './conversation.ts';
import type { Step } from './sequence.ts';

/** A difference that is meant to be there. */
export interface DeclaredDifference {
  /** How its row in docs/compatibility.md begins. */
  readonly row: string;
  readonly explains?: (step: Step, reference: Outcome, ours: Outcome) => boolean;
  /** Whether everything after this step may differ because of it. */
  readonly leavesBehind?: (step: Step) => boolean;
}

const member = (step: Step, name: string): unknown => step.params?.[name];
const messageOf = (outcome: Outcome): string => (outcome.error as { message?: string } | undefined)?.message ?? '';

const codeOf = (outcome: Outcome): number | undefined => (outcome.error as { code?: number } | undefined)?.code;

/** Texts about the shape of parameters. */
const aboutShape =
  /^(?:invalid (?:type|value|length|URI)|missing field|unknown variant|Invalid |invalid base64|unsupported path URI|query |fragments |fs\/writeFile requires valid base64|'file:)/;

export const declaredDifferences: readonly DeclaredDifference[] = [
  {
    row: 'of several mistakes in the parameters names the first in the text',
    explains: (_step, reference, ours) =>
      codeOf(reference) === -32602 &&
      [-32602, -32600].includes(codeOf(ours) ?? 0) &&
      aboutShape.test(messageOf(reference)) &&
      aboutShape.test(messageOf(ours)),
  },
  {
    row: 'refuses `null` for `pipeStdin` and for the `mode` of `fs/open`',
    explains: (step, reference) =>
      /^invalid type: null/.test(messageOf(reference)) &&
      (member(step, 'pipeStdin') === null || (step.method === 'fs/open' && member(step, 'mode') === null)),
  },
  {
    row: '`process/closeStdin`, `resize`',
    explains: (step, reference) => step.method === 'process/signal' && /^unknown variant/.test(messageOf(reference)),
  },
  {
    row: 'starts a tty command in the home directory',
    explains: (step, _reference, ours) =>
      step.method === 'process/start' &&
      member(step, 'tty') === true &&
      /^(?:Not a directory|No such file or directory) /.test(messageOf(ours)),
  },
  {
    row: '`fs/walk` spells what it finds as the request spelled the root',
    explains: (step, reference, ours) =>
      step.method === 'fs/walk' && spelledAlike(JSON.stringify(reference)) === spelledAlike(JSON.stringify(ours)),
  },
  {
    row: '`fs/copy` of a file onto itself empties it',
    leavesBehind: (step) =>
      step.method === 'fs/copy' && placeOf(member(step, 'sourcePath')) === placeOf(member(step, 'destinationPath')),
  },
  {
    row: '`writeId` is mandatory',
    explains: (step) => step.method === 'process/write' && member(step, 'writeId') == null,
  },
  {
    row: 'accepts the first write after a process has ended, and loses it',
    explains: (step, reference, ours) =>
      step.method === 'process/write' &&
      JSON.stringify(reference.result) === '{"status":"accepted"}' &&
      messageOf(ours) === 'failed to write to process stdin',
  },
];

/** The place a URI names in the layout of the scratch directory. */
const placeOf = (uri: unknown): string =>
  posix
    .normalize(
      decodeURIComponent(String(uri))
        .replaceAll(/\/+/g, '/')
        .replace(/\/link(?=\/)/, '/folder'),
    )
    .replace(/\/$/, '');

const spelledAlike = (text: string): string => text.replaceAll('%65', 'e').replaceAll(/(?<!:)\/+/g, '/');
