import { randomUUID } from 'node:crypto';
import {
  codeOf,
  isAboutShape,
  isSame,
  isVariantAsMap,
  looksUpName,
  messageOf,
  method,
  mistake,
  outputOf,
  param,
  withItsName,
  withoutLines,
  withoutPlace,
} from './outcome.ts';
import {
  createsProtected,
  deniedPlaces,
  entriesOf,
  isDirectory,
  isInMissingDenied,
  isProtectedPath,
  linkedPlaceOf,
  missingDenied,
  paths,
  placeOf,
  writableRoots,
} from './places.ts';
import {
  isPartOf,
  isRefusedAsMissing,
  MOUNT_POINT,
  spelledAlike,
  withMore,
  withoutDenied,
  withoutFraming,
  withoutProtected,
} from './results.ts';
import type { Outcome } from './server-side.ts';
import { literal, memberOf, type Params, type Step } from './step.ts';
import {
  BELOW,
  BEYOND,
  changed,
  EXPONENTS,
  GREATEST,
  GREATEST_DOUBLE,
  hasOlderSandbox,
  isIndex,
  isNativePath,
  isUnderstood,
  ofToday,
  withLevels,
  withoutNulls,
  withoutSandboxMode,
  withProfiles,
  withUris,
} from './step-changes.ts';

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
  /** What may differ between the servers afterwards; the comparison then brings both into the same state. */
  readonly diverging?: readonly Aspect[];
}

type Aspect = 'files' | 'process' | 'session';

const KILL_UNKNOWN = 'unknown variant `kill`, expected `interrupt`';

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
    asReference: (step) => changed(step, (params) => ({ ...params, writeId: `fresh ${randomUUID()}` })),
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
