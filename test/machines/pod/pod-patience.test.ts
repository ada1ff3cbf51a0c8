/** What a Pod may be told a little later, so that one step takes it all. */
import { expect, test } from 'vitest';
import type { PodEvent } from '../../../src/machines/pod/pod-events.ts';
import { patienceOfPod } from '../../../src/machines/pod/pod-waiting-events.ts';
import { missed, newPod, observed, type PodDriver, podFacts, proven, recheck } from './pod-script.ts';

const patience = (pod: PodDriver, ...events: PodEvent[]) =>
  patienceOfPod({ states: [pod.state], context: pod.context }, events);
const [first = '', ...others] = Object.keys(podFacts.services);

test('a proof waits for those that are still owed, the last takes all along', () => {
  const pod = newPod(observed());
  expect(patience(pod, proven(first))).toBe(5_000);
  expect(patience(pod, proven(first), ...others.map((name) => proven(name)))).toBe(0);
  expect(patience(pod.take(proven(first)), ...others.slice(1).map((name) => proven(name)))).toBe(5_000);
  expect(patience(pod, ...others.map((name) => proven(name)))).toBe(0);
});

test('what answers in its place is for people alone, and waits longer; with a proof it waits no longer than that', () => {
  const pod = newPod(observed());
  expect(patience(pod, missed(first, 'no answer'))).toBe(5_000);
  expect(patience(pod, missed(first, 'no answer'), proven(first))).toBe(5_000);
});

test('anything else is taken at once, and so is what waits with it', () => {
  const pod = newPod(observed());
  for (const event of [observed({ deleting: true }), recheck]) {
    expect(patience(pod, event)).toBe(0);
    expect(patience(pod, proven(first), event)).toBe(0);
  }
});

test('a Pod that owes nothing waits for nothing', () => {
  const pod = newPod(observed({ services: {} }));
  expect(patience(pod, proven(first))).toBe(0);
});
