import { describe, expect, it } from 'vitest';
import { next, type StreamEvent, type StreamState } from './stream-state.ts';

/** Every state, in one or two words. */
const states: Readonly<Record<string, StreamState>> = {
  unacknowledged: { phase: 'open', delivery: 'unacknowledged' },
  offered: { phase: 'open', delivery: 'offered' },
  declined: { phase: 'open', delivery: 'declined' },
  acknowledged: { phase: 'open', delivery: 'acknowledged' },
  suspended: { phase: 'suspended' },
  resuming: { phase: 'resuming' },
  'closing unacknowledged': { phase: 'closing', delivery: 'unacknowledged', awaitsAcks: true },
  'closing offered': { phase: 'closing', delivery: 'offered', awaitsAcks: true },
  'closing declined': { phase: 'closing', delivery: 'declined', awaitsAcks: true },
  'closing acknowledged': { phase: 'closing', delivery: 'acknowledged', awaitsAcks: true },
  'hurrying unacknowledged': { phase: 'closing', delivery: 'unacknowledged', awaitsAcks: false },
  'hurrying offered': { phase: 'closing', delivery: 'offered', awaitsAcks: false },
  'hurrying declined': { phase: 'closing', delivery: 'declined', awaitsAcks: false },
  'hurrying acknowledged': { phase: 'closing', delivery: 'acknowledged', awaitsAcks: false },
  closed: { phase: 'closed', reason: 'closed', tellsPeer: true },
  late: { phase: 'closed', reason: 'the peer acknowledges deliveries too late', tellsPeer: true },
  reset: { phase: 'closed', reason: 'reset by the peer', tellsPeer: false },
  lost: { phase: 'closed', reason: 'cut off', tellsPeer: false },
  failed: { phase: 'closed', reason: 'bad record', tellsPeer: true },
};

const events: Readonly<Record<string, StreamEvent>> = {
  acks: { type: 'peerAcknowledges' },
  lapsed: { type: 'offerLapsed' },
  frame: { type: 'frameArrived' },
  lost: { type: 'connectionLost', reason: 'cut off' },
  connected: { type: 'connected' },
  close: { type: 'close', awaitsAcks: true },
  destroy: { type: 'close', awaitsAcks: false },
  sent: { type: 'drained', isAcknowledged: false },
  drained: { type: 'drained', isAcknowledged: true },
  reset: { type: 'resetReceived' },
  failed: { type: 'failed', reason: 'bad record' },
};

/** The state after each event; a dash where it is the same, and the last two columns are `reset` and `failed` for all. */
const table = `
                        | acks                   | lapsed            | frame        | lost      | connected | close                   | destroy                   | sent   | drained
unacknowledged          | -                      | -                 | -            | lost      | -         | closing unacknowledged  | hurrying unacknowledged   | -      | -
offered                 | acknowledged           | declined          | -            | lost      | -         | closing offered         | hurrying offered          | -      | -
declined                | late                   | -                 | -            | lost      | -         | closing declined        | hurrying declined         | -      | -
acknowledged            | -                      | -                 | -            | suspended | -         | closing acknowledged    | hurrying acknowledged     | -      | -
suspended               | -                      | -                 | -            | -         | resuming  | closing acknowledged    | hurrying acknowledged     | -      | -
resuming                | -                      | -                 | acknowledged | suspended | -         | closing acknowledged    | hurrying acknowledged     | -      | -
closing unacknowledged  | -                      | -                 | -            | lost      | -         | -                       | hurrying unacknowledged   | closed | closed
closing offered         | closing acknowledged   | closing declined  | -            | lost      | -         | -                       | hurrying offered          | closed | closed
closing declined        | late                   | -                 | -            | lost      | -         | -                       | hurrying declined         | closed | closed
closing acknowledged    | -                      | -                 | -            | lost      | -         | -                       | hurrying acknowledged     | -      | closed
hurrying unacknowledged | -                      | -                 | -            | lost      | -         | -                       | -                         | closed | closed
hurrying offered        | hurrying acknowledged  | hurrying declined | -            | lost      | -         | -                       | -                         | closed | closed
hurrying declined       | late                   | -                 | -            | lost      | -         | -                       | -                         | closed | closed
hurrying acknowledged   | -                      | -                 | -            | lost      | -         | -                       | -                         | closed | closed
`;

const [columns, ...rows] = table
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()));

describe('a relay stream', () => {
  it('has a row in the table for every state in which it is not closed', () => {
    const open = Object.entries(states).filter(([, { phase }]) => phase !== 'closed');

    expect(rows.map(([name]) => name)).toEqual(open.map(([name]) => name));
    expect([...columns!.slice(1), 'reset', 'failed']).toEqual(Object.keys(events));
  });

  it.each(rows.map(([name, ...cells]) => [name!, [...cells, 'reset', 'failed']] as const))(
    'that is %s follows the table',
    (name, cells) => {
      const state = states[name]!;
      const after = Object.values(events).map((event) => next(state, event));

      expect(after).toEqual(cells.map((cell) => (cell === '-' ? state : states[cell])));
      expect(after.map((one) => one === state)).toEqual(cells.map((cell) => cell === '-'));
    },
  );

  it('stays closed for the first reason after any event', () => {
    const { lost } = states;

    for (const event of Object.values(events)) expect(next(lost!, event)).toBe(lost);
  });
});
