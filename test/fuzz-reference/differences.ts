import { posix } from 'node:path';
import { decoded } from './guard.ts';
import type { Outcome } from './server-side.ts';
import { literal, memberOf, type Params, type Step } from './step.ts';

/** A difference that is meant to be there. */
export interface DeclaredDifference {
  /** How its row in docs/compatibility.md begins. */
  readonly row: string;
  readonly explains: (step: Step, reference: Outcome, ours: Outcome) => boolean;
  /** The request that must get from the reference, which refused this one, what ours gave. */
  readonly asReference?: (step: Step) => Step;
  /** Our outcome as it would be for that request. */
  readonly asOurs?: (step: Step, ours: Outcome) => Outcome;
  /** The request that must get from ours, which refused this one, what the reference gave. */
  readonly resentToOurs?: (step: Step) => Step;
  /** The request, which changes nothing, that must get the same from both. */
  readonly sentToBoth?: (step: Step) => Step;
  /** What may be in another state afterwards, and is then brought together again. */
  readonly diverging?: readonly Aspect[];
}

type Aspect = 'files' | 'process' | 'session';

const method = (step: Step): string => (step.kind === 'call' ? step.method : '');
const param = (step: Step, ...names: readonly string[]): unknown => memberOf(step, 'params', ...names);
const messageOf = (outcome: Outcome): string => String(memberOf(outcome, 'error', 'message') ?? '');
const codeOf = (outcome: Outcome): unknown => memberOf(outcome, 'error', 'code');
const outputOf = (outcome: Outcome): string =>
  ['stdout', 'stderr', 'pty'].map((stream) => memberOf(outcome, 'output', stream) ?? '').join('');
const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Texts about the shape of parameters, up to the name of the expected type. */
const SHAPE =
  /^(?:invalid type: |invalid value|invalid length|invalid number|invalid URI|missing field |unknown variant |Invalid |unsupported path URI|query |fragments |'file:)/;

const isAboutShape = (outcome: Outcome): boolean => codeOf(outcome) === -32602 && SHAPE.test(messageOf(outcome));
/** The mistake without the name of the expected type; an empty map in the place of a name is a wrong value there. */
const mistake = (outcome: Outcome): string =>
  messageOf(outcome)
    .replace(/,? expected .*$/s, '')
    .replace(/^invalid value: map$/, 'invalid type: map')
    .replace(/^invalid type: (?:integer|floating point) `[^`]*`(?: as [ui]128)?$/, 'invalid type: number');

/** A name of a choice that is written as an object: the reference takes the member for the name. */
const isVariantAsMap = (reference: Outcome, ours: Outcome): boolean =>
  isAboutShape(reference) &&
  isAboutShape(ours) &&
  mistake(reference) === 'unknown variant `type`' &&
  mistake(ours) === 'invalid type: map';

const KILL_UNKNOWN = 'unknown variant `kill`, expected `interrupt`';

/** Members whose absence means a value and whose null the reference refuses. */
const notNull = ['pipeStdin', 'mode', 'redirectPolicy', 'headers', 'streamResponse', 'pruneHiddenDirectories'];

export const declaredDifferences: readonly DeclaredDifference[] = [
  {
    row: 'names types by their Rust names',
    explains: (_step, reference, ours) =>
      (isAboutShape(reference) && isAboutShape(ours) && mistake(reference) === mistake(ours)) ||
      isVariantAsMap(reference, ours),
  },
  {
    row: 'within a permission profile a number with an exponent is a map',
    explains: (_step, reference, ours) =>
      isAboutShape(reference) &&
      /^(?:missing field `|invalid type: map, |unknown variant `\$serde_json::private::Number`)/.test(
        messageOf(reference),
      ) &&
      /^invalid type: number, /.test(messageOf(ours)),
    asReference: (step) => withProfiles(step, (_name, value) => (EXPONENTS.includes(String(value)) ? 1.5 : value)),
  },
  {
    row: 'within a permission profile takes a number for a `type` or `kind`',
    explains: (_step, _reference, ours) => messageOf(ours) === 'invalid type: number, expected a string',
    asReference: (step) =>
      withProfiles(step, (name, value) => (/^(?:type|kind)$/.test(name) && isIndex(value) ? -1 : value)),
  },
  {
    row: 'within a permission profile refuses whole numbers beyond 64 bits',
    explains: (_step, reference) =>
      /^invalid type: integer `-?\d{19,}` as [ui]128, expected any value$/.test(messageOf(reference)),
    asReference: (step) =>
      withProfiles(step, (_name, value) => (value === literal(BEYOND) ? 7 : value === literal(BELOW) ? -7 : value)),
  },
  {
    row: 'checks the base64 of `fs/writeFile` after the sandbox',
    explains: (step, reference, ours) =>
      method(step) === 'fs/writeFile' &&
      / requires cwd$/.test(messageOf(reference)) &&
      / requires valid base64 /.test(messageOf(ours)),
  },
  {
    row: 'refuses `null` for',
    explains: (_step, reference) => /^invalid type: null/.test(messageOf(reference)),
    asReference: (step) => withoutNulls(step),
  },
  {
    row: 'accepts arrays as positional parameters',
    explains: (_step, reference, ours) =>
      isAboutShape(reference) && messageOf(ours) === 'invalid type: sequence, expected a map',
  },
  {
    row: 'refuses native absolute paths',
    explains: (step, reference) =>
      messageOf(reference) === 'invalid URI: relative URL without a base' &&
      [param(step, 'path'), param(step, 'cwd'), param(step, 'missing'), param(step, 'present')]
        .flat()
        .some(isNativePath),
    asReference: (step) => changed(step, withUris),
  },
  {
    row: 'ignores unknown members of a request',
    explains: (step, _reference, ours) =>
      JSON.stringify(step).includes('"sandboxMode":') && /^unknown field `sandboxMode`/.test(messageOf(ours)),
    resentToOurs: (step) => withoutSandboxMode(step),
  },
  {
    row: 'refuses the `sandboxPolicy` objects of spring 2026',
    explains: (step, reference, ours) =>
      hasOlderSandbox(step) &&
      !isUnderstood(step) &&
      isAboutShape(reference) &&
      (isAboutShape(ours) || /^unknown field `/.test(messageOf(ours))),
  },
  {
    row: 'refuses the `sandboxPolicy` objects of spring 2026',
    explains: (step, reference) => isUnderstood(step) && isAboutShape(reference),
    asReference: (step) => changed(step, (params) => ({ ...params, sandbox: ofToday(params.sandbox) })),
  },
  {
    row: 'refuses the `sandboxPolicy` objects of spring 2026',
    explains: (_step, reference) => messageOf(reference) === 'missing field `windowsSandboxLevel`',
    asReference: (step) => withLevels(step),
  },
  {
    row: 'a sandboxed command that does not exist exits 101',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      /panicked at .*Failed to execvp|^failed to exec "/s.test(outputOf(reference)) &&
      (codeOf(ours) === -32603 || /^exec-server: cannot /.test(outputOf(ours))),
    diverging: ['process'],
  },
  {
    row: 'a sandboxed command that does not exist exits 101',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      param(step, 'argv', '0') === '' &&
      !isDirectory(param(step, 'cwd'), ours) &&
      /^(?:Not a directory|No such file or directory) /.test(messageOf(reference)) &&
      /^missing program for /.test(messageOf(ours)),
  },
  {
    row: 'a sandboxed command whose directory its view does not have',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      isSame(reference.result, ours.result) &&
      ours.exitCode === 1 &&
      /^exec-server: cannot enter the working directory /.test(outputOf(ours)),
    diverging: ['process'],
  },
  {
    // While the command of the reference runs, its mount points are on the disk.
    row: 'a sandboxed command whose directory its view does not have',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      reference.ready === true &&
      ours.exitCode === 1 &&
      /^exec-server: cannot enter the working directory /.test(outputOf(ours)),
    diverging: ['process', 'files'],
  },
  {
    row: 'a sandboxed file call finds missing protected names',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      paths(step).some((path) => /\/\.(?:git|codex)/.test(path)) &&
      (/^Read-only file system/.test(messageOf(ours)) || codeOf(ours) === -32004) &&
      (!isSame(reference.result, {}) || createsProtected(step, ours)),
  },
  {
    row: 'a sandboxed file call finds missing protected names',
    explains: (step, reference, ours) =>
      method(step) === 'fs/copy' &&
      param(step, 'sandbox') != null &&
      param(step, 'recursive') === true &&
      isProtectedPath(param(step, 'sourcePath')) &&
      isSame(reference.result, {}) &&
      codeOf(ours) === -32004,
    diverging: ['files'],
  },
  {
    row: 'a sandboxed file call finds a missing denied path',
    explains: (step, reference, ours) =>
      paths(step).some((path) => isInMissingDenied(path, step, ours)) &&
      /^(?:Not a directory|File exists|Resource busy) \(os error \d+\)$/.test(messageOf(reference)) &&
      (isRefusedAsMissing(ours) || (method(step) === 'fs/remove' && isSame(ours.result, {}))),
  },
  {
    row: 'a sandboxed file call finds a missing denied path',
    explains: (step, reference, ours) =>
      missingDenied(step, ours).includes(linkedPlaceOf(String(param(step, 'sourcePath') ?? param(step, 'path')))) &&
      reference.result !== undefined &&
      codeOf(ours) === -32004 &&
      (method(step) === 'fs/copy' || isSame(reference.files, ours.files)),
    diverging: ['files', 'session'],
  },
  {
    row: 'a sandboxed file call finds a missing denied path',
    explains: (step, reference, ours) =>
      /^fs\/(?:readDirectory|walk)$/.test(method(step)) &&
      missingDenied(step, ours).length > 0 &&
      isSame(withoutDenied(withoutProtected(reference.result), step, ours), ours.result),
  },
  {
    row: 'an empty directory is copied onto a denied one',
    explains: (step, reference, ours) =>
      method(step) === 'fs/copy' &&
      param(step, 'recursive') === true &&
      deniedPlaces(step).includes(linkedPlaceOf(String(param(step, 'destinationPath')))) &&
      isSame(reference.result, {}) &&
      isSame(reference.files, ours.files) &&
      messageOf(ours) === 'Permission denied (os error 13)',
  },
  {
    row: 'a sandboxed write to a denied file in a read-only place',
    explains: (step, reference, ours) =>
      deniedPlaces(step).some((place) =>
        [param(step, 'path'), param(step, 'destinationPath')].some((path) => placeOf(path).startsWith(place)),
      ) &&
      messageOf(reference) === 'Read-only file system (os error 30)' &&
      messageOf(ours) === 'Permission denied (os error 13)',
  },
  {
    row: '`fs/remove` of a directory that is a writable root',
    explains: (step, reference, ours) =>
      method(step) === 'fs/remove' &&
      param(step, 'sandbox') != null &&
      param(step, 'recursive') !== false &&
      messageOf(reference) === 'Resource busy (os error 16)' &&
      messageOf(ours) === 'Resource busy (os error 16)',
    diverging: ['files'],
  },
  {
    row: '`fs/remove` of a directory that is a writable root',
    explains: (step, reference, ours) =>
      method(step) === 'fs/remove' &&
      param(step, 'recursive') !== false &&
      writableRoots(step).includes(placeOf(param(step, 'path'))) &&
      messageOf(reference) === 'Resource busy (os error 16)' &&
      messageOf(ours) === 'Read-only file system (os error 30)' &&
      (reference.files as string[]).every((file) => (ours.files as string[]).includes(file)),
    diverging: ['files'],
  },
  {
    row: 'a sandboxed file call finds missing protected names',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      /^fs\/(?:readDirectory|walk)$/.test(method(step)) &&
      isSame(withoutProtected(reference.result), ours.result),
  },
  {
    row: 'a sandboxed file call finds missing protected names',
    explains: (step, reference, ours) =>
      param(step, 'sandbox') != null &&
      method(step) === 'fs/walk' &&
      memberOf(reference.result, 'truncated') === true &&
      !isSame(withoutProtected(reference.result), reference.result) &&
      isPartOf(withoutProtected(reference.result), ours.result),
    sentToBoth: (step) =>
      changed(step, (params) => ({
        ...params,
        options: { ...(params.options as Params), maxDirectories: 10_000, maxEntries: 50_000 },
      })),
  },
  {
    row: '`fs/remove` of a directory that a sandbox makes read-only',
    explains: (step, reference, ours) =>
      method(step) === 'fs/remove' &&
      entriesOf(step).some(
        (entry) =>
          memberOf(entry, 'access') === 'read' &&
          placeOf(memberOf(entry, 'path', 'path')) === placeOf(param(step, 'path')),
      ) &&
      messageOf(reference) === 'Resource busy (os error 16)' &&
      messageOf(ours) === 'Read-only file system (os error 30)',
  },
  {
    row: 'under a profile without a readable directory',
    explains: (step, reference, ours) =>
      isSame(param(step, 'sandbox', 'permissions', 'file_system', 'entries'), []) &&
      isSame(reference.result, {}) &&
      codeOf(ours) === -32004,
  },
  {
    row: 'takes whole numbers up to 2^64',
    explains: (step, _reference, ours) =>
      JSON.stringify(step).includes(literal(GREATEST)) && messageOf(ours) === 'invalid number',
    resentToOurs: (step) => JSON.parse(JSON.stringify(step).replaceAll(GREATEST, GREATEST_DOUBLE)) as Step,
  },
  {
    row: 'at a terminal a script that is started as `./x`',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      param(step, 'tty') === true &&
      /^(?:\.{0,2}\/)?program$/.test(String(param(step, 'argv', '0'))) &&
      isSame({ ...reference, output: 0 }, { ...ours, output: 0 }) &&
      withoutPlace(reference) === withoutPlace(ours),
  },
  {
    // Other code of ours stands before the script, and shells count its lines.
    row: 'shell snapshots hold whatever start-up files redefine',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      param(step, 'shellSnapshot') != null &&
      isSame({ ...reference, output: 0 }, { ...ours, output: 0 }) &&
      withoutLines(reference) === withoutLines(ours),
  },
  {
    row: 'events of a process always leave in `seq` order',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      reference.outputAfterExit === true &&
      isSame({ ...reference, outputAfterExit: false }, { ...ours, outputAfterExit: false }),
    diverging: ['process'],
  },
  {
    row: '`process/closeStdin`, `resize`',
    explains: (step, reference, ours) =>
      method(step) === 'process/resize' &&
      codeOf(reference) === -32601 &&
      (isSame(ours.result, {}) || [-32600, -32602, -32603].includes(Number(codeOf(ours)))),
  },
  {
    row: '`process/closeStdin`, `resize`',
    explains: (step, reference, ours) =>
      method(step) === 'process/signal' && messageOf(reference) === KILL_UNKNOWN && isSame(ours.result, {}),
    diverging: ['process'],
  },
  {
    row: '`process/closeStdin`, `resize`',
    explains: (step, reference, ours) =>
      method(step) === 'process/signal' && messageOf(reference) === KILL_UNKNOWN && codeOf(ours) !== undefined,
    asReference: (step) => changed(step, (params) => ({ ...params, signal: 'interrupt' })),
  },
  {
    row: '`writeId` is mandatory',
    explains: (step, reference) =>
      method(step) === 'process/write' &&
      param(step, 'writeId') == null &&
      /^(?:missing field `writeId`|invalid type: null, expected a string)$/.test(messageOf(reference)),
    asReference: (step) => changed(step, (params) => ({ ...params, writeId: `fresh ${fresh++}` })),
  },
  {
    row: 'accepts the first write after a process has ended, and loses it',
    explains: (step, reference, ours) =>
      method(step) === 'process/write' &&
      isSame(reference.result, { status: 'accepted' }) &&
      messageOf(ours) === 'failed to write to process stdin',
  },
  {
    row: 'starts a tty command in the home directory',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      param(step, 'tty') === true &&
      !isDirectory(param(step, 'cwd'), ours) &&
      /^(?:Not a directory|No such file or directory|nul byte found|data provided contains a nul byte|Unable to spawn )/.test(
        messageOf(ours),
      ) &&
      (reference.result !== undefined || /^Unable to spawn |^nul byte/.test(messageOf(reference))),
    diverging: ['process'],
  },
  {
    // While the command of the reference runs, its mount points are on the disk.
    row: 'starts a tty command in the home directory',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      param(step, 'tty') === true &&
      param(step, 'sandbox') != null &&
      !isDirectory(param(step, 'cwd'), ours) &&
      /^(?:Not a directory|No such file or directory) /.test(messageOf(ours)) &&
      reference.ready === true &&
      isSame(
        (reference.files as string[]).filter((file) => !MOUNT_POINT.test(file)),
        ours.files,
      ),
    diverging: ['process', 'files'],
  },
  {
    row: 'may leave the mount points of a terminated sandboxed command',
    explains: (step, reference, ours) =>
      method(step) === 'process/terminate' &&
      isSame({ ...reference, files: 0 }, { ...ours, files: 0 }) &&
      isSame(
        (reference.files as string[]).filter((file) => !MOUNT_POINT.test(file)),
        ours.files,
      ),
    diverging: ['files'],
  },
  {
    row: 'at a terminal starts what the kernel cannot execute',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      param(step, 'tty') === true &&
      /^fatal runtime error: assertion failed: output\.write/.test(outputOf(reference)) &&
      messageOf(ours) === 'Exec format error (os error 8)',
    diverging: ['process'],
  },
  {
    row: 'puts directories of its own before the inherited `PATH`',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      messageOf(ours) !== '' &&
      messageOf(reference).replace(/(?<=PATH ")[^"]*\/codex-path:/, '') === messageOf(ours),
  },
  {
    row: 'leaves a start with a sandbox unanswered',
    explains: (step, reference, ours) =>
      method(step) === 'process/start' &&
      param(step, 'sandbox') != null &&
      /%ff/i.test(String(param(step, 'cwd'))) &&
      reference.late === true &&
      ours.late === undefined,
    diverging: ['session'],
  },
  {
    row: 'with a tty looks up `arg0`',
    explains: (step, reference, ours) =>
      looksUpName(step, reference) &&
      String(param(step, 'arg0')).includes('\0') &&
      messageOf(ours) === 'nul byte found in provided data',
  },
  {
    row: 'with a tty looks up `arg0`',
    explains: looksUpName,
    asReference: (step) => changed(step, ({ arg0: _arg0, ...params }) => params),
    asOurs: withItsName,
  },
  {
    row: '`fs/walk` spells what it finds as the request spelled the root',
    explains: (step, reference, ours) =>
      method(step) === 'fs/walk' && isSame(spelledAlike(reference.result), spelledAlike(ours.result)),
  },
  {
    row: '`fs/copy` of a file onto itself empties it',
    explains: (step, reference, ours) =>
      method(step) === 'fs/copy' &&
      placeOf(param(step, 'sourcePath')) === placeOf(param(step, 'destinationPath')) &&
      isSame(reference.result, ours.result),
    diverging: ['files'],
  },
  {
    row: 'masks credentials',
    explains: (step, reference, ours) =>
      method(step) === 'environment/info' && isSame(reference.result, withMore(ours.result)),
  },
  {
    row: '`http/request` that could not be sent is told without the reason',
    explains: (_step, reference, ours) =>
      messageOf(reference).startsWith('http/request failed: ') &&
      messageOf(ours).startsWith(`${messageOf(reference)}: `),
  },
  {
    row: '`http/request` with a `timeoutMs` of 0',
    explains: (step, reference, ours) =>
      method(step) === 'http/request' &&
      param(step, 'timeoutMs') === 0 &&
      messageOf(reference) === 'http/request failed: route-aware request timed out' &&
      /^http\/request failed: .*: operation timed out$/.test(messageOf(ours)),
  },
  {
    row: '`http/request` sends no `connection` header',
    explains: (step, reference, ours) =>
      method(step) === 'http/request' && isSame(withoutFraming(reference), withoutFraming(ours)),
  },
];

let fresh = 0;

/** The greatest number of 64 bits, the one after it, the one before the least, and the greatest that a double holds. */
const GREATEST = '18446744073709551615';
const BEYOND = '18446744073709551616';
const BELOW = '-9223372036854775809';
const GREATEST_DOUBLE = '18446744073709549568';

const EXPONENTS = ['1e3', '1e400'].map(literal);

/** Whether a value can be the place of a name in a list. */
const isIndex = (value: unknown): boolean =>
  typeof value === 'number' ? Number.isInteger(value) && value >= 0 : /^literal:\d+$/.test(String(value));

/** The step with other values in its permission profiles. */
const withProfiles = (step: Step, change: (name: string, value: unknown) => unknown): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) =>
    name === 'permissions' ? JSON.parse(JSON.stringify(value), change) : value,
  ) as Step;

/** The step with the level that the reference wants in every sandbox. */
const withLevels = (step: Step): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) =>
    name === 'sandbox' && typeof value === 'object' && value !== null && !Object.hasOwn(value, 'windowsSandboxLevel')
      ? { ...value, windowsSandboxLevel: 'disabled' }
      : value,
  ) as Step;

/** The step without the member that ours refuses, wherever it is. */
const withoutSandboxMode = (step: Step): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) => (name === 'sandboxMode' ? undefined : value)) as Step;

/** Whether a URI names a directory among the files that were there after a step. */
function isDirectory(uri: unknown, { files }: Outcome): boolean {
  const name = nameOf(uri);
  return name === '' || (files as string[]).some((file) => file.startsWith(`${name}/ `));
}

/** Whether it names one in which there is nothing. */
const isEmptyDirectory = (uri: unknown, ours: Outcome): boolean =>
  isDirectory(uri, ours) && (ours.files as string[]).filter((file) => file.startsWith(`${nameOf(uri)}/`)).length === 1;

/** What a URI names, as files are listed: empty for the scratch directory itself, undefined for places elsewhere. */
function nameOf(uri: unknown): string | undefined {
  const place = URL.canParse(String(uri)) ? placeOf(new URL(String(uri)).pathname) : '';
  const found = /^\/mnt\/w\/[^/]+(?:\/(.*))?$/.exec(place.replace(/\/link$/, '/folder'));
  return found ? (found[1] ?? '') : undefined;
}

const withoutPlace = (outcome: Outcome): string => outputOf(outcome).replaceAll(/\S*\/(?=program\b)/g, '');
const withoutLines = (outcome: Outcome): string => outputOf(outcome).replaceAll(/(?<=: line )\d+(?=: )/g, 'N');

/** Whether the reference did not find a program of the name that only the command itself should see. */
function looksUpName(step: Step, reference: Outcome): boolean {
  const name = param(step, 'arg0');
  if (method(step) !== 'process/start' || param(step, 'tty') !== true || typeof name !== 'string') return false;
  return messageOf(reference).startsWith(`Unable to spawn ${name} because`);
}

/** The outcome of a command that tells its name, as if `arg0` had not given it another one. */
function withItsName(step: Step, ours: Outcome): Outcome {
  const name = String(param(step, 'arg0'));
  const own = String(param(step, 'argv', '0'));
  if (typeof memberOf(ours, 'output', 'pty') !== 'string' || name === '') return ours;
  const pty = String(memberOf(ours, 'output', 'pty')).replaceAll(name, own);
  return { ...ours, output: { ...(ours.output as object), pty } };
}

/** How an empty directory that stands for a protected name is listed. */
const MOUNT_POINT = /(?:^|\/)\.(?:git|agents|codex|aws)\/ 755$/;

/** The paths that a file call is about. */
const paths = (step: Step): string[] =>
  [param(step, 'path'), param(step, 'sourcePath'), param(step, 'destinationPath')]
    .filter((path) => path !== undefined)
    .map(String);

/** The entries of a sandbox, if it has a list of them. */
const entriesOf = (step: Step): unknown[] =>
  [param(step, 'sandbox', 'permissions', 'file_system', 'entries')].filter(Array.isArray).flat();

/** The places that a sandbox denies by their path. */
const deniedPlaces = (step: Step): string[] =>
  entriesOf(step)
    .filter((entry) => /^(?:deny|none)$/.test(String(memberOf(entry, 'access'))))
    .map((entry) => placeOf(memberOf(entry, 'path', 'path')));

/** The places that a sandbox makes writable as a whole. */
function writableRoots(step: Step): string[] {
  const roots = [param(step, 'sandbox', 'workspaceRoots') ?? param(step, 'sandbox', 'cwd')].flat();
  return entriesOf(step)
    .filter((entry) => memberOf(entry, 'access') === 'write')
    .flatMap((entry) => {
      const subpath = memberOf(entry, 'path', 'value', 'subpath');
      const path = memberOf(entry, 'path', 'path');
      return path === undefined ? roots.map((root) => (subpath === undefined ? root : `${root}/${subpath}`)) : [path];
    })
    .map(placeOf);
}

/** Those of the denied places where there is nothing. */
const missingDenied = (step: Step, { files }: Outcome): string[] =>
  deniedPlaces(step).filter((place) => {
    const name = /^\/mnt\/w\/[^/]+\/(.+)$/.exec(place)?.[1];
    return (
      name !== undefined &&
      !(files as string[]).some((file) => file.startsWith(name) && /^\/? /.test(file.slice(name.length)))
    );
  });

const linkedPlaceOf = (path: string): string => placeOf(path).replace(/\/link$/, '/folder');

const isInMissingDenied = (path: string, step: Step, ours: Outcome): boolean =>
  missingDenied(step, ours).some((place) => `${linkedPlaceOf(path)}/`.startsWith(`${place}/`));

const isRefusedAsMissing = (ours: Outcome): boolean =>
  codeOf(ours) === -32004 || messageOf(ours) === 'Read-only file system (os error 30)';

/** What was found, without the empty files that stand for denied paths in a view of the reference, and links to them. */
const withoutDenied = (result: unknown, step: Step, ours: Outcome): unknown =>
  JSON.parse(JSON.stringify(result ?? null), (_name, value: unknown) =>
    Array.isArray(value)
      ? value.filter((entry) => {
          const path = memberOf(entry, 'path') ?? `${placeOf(param(step, 'path'))}/${memberOf(entry, 'fileName')}`;
          const isFile = memberOf(entry, 'kind') === 'file' || memberOf(entry, 'isFile') === true;
          return !(isFile && missingDenied(step, ours).includes(linkedPlaceOf(String(path))));
        })
      : value,
  );

/** What was found, without the empty directories that stand for protected names in a view of the reference. */
const withoutProtected = (result: unknown): unknown =>
  JSON.parse(JSON.stringify(result ?? null), (_name, value: unknown) =>
    Array.isArray(value) ? value.filter((entry) => !isProtectedDirectory(entry)) : value,
  );

/** Whether a walk found nothing but what another found, in the same order. */
function isPartOf(walk: unknown, other: unknown): boolean {
  const rest = [...((memberOf(other, 'entries') ?? []) as unknown[])].map((entry) => JSON.stringify(entry));
  const found = ((memberOf(walk, 'entries') ?? []) as unknown[]).map((entry) => rest.indexOf(JSON.stringify(entry)));
  return found.every((at, index) => at > (found[index - 1] ?? -1));
}

const isProtectedDirectory = (entry: unknown): boolean =>
  (memberOf(entry, 'isDirectory') === true || memberOf(entry, 'kind') === 'directory') &&
  /(?:^|\/)\.(?:git|agents|codex|aws)$/.test(String(memberOf(entry, 'fileName') ?? memberOf(entry, 'path')));

/** Whether a directory is asked for that the reference has made up in the view already, with nothing to be put into it. */
const createsProtected = (step: Step, ours: Outcome): boolean =>
  (method(step) === 'fs/createDirectory' &&
    param(step, 'recursive') !== false &&
    isProtectedPath(param(step, 'path'))) ||
  (method(step) === 'fs/copy' &&
    param(step, 'recursive') === true &&
    isEmptyDirectory(param(step, 'sourcePath'), ours) &&
    isProtectedPath(param(step, 'destinationPath')));

const isProtectedPath = (path: unknown): boolean => /\/\.(?:git|codex)[/.]*$/.test(String(path));

/** The step without the members whose null the reference refuses, wherever they are. */
const withoutNulls = (step: Step): Step =>
  JSON.parse(JSON.stringify(step), (name, value: unknown) =>
    value === null && notNull.includes(name) ? undefined : value,
  ) as Step;

const hasOlderSandbox = (step: Step): boolean => param(step, 'sandbox', 'sandboxPolicy') != null;

/** Whether the sandbox is one that a client of spring 2026 could have sent. */
function isUnderstood(step: Step): boolean {
  const policy = param(step, 'sandbox', 'sandboxPolicy');
  const roots = memberOf(policy, 'writable_roots') ?? memberOf(policy, 'writableRoots') ?? [];
  return (
    hasOlderSandbox(step) &&
    policyNames.includes(kebab(memberOf(policy, 'type'))) &&
    Object.keys(policy as object).every((name) => /^(?:type|writable_?roots)$/i.test(name)) &&
    Array.isArray(roots) &&
    roots.every(isNativePath)
  );
}

const policyNames = ['read-only', 'workspace-write', 'danger-full-access', 'external-sandbox'];
const kebab = (name: unknown): string => String(name).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const isNativePath = (path: unknown): boolean => typeof path === 'string' && path.startsWith('/');

/** The step with other parameters. */
const changed = (step: Step, change: (params: Params) => Params): Step =>
  step.kind === 'call' ? { ...step, params: change(step.params as Params) } : step;

/** Paths at the top of the parameters as URIs. */
function withUris(params: Params): Params {
  const uri = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(uri) : isNativePath(value) ? `file://${value}` : value;
  const isPath = (name: string) => ['path', 'cwd', 'missing', 'present'].includes(name);
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, isPath(name) ? uri(value) : value]));
}

/** What a sandbox of spring 2026 says, as it is said today. */
function ofToday(older: unknown): unknown {
  const policy = memberOf(older, 'sandboxPolicy');
  const special = (kind: string, access: string) => ({ path: { type: 'special', value: { kind } }, access });
  const restricted = (...entries: unknown[]) => ({
    type: 'managed',
    file_system: { type: 'restricted', entries: [special('root', 'read'), ...entries] },
    network: 'restricted',
  });
  const roots = (memberOf(policy, 'writable_roots') ?? memberOf(policy, 'writableRoots') ?? []) as string[];
  const writable = roots.map((root) => ({ path: { type: 'path', path: `file://${root}` }, access: 'write' }));
  const profiles: Readonly<Record<string, unknown>> = {
    'read-only': restricted(),
    'workspace-write': restricted(...writable, special('slash_tmp', 'write'), special('tmpdir', 'write')),
    'danger-full-access': { type: 'disabled' },
    'external-sandbox': { type: 'external', network: 'restricted' },
  };
  const place = roots[0] === undefined ? {} : { cwd: `file://${roots[0]}` };
  return { permissions: profiles[kebab(memberOf(policy, 'type'))], windowsSandboxLevel: 'disabled', ...place };
}

/** The place a URI names in the layout of the scratch directory. */
const placeOf = (uri: unknown): string =>
  posix
    .normalize(
      decoded(URL.canParse(String(uri)) ? new URL(String(uri)).pathname : String(uri))
        .replaceAll(/\/+/g, '/')
        .replace(/\/link(?=\/)/, '/folder'),
    )
    .replace(/\/$/, '');

/** Walks with the usual spelling of every URI. */
const spelledAlike = (result: unknown): unknown =>
  JSON.parse(JSON.stringify(result ?? null), (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith('file:')
      ? new URL(value.replaceAll(/%2f/gi, '/')).href.replaceAll('%65', 'e').replaceAll(/(?<!:|:\/)\/+/g, '/')
      : value,
  );

/** The information of our server with what the reference has and ours does not claim. */
const withMore = (info: unknown): unknown =>
  JSON.parse(JSON.stringify(info), (key, value: unknown) =>
    /^credentialMasking|^linux(?:Approved)?RootWritePreserves/.test(key) ? true : value,
  );

/** An outcome without the headers that a connection or an empty body calls for, in the request that the server saw. */
function withoutFraming({ result, body, ...rest }: Outcome): unknown {
  const head = JSON.parse(JSON.stringify(result ?? null)) as Record<string, unknown> | null;
  const text = Buffer.from(String(body ?? head?.bodyBase64 ?? ''), 'base64').toString();
  if (!head || !text.startsWith('{"method"')) return { result, body, ...rest };
  const seen = JSON.parse(text) as { headers: [string, string][] };
  const isFraming = ([name, value]: [string, string]) =>
    name === 'connection' || (name === 'content-length' && value === '0');
  const headers = (head.headers as { name: string }[]).filter(({ name }) => name !== 'content-length');
  return {
    status: head.status,
    headers,
    seen: { ...seen, headers: seen.headers.filter((header) => !isFraming(header)) },
    ...rest,
  };
}
