import { closeSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { streamPair } from '../host/os/index.ts';
import { LogSink, writerOf } from './log-sink.ts';

/** A reader that takes a number of bytes and then no more. */
class SlowReader {
  text = '';
  room = 0;

  take(bytes: number): void {
    this.room = bytes;
  }

  readonly write = (bytes: Buffer): number => {
    const taken = bytes.subarray(0, this.room);
    this.room -= taken.length;
    this.text += taken;
    return taken.length;
  };
}

const loss = (lines: number): string => `${lines} lost`;

describe('a log', () => {
  it('passes lines on as its reader takes them', () => {
    const reader = new SlowReader();
    const sink = new LogSink(loss, reader.write);
    reader.room = 6;
    for (const line of ['one', 'two', 'three']) sink.add(line);
    expect(reader.text).toBe('one\ntw');
    reader.room = 100;
    sink.flush();
    expect(reader.text).toBe('one\ntwo\nthree\n');
  });

  it('keeps a bounded number of bytes for a reader that takes none, and reports how many lines it has dropped', () => {
    const reader = new SlowReader();
    const sink = new LogSink(loss, reader.write);
    for (let n = 0; n < 1000; n++) sink.add('x'.repeat(1023));
    expect(reader.text).toBe('');
    reader.room = Number.POSITIVE_INFINITY;
    sink.flush();
    expect(reader.text.length).toBe(256 * 1024 + '744 lost\n'.length);
    expect(reader.text.endsWith('\n744 lost\n')).toBe(true);
    sink.add('goes on');
    expect(reader.text.endsWith('goes on\n')).toBe(true);
  });

  it('waits a little at the end for a reader that is slow', () => {
    const reader = new SlowReader();
    const sink = new LogSink(loss, reader.write);
    for (const line of ['one', 'two', 'three']) sink.add(line);
    sink.finish(() => reader.take(2));
    expect(reader.text).toBe('one\ntwo\nthree\n');
  });

  it('reports at the end how many lines a reader was too slow for', () => {
    const reader = new SlowReader();
    const sink = new LogSink(loss, reader.write);
    for (let n = 0; n < 1000; n++) sink.add('x'.repeat(1023));
    sink.finish(() => reader.take(1000));
    const [first] = /\d+ lost\n$/.exec(reader.text) ?? [];
    const lines = reader.text.split('\n').filter((line) => line === 'x'.repeat(1023)).length;
    expect(first).toBe(`${1000 - lines} lost\n`);
    expect(reader.text.length).toBe(lines * 1024 + first!.length);
  });

  it('keeps nothing for a reader that is gone, behind a socket', () => {
    const [own, other] = streamPair();
    const sink = new LogSink(loss, writerOf(own));
    closeSync(other);
    vi.useFakeTimers();
    sink.add('unheard');
    const retries = vi.getTimerCount();
    vi.useRealTimers();
    closeSync(own);
    expect(retries).toBe(0);
  });
});
