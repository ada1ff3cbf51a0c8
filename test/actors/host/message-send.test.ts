/**
 * Messages between actors arrive at least once (docs/architecture.md): nothing that the mail stream does
 * loses one.
 */
import { expect, test } from 'vitest';
import { sendMessage } from '../../../src/actors/host/message-send.ts';
import { unknownOutcome } from '../../../src/bus/bus-errors.ts';
import { readMessage } from '../../../src/bus/envelope.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import type { MessageSend } from '../../../src/machines/effects.ts';
import { pod, TestCluster } from '../harness.ts';

/** Keys of the messages that some step asked for and that the mail stream never got. */
function lost(cluster: TestCluster): string[] {
  const stored = new Set(cluster.hub.stored('mail').map((letter) => readMessage(letter).cause));
  const asked = cluster
    .transitions()
    .flatMap(({ id, rev, effects }) =>
      effects.flatMap(({ type }, index) => (type === 'message.send' ? [`${id}/${rev}/${index}`] : [])),
    );
  expect(asked.length).toBeGreaterThan(0);
  return asked.filter((key) => !stored.has(key));
}

const isMail = (subject: string) => subject.includes('.tell.');

test.each([
  ['has no leader', 'requestLost'],
  ['is full', 'refuse'],
  ['stores what it does not acknowledge', 'answerLost'],
] as const)('while the mail stream %s for minutes, no message is lost', async (_, fate) => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  const b = await cluster.replica('b');
  await cluster.clock.advance(6_000);
  for (const { bus } of [a, b]) bus.faults.onAppend = (subject) => (isMail(subject) ? fate : 'store');
  await cluster.shop(3, 2);
  await cluster.clock.advance(150_000);
  for (const { bus } of [a, b]) bus.faults.onAppend = undefined;
  await cluster.clock.advance(60_000);
  expect(cluster.states()).toMatchObject({
    'pod/shop/web-0': 'gated.ready.proven',
    'pod/shop/web-1': 'gated.ready.proven',
    'pod/shop/web-2': 'gated.ready.proven',
  });
  expect(lost(cluster)).toEqual([]);
});

test('one whose owner dies meanwhile is sent by the next', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  a.bus.faults.onAppend = (subject) => (isMail(subject) ? 'requestLost' : 'store');
  await cluster.shop(1, 1);
  await cluster.clock.advance(40_000);
  expect(cluster.states()['pod/shop/web-0']).toMatch(/^gated\.proving\./);
  a.engine.kill();
  await cluster.replica('b');
  await cluster.clock.advance(10_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
  expect(lost(cluster)).toEqual([]);
});

test('an actor whose messages wait takes its other events, up to the bound of its outbox', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  a.bus.faults.onAppend = (subject) => (isMail(subject) ? 'requestLost' : 'store');
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'second' }));
  await cluster.clock.advance(60_000);
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.clock.advance(5_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gone');
});

test('a later try sends to those alone who were not sent it', async () => {
  const subjects = subjectsOf('test');
  const sent: string[] = [];
  let isAway = true;
  const bus = {
    append: (subject: string) => {
      sent.push(subject);
      const isLost = isAway && subject.endsWith('web-1');
      return isLost
        ? Promise.reject(unknownOutcome('no leader'))
        : Promise.resolve({ sequence: 1, duplicate: false });
    },
  };
  const send = sendMessage(bus as never, subjects, () => false);
  const effect: MessageSend = {
    type: 'message.send',
    to: ['pod/shop/web-0', 'pod/shop/web-1'],
    event: { type: 'route.lost' },
  };
  const run = { key: 'k', actor: 'service/shop/svc-0' } as never;
  await expect(send(effect, run)).rejects.toThrow('no leader');
  isAway = false;
  await expect(send(effect, run)).resolves.toMatchObject({ type: 'effect.settled', error: null });
  expect(sent.map((subject) => subject.split('.').at(-1))).toEqual(['web-0', 'web-1', 'web-1']);
});
