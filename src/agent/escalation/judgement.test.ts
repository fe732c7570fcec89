import { describe, expect, it } from 'vitest';
import { loadPolicy } from '../rules/index.ts';
import { answerToSeen, judge } from './judgement.ts';

const policy = loadPolicy([
  {
    name: 'test',
    text: `
prefix_rule(pattern = ["git"], decision = "prompt", justification = "git is powerful")
prefix_rule(pattern = ["git", "status"], decision = "prompt", justification = "even this")
prefix_rule(pattern = ["git", "push", "--force"], decision = "forbidden")
prefix_rule(pattern = ["ls"])
prefix_rule(pattern = ["/opt/tool"])
prefix_rule(pattern = ["make"])
host_executable(name = "make", paths = ["/usr/bin/make"])
`,
  },
]);

const names = { preserveProgramPaths: false };
const paths = { preserveProgramPaths: true };

describe('a program that is to be executed', () => {
  it.each([
    ['/usr/bin/ls', [], { decision: 'allow', byRule: true, ruleNamesPath: false }],
    ['/work/ls', ['-l'], { decision: 'allow', byRule: false, ruleNamesPath: false }],
    ['/work/git', ['log'], { decision: 'prompt', byRule: true, justification: 'git is powerful' }],
    ['/opt/tool', [], { decision: 'allow', byRule: true, ruleNamesPath: true }],
    ['/usr/bin/make', [], { decision: 'allow', byRule: true, ruleNamesPath: true }],
    ['/work/make', [], { decision: 'allow', byRule: false, ruleNamesPath: false }],
    ['/usr/bin/git', ['log'], { decision: 'prompt', byRule: true, justification: 'git is powerful' }],
    ['/usr/bin/git', ['status'], { decision: 'prompt', byRule: true, justification: 'even this' }],
    ['/usr/bin/git', ['push', '--force'], { decision: 'forbidden', byRule: true, justification: undefined }],
    ['/usr/bin/cat', ['x'], { decision: 'allow', byRule: false }],
    ['/usr/bin/rm', ['-r', '-f', 'x'], { decision: 'prompt', byRule: false }],
    ['/usr/bin/env', ['A=1', 'rm', '--force', 'x'], { decision: 'prompt', byRule: false }],
    ['/usr/bin/rm', ['x'], { decision: 'allow', byRule: false }],
  ])('%s %j is judged by its rules', (path, args, expected) => {
    expect(judge(policy, path, args, names)).toMatchObject(expected);
  });

  it('is known by its path alone when paths are preserved', () => {
    expect(judge(policy, '/usr/bin/ls', [], paths)).toMatchObject({ decision: 'allow', byRule: false });
    expect(judge(policy, '/opt/tool', [], paths)).toMatchObject({ byRule: true, ruleNamesPath: true });
  });

  it.each([
    ['/usr/bin/cat', ['x'], 'allow-path'],
    ['/usr/bin/ls', [], 'inspect'],
    ['/opt/tool', [], 'inspect'],
    ['/work/make', [], 'run'],
    ['/usr/bin/git', ['log'], 'inspect'],
    ['/usr/bin/rm', ['x'], 'run'],
    ['/usr/bin/rm', ['-f', 'x'], 'inspect'],
    ['/bin/sh', ['-c', 'ls'], 'run'],
  ])('%s %j answerSeen inside: %s', (path, args, expected) => {
    expect(answerToSeen(policy, path, args, names)).toBe(expected);
  });
});
