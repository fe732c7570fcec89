// What npm runs after it has installed or linked the package. `npx` inside the checkout links it, too, at its first use: then
// what is built stays as it is, because a server may be running from it.
import { existsSync } from 'node:fs';

const isBuilt = existsSync(new URL('../dist/bin/exec-server.cjs', import.meta.url));
if (process.env.npm_command !== 'exec' || !isBuilt) await import('./build.mjs');
