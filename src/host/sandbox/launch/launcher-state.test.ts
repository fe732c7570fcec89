import { describe, expect, it } from 'vitest';
import { type LauncherEvent, type LauncherState, nextLauncherState } from './launcher-state.ts';

const idle: LauncherState = { phase: 'idle' };
const ordered: LauncherState = { phase: 'ordered', bytes: 700 };
const over: LauncherState = { phase: 'over' };
const order: LauncherEvent = { type: 'ordered', bytes: 700 };
const settled: LauncherEvent = { type: 'settled' };
const ended: LauncherEvent = { type: 'ended' };

describe('a launcher', () => {
  it.each<[LauncherState['phase'], LauncherEvent['type'], LauncherState, LauncherEvent, LauncherState]>([
    ['idle', 'ordered', idle, order, ordered],
    ['idle', 'settled', idle, settled, idle],
    ['idle', 'ended', idle, ended, over],
    ['ordered', 'settled', ordered, settled, over],
    ['ordered', 'ended', ordered, ended, ordered],
    ['over', 'settled', over, settled, over],
    ['over', 'ended', over, ended, over],
  ])('that is %s and %s', (_phase, _event, state, event, next) => {
    expect(nextLauncherState(state, event)).toEqual(next);
  });

  it.each([ordered, over])('that is $phase takes no order', (state) => {
    expect(() => nextLauncherState(state, order)).toThrow('a launcher takes one order');
  });
});
