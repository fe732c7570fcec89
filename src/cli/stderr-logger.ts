import type { LogFields, Logger } from '../base/index.ts';
import { LogSink } from './log-sink.ts';
import { UsageError } from './usage-error.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** Logs to stderr: readable text on a terminal, JSON lines otherwise. `EXEC_SERVER_LOG` sets the lowest level; throws for an unknown level. */
export function stderrLogger(env: NodeJS.ProcessEnv): Logger {
  const lowest = levels.indexOf(levelIn(env));
  const sink = new LogSink((lines) => format('warn', 'log.dropped', { lines, reason: 'the log is read too slowly' }));
  process.once('exit', () => sink.finish());
  return loggerTo(sink, lowest, {});
}

function loggerTo(sink: LogSink, lowest: number, base: LogFields): Logger {
  const log = (level: Level) => (event: string, fields?: LogFields) => {
    if (levels.indexOf(level) < lowest) return;
    sink.add(format(level, event, { ...base, ...fields }));
  };
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    with: (fields) => loggerTo(sink, lowest, { ...base, ...fields }),
  };
}

function levelIn({ EXEC_SERVER_LOG: text = '' }: NodeJS.ProcessEnv): Level {
  if (text === '') return 'warn';
  const level = levels.find((known) => known === text);
  if (level) return level;
  throw new UsageError(`invalid value '${text}' for EXEC_SERVER_LOG: expected debug, info, warn or error`);
}

function format(level: Level, event: string, fields: LogFields): string {
  const time = new Date().toISOString();
  if (!process.stderr.isTTY) return JSON.stringify({ time, level, event, ...fields });
  const details = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${time} ${level} ${event}${details.join('')}`;
}
