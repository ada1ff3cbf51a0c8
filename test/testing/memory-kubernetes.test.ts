/** The Kubernetes API that users of the package test their features on. */
import { expect, test } from 'vitest';
import { MemoryKubernetes } from '../../packages/testing/kubernetes/memory-kubernetes.ts';
import { VirtualClock } from '../../packages/testing/time/virtual-clock.ts';

const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

test('whoever watches hears of changes for as long as he likes', async () => {
  const clock = new VirtualClock();
  const kube = new MemoryKubernetes({ clock });
  const seen: string[] = [];
  const stop = kube.watch('v1/Node', (type, { metadata: { name } }) => void seen.push(`${type} ${name}`));
  await kube.put(node('first'));
  await clock.advance(50 * 3_600_000);
  await kube.put(node('second'));
  await clock.advance(1_000);
  expect(seen).toEqual(['ADDED first', 'ADDED second']);
  stop();
  kube.stop();
});
