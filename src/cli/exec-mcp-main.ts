#!/usr/bin/env node
import { shellToolCommand } from './commands/shell-tool-command.ts';
import { reportError } from './usage-error.ts';

async function runMain(argv: readonly string[]): Promise<number> {
  try {
    return await shellToolCommand(argv);
  } catch (error) {
    return reportError(error, 'exec-mcp-server');
  }
}

void runMain(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
