import type { LogFields, Logger } from '../base/index.ts';
import { LogSink } from './log-sink.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** Logs to stderr: text for a person on a terminal, a JSON line otherwise. `EXEC_SERVER_LOG` sets the lowest level. */
export function stderrLogger(env: NodeJS.ProcessEnv): Logger {
  const sink = new LogSink((lines) => format('warn', 'log.dropped', { lines, reason: 'the log is read too slowly' }));
  process.once('exit', () => sink.flush());
  return loggerTo(sink, env, {});
}

function loggerTo(sink: LogSink, env: NodeJS.ProcessEnv, base: LogFields): Logger {
  const wanted = levels.indexOf(env.EXEC_SERVER_LOG as Level);
  const lowest = wanted < 0 ? levels.indexOf('warn') : wanted;
  const log = (level: Level) => (event: string, fields?: LogFields) => {
    if (levels.indexOf(level) < lowest) return;
    sink.add(format(level, event, { ...base, ...fields }));
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    with: (fields) => loggerTo(sink, env, { ...base, ...fields }),
  };
}

function format(level: Level, event: string, fields: LogFields): string {
  const time = new Date().toISOString();
  if (!process.stderr.isTTY) return JSON.stringify({ time, level, event, ...fields });
  const details = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${time} ${level} ${event}${details.join('')}`;
}
