import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Outcome, type Pairing, pairings, ShellMcp } from './shell-mcp-fixture.ts';

const rules = `
prefix_rule(pattern = ["uname"], decision = "forbidden")
prefix_rule(pattern = ["touch"])
prefix_rule(pattern = ["seq"])
prefix_rule(pattern = ["tool"])
prefix_rule(pattern = ["mkdir"], decision = "prompt")
`;

const denied = 'Execution denied: Execution forbidden by policy\n';

/** Each is run in every pairing, and everything it prints is compared. */
const constructs: readonly [construct: string, script: string, output: string, exitCode?: number][] = [
  ['a command', 'uname; echo $?', `${denied}1\n`],
  ['an absolute path', '/bin/uname; echo $?', `${denied}1\n`],
  ['members of a pipeline', 'seq 3 | { cat >/dev/null; uname; } | cat; echo done', `${denied}done\n`],
  ['a subshell', '(uname; echo $?)', `${denied}1\n`],
  ['a substitution', 'x=$(uname); echo "<$x> $?"', `${denied}<> 1\n`],
  ['the background', 'uname & wait $!; echo $?', `${denied}1\n`],
  ['a process substitution', 'cat <(uname); echo done', `${denied}done\n`],
  ['a coprocess', 'coproc uname; wait $COPROC_PID; echo $?', `${denied}1\n`],
  ['exec', 'exec uname', denied, 1],
  ['exec with a name', '(exec -a other seq 2); (exec -a seq uname); echo $?', `1\n2\n${denied}1\n`],
  ['command', 'command uname; echo $?', `${denied}1\n`],
  ['prefix assignments', 'A=1 B="x y" printenv A B', '1\nx y\n'],
  ['eval', "eval 'uname; echo $?'", `${denied}1\n`],
  ['source', 'source /dev/stdin <<< "uname; echo \\$?"', `${denied}1\n`],
  ['a function', 'f() { uname; echo $?; }; f', `${denied}1\n`],
  ['an alias', 'shopt -s expand_aliases\nalias u=uname\nu; echo $?', `${denied}1\n`],
  ['a trap', 'trap uname EXIT; echo end', `end\n${denied}`],
  ['time', 'TIMEFORMAT=; time uname; echo $?', `${denied}1\n`],
  ['builtins', '[[ a < b ]] && type -t cd && printf "%s\\n" ok', 'builtin\nok\n'],
  ['another Bash of the same make', '"$BASH" -c "uname; echo \\$?"', `${denied}1\n`],
  ['another shell, which is not seen', 'sh -c "uname; echo ok"', 'Linux\nok\n'],
  ['find, which is not seen', 'find /etc/hostname -exec uname \\;', 'Linux\n'],
  ['a command that is not there', 'nosuchcommand; echo $?', 'bash: line 2: nosuchcommand: command not found\n127\n'],
  ['what is allowed to leave', 'touch $OUTSIDE/made && [ -e $OUTSIDE/made ] && echo made', 'made\n'],
  ['what stays inside', 'cp /etc/hostname $OUTSIDE/copied 2>/dev/null; echo $?', '1\n'],
  ['an exit code from outside', 'touch /no/where 2>/dev/null; echo $?', '1\n'],
  [
    'descriptors of one that leaves',
    'seq 2 >&2; seq 3 4 | cat; { seq 5 6 >&7; } 7>&1 >/dev/null',
    '1\n2\n3\n4\n5\n6\n',
  ],
  ['pipefail', 'set -o pipefail; uname | cat; echo $?', `${denied}1\n`],
  ['what the user agrees to', 'mkdir $OUTSIDE/yes && [ -d $OUTSIDE/yes ] && echo made', 'made\n'],
  ['what the user declines', 'mkdir $OUTSIDE/no; echo $?', 'Execution denied: User declined execution\n1\n'],
  ['what the user dismisses', 'mkdir $OUTSIDE/cancel; echo $?', 'Execution denied: User cancelled execution\n1\n'],
  ['exit codes', 'exit 3', '', 3],
];

/** Known to be wrong with a part of the reference, and right without it. */
const defects: readonly [defect: string, script: string, output: string, culprit: keyof Pairing][] = [
  ['a name that starts with a dash', "(exec -l sh -c 'echo $0')", '-sh\n', 'wrapper'],
  ['arguments that are no text', "/usr/bin/printf %s $'\\xff' | od -An -tx1", ' ff\n', 'wrapper'],
  ['variables that are no text', "V=$'\\xff' printenv V | od -An -tx1", ' ff 0a\n', 'wrapper'],
  ['a wrapper that is taken away', 'unset BASH_EXEC_WRAPPER EXEC_WRAPPER; uname; echo $?', `${denied}1\n`, 'bash'],
  [
    'a program of an allowed name that was planted',
    "cd /tmp && d=$(mktemp -d) && printf '#!/bin/sh\\necho > $OUTSIDE/escaped\\n' > $d/touch && chmod +x $d/touch && $d/touch 2>/dev/null; [ -e $OUTSIDE/escaped ]; echo $?; rm $d/touch; rmdir $d",
    '1\n',
    'server',
  ],
  ['death by a signal outside', '{ $OUTSIDE/tool; } 2>/dev/null; echo $?', '137\n', 'server'],
];

const answer = ({ message }: { message: string }) => {
  const path = /outside\/(\w+)/.exec(message)?.[1];
  return { action: path === 'no' ? 'decline' : path === 'cancel' ? 'cancel' : 'accept' } as const;
};

describe.each(pairings)('the $server server, the $wrapper wrapper and the $bash Bash', (pairing) => {
  it('agree on what is intercepted, and what comes of it', async () => {
    await using server = await ShellMcp.start(pairing, rules, { answer });
    const outcomes: Record<string, Outcome> = {};
    for (const [construct, script] of constructs) {
      outcomes[construct] = await server.run(script.replaceAll('$OUTSIDE', server.outside));
    }

    expect(outcomes).toEqual(
      Object.fromEntries(constructs.map(([name, , output, exitCode = 0]) => [name, { exit_code: exitCode, output }])),
    );
  });

  it('ask in the same words', async () => {
    await using server = await ShellMcp.start(pairing, rules, { answer });
    await server.run(`mkdir '${server.outside}/a b' $'it\\'s'; rm -rf nothing`);

    const [first, second] = server.peer.questions;
    const quoted = `'${server.outside}/a b' "it's"`;
    expect(first!.message.split('\n')[0]).toMatch(/^Allow agent to run `(\/usr)?\/bin\/mkdir /);
    expect(first!.message.split('\n')[0]).toContain(`/mkdir ${quoted}\` in \`${server.work}\`?`);
    expect(second!.message.split('\n')[0]).toContain('/rm -rf nothing` in ');
    expect(first!.requestedSchema).toMatchObject({
      type: 'object',
      title: 'Execution Permission Request',
      properties: { reason: { type: 'string' } },
    });
    expect(first!._meta).toHaveProperty('progressToken');
  });

  it('differ where a part of the reference is at fault, and there alone', async () => {
    await using server = await ShellMcp.start(pairing, rules, { answer });
    await server.sandbox({ type: 'workspace-write', writable_roots: [] });
    writeFileSync(`${server.outside}/tool`, '#!/bin/sh\nkill -KILL $$\n', { mode: 0o755 });

    const right: Record<string, boolean> = {};
    for (const [defect, script, output] of defects) {
      const outcome = await server.run(script.replaceAll('$OUTSIDE', server.outside)).catch((error: Error) => error);
      right[defect] = !(outcome instanceof Error) && outcome.output === output;
    }

    expect(right).toEqual(
      Object.fromEntries(defects.map(([defect, , , culprit]) => [defect, pairing[culprit] === 'ours'])),
    );
  });
});
