/** Actors as people name them: as kubectl takes names, with or without a namespace. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../src/base/errors.ts';
import type { ActorId } from '../../src/base/ids.ts';
import type { ActorSummary, ActorView, ControlPort } from '../../src/base/views.ts';
import { readActorWords, readKnownId } from '../../src/cli/actor-argument.ts';
import { absenceOf, findActor, findId } from '../../src/cli/find-actor.ts';
import { ownKinds } from '../../src/replica/charts.ts';

const there = ['pod/shop/web-0', 'pod/shop/web-1', 'pod/bakery/web-1', 'domain/_/app.example.com'];

const control: Pick<ControlPort, 'get' | 'list'> = {
  get: async (id) => (there.includes(id) ? ({ id } as ActorView) : null),
  list: async ({ kind = '' }) => {
    // As replicas do.
    if (!isKnown(kind)) throw new OrreryError('MESSAGE_UNREADABLE', `there is no kind "${kind}"`);
    return listOf(kind);
  },
};
const isKnown = (kind: string) => ownKinds.charts.some(({ name }) => name === kind);
const listOf = (kind: string) => ({
  actors: there.filter((id) => id.startsWith(`${kind}/`)).map((id) => ({ id }) as ActorSummary),
  next: null,
  missingShards: [],
});
const kinds = async () => ownKinds;

async function found(words: readonly string[], namespace?: string): Promise<string> {
  const { text } = await readActorWords(words, kinds);
  const id = await readKnownId(text, kinds, namespace);
  return findActor(control, id, { history: false, kinds }).then(
    (view) => view.id,
    (error: Error) => error.message,
  );
}

test.each<[words: readonly string[], namespace: string | undefined, told: string]>([
  [['pod/shop/web-0'], undefined, 'pod/shop/web-0'],
  [['pods/shop/web-0'], 'shop', 'pod/shop/web-0'],
  [['pod', 'web-0'], 'shop', 'pod/shop/web-0'],
  [['PODS', 'web-0'], undefined, 'pod/shop/web-0'],
  [['po/web-0'], undefined, 'pod/shop/web-0'],
  [['pod', 'shop/web-0'], undefined, 'pod/shop/web-0'],
  [['domain', 'app.example.com'], 'shop', 'domain/_/app.example.com'],
  [
    ['pod', 'web-1'],
    undefined,
    'ID: web-1 is in several namespaces: name one of pod/bakery/web-1, pod/shop/web-1',
  ],
  [
    ['pod', 'web-0'],
    'bakery',
    'there is no actor pod/bakery/web-0 (is pod/bakery/web-1 meant?): "orrery get pod -n bakery" lists those there are',
  ],
  [
    ['pod', 'wbe-0'],
    undefined,
    'there is no actor pod wbe-0 (is pod/shop/web-0 meant?): "orrery get pod" lists those there are',
  ],
  [
    ['domain', 'other'],
    undefined,
    'there is no actor domain other: "orrery get domain" lists those there are',
  ],
  [
    ['pod', 'web-0'],
    'nowhere',
    'there is no actor pod/nowhere/web-0 (is pod/shop/web-0 meant?): "orrery get pod" lists those there are',
  ],
  [['pdo/shop/web-0'], undefined, expect.stringContaining('KIND: "pdo" is not allowed; allowed: pod (po), ')],
])('%j in the namespace %s', async (words, namespace, told) => {
  expect(await found(words, namespace)).toEqual(told);
});

test('a message may create an actor: an id with a namespace, or a name that is nowhere, stays as it is', async () => {
  const ids = ['pod/bakery/new', 'proxier/_/node-1', 'pod/_/web-0'] as ActorId[];
  expect(await Promise.all(ids.map((id) => findId(control, id)))).toEqual([
    'pod/bakery/new',
    'proxier/_/node-1',
    'pod/shop/web-0',
  ]);
});

test('of an actor of which nothing is known it is told whether there is one', async () => {
  const told = (id: ActorId) => absenceOf(control, id).then((missing) => missing?.message ?? null);
  expect(await told('pod/shop/web-0')).toBeNull();
  expect(await told('pod/shop/wbe-0' as ActorId)).toBe(
    'there is no actor pod/shop/wbe-0 (is pod/shop/web-0 meant?): "orrery get pod -n shop" lists those there are',
  );
});
