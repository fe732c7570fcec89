import { SandboxHost } from '../../host/sandbox/index.ts';
import { describeOptions, parseOptions, requireNoPositionals } from '../arguments.ts';
import { type Check, examine } from '../checks.ts';
import { print } from '../print.ts';

const options = {
  json: { type: 'boolean', help: 'print the findings as JSON' },
  help: { type: 'boolean', short: 'h', help: 'show this text' },
} as const;

const help = (): string => `Checks what exec-server can do on this machine, and says how to fix what does not work.

Usage: exec-server doctor [--json]

Options:
${describeOptions(options)}

Exit codes: 0 everything needed to serve is there (warnings may remain), 1 something is missing, 2 wrong usage.
`;

export async function doctorCommand(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions(argv, options);
  if (values.help) return print(help());
  requireNoPositionals(positionals);
  const checks = await examine(new SandboxHost({ environment: process.env as Record<string, string> }));
  process.stdout.write(values.json ? `${JSON.stringify({ checks }, null, 2)}\n` : `${checks.map(line).join('\n')}\n`);
  return checks.some(({ verdict }) => verdict === 'missing') ? 1 : 0;
}

const marks = { ok: ['✔', 32], warning: ['!', 33], missing: ['✘', 31] } as const;

function line({ name, verdict, finding, remedy }: Check): string {
  const [mark, colour] = marks[verdict];
  const shown = process.stdout.isTTY ? `\u001b[${colour}m${mark}\u001b[0m` : mark;
  return `${shown} ${name}: ${finding}${remedy === undefined ? '' : `\n    fix: ${remedy}`}`;
}
