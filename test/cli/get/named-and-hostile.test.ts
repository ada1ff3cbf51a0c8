/** `orrery get` as a process: names that nobody has, and words that would steer a terminal. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActorSummary, ControlPort } from '../../../src/base/views.ts';
import { until } from '../../until.ts';
import { inThisProcess, orrery, start } from '../command.ts';
import { emptyCluster, type FakeOrrery, plainRow, startFakeOrrery } from '../fake-orrery.ts';

/** Sets a terminal's title, turns colours and the text around, overwrites the line. */
const hostile = 'a\u001b]0;x\u0007b\u001b[31mc\u009b2J\u202e\rd';
const web: ActorSummary = {
  ...plainRow,
  id: 'pod/shop/web-1',
  state: 'ready.proven',
  reason: { text: hostile, health: 'ok', since: 1, next: null },
};
let isOver = false;
const control: ControlPort = {
  ...emptyCluster,
  list: async ({ namespace }) => ({
    actors: ['empty', 'silent'].includes(namespace ?? '') || (namespace === 'brief' && isOver) ? [] : [web],
    next: null,
    missingShards: ['unheard', 'silent'].includes(namespace ?? '') ? [9] : [],
  }),
};

let fake: FakeOrrery;
beforeAll(async () => {
  fake = await startFakeOrrery(control);
});
afterAll(() => fake?.stop());

const get = (...args: string[]) => orrery(['get', ...args], fake.place);

test('a name that no actor has is a failure, after what was found', async () => {
  const { code, out, err } = await get('pod', 'web-1', 'nobody', '-n', 'shop', '-o', 'json');
  expect(JSON.parse(out).actors).toMatchObject([{ id: 'pod/shop/web-1' }]);
  expect({ code, err }).toEqual({
    code: 1,
    err: 'error: there is no actor pod/shop/nobody: "orrery get pod -n shop" lists those there are\n',
  });
});

test('nothing found is a failure if a shard did not answer', async () => {
  const { place } = fake;
  const answers = await Promise.all(
    ['table', 'json'].map((form) => inThisProcess(['get', '-n', 'silent', '-o', form], place.env, place.cwd)),
  );
  expect(answers.map(({ code }) => code)).toEqual([1, 1]);
  expect(answers[0]?.err).toBe(
    'no actors found in namespace silent\nshards 9 did not answer: their actors are missing above\n',
  );
});

test('a name that is mistyped is told what is like it; one that the filters leave out is not called missing', async () => {
  const missing = (...args: string[]) => get('pod', ...args).then(({ code, err }) => ({ code, err }));
  expect(await missing('web-11')).toEqual({
    code: 1,
    err: 'error: there is no actor pod web-11 (is pod/shop/web-1 meant?): "orrery get pod" lists those there are\n',
  });
  expect(await missing('web-1', '--owner', 'nobody')).toEqual({
    code: 1,
    err: 'error: no actors found of kind pod named web-1 owned by nobody\n',
  });
  expect(await missing('web-2', 'web-3', '-n', 'shop')).toEqual({
    code: 1,
    err: 'error: no actors found of kind pod named web-2, web-3 in namespace shop\n',
  });
});

test('while a shard does not answer, nobody says that there is no such actor', async () => {
  expect(await get('pod', 'nobody', '-n', 'unheard')).toMatchObject({
    code: 1,
    err: expect.stringContaining('shards 9 did not answer'),
  });
});

test.each([
  ['table', 'pod/shop/web-1   is not listed any more\n'],
  ['json', '{"id":"pod/shop/web-1","gone":true}\n'],
])('-w says what leaves the list: -o %s', async (format, line) => {
  isOver = false;
  const watching = start(['get', 'pod', '-n', 'brief', '-w', '-o', format], fake.place);
  try {
    await until(() => watching.out().includes('web-1'), { what: 'the first list' });
    isOver = true;
    await until(() => watching.out().endsWith(line), { what: 'that it has left' });
  } finally {
    watching.child.kill('SIGINT');
  }
  expect(await watching.ended).toMatchObject({ code: 0 });
});

test.each(['table', 'wide', 'json', 'yaml'])(
  'words of others cannot steer the terminal: -o %s',
  async (format) => {
    const { out } = await get('pod', '-o', format);
    expect(out).toMatch(/a\\(u001b|e)\]0;x/);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  },
);
