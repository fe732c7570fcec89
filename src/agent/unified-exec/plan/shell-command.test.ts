import { describe, expect, it } from 'vitest';
import { localShell, remoteShell, shellArgv, shellKind } from './shell-command.ts';

const bash = { name: 'bash', path: '/bin/bash' };

describe('a shell', () => {
  it('is known by its name or path', () => {
    const names = [
      'bash',
      '/usr/bin/zsh',
      'sh',
      'pwsh',
      'C:\\Windows\\System32\\cmd.exe',
      'PowerShell.exe',
      'fish',
      '',
    ];
    expect(names.map(shellKind)).toEqual([
      'bash',
      'zsh',
      'sh',
      'powershell',
      'cmd',
      'powershell',
      undefined,
      undefined,
    ]);
  });

  it('runs a script with or without its login files', () => {
    expect([shellArgv(bash, 'ls', true), shellArgv(bash, 'ls', false)]).toEqual([
      ['/bin/bash', '-lc', 'ls'],
      ['/bin/bash', '-c', 'ls'],
    ]);
  });

  it('of Windows has words of its own', () => {
    const powershell = { name: 'powershell', path: 'pwsh.exe' };
    expect([shellArgv(powershell, 'ls', true), shellArgv(powershell, 'ls', false)]).toEqual([
      ['pwsh.exe', '-Command', 'ls'],
      ['pwsh.exe', '-NoProfile', '-Command', 'ls'],
    ]);
    expect(shellArgv({ name: 'cmd', path: 'cmd.exe' }, 'dir', true)).toEqual(['cmd.exe', '/c', 'dir']);
  });

  it('of another machine is the one it reports, or none', () => {
    const asked = [undefined, 'bash', '/usr/local/bin/bash', 'zsh', 'fish', ''];
    expect(asked.map((shell) => remoteShell(bash, shell))).toEqual([bash, bash, bash, undefined, undefined, undefined]);
  });

  it('of this machine is one that is there', () => {
    expect(localShell(bash, '/opt/bash', () => [])).toEqual(bash);
    expect(localShell(bash, 'fish', () => ['/bin'])).toEqual({ name: 'sh', path: '/bin/sh' });
    expect(localShell(bash, 'sh', () => ['/nowhere', '/usr/bin'])).toEqual({ name: 'sh', path: '/usr/bin/sh' });
  });
});
