/** Installations of two Kubernetes clusters that share NATS and `--cluster` by mistake. */
import { expect, test } from 'vitest';
import { type Directory, startDirectory } from '../../../src/actors/members/directory.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { OneKubernetes } from '../../../src/kube/api/one-kubernetes.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
const mistake = /^replica a works for another Kubernetes cluster under the same --cluster test: /;

function scene() {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  /** @param namespace what the API server says of kube-system */
  const start = async (replica: string, namespace: () => Promise<KubeObject>) => {
    const errors: string[] = [];
    const log = { ...silentLog, error: (_: object, text: string) => void errors.push(text) };
    const kube = { get: namespace };
    const one = new OneKubernetes({ clock, random: seededRandom(1), log, kube, cluster: 'test' });
    let directory: Directory | undefined;
    const engine = {
      get directory(): Directory {
        if (directory === undefined) throw new Error('not started');
        return directory;
      },
    };
    const run = one.run(engine);
    const blocked = () => run.blocked?.() ?? null;
    const remarks = () => run.remarks?.() ?? [];
    expect([blocked(), remarks()]).toEqual([null, []]);
    const prepared = run.prepare?.();
    await clock.advance(3_000);
    await prepared;
    let isLeaving = false;
    directory = startDirectory({
      ...{ bus: hub.connect(replica), subjects, clock, replica, incarnation: `${replica}-${clock.now()}` },
      describe: () => ({
        ...{ release: '1', leaving: isLeaving, tells: true, shards: [], editions: [] },
        ...{ serving: blocked() === null, actors: 0, stepsPerSecond: 0, ...one.told() },
      }),
      onChange: () => void blocked(),
    });
    const stop = () => {
      isLeaving = true;
      directory?.beat();
      directory?.stop();
    };
    return { blocked, remarks, errors, stop };
  };
  return { clock, start };
}

const of = (uid: string) => async () => ({ metadata: { name: 'kube-system', uid } });

test('replicas of one Kubernetes cluster serve, and nothing is said', async () => {
  const { clock, start } = scene();
  const [a, b] = [await start('a', of('1')), await start('b', of('1'))];
  await clock.advance(5_000);
  for (const one of [a, b]) expect([one.blocked(), one.remarks(), one.errors]).toEqual([null, [], []]);
});

test('the younger installation serves nothing and says why, the older one goes on and says so', async () => {
  const { clock, start } = scene();
  const a = await start('a', of('1'));
  const b = await start('b', of('2'));
  await clock.advance(2_000);
  expect(b.blocked()).toMatch(mistake);
  expect(a.blocked()).toBeNull();
  expect(a.remarks()).toEqual([
    'work for another Kubernetes cluster under the same --cluster, and serve nothing: b',
  ]);
  expect([a.errors, b.errors].map(({ length }) => length)).toEqual([1, 1]);
  a.stop();
  await clock.advance(120_000);
  expect(b.blocked()).toMatch(mistake);
  const again = await start('a', of('1'));
  await clock.advance(5_000);
  expect(again.blocked()).toBeNull();
});

test('who learns late which Kubernetes cluster is its own stops serving then', async () => {
  const { clock, start } = scene();
  const first = await start('a', of('1'));
  let isAway = true;
  const b = await start('b', async () => {
    if (isAway) throw new OrreryError('KUBE_UNREACHABLE', 'no answer');
    return of('2')();
  });
  await clock.advance(2_000);
  expect([first.blocked(), b.blocked()]).toEqual([null, null]);
  isAway = false;
  await clock.advance(70_000);
  expect(b.blocked()).toMatch(mistake);
});

test('where the uid may not be read, all goes on as if there were one cluster', async () => {
  const { clock, start } = scene();
  const a = await start('a', of('1'));
  const refused = new OrreryError('KUBE_REFUSED', '403 Forbidden');
  const b = await start('b', () => Promise.reject(refused));
  await clock.advance(120_000);
  for (const one of [a, b]) expect([one.blocked(), one.remarks(), one.errors]).toEqual([null, [], []]);
});
