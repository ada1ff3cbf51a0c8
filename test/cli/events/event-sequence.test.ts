/** `orrery events ID@REVISION`, as a process against the real wire. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Transition } from '../../../src/base/views.ts';
import { orrery } from '../command.ts';
import { type FakeOrrery, startFakeOrrery } from '../fake-orrery.ts';

const refuse = () => Promise.reject(new Error('only the history is asked'));
let fake: FakeOrrery;
beforeAll(async () => {
  fake = await startFakeOrrery({ get: refuse, list: refuse, shards: refuse, send: refuse });
});
afterAll(() => fake?.stop());

const run = (...args: string[]) => orrery(args, fake.place);

const transition: Transition = {
  ...{ id: 'pod/shop/led', rev: 4, fence: 31, replica: 'r1', at: systemClock.now() - 5_000 },
  ...{ event: { type: 'pod.observed' }, cause: 'service/shop/lead/9/0', from: 'a', to: 'b', effects: [] },
};

test('orrery events ID@REVISION: what led to a step and what it led to, in whichever actors', async () => {
  const from = {
    ...transition,
    id: 'service/shop/lead',
    rev: 9,
    at: transition.at - 7,
    cause: null,
  } as const;
  await fake.happened({ ...from, from: 'a', to: 'b', event: { type: 'sample.finished' } });
  await fake.happened(transition);
  const { code, out } = await run('events', 'pod/shop/led@4', '--utc');
  const lines = out.trimEnd().split('\n');
  expect([code, lines.length]).toEqual([0, 3]);
  expect(lines[0]).toMatch(/^began \d{4}-\d\d-\d\d .* UTC$/);
  expect(lines[1]).toBe('+0 ms  service/shop/lead@9  sample.finished: a → b');
  expect(lines[2]).toMatch(/^\+7 ms {2}└ pod\/shop\/led@4 {2}pod\.observed: .*← this one$/);
  const json = await run('events', 'service/shop/lead@9', '-o', 'json');
  expect(
    json.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).depth),
  ).toEqual([0, 1]);
  const before = await run('events', 'pod/shop/led@4', '--to', '2h');
  expect([before.code, before.out]).toEqual([1, '']);
  expect(before.err).toMatch(/^error: there is no step 4 of pod\/shop\/led, taken by 20\d\d-/);
  expect(await run('events', 'pod/shop/led@4', '--kind', 'pod')).toEqual({
    ...{ code: 2, out: '', err: 'error: --kind cannot be used with ID@REVISION\n' },
  });
  expect(await run('events', 'pod/shop/led@77')).toEqual({
    ...{ code: 1, out: '' },
    err: 'error: there is no step 77 of pod/shop/led in the last 24 hours\n',
  });
});
