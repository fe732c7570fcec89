import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { EscalationFixture, interceptions } from './fixture.ts';

const rules = `
prefix_rule(pattern = ["touch"])
prefix_rule(pattern = ["printenv"])
prefix_rule(pattern = ["tool"])
`;

describe.each(interceptions)('no way out (--intercept=%s)', (intercept) => {
  it('leads through links of /proc, which mean another place the next moment', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();

    const { stdout } = await fixture.run(
      'PATH=/proc/self/cwd:/proc/$$/root/bin:/dev/fd/9:/usr/bin /usr/bin/printenv PATH',
    );
    const { stderr } = await fixture.run(`/proc/self/root/usr/bin/touch ${fixture.outside}/escaped`);

    expect(stdout).toBe('/usr/bin\n');
    expect(stderr).toContain('Read-only file system');
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is opened by another name: many programs do something else then', async () => {
    await using fixture = await EscalationFixture.open({ intercept });
    writeFileSync(fixture.rulesFile, `prefix_rule(pattern = ["${join(fixture.outside, 'tool')}"])`);
    symlinkSync('/bin/touch', join(fixture.outside, 'tool'));

    await fixture.run(`exec -a sh ${fixture.outside}/tool ${fixture.outside}/escaped`);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);

    await fixture.run(`${fixture.outside}/tool ${fixture.outside}/escaped`);
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(true);
  });

  it('is left by an earlier call that could write somewhere else', async () => {
    await using fixture = await EscalationFixture.open({ intercept, rules });
    await fixture.allowWork();
    await fixture.run(`printf '#!/bin/sh\\n: > ${fixture.outside}/escaped\\n' > tool; chmod +x tool`);

    await fixture.allowWork({ type: 'read-only' });
    await fixture.run('./tool');

    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('is opened by rules that a command has written', async () => {
    await using fixture = await EscalationFixture.open({ intercept });
    const around = dirname(fixture.work);
    await fixture.allowWork({ type: 'workspace-write', writable_roots: [around], exclude_slash_tmp: true });
    const rule = `prefix_rule(pattern = ["sh"])`;

    const { stderr } = await fixture.run(`echo '${rule}' >> '${fixture.rulesFile}'`);
    writeFileSync(fixture.rulesFile, rule); // as if it had found a way
    await fixture.allowWork();
    await fixture.run(`sh -c ': > ${fixture.outside}/escaped'`);

    expect(stderr).toContain('Read-only file system');
    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });
});

// Python's own sockets ask for their address first, which the filter of the sandbox refuses.
const sendFrom = (descriptor: number, path: string) => `
import ctypes, struct
content = ctypes.create_string_buffer(b"from inside")
address = ctypes.create_string_buffer(struct.pack("H", 1) + ${JSON.stringify(path)}.encode() + b"\\0")
part = (ctypes.c_void_p * 2)(ctypes.addressof(content), 11)
message = struct.pack("PQPQPQQ", ctypes.addressof(address), len(address) - 1, ctypes.addressof(part), 1, 0, 0, 0)
print(ctypes.CDLL(None).sendmsg(${descriptor}, ctypes.create_string_buffer(message), 0))
`;

describe('the socket that wrappers announce themselves on', () => {
  it('reaches nothing but the broker', async () => {
    await using fixture = await EscalationFixture.open({ intercept: 'bash' });
    const path = join(fixture.outside, 'listener');
    const listen = `import socket; s = socket.socket(1, 2); s.bind(${JSON.stringify(path)}); print("ready", flush=True)
while True:
    print(s.recv(99).decode(), flush=True)`;
    const listener = spawn('/usr/bin/python3', ['-c', listen], { stdio: ['ignore', 'pipe', 'inherit'] });
    const heard: string[] = [];
    const lines = createInterface({ input: listener.stdout });
    const ended = new Promise<void>((resolve) => {
      lines.on('line', (line) => (line === 'end' ? resolve() : heard.push(line)));
    });
    await once(lines, 'line');
    writeFileSync(join(fixture.work, 'send.py'), sendFrom(250, path));

    const { stdout } = await fixture.run('/usr/bin/python3 send.py');
    const end = `import socket; socket.socket(1, 2).sendto(b"end", ${JSON.stringify(path)})`;
    execFileSync('/usr/bin/python3', ['-c', end]);
    await ended;
    listener.kill();

    expect(heard).toEqual(['ready']);
    expect(stdout).toBe('11\n'); // it went to the broker, which dropped it
    expect(fixture.warnings).toContainEqual(['broker.noted', { text: 'a packet with 0 descriptors dropped' }]);
  });
});
