#!/usr/bin/env node
import { shellToolCommand } from './commands/shell-tool-command.ts';
import { UsageError } from './usage-error.ts';

async function runMain(argv: readonly string[]): Promise<number> {
  try {
    return await shellToolCommand(argv);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const hint = isUsage ? "\n\nFor more information, try 'exec-mcp-server --help'." : '';
    process.stderr.write(`${isUsage ? 'error' : 'Error'}: ${(error as Error).message}${hint}\n`);
    return isUsage ? 2 : 1;
  }
}

void runMain(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
