import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ExecCommandEnd, type ExecEvent, eventLine } from '../../../src/agent/unified-exec/index.ts';
import { ExecFixture, type Place, untilFile } from './fixture.ts';

const places: Place[] = ['here', 'server'];

const textOf = (event: ExecEvent): string =>
  event.type === 'ExecCommandOutputDelta' ? Buffer.from(event.chunk, 'base64').toString() : '';

/** Events in short, neighbouring output joined. */
function story(events: readonly ExecEvent[]): string[] {
  const told: string[] = [];
  for (const event of events) {
    if (event.type === 'ExecCommandOutputDelta' && told.at(-1)?.startsWith('output ')) {
      told[told.length - 1] += textOf(event);
    } else told.push(line(event));
  }
  return told;
}

function line(event: ExecEvent): string {
  if (event.type === 'ExecCommandBegin') return `begin ${event.source}`;
  if (event.type === 'ExecCommandOutputDelta') return `output ${textOf(event)}`;
  if (event.type === 'TerminalInteraction') return `typed ${event.stdin}`;
  if (event.type === 'ExecCommandEnd') return `end ${event.exit_code} ${event.status}`;
  return event.type;
}

const endOf = (events: readonly ExecEvent[]): ExecCommandEnd =>
  events.find((event): event is ExecCommandEnd => event.type === 'ExecCommandEnd')!;

describe.each(places)('the events of commands run %s', (place) => {
  it('tell a quick command from its begin to its end, its early output included', async () => {
    await using box = await ExecFixture.open(place);

    await box.run('echo quick; exit 2');
    const events = await box.allEvents();

    expect(story(events)).toEqual(['begin unified_exec_startup', 'output quick\n', 'end 2 failed']);
    expect(events[0]).toEqual({
      type: 'ExecCommandBegin',
      call_id: 'call_1',
      turn_id: 'turn',
      process_id: expect.stringMatching(/^\d{4,5}$/),
      started_at_ms: expect.any(Number),
      command: [expect.stringContaining('sh'), '-c', 'echo quick; exit 2'],
      cwd: box.cwd,
      parsed_cmd: [{ type: 'unknown', command: 'echo quick; exit 2' }],
      source: 'unified_exec_startup',
    });
    expect(endOf(events)).toMatchObject({
      call_id: 'call_1',
      stdout: 'quick\n',
      stderr: '',
      aggregated_output: 'quick\n',
      formatted_output: 'quick\n',
      duration: { secs: expect.any(Number), nanos: expect.any(Number) },
    });
  });

  it('show output as it comes, interactions in their order, and the whole at the end', async () => {
    await using box = await ExecFixture.open(place);

    const first = await box.run('stty -echo; echo ready; read line; echo "got $line"; exit 4', {
      tty: true,
      yield_time_ms: 300,
    });
    await box.shows(first, /ready/);
    await box.type(first.facts!.session_id!, 'hi\n', { yield_time_ms: 10_000 });
    const end = await box.event('ExecCommandEnd');

    const told = story(box.events).filter((entry) => entry !== 'typed '); // polls, if one was needed
    expect(told).toEqual(['begin unified_exec_startup', 'output ready\r\ngot hi\r\n', 'typed hi\n', 'end 4 failed']);
    expect(end.aggregated_output).toBe('ready\r\ngot hi\r\n');
  });

  it('put the end behind the poll that sees it, and a poll of a living command before it', async () => {
    await using box = await ExecFixture.open(place);

    const { facts } = await box.run(`${untilFile('go')}; echo end`, { yield_time_ms: 250 });
    const id = facts!.session_id!;
    const typed = box.type(id, '\u0003\u0003'); // refused: no interaction
    const poll = box.poll(id);
    await typed;
    await writeFile(join(box.cwd, 'go'), '');
    await poll;
    await box.event('ExecCommandEnd');

    expect(story(box.events)).toEqual(['begin unified_exec_startup', 'output end\n', 'end 0 completed']);
  });

  it('tell of the end long after the last call', async () => {
    await using box = await ExecFixture.open(place);

    await box.run(`${untilFile('go')}; echo end`, { yield_time_ms: 250 });
    await writeFile(join(box.cwd, 'go'), '');
    const end = await box.event('ExecCommandEnd');

    expect(end).toMatchObject({ exit_code: 0, stdout: 'end\n' });
    expect(box.exec.sessions).toMatchObject([{ hasExited: true }]);
  });

  it('say nothing about a command that could not be started', async () => {
    await using box = await ExecFixture.open(place);

    await box.run('true', { workdir: '/missing' });

    expect(await box.allEvents()).toEqual([]);
  });

  it('cut output at characters, 8192 bytes at most, and carry all of it', async () => {
    await using box = await ExecFixture.open(place);

    await box.run(`head -c 100000 /dev/zero | tr '\\0' x; printf 'é%.0s' $(seq 1 20000)`, { yield_time_ms: 30_000 });
    const events = await box.allEvents();

    const deltas = events.filter((event) => event.type === 'ExecCommandOutputDelta');
    const bytes = deltas.map(({ chunk }) => Buffer.from(chunk, 'base64'));
    expect(bytes.every(({ length }) => length <= 8192)).toBe(true);
    expect(bytes.map(String).join('')).toBe(`${'x'.repeat(100_000)}${'é'.repeat(20_000)}`);
  });

  it('end an interrupted turn without ending its command', async () => {
    await using box = await ExecFixture.open(place);
    const stop = new AbortController();

    const call = box.run(`echo before; ${untilFile('go')}; echo after`, { yield_time_ms: 30_000 }, stop.signal);
    await box.event('ExecCommandOutputDelta');
    stop.abort(new Error('the turn was interrupted'));
    await expect(call).rejects.toThrow('the turn was interrupted');
    const [session] = box.exec.sessions;
    await writeFile(join(box.cwd, 'go'), '');
    const { facts } = await box.poll(session!.sessionId);

    expect(facts).toMatchObject({ exit_code: 0, output: 'before\nafter\n' });
    expect(story(await box.allEvents())).toEqual([
      'begin unified_exec_startup',
      'output before\nafter\n',
      'end 0 completed',
    ]);
  });
});

describe('an event', () => {
  it('is one line of JSON', () => {
    const event: ExecEvent = { type: 'TerminalInteraction', call_id: 'c', process_id: '1234', stdin: 'a\n' };
    expect(eventLine(event)).toBe('{"type":"TerminalInteraction","call_id":"c","process_id":"1234","stdin":"a\\n"}\n');
  });
});
