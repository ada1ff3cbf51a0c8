/** Code of features that never yields: with care it is interrupted, and others learn to take care. */
import { beforeEach, expect, test } from 'vitest';
import { featureLimits } from '../../../src/actors/feature-limits.ts';
import { createCare } from '../../../src/actors/time/care.ts';
import { silentLog } from '../../../src/base/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const noted: string[] = [];
let clock: VirtualClock;
let care: ReturnType<typeof createCare>;

beforeEach(() => {
  noted.length = 0;
  clock = new VirtualClock();
  const marks = {
    enter: (feature: string, what: string) => void noted.push(`${feature}, ${what}`),
    leave: () => void noted.push('left'),
  };
  care = createCare({ clock, log: silentLog, marks });
});

const forEver = (): never => {
  for (;;);
};

test('what is called is noted before and after, whether it answers or throws', () => {
  expect(care.run('drain', 'drain: drain.go', () => 7)).toBe(7);
  expect(() => care.run('drain', 'facts', () => JSON.parse('{'))).toThrow(SyntaxError);
  expect(noted).toEqual(['drain, drain: drain.go', 'left', 'drain, facts', 'left']);
});

test('under suspicion a call that never yields is interrupted, and fails with the name of its feature', () => {
  care.suspect('rogue');
  expect(() => care.run('rogue', 'rogue: rogue.spin', forEver)).toThrow(
    'code of the feature rogue did not yield for 250 ms and was interrupted: rogue: rogue.spin',
  );
  expect(noted).toEqual(['rogue, rogue: rogue.spin', 'left']);
  expect(care.remarks()).toEqual([
    'code of the feature rogue did not yield for 250 ms and was interrupted: rogue: rogue.spin',
  ]);
  // What was going on around it goes on, and an answer is an answer.
  expect(care.run('rogue', 'rogue: rogue.rest', () => 'well')).toBe('well');
});

test('what was interrupted fails at once for a while, whoever calls it, and all else is called', async () => {
  care.suspect('rogue');
  expect(() => care.run('rogue', 'spin', forEver)).toThrow('did not yield');
  let calls = 0;
  const count = () => {
    calls++;
  };
  expect(() => care.run('rogue', 'spin', count)).toThrow('did not yield');
  expect(calls).toBe(0);
  care.run('rogue', 'rest', count);
  care.run('other', 'spin', count);
  expect(calls).toBe(2);
  await clock.advance(featureLimits.callAgainMs);
  care.run('rogue', 'spin', count);
  expect(calls).toBe(3);
});

test('a process that was stopped in a call is not taken for code that does not yield: it is called again', () => {
  care.suspect('rogue');
  let calls = 0;
  /** As for a process that gets no processor: time passes, and nothing is computed. */
  const stopped = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  const answer = care.run('rogue', 'facts', () => {
    if (++calls === 1) stopped();
    return calls;
  });
  expect(answer).toBe(2);
  expect(care.remarks()).toEqual([]);
});

test('a call within a call is one call: it is interrupted as a whole', () => {
  care.suspect('rogue');
  expect(() => care.run('rogue', 'outer', () => care.run('rogue', 'inner', forEver))).toThrow('outer');
});

test('suspicion lasts until nothing was seen for a while, and what others suspect is not told on', () => {
  care.suspect('rogue');
  care.heard(['other']);
  expect(care.suspects()).toEqual(['rogue']);
  expect(() => care.run('other', 'step', forEver)).toThrow('the feature other');
  // It was seen here now.
  expect(care.suspects()).toEqual(['rogue', 'other']);
});

test('time ends a suspicion', async () => {
  care.suspect('rogue');
  await clock.advance(featureLimits.careMs + 1);
  expect(care.suspects()).toEqual([]);
});
