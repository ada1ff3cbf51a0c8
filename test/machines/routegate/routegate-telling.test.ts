/** One sentence for each state of a RouteGate, with the nouns in it. */
import { expect, test } from 'vitest';
import { tellRouteGate } from '../../../src/machines/routegate/routegate-telling.ts';
import {
  counted,
  newGate,
  observed,
  type RouteGateDriver,
  refused,
  reported,
  waitingSince,
} from './routegate-script.ts';

const told = (gate: RouteGateDriver) =>
  tellRouteGate({ states: [gate.state], context: gate.context, at: gate.now, since: gate.now });
const pods = { held: 3, waiting: 0, ungated: 2, others: 0, verified: 3, unverified: 0 };
const since = 1_700_000_000_000 - 40_000;

test.each<[string, RouteGateDriver, string]>([
  ['looking', newGate(observed()), 'the Pods and Services of the RouteGate are being counted'],
  [
    'reported.current',
    newGate(observed(), counted(1), reported),
    'none of 3 Pods waits; 2 Services are probed',
  ],
  [
    'reported.waiting',
    newGate(observed(), counted(1, waitingSince(since)), reported),
    '2 of 3 Pods wait for their routes, web-1 for 40s',
  ],
  [
    'reported.troubled.resting',
    newGate(observed(), counted(1, { pods }), reported),
    '2 of the selected Pods do not list example.com/routes in spec.readinessGates; nothing holds them back; none of 3 Pods waits; 2 Services are probed',
  ],
  [
    'reported.troubled.resting',
    newGate(
      observed(),
      counted(1, { unaskable: { names: ['web has no port named http'], count: 2 } }),
      reported,
    ),
    '2 of 2 Services cannot be probed: web has no port named http and 1 more; none of 3 Pods waits; no Service is probed',
  ],
  [
    'reported.unusable',
    newGate(observed({ invalid: 'probe.path must begin with "/"' }), reported),
    'the spec is not valid: probe.path must begin with "/"',
  ],
  [
    'awaitingLists.quiet',
    newGate(observed(), counted(1, { isComplete: false })),
    'not every object that the RouteGate names has been listed yet',
  ],
  [
    'backingOff',
    newGate(observed(), counted(1), refused()),
    'the status could not be written, once: it was error',
  ],
  [
    'waitingForNews',
    newGate(observed(), counted(1), refused('gone')),
    'the RouteGate was missing when its status was to be written; Orrery waits to see what happened to it',
  ],
])('%s', (state, gate, text) => {
  expect(gate.state).toBe(state);
  expect(told(gate).text).toBe(text);
});

test('its facts are the columns of kubectl', () => {
  const facts = told(newGate(observed(), counted(1, waitingSince(since)), reported)).facts ?? [];
  expect(Object.fromEntries(facts.map(({ label, value }) => [label, value]))).toMatchObject({
    Valid: 'True (InUse)',
    Verifying: 'True (Verifying)',
    Pods: 3,
    Waiting: 2,
    Ready: 1,
    'Waits longest': 'web-1',
  });
});
