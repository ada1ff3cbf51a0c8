/** What the page reads although replicas are busy or away for a while, and who is asked to sign in. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { SessionView } from '../../src/base/views.ts';
import type { Answer } from '../../src/inspector/page/answer.ts';
import { layoutOf } from '../../src/inspector/page/chart/drawings.ts';
import { createPersistentReading } from '../../src/inspector/page/persistent-reading.ts';
import { createWho } from '../../src/inspector/page/who.ts';
import { VirtualClock } from '../virtual-clock.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const busy: Answer<string> = { refused: { status: 503, reason: 'too many' } };

function scene(answers: Array<Answer<string>>) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const reading = createPersistentReading<string, string>({
    clock,
    read: async () => answers.shift() ?? { ok: 'the last' },
    onAnswer: (id, answer) => void told.push(`${id}: ${'ok' in answer ? answer.ok : answer.refused.reason}`),
  });
  return { clock, reading, told };
}

describe('an actor’s history', () => {
  test('is read again until somebody has the time, and says meanwhile why it is not there', async () => {
    const { clock, reading, told } = scene([busy, busy]);
    void reading.ask('a');
    await clock.advance(0);
    expect(told).toEqual(['a: too many']);
    await clock.advance(10_000);
    expect(told).toEqual(['a: too many', 'a: too many', 'a: the last']);
    await clock.advance(60_000);
    expect(told).toHaveLength(3);
  });

  test('is not read again for whoever looks at another actor by then, or may not look', async () => {
    const { clock, reading, told } = scene([
      busy,
      { ok: 'of b' },
      { refused: { status: 403, reason: 'no' } },
    ]);
    void reading.ask('a');
    await clock.advance(0);
    void reading.ask('b');
    await clock.advance(30_000);
    void reading.ask('c');
    await clock.advance(30_000);
    expect(told).toEqual(['a: too many', 'b: of b', 'c: no']);
  });
});

describe('who is asked to sign in', () => {
  const refused = (status: number): Answer<SessionView> => ({ refused: { status, reason: 'the reason' } });
  const asking = (...answers: Array<Answer<SessionView>>) =>
    createWho({
      readSession: async () => answers.shift() ?? refused(0),
      readKinds: async () => null,
      changed: () => {},
    });

  test('not somebody whose replica cannot ask Kubernetes just now', async () => {
    const ok = { user: 'ann', maySend: true, signedIn: true };
    const who = asking(refused(503), { ok }, refused(500));
    await who.readSession();
    expect(who.refused).toBeNull();
    await who.readSession();
    await who.readSession();
    expect([who.refused, who.session]).toEqual([null, { ok }]);
  });

  test('what could not be read is read once a replica answers, and what is known is not', async () => {
    const ok = { user: 'ann', maySend: true, signedIn: true };
    const asked: string[] = [];
    const sessions = [refused(503), { ok }];
    const kinds = [null, ['pod']];
    const who = createWho({
      readSession: async () => {
        asked.push('session');
        return sessions.shift() ?? refused(0);
      },
      readKinds: async () => {
        asked.push('kinds');
        return kinds.shift() ?? null;
      },
      changed: () => {},
    });
    await Promise.all([who.readSession(), who.readKinds()]);
    for (let hello = 0; hello < 2; hello++) await who.readFailed();
    expect([who.session, who.allKinds]).toEqual([{ ok }, ['pod']]);
    expect(asked).toEqual(['session', 'kinds', 'session', 'kinds']);
  });

  test.each([401, 403])('somebody who is answered %i', async (status) => {
    const who = asking(refused(status));
    await who.readSession();
    expect(who.refused).toEqual({ status, reason: 'the reason' });
  });
});

test('the drawing of a chart is read until it is there', async () => {
  vi.useFakeTimers();
  const drawing = { machine: 'pod', chart: { path: '', tags: [], children: [] } };
  const answers = [() => Promise.reject(new Error('gone')), () => new Response('', { status: 502 })];
  vi.stubGlobal('fetch', async () => (answers.shift() ?? (() => Response.json(drawing)))());
  const onLoaded = vi.fn();
  expect(layoutOf('pod', onLoaded)).toBeNull();
  await vi.advanceTimersByTimeAsync(10_000);
  expect([onLoaded.mock.calls.length, layoutOf('pod', onLoaded)]).toEqual([1, drawing]);
});

test('an earlier question who one is, answered last, does not sign anybody out', async () => {
  const answers: Array<(answer: Answer<SessionView>) => void> = [];
  const who = createWho({
    readSession: () => new Promise((resolve) => void answers.push(resolve)),
    readKinds: async () => [],
    changed() {},
  });
  const [first, second] = [who.readSession(), who.readSession()];
  answers[1]?.({ ok: { user: 'ann', maySend: true, signedIn: true } });
  answers[0]?.({ refused: { status: 401, reason: 'no token' } });
  await Promise.all([first, second]);
  expect(who.refused).toBeNull();
});
