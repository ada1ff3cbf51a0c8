/** The cluster that users of the package test their features in. */
import { beforeEach, expect, test } from 'vitest';
import { testCluster } from '../../packages/testing/cluster.ts';
import { greetings, written } from '../api/greetings.ts';

const id = 'greeting/default/a';
const configMap = (who: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'default', labels: { 'example.com/greet': 'yes' } },
  data: { who },
});

beforeEach(() => {
  written.length = 0;
});

test('a feature lives in it as in a cluster, and what a dead replica began another ends', async () => {
  using cluster = testCluster({ features: [greetings] });
  const a = await cluster.start('a');
  await cluster.start('b');
  await cluster.kube.put(configMap('one'));
  await cluster.until('it greets', () => cluster.actor(id)?.state === 'resting');
  a.kill();
  await cluster.kube.put(configMap('two'));
  await cluster.until('it greets again', () => written.length === 2);
  expect(written).toEqual(['hello one', 'hello two']);
});
