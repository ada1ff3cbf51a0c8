/** The status of workloads of the development cluster. */
import { expect, test } from 'vitest';
import { writeStatus } from '../../packages/dev-cluster/controllers/workload-parts.ts';
import type { WorkloadObject } from '../../packages/dev-cluster/objects.ts';
import { statefulSets } from '../../packages/dev-cluster/resources.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubePort } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../virtual-clock.ts';

const set: WorkloadObject = { metadata: { name: 'web', namespace: 'shop', uid: 'one' } };

function write(answer: () => Promise<WorkloadObject>, status: object = { replicas: 3 }) {
  const patches: object[] = [];
  const kept: object[] = [];
  const patch: KubePort['patch'] = (_resource, { body }) => {
    patches.push(body as object);
    return answer();
  };
  const kube = { patch } as KubePort;
  const parts = { kube, clock: new VirtualClock(), random: seededRandom(1), log: silentLog };
  const picture = { put: (object: object) => void kept.push(object) } as never;
  const written = writeStatus(parts, statefulSets, picture, set, { ...status }, new AbortController().signal);
  return { written, patches, kept };
}

test('what is written is for this very object, and is in the picture at once', async () => {
  const { written, patches, kept } = write(async () => set);
  await written;
  expect(patches).toEqual([{ metadata: { uid: 'one' }, status: { replicas: 3 } }]);
  expect(kept).toEqual([set]);
});

test('an object that is gone by then ends the matter; another failure does not', async () => {
  const fail = (code: 'KUBE_NOT_FOUND' | 'KUBE_SERVER') => () =>
    Promise.reject(new OrreryError(code, 'as the test says'));
  const gone = write(fail('KUBE_NOT_FOUND'));
  await gone.written;
  expect(gone.kept).toEqual([]);
  await expect(write(fail('KUBE_SERVER')).written).rejects.toThrow('as the test says');
});
