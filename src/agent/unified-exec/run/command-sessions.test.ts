import { describe, expect, it } from 'vitest';
import type { CommandSession } from './command-session.ts';
import { CommandSessions, type EvictionCandidate, evictionVictim } from './command-sessions.ts';

/** CommandSessions in the order of their last use. */
const sessions = (count: number, facts: (index: number) => Partial<EvictionCandidate> = () => ({})) =>
  Array.from({ length: count }, (_, index) => ({
    id: index,
    lastUsed: index,
    hasExited: false,
    isInUse: false,
    ...facts(index),
  }));

const victimOf = (candidates: EvictionCandidate[]): number | undefined => evictionVictim(candidates)?.id;

describe('the session that makes room', () => {
  it('is the one that was not used for the longest time', () => {
    expect(victimOf(sessions(64).reverse())).toBe(0);
  });

  it('is rather one that has exited', () => {
    expect(victimOf(sessions(64, (index) => ({ hasExited: index === 30 || index === 40 })))).toBe(30);
  });

  it('is none of the eight used last, exited or not', () => {
    expect(victimOf(sessions(64, (index) => ({ hasExited: index >= 56 })))).toBe(0);
    expect(victimOf(sessions(64, (index) => ({ isInUse: index < 56 })))).toBe(undefined);
  });

  it('is not a session that a call uses', () => {
    expect(victimOf(sessions(64, (index) => ({ isInUse: index < 3 })))).toBe(3);
    expect(victimOf(sessions(64, (index) => ({ hasExited: index === 5 || index === 9, isInUse: index === 5 })))).toBe(
      9,
    );
  });

  it('is no living one while an exited one is about to go', () => {
    expect(victimOf(sessions(64, (index) => ({ hasExited: index === 5, isInUse: index === 5 })))).toBe(undefined);
  });
});

describe('open sessions', () => {
  const arrange = (sessions: CommandSessions, isTaken: () => boolean) => {
    const ended: number[] = [];
    const open = (): number => {
      const id = sessions.reserve();
      const process = { facts: { hasExited: false }, terminate: async () => void ended.push(id) };
      const mutex = {
        get isLocked() {
          return isTaken();
        },
      };
      sessions.open({ id, process, mutex } as unknown as CommandSession);
      return id;
    };
    return { open, ended };
  };

  it('are 64 again as soon as one can be ended', () => {
    const sessions = new CommandSessions();
    let isTaken = true;
    const { open, ended } = arrange(sessions, () => isTaken);
    const ids = Array.from({ length: 70 }, open);
    expect([sessions.all.length, ended]).toEqual([70, []]);

    isTaken = false;
    open();

    expect([sessions.all.length, ended]).toEqual([64, ids.slice(0, 7)]);
  });

  it('are none once they have been shut', () => {
    const sessions = new CommandSessions();
    const { open, ended } = arrange(sessions, () => false);
    sessions.shut();

    expect([[open()], sessions.all]).toEqual([ended, []]);
  });
});
