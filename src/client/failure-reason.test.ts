import { expect, it } from 'vitest';
import { type ErrorDetails, ExecError } from '../protocol/index.ts';
import { failureReason } from './failure-reason.ts';

const missing = 'No such file or directory (os error 2)';

it.each<[ErrorDetails | undefined, string, string]>([
  [
    { errno: 'ENOENT', subject: 'program', searched: '/usr/bin:/bin' },
    missing,
    'command not found on PATH (/usr/bin:/bin)',
  ],
  [{ errno: 'ENOENT', subject: 'program' }, missing, 'there is no such file'],
  [
    { errno: 'ENOENT', subject: 'program', path: 'file:///no/such%20one' },
    missing,
    'there is no file /no/such one, or its interpreter is missing',
  ],
  [
    { errno: 'EACCES', subject: 'program', path: 'file:///x' },
    'Permission denied (os error 13)',
    'permission denied: the file may not be executed',
  ],
  [
    { errno: 'EACCES', subject: 'program', searched: '/bin' },
    'Permission denied (os error 13)',
    'permission denied: the file found on PATH (/bin) may not be executed',
  ],
  [
    { errno: 'ENOEXEC', subject: 'program', path: 'file:///x' },
    'Exec format error (os error 8)',
    'the file is not a program for this machine',
  ],
  [{ errno: 'E2BIG', subject: 'program' }, 'Argument list too long (os error 7)', 'argument list too long'],
  [{ errno: 'ENOENT', subject: 'cwd', path: 'file:///nope' }, missing, 'its directory /nope does not exist'],
  [
    { errno: 'ENOTDIR', subject: 'cwd', path: 'file:///f' },
    'Not a directory (os error 20)',
    'its directory /f is not a directory',
  ],
  [
    { errno: 'EACCES', subject: 'cwd', path: 'file:///d' },
    'Permission denied (os error 13)',
    'permission denied: its directory /d may not be entered',
  ],
  [
    { subject: 'cwd', path: 'file:///C:/x' },
    'cwd URI `file:///C:/x` is not valid',
    'cwd URI `file:///C:/x` is not valid',
  ],
  [
    { errno: 'ENOSPC', path: 'file:///disk/f' },
    'No space left on device (os error 28)',
    '/disk/f: no space left on device',
  ],
  [{ path: 'file:///disk/f' }, 'path contains a symbolic link', '/disk/f: path contains a symbolic link'],
  [{ path: 'file:///disk/d' }, 'path `/disk/d` is not a file', 'path `/disk/d` is not a file'],
  [
    { subject: 'program', searched: '' },
    'Unable to spawn sh because:\nUnable to resolve the PATH',
    'its environment has no PATH to look in: set one, or give the absolute path of the program',
  ],
  [undefined, missing, missing],
])('%j is described with the name of its subject', (details, message, reason) => {
  expect(failureReason(new ExecError('internal', message, { details }))).toBe(reason);
});

it('an error that did not come from a server is described by its message', () => {
  expect([failureReason(new Error('lost')), failureReason('text')]).toEqual(['lost', 'text']);
});
