import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { startServer } from '../../support/server.ts';
import { eras, McpFixture, type McpUser, type UserOptions } from './fixture.ts';

const choose = (decision: string) => () => ({ action: 'accept', content: { decision } }) as const;
const decline = () => ({ action: 'decline' }) as const;

const patchOf = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const adding = (...paths: string[]): string => patchOf(...paths.flatMap((path) => [`*** Add File: ${path}`, '+x']));

const places = ['on this machine', 'on a server'] as const;

/** A fixture and a user who works at it, from here or by a server. */
class ChangesFixture implements AsyncDisposable {
  readonly #scope = new Scope();
  readonly fixture = this.#scope.own(new McpFixture());
  user!: McpUser;

  static async open(
    place: (typeof places)[number],
    args: string[],
    options: UserOptions = {},
  ): Promise<ChangesFixture> {
    const changes = new ChangesFixture();
    const { fixture } = changes;
    const server = place === 'on a server' ? changes.#scope.own(await startServer({ cwd: fixture.work })) : undefined;
    const connect = server ? ['--connect', server.url] : [];
    changes.user = changes.#scope.own(await fixture.open([...connect, ...args], options));
    return changes;
  }

  patch(input: string, more: object = {}) {
    return this.user.call('apply_patch', { input, ...more });
  }

  write(path: string, content: string) {
    return this.user.call('write_file', { path, content });
  }

  /** What the user was asked, without the directories of this run. */
  get messages(): string[] {
    const { work, outside } = this.fixture;
    return this.user.questions.map(({ message }) => message.replaceAll(work, 'WORK').replaceAll(outside, 'OUTSIDE'));
  }

  /** The files there are. Directories come and go: sandboxes need some to hide what is in them. */
  get found(): { work: string[]; outside: string[] } {
    const list = (path: string) =>
      readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => relative(path, join(entry.parentPath, entry.name)))
        .sort();
    return { work: list(this.fixture.work), outside: list(this.fixture.outside) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#scope[Symbol.asyncDispose]();
  }
}

describe.each(places)('changes to files by an MCP client %s', (place) => {
  it.each(['never', 'on-request', 'granular:rules'])(
    'are made unasked under %s where the sandbox permits',
    async (policy) => {
      await using changes = await ChangesFixture.open(place, ['--approval', policy], { answer: decline });
      writeFileSync(join(changes.fixture.work, 'b'), 'one\ntwo\n');

      const patched = await changes.patch(patchOf('*** Add File: a', '+x', '*** Update File: b', '@@', '-two', '+2'));
      const written = await changes.write('c/d', 'y');

      expect(patched).toMatchObject({
        isError: false,
        structured: {
          files: [
            { kind: 'A', path: 'a' },
            { kind: 'M', path: 'b' },
          ],
        },
      });
      expect(written.structured).toEqual({ path: join(changes.fixture.work, 'c/d'), bytes: 1 });
      expect(changes.found.work).toEqual(['a', 'b', 'c/d']);
      expect(readFileSync(join(changes.fixture.work, 'b'), 'utf8')).toBe('one\n2\n');
      expect(changes.messages).toEqual([]);
    },
  );

  it('stay in the sandbox when the user was not asked', async () => {
    await using changes = await ChangesFixture.open(place, [], { answer: choose('accept') });
    symlinkSync(changes.fixture.outside, join(changes.fixture.work, 'link'));

    const answer = await changes.patch(adding('a', 'link/b'));

    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('Read-only file system') });
    expect(answer.text).toContain(`files below ${changes.fixture.work} and the temporary directories may be written`);
    expect(changes.found).toEqual({ work: ['link'], outside: [] });
    expect(changes.messages).toEqual([]);
  });

  it.each([
    ['never', 'read-only'],
    ['untrusted', 'workspace-write'],
    ['on-request', 'read-only'],
  ])('that cannot be made are no question under %s, %s', async (policy, sandbox) => {
    await using changes = await ChangesFixture.open(place, ['--approval', policy, '--sandbox', sandbox], {
      answer: decline,
    });

    const broken = await changes.patch('*** Begin Patch\n*** Add File: a\n+x');
    const unfit = await changes.patch(patchOf('*** Add File: a', '+x', '*** Update File: b', '@@', '-x', '+y'));
    const nowhere = await changes.write('.', 'x');

    expect(broken.text).toMatch(/^apply_patch verification failed: invalid patch: /);
    expect(unfit.text).toMatch(/^apply_patch verification failed: Failed to read file to update .*No such file/);
    expect(nowhere.text).toBe(`cannot write ${changes.fixture.work}: path \`${changes.fixture.work}\` is not a file`);
    expect([broken, unfit, nowhere].map(({ isError }) => isError)).toEqual([true, true, true]);
    expect(changes.messages).toEqual([]);
    expect(changes.found.work).toEqual([]);
  });

  it('beyond the sandbox are asked about by the names of the files, and made when the user agrees', async () => {
    await using changes = await ChangesFixture.open(place, [], { answer: choose('accept') });
    const { outside, home } = changes.fixture;
    for (const name of ['old', 'gone', 'here']) writeFileSync(join(outside, name), 'one\ntwo\n');

    const answer = await changes.patch(
      patchOf(
        ...['*** Add File: a', '+x', `*** Add File: ${outside}/new/b`, '+y'],
        ...[`*** Update File: ${outside}/old`, '@@', ' one', '-two', '+2'],
        ...[`*** Delete File: ${outside}/gone`],
        ...[`*** Update File: ${outside}/here`, '*** Move to: there', '@@', '-one', '+1'],
      ),
      { justification: 'May I tidy up?' },
    );

    expect(answer.isError).toBe(false);
    expect(changes.messages).toEqual([
      [
        'Allow these changes to files, outside what the sandbox lets be written?',
        '',
        ...['  add WORK/a', '      +x', '  add OUTSIDE/new/b', '      +y'],
        ...['  update OUTSIDE/old', '      @@', '       one', '      -two', '      +2'],
        ...['  delete OUTSIDE/gone', '  move OUTSIDE/here to WORK/there', '      @@', '      -one', '      +1'],
        '',
        'Reason: May I tidy up?',
        ...(place === 'on a server' ? ['Environment: remote'] : []),
      ].join('\n'),
    ]);
    const { decision } = changes.user.questions[0]!.requestedSchema.properties;
    expect(decision.enum).toEqual(['accept', 'acceptForSession', 'decline', 'cancel']);
    expect(changes.found).toEqual({ work: ['a', 'there'], outside: ['new/b', 'old'] });
    expect(readFileSync(join(outside, 'old'), 'utf8')).toBe('one\n2\n');
    expect(existsSync(join(home, 'rules'))).toBe(false);
  });

  it.each([
    ['declines', 'on-request', 'workspace-write', decline],
    ['declines', 'untrusted', 'danger-full-access', decline],
    ['cancels', 'on-request', 'read-only', () => ({ action: 'cancel' }) as const],
    ['chooses a rule', 'on-request', 'workspace-write', choose('acceptWithRule')],
  ])('are not made when the user %s under %s, %s', async (_, policy, sandbox, answer) => {
    await using changes = await ChangesFixture.open(place, ['--approval', policy, '--sandbox', sandbox], { answer });
    const { outside } = changes.fixture;

    const patched = await changes.patch(adding('a', join(outside, 'b')));
    const written = await changes.write(join(outside, 'c'), 'x');

    expect(patched).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^(?:patch rejected|cannot apply the patch: rejected) by user$/),
    });
    expect(written).toMatchObject({ isError: true, text: `cannot write ${outside}/c: rejected by user` });
    expect(changes.messages).toHaveLength(2);
    expect(changes.found).toEqual({ work: [], outside: [] });
  });

  it.each([
    ['never', 'workspace-write', 'writing outside of the project; rejected by user approval settings'],
    ['never', 'read-only', 'writing is blocked by read-only sandbox; rejected by user approval settings'],
    ['granular:rules', 'workspace-write', 'writing outside of the project; rejected by user approval settings'],
  ])('beyond the sandbox are refused with the reason under %s, %s', async (policy, sandbox, reason) => {
    await using changes = await ChangesFixture.open(place, ['--approval', policy, '--sandbox', sandbox], {
      answer: choose('accept'),
    });
    const { outside } = changes.fixture;

    const patched = await changes.patch(adding('a', join(outside, 'b')));
    const written = await changes.write(join(outside, 'c'), 'x');

    expect(patched).toMatchObject({
      isError: true,
      text: expect.stringContaining(`patch rejected: ${reason}\nIn the `),
    });
    expect(written.text).toContain(`cannot write ${outside}/c: ${reason}. In the ${sandbox} sandbox everything may be`);
    expect(changes.messages).toEqual([]);
    expect(changes.found).toEqual({ work: [], outside: [] });
  });

  it('accepted for the session are not asked about again, whichever tool makes them', async () => {
    await using changes = await ChangesFixture.open(place, [], { answer: choose('acceptForSession') });
    const [b, c] = ['b', 'c'].map((name) => join(changes.fixture.outside, name)) as [string, string];

    await changes.patch(adding(b));
    await changes.write(b, 'written\n');
    await changes.user.exec(
      `apply_patch <<'EOF'\n${patchOf(`*** Update File: ${b}`, '@@', '-written', '+run')}\nEOF\n`,
    );
    expect(readFileSync(b, 'utf8')).toBe('run\n');
    expect(changes.messages).toHaveLength(1);

    await changes.write(c, '');
    expect(changes.messages).toHaveLength(2);
  });

  it('agreed to for one file are no way to another by a link', async () => {
    await using changes = await ChangesFixture.open(place, [], { answer: choose('accept') });
    const { outside, work } = changes.fixture;
    symlinkSync(outside, join(work, 'link'));
    writeFileSync(join(outside, 'secret'), 'kept\n');

    const answer = await changes.patch(adding(join(outside, 'a'), 'link/secret'));

    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining('No files were modified.') });
    expect(changes.found.outside).toEqual(['secret']);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('kept\n');
  });

  it('to what the sandbox protects in a project take the word of the user', async () => {
    await using changes = await ChangesFixture.open(place, [], { answer: choose('accept') });
    const { work } = changes.fixture;
    mkdirSync(join(work, '.git/hooks'), { recursive: true });

    const first = await changes.patch(adding('.git/hooks/a', '.git/b', '.codex/c/d', 'e'));
    const second = await changes.write('.agents/f', ''); // where a sandbox keeps the place of what must not be made

    expect([first, second]).toMatchObject([{ isError: false }, { isError: false }]);
    expect(changes.messages).toHaveLength(2);
    expect(changes.found.work).toEqual(['.agents/f', '.codex/c/d', '.git/b', '.git/hooks/a', 'e']);
  });
});

describe.each(eras)('changes to files by an MCP client of %s', (era) => {
  it('are asked about one by one under the policy untrusted', async () => {
    await using changes = await ChangesFixture.open('on this machine', ['--approval', 'untrusted'], {
      era,
      answer: choose('accept'),
    });

    await changes.patch(adding('a'));
    await changes.write('a', 'y\n');

    expect(changes.messages).toEqual([
      'Allow these changes to files?\n\n  add WORK/a\n      +x\n',
      'Allow these changes to files?\n\n  update WORK/a\n      +y\n',
    ]);
    expect(readFileSync(join(changes.fixture.work, 'a'), 'utf8')).toBe('y\n');
  });

  it('follow rules about the tool and the path', async () => {
    await using fixture = new McpFixture();
    const rules = join(fixture.home, 'mine.rules');
    const rule = (tool: string, path: string, decision: string) =>
      `prefix_rule(pattern = ["${tool}", "${path}"], decision = "${decision}")\n`;
    const allowed = join(fixture.outside, 'allowed');
    const forbidden = join(fixture.work, 'forbidden');
    writeFileSync(rules, rule('apply_patch', allowed, 'allow') + rule('write_file', forbidden, 'forbidden'));
    await using user = await fixture.open(['--approval', 'never', '--rules', rules], { era });

    const patched = await user.call('apply_patch', { input: adding(allowed) });
    const other = await user.call('apply_patch', { input: adding(`${allowed}2`) });
    const written = await user.call('write_file', { path: forbidden, content: '' });

    expect([patched.isError, other.isError]).toEqual([false, true]);
    expect(written.text).toContain(`cannot write ${forbidden}: \`write_file ${forbidden}\` rejected: policy forbids`);
    expect([existsSync(allowed), existsSync(`${allowed}2`), existsSync(forbidden)]).toEqual([true, false, false]);
  });
});
