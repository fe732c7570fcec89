import { Host } from '../../src/host/index.ts';
import { SandboxHost } from '../../src/host/sandbox/index.ts';

/** This machine with the variables of the test runner, as a program that embeds a server would use it. */
export const testHost = (environment: Readonly<Record<string, string | undefined>> = process.env): Host =>
  new Host({ environment });

/** What a server there would make its sandboxes with. */
export const testSandboxes = (): SandboxHost => new SandboxHost(testHost());
