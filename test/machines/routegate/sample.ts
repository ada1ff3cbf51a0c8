/** Events that lead through every state of the routegate chart. */
import type { Sample } from '../samples.ts';
import {
  counted,
  findings,
  forgotten,
  lookRefused,
  observed,
  refused,
  reported,
  says,
  waitingSince,
} from './routegate-script.ts';

export const sample: Sample = {
  input: { id: 'routegate/shop/gate', namespace: 'shop', name: 'gate' },
  events: [
    observed(),
    observed({ stirred: 'a.1' }),
    observed({ generation: 5 }),
    observed({ generation: 6, invalid: 'no path' }),
    forgotten,
    counted(1),
    counted(1, waitingSince(1_699_999_000_000)),
    counted(1, { isComplete: false }),
    counted(1, { pods: { ...findings.pods, ungated: 1 } }),
    counted(2, {}, 'a.1'),
    reported,
    says(),
    says({ pods: 9 }),
    refused(),
    refused('gone'),
    lookRefused(1),
    lookRefused(1, 'gone'),
    { type: 'routegate.recheck' },
    { type: 'effect.settled', effect: 'kube-event.write', error: null },
  ],
};
