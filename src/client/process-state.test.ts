import { describe, expect, it } from 'vitest';
import type { ProcessEvent } from './process-event.ts';
import { nextProcessState, type ProcessState } from './process-state.ts';

const exit: ProcessEvent = { type: 'exited', seq: 1, exitCode: 3, sandboxDenied: true };
const output: ProcessEvent = { type: 'output', seq: 2, stream: 'stdout', bytes: Uint8Array.of(1) };

describe('the state of a remote process', () => {
  it('remembers the exit through the output that follows it until the close', () => {
    const events: ProcessEvent[] = [exit, output, { type: 'closed', seq: 3 }];
    let state: ProcessState = { phase: 'running' };
    const phases = events.map((event) => {
      state = nextProcessState(state, event);
      return state.phase;
    });

    expect({ phases, state }).toEqual({
      phases: ['exited', 'exited', 'closed'],
      state: { phase: 'closed', exitCode: 3, sandboxDenied: true },
    });
  });

  it('refuses a second exit', () => {
    const exited = nextProcessState({ phase: 'running' }, exit);
    expect(() => nextProcessState(exited, exit)).toThrow('cannot handle exited while exited');
  });
});
