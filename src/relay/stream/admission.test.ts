import { describe, expect, it } from 'vitest';
import { type AdmissionEvent, type AdmissionState, admit } from './admission.ts';

const states: Readonly<Record<string, AdmissionState>> = {
  unknown: { phase: 'unknown' },
  offered: { phase: 'offered' },
  validating: { phase: 'validating', isOffered: false },
  'validating offered': { phase: 'validating', isOffered: true },
  active: { phase: 'active' },
};

const events: Readonly<Record<string, AdmissionEvent>> = {
  handshake: { type: 'handshake', hasRoom: true },
  'handshake, full': { type: 'handshake', hasRoom: false },
  heartbeat: { type: 'heartbeat' },
  data: { type: 'data' },
  ack: { type: 'ack' },
  'first resume': { type: 'resume', continues: false },
  'later resume': { type: 'resume', continues: true },
  reset: { type: 'reset' },
  vouched: { type: 'vouched', hasRoom: true },
  'vouched, full': { type: 'vouched', hasRoom: false },
  'not vouched': { type: 'notVouched' },
};

/** The state after each event and, behind a colon, the action; a dash where nothing happens. */
const table = `
                | unknown              | offered                      | validating         | validating offered | active
handshake       | validating: validate | validating offered: validate | unknown: refuse    | unknown: refuse    | active: reset
handshake, full | unknown: reset       | unknown: reset               | unknown: refuse    | unknown: refuse    | active: reset
heartbeat       | offered: none        | -                            | validating offered: none | -            | active: pass
data            | unknown: reset       | unknown: reset               | unknown: refuse    | unknown: refuse    | active: pass
ack             | -                    | -                            | -                  | -                  | active: pass
first resume    | -                    | -                            | -                  | -                  | active: pass
later resume    | unknown: reset       | offered: reset               | -                  | -                  | active: pass
reset           | -                    | unknown: none                | unknown: none      | unknown: none      | active: pass
vouched         | -                    | -                            | active: activate   | active: activate   | -
vouched, full   | -                    | -                            | unknown: reset     | unknown: reset     | -
not vouched     | -                    | -                            | unknown: refuse    | unknown: refuse    | -
`;

const [columns, ...rows] = table
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()));

describe('the admission of a stream', () => {
  it('has a table of all states and events', () => {
    expect(columns!.slice(1)).toEqual(Object.keys(states));
    expect(rows.map(([name]) => name)).toEqual(Object.keys(events));
  });

  it.each(rows.map(([name, ...cells]) => [name!, cells] as const))('follows it after: %s', (name, cells) => {
    const expected = Object.keys(states).map((before, at) => {
      const [after = before, action = 'none'] = cells[at] === '-' ? [] : cells[at]!.split(': ');
      return { state: states[after], action };
    });

    expect(Object.values(states).map((state) => admit(state, events[name]!))).toEqual(expected);
  });
});
