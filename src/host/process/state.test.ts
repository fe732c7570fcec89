import { describe, expect, it } from 'vitest';
import { exitOf, type LifecycleEvent, type LifecycleState, next } from './state.ts';

const starting: LifecycleState = { phase: 'starting' };
const spawned: LifecycleEvent = { type: 'spawned', streams: 2 };
const streamEnded: LifecycleEvent = { type: 'streamEnded' };
const exit = { exitCode: 3, sandboxDenied: true };
const exited: LifecycleEvent = { type: 'exited', exit };

const stateAfter = (...events: LifecycleEvent[]): LifecycleState => events.reduce(next, starting);

describe('the state of a process', () => {
  it.each<[string, LifecycleEvent[], LifecycleState]>([
    ['running once spawned', [spawned], { phase: 'running', openStreams: 2 }],
    [
      'still running when its streams have ended',
      [spawned, streamEnded, streamEnded],
      { phase: 'running', openStreams: 0 },
    ],
    [
      'draining after the exit while a stream is open',
      [spawned, streamEnded, exited],
      { phase: 'draining', openStreams: 1, exit },
    ],
    [
      'closed after the exit and the last stream',
      [spawned, exited, streamEnded, streamEnded],
      { phase: 'closed', exit },
    ],
    [
      'closed by the exit when no stream is open',
      [spawned, streamEnded, streamEnded, exited],
      { phase: 'closed', exit },
    ],
  ])('is %s', (_, events, state) => {
    expect(stateAfter(...events)).toEqual(state);
  });

  it.each<[LifecycleEvent[], string]>([
    [[streamEnded], 'process cannot handle streamEnded while starting'],
    [[exited], 'process cannot handle exited while starting'],
    [[spawned, spawned], 'process cannot handle spawned while running'],
    [[spawned, exited, exited], 'process cannot handle exited while draining'],
    [[spawned, exited, streamEnded, streamEnded, streamEnded], 'process cannot handle streamEnded while closed'],
  ])('refuses what cannot happen', (events, message) => {
    expect(() => stateAfter(...events)).toThrow(message);
  });

  it('knows the exit from the exit on', () => {
    const states = [
      starting,
      stateAfter(spawned),
      stateAfter(spawned, exited),
      stateAfter(spawned, exited, streamEnded, streamEnded),
    ];

    expect(states.map(exitOf)).toEqual([undefined, undefined, exit, exit]);
  });
});
