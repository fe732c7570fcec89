import { ExecError, type Params } from '../../../protocol/index.ts';
import { shellDialects } from './dialects.ts';
import type { ShellDialect } from './state.ts';

const SCOPE_BYTES = 256;

/** The dialect of a command that a snapshot can be prepended to, `<shell> -lc <script>`; undefined for other commands. */
export function rewritableIn(
  wanted: Params<'process/start'>['shellSnapshot'],
  argv: readonly string[],
): ShellDialect | undefined {
  if (!wanted) return undefined;
  if (wanted.scopeId === '' || Buffer.byteLength(wanted.scopeId) > SCOPE_BYTES) {
    throw new ExecError('invalidParams', `shell snapshot scope must be non-empty and at most ${SCOPE_BYTES} bytes`);
  }
  if (argv[0] !== wanted.shell.path || argv[1] !== '-lc' || argv.length < 3) return undefined;
  const dialect = shellDialects.get(wanted.shell.name);
  if (dialect) return dialect;
  throw new ExecError('invalidParams', `shell snapshots are unsupported for shell \`${wanted.shell.name}\``);
}
