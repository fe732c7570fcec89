import type { LogFields, Logger } from '../base/index.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** Logs to stderr: text for a person on a terminal, a JSON line otherwise. `EXEC_SERVER_LOG` sets the lowest level. */
export function stderrLogger(env: NodeJS.ProcessEnv, base: LogFields = {}): Logger {
  const wanted = levels.indexOf(env.EXEC_SERVER_LOG as Level);
  const lowest = wanted < 0 ? levels.indexOf('warn') : wanted;
  const log = (level: Level) => (event: string, fields?: LogFields) => {
    if (levels.indexOf(level) < lowest) return;
    process.stderr.write(`${format(level, event, { ...base, ...fields })}\n`);
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    with: (fields) => stderrLogger(env, { ...base, ...fields }),
  };
}

function format(level: Level, event: string, fields: LogFields): string {
  const time = new Date().toISOString();
  if (!process.stderr.isTTY) return JSON.stringify({ time, level, event, ...fields });
  const details = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${time} ${level} ${event}${details.join('')}`;
}
