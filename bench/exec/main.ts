import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nativeFile } from '../../src/host/os/index.ts';
import { useOwnHome } from '../../test/support/own-home.ts';
import { packageRoot } from '../../test/support/package-root.ts';
import { UsageError } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { progressOn } from '../progress.ts';
import { type Arguments, help, parseArguments } from './arguments.ts';
import { referenceWrapper } from './reference-wrapper.ts';
import { type Pair, type Report, renderText } from './report.ts';
import { sample } from './sample.ts';
import type { Variant } from './variant.ts';

const answers = ['run', 'escalate', 'deny'] as const;

const plain: Variant = { name: 'plain Bash' };

function variantsOf(wrapper: string, reference: string): Variant[] {
  return [
    ...answers.map((answer) => ({
      name: `wrapper, ${answer}`,
      interception: { by: 'wrapper', wrapper, answer } as const,
    })),
    { name: "Codex's wrapper, run", interception: { by: 'wrapper', wrapper: reference, answer: 'run' } },
    { name: 'kernel, run, program known', interception: { by: 'kernel', answer: 'pass' } },
    ...answers.map((answer) => ({ name: `kernel, ${answer}`, interception: { by: 'kernel', answer } as const })),
  ];
}

async function measure({ execs, rounds }: Arguments, root: string): Promise<Report> {
  const bash = join(root, 'build', 'bash', 'bash');
  if (!existsSync(bash)) throw new UsageError('a patched Bash is needed: run npm run build:bash');
  const variants = variantsOf(nativeFile('execve-wrapper'), await referenceWrapper(root));
  const pairs: Pair[][] = variants.map(() => []);
  const progress = progressOn(process.stderr);
  for (let round = 1; round <= rounds; round++) {
    for (const [index, variant] of variants.entries()) {
      progress.show(`round ${round} of ${rounds}: ${variant.name}`);
      pairs[index]!.push({ plain: await sample(bash, plain, execs), cost: await sample(bash, variant, execs) });
    }
    progress.finish(`round ${round} of ${rounds}`);
  }
  progress.clear();
  return {
    date: new Date().toISOString(),
    machine: describeMachine(),
    execs,
    rounds,
    variants: variants.map(({ name }, index) => ({ name, pairs: pairs[index]! })),
  };
}

async function main(argv: string[]): Promise<void> {
  const args = parseArguments(argv);
  if (args.help) {
    process.stdout.write(help);
    return;
  }
  const removeHome = useOwnHome();
  const report = await measure(args, packageRoot()).finally(removeHome);
  process.stdout.write(args.json ? `${JSON.stringify(report, null, 2)}\n` : renderText(report));
}

void main(process.argv.slice(2)).catch((error: Error) => {
  console.error(`bench:exec: ${error.message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
