import { describe, expect, it } from 'vitest';
import { parsePatchCommand } from './command.ts';

const patch = '*** Begin Patch\n*** Add File: a\n+$HOME `id`\n*** End Patch';
const shell = (script: string) => parsePatchCommand(['/bin/bash', '-lc', script]);

describe('a command that stands for the patch tool', () => {
  it.each([
    `apply_patch <<'EOF'\n${patch}\nEOF`,
    `applypatch <<'EOF'\n${patch}\nEOF\n`,
    `apply_patch <<EOF\n${patch}\nEOF`,
    `  apply_patch  << "PATCH"  \n${patch}\nPATCH\n\n`,
    `apply_patch <<-'EOF'\n${patch}\n\tEOF`,
    `apply_patch '${patch}'`,
  ])('is found in the script %j', (script) => {
    expect(shell(script)).toEqual({ text: patch, directory: undefined, isExplicit: true });
  });

  it.each([
    ['cd sub/dir && ', 'sub/dir'],
    ["cd 'a b' && ", 'a b'],
    ['cd "a b"&&', 'a b'],
    ['cd /abs &&\n', '/abs'],
  ])('may go to a directory first: %j', (start, directory) => {
    expect(shell(`${start}apply_patch <<'EOF'\n${patch}\nEOF`)).toEqual({ text: patch, directory, isExplicit: true });
  });

  it('is found without a shell', () => {
    expect(parsePatchCommand(['apply_patch', patch])).toEqual({ text: patch, directory: undefined, isExplicit: true });
  });

  it('is a patch without a call, for which a shell must not be used', () => {
    expect(shell(patch)).toEqual({ text: patch, directory: undefined, isExplicit: false });
  });

  it.each([
    `apply_patch <<'EOF'\n${patch}\nEOF\necho more`,
    `apply_patch <<'EOF'\n${patch}`,
    `apply_patch <<'EOF' > log\n${patch}\nEOF`,
    `cd a; apply_patch <<'EOF'\n${patch}\nEOF`,
    `cd a b && apply_patch <<'EOF'\n${patch}\nEOF`,
    `cd $HOME && apply_patch <<'EOF'\n${patch}\nEOF`,
    `cat <<'EOF'\n${patch}\nEOF`,
    'apply_patch "$PATCH"',
    'apply_patch',
    'echo apply_patch',
  ])('is not %j', (script) => {
    expect(shell(script)).toBeUndefined();
  });

  it('is looked for in one pass, however many blanks there are', () => {
    expect(shell(`apply_patch${' '.repeat(300_000)}x`)).toBeUndefined();
  });

  it.each([
    [['python3', '-c', `apply_patch '${patch}'`]],
    [['bash', '-x', `apply_patch '${patch}'`]],
    [['bash', '-c', `apply_patch '${patch}'`, 'more']],
    [['apply_patch', patch, 'more']],
  ])('is not %j, which is no script of a shell', (argv) => {
    expect(parsePatchCommand(argv)).toBeUndefined();
  });
});
