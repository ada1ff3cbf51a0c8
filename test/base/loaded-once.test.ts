import { expect, test } from 'vitest';
import { loadedOnce } from '../../src/base/program/loaded-once.ts';
import { acquisitionFailed } from '../../src/features/certificates/effects/acquisition-failure.ts';

test('what could not be loaded is tried again by whoever needs it next, and is kept once it is there', async () => {
  const answers = [new Error('EMFILE: too many open files'), 'the library'];
  let loads = 0;
  const library = loadedOnce('the library', async () => {
    const answer = answers[loads++];
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const failures = await Promise.allSettled([library(), library()]);
  const reason = { code: 'PROGRAM_UNREADABLE', message: expect.stringContaining('EMFILE') };
  expect(failures).toMatchObject([{ reason }, { reason }]);
  expect(await Promise.all([library(), library()])).toEqual(['the library', 'the library']);
  expect(loads).toBe(2);
});

test('§7: a replica that cannot load what it needs for an order counts no failure of the host', async () => {
  const failure = await loadedOnce('ACME', () => Promise.reject(new Error('EIO')))().catch(
    (thrown) => thrown,
  );
  expect(acquisitionFailed(1, failure)).toMatchObject({ outcome: 'cluster', orderLost: false });
});
