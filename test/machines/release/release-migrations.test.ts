/**
 * Records of version 2 of the release chart, which had all its states side by side, are taken up with their
 * deadlines.
 */
import { expect, test } from 'vitest';
import { createStepper, stateText } from '../../../src/actors/host/step.ts';
import { releaseChart } from '../../../src/machines/release/release.ts';
import { emptyContext } from '../../../src/machines/release/release-context.ts';
import { bundle, ledBy, seen, status } from './release-script.ts';

const stepper = createStepper(releaseChart);
const context = {
  ...emptyContext('platform'),
  ...{ fence: 7, leader: 'orrery-1', bundle: bundle('0.3.0', '0.2.0'), epoch: 10, triedEpoch: 10, round: 4 },
  seen: seen(status('Done', '0.3.0', '0.2.0')),
};

test.each([
  ['leaderless', 'leaderless', null, null],
  ['waitingForNodes', 'leading.waitingForNodes', 'nodesPatience', 'leading.lettingEnd'],
  ['announcing', 'leading.announcing.suited', 'writePatience', 'leading.lookingAgain'],
  ['claiming', 'leading.announcing.unsuited', 'writePatience', 'leading.lookingAgain'],
  ['lookingAgain', 'leading.lookingAgain', 'pictureWait', 'leading.lettingEnd'],
  ['lettingEnd', 'leading.lettingEnd', 'formerPatience', 'leading.applying.working'],
  ['applying', 'leading.applying.working', 'roundPatience', 'leading.applying.retrying'],
  ['retrying', 'leading.applying.retrying', 'retry', 'leading.applying.working'],
  ['marking', 'leading.marking.writing', 'writePatience', 'leading.marking.again'],
  ['markingAgain', 'leading.marking.again', 'pictureWait', 'leading.marking.writing'],
  ['resting', 'leading.keeping.resting', 'roundInterval', 'leading.keeping.repeating'],
  ['pausing', 'leading.keeping.pausing', 'driftPause', 'leading.keeping.repeating'],
  ['repeating', 'leading.keeping.repeating', 'roundPatience', 'leading.keeping.failing'],
  ['deposed', 'deposed', 'deposedPatience', 'leading.lettingEnd'],
])('%s is %s; its deadline, set before, leads on', (value, state, deadline, next) => {
  const restored = stepper.restore({ value, context }, 2);
  expect(stateText(restored.value)).toBe(state);
  expect(restored.context).toEqual(context);
  if (deadline === null) return;
  const due = { type: `xstate.after.${deadline}.release.${value}`, at: 1_700_000_000_000, random: 0.5 };
  expect(stateText(stepper.step(restored, due).snapshot.value)).toBe(next);
});

test('what a new leader says first is taken in each of them', () => {
  for (const value of ['waitingForNodes', 'claiming', 'applying', 'resting', 'deposed']) {
    const restored = stepper.restore({ value, context }, 2);
    const led = { ...context, type: 'release.led', fence: 8, replica: 'b', at: 0, random: 0 };
    expect(stateText(stepper.step(restored, led).snapshot.value)).toBe('leading.lettingEnd');
  }
});

test('a refusal that names nodes is looked into, also where it was not expected; one of the leadership ends it', () => {
  const suited = { bundle: bundle('0.3.0', '0.2.0'), seen: seen(status('Done', '0.2.0', '0.2.0')) };
  const release = ledBy(suited);
  release.take({ type: 'status.refused', fence: 7, by: 'nodes' });
  expect(release.state).toBe('leading.lookingAgain');
  release.wait(1_000).take({ type: 'status.refused', fence: 7, by: 'leadership' });
  expect(release.state).toBe('deposed');
});
