/** The resource of a kind that the effects of a feature use: looked up for all, and again now and then. */
import { expect, test } from 'vitest';
import { createKinds } from '../../src/api/kubernetes/calls.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubeResource } from '../../src/base/kube-port.ts';
import { VirtualClock } from '../virtual-clock.ts';

const { signal } = new AbortController();

function stage() {
  const clock = new VirtualClock();
  const widgets = { group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets' };
  const server: { isNamespaced: boolean; error: Error | null; asked: number } = {
    isNamespaced: false,
    error: null,
    asked: 0,
  };
  const resolve = async () => {
    server.asked++;
    if (server.error !== null) throw server.error;
    return { ...widgets, namespaced: server.isNamespaced } as KubeResource;
  };
  const kinds = createKinds({ resolve }, clock);
  const scope = async () => (await kinds.resolve('example.com/v1/Widget', signal)).namespaced;
  return { clock, server, scope };
}

test('a definition that was made again with another scope is found within five minutes', async () => {
  const { clock, server, scope } = stage();
  expect([await scope(), await scope(), server.asked]).toEqual([false, false, 1]);
  server.isNamespaced = true;
  await clock.advance(300_000);
  expect([await scope(), server.asked]).toEqual([true, 2]);
});

test('while the API server does not answer, the kind is what it was; once it is gone, that is told', async () => {
  const { clock, server, scope } = stage();
  await scope();
  server.error = new OrreryError('KUBE_UNREACHABLE', 'no route');
  await clock.advance(300_000);
  expect(await scope()).toBe(false);
  server.error = new OrreryError('KUBE_NOT_FOUND', 'no such kind');
  await clock.advance(300_000);
  await expect(scope()).rejects.toMatchObject({ code: 'KUBE_NOT_FOUND' });
  await expect(scope()).rejects.toMatchObject({ code: 'KUBE_NOT_FOUND' });
});
