/**
 * The Release resource: made where it is missing, its status replaced, older ones never over newer ones,
 * Events about it.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ensureDefinitions, readManifests } from '../../../packages/dev-cluster/manifests.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log-port.ts';
import { writeReleaseResource } from '../../../src/features/releases/effects/release-resource.ts';
import { releases } from '../../../src/features/releases/resources.ts';
import { events } from '../../../src/kube/api/resources.ts';
import { writeKubeEvent } from '../../../src/kube/effects/kube-event.ts';
import type { ReleaseResourceWrite } from '../../../src/machines/release/release-effects.ts';
import { context, fakePort } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { type Scene, signal, startScene } from './round-scene.ts';

let scene: Scene;
let name: string;
beforeAll(async () => {
  scene = await startScene();
  const definitions = await readManifests(new URL('../../../deploy/crds', import.meta.url).pathname);
  await ensureDefinitions(scene.kube, definitions, systemClock, signal);
});
afterAll(() => scene?.stop());
beforeEach(async () => {
  name = await scene.namespace();
});

const at = Date.parse('2026-03-04T05:06:07.089Z');

function effect(change: Partial<ReleaseResourceWrite['status']>, more: Partial<ReleaseResourceWrite> = {}) {
  const status = {
    state: 'Working',
    release: '0.1.0',
    minimumCompatibleRelease: '0.1.0',
    leader: 'orrery-0',
    waitingFor: null,
    lastApplied: null,
    lastError: null,
    ...change,
  };
  const condition = { type: 'Applied', status: 'False', reason: 'Working', message: 'not yet' } as const;
  return {
    type: 'release-resource.write',
    bundle: name,
    status,
    conditions: [condition],
    note: null,
    at,
    ...more,
  } as const satisfies ReleaseResourceWrite;
}

const notify = (kube: KubePort = scene.kube) => writeKubeEvent(kube, { replica: 'orrery-0' });
const basics = { clock: systemClock, log: silentLog };
const writer = () => writeReleaseResource({ ...basics, kube: scene.kube }, notify());
const settled = { type: 'effect.settled', effect: 'release-resource.write', error: null };

test('it is made where it is missing; what is null is absent; a condition keeps its time until its status changes', async () => {
  const write = writer();
  expect(await write(effect({ waitingFor: 'old (0.1.0)' }), context)).toEqual(settled);
  const later = { at: at + 60_000 };
  expect(await write(effect({ state: 'Done', lastApplied: at }, later), context)).toEqual(settled);
  const { status } = await scene.kube.get(releases, undefined, name, signal);
  expect(status).toEqual({
    changes: [],
    state: 'Done',
    release: '0.1.0',
    minimumCompatibleRelease: '0.1.0',
    leader: 'orrery-0',
    lastApplied: '2026-03-04T05:06:07Z',
    observedGeneration: 1,
    conditions: [
      {
        type: 'Applied',
        status: 'False',
        reason: 'Working',
        message: 'not yet',
        observedGeneration: 1,
        lastTransitionTime: '2026-03-04T05:06:07Z',
      },
    ],
  });
});

test('of writes that were begun one after the other the last stays', async () => {
  const write = writer();
  const leaders = Array.from({ length: 8 }, (_, n) => `orrery-${n}`);
  await Promise.all(leaders.map((leader) => write(effect({ leader }), context)));
  expect(await scene.kube.get(releases, undefined, name, signal)).toMatchObject({
    status: { leader: 'orrery-7' },
  });
});

test('a note becomes an Event about it, once however often the effect runs', async () => {
  const note = { eventType: 'Warning', reason: 'ReleaseBlocked', text: 'release 0.1.0 waits' } as const;
  const key = `release/_/${name}/7/0`;
  for (let time = 0; time < 2; time++) await writer()(effect({}, { note }), { ...context, key });
  const { items } = await scene.kube.list(events, { namespace: 'default' }, signal);
  const mine = items.filter(({ regarding }) => (regarding as { name?: string } | undefined)?.name === name);
  expect(mine).toMatchObject([
    { reason: 'ReleaseBlocked', note: 'release 0.1.0 waits', regarding: { kind: 'Release' } },
  ]);
});

test('where its definition is not installed nothing is written, and the actor goes on', async () => {
  const missing = { ...scene.kube, create: scene.kube.create };
  const { kube } = scene;
  const elsewhere = { ...releases, plural: 'nowhere' };
  const wrapped = {
    ...missing,
    get: (_: unknown, ...rest: [undefined, string, AbortSignal]) => kube.get(elsewhere, ...rest),
    create: (_: unknown, object: Parameters<typeof kube.create>[1]) => kube.create(elsewhere, object, signal),
  };
  const write = writeReleaseResource({ ...basics, kube: wrapped as never }, notify(kube));
  expect(await write(effect({}), context)).toMatchObject({
    ...settled,
    error: expect.stringContaining('404'),
  });
});

test('what the API server refuses is said in the log, once for each reason, until it is written', async () => {
  let reason: string | null = null;
  const kube = fakePort({
    get: async () => ({ metadata: { name, uid: 'u' } }),
    patch: async () => {
      if (reason !== null) throw new OrreryError('KUBE_REFUSED', reason);
      return { metadata: { name, uid: 'u' } };
    },
  });
  const said: unknown[] = [];
  const log = { ...silentLog, warn: (facts: object) => void said.push(facts) };
  const write = writeReleaseResource({ ...basics, kube, log }, notify(kube));
  const release = `release/_/${name}`;
  for (const why of ['a', 'a', 'b', null, 'b']) {
    reason = why;
    expect(await write(effect({}), context)).toEqual({ ...settled, error: why });
  }
  expect(said).toEqual(['a', 'b', 'b'].map((error) => ({ release, error })));
});

test('the last status of a retired release is tried until it is written, or given up and told', async () => {
  const clock = new VirtualClock();
  const warnings: object[] = [];
  const log = { warn: (facts: object) => void warnings.push(facts) };
  let failures = 3;
  const kube = fakePort({
    get: async () => ({ metadata: { name: 'old', uid: 'u' } }),
    patch: async () => {
      if (failures-- > 0) throw new OrreryError('KUBE_UNREACHABLE', 'no answer');
      return { metadata: { name: 'old', uid: 'u' } };
    },
  });
  const write = writeReleaseResource({ kube, clock, log }, async () => settled as never);
  const applied = { type: 'Applied', status: 'False', reason: 'Retired', message: 'left' } as const;
  const last = effect({}, { conditions: [applied] });
  await expect(write(effect({}), context)).rejects.toThrow('no answer');
  const written = write(last, context);
  await clock.advance(10_000);
  expect(await written).toEqual(settled);
  expect(warnings).toEqual([]);
  failures = 1_000;
  const lost = expect(write(last, context)).rejects.toThrow('no answer');
  await clock.advance(30_000);
  await lost;
  expect(warnings).toMatchObject([{ release: `release/_/${name}`, error: 'no answer' }]);
});

test('a last status that is refused is told as lost; one of a shard that moved is not, and holds up no other', async () => {
  const clock = new VirtualClock();
  const warnings: unknown[] = [];
  const log = { warn: (facts: object, text: string) => void warnings.push([facts, text]) };
  let code: 'KUBE_REFUSED' | 'KUBE_UNREACHABLE' = 'KUBE_REFUSED';
  const kube = fakePort({
    get: async (_, __, name) => ({ metadata: { name, uid: 'u' } }),
    patch: async (_, { name }) => {
      if (name === 'new') return { metadata: { name, uid: 'u' } };
      throw new OrreryError(code, 'no');
    },
  });
  const write = writeReleaseResource({ kube, clock, log }, async () => settled as never);
  const applied = { type: 'Applied', status: 'False', reason: 'Retired', message: 'left' } as const;
  const last = effect({}, { conditions: [applied] });
  const facts = { release: `release/_/${name}`, error: 'no' };
  for (const one of [effect({}), last])
    expect(await write(one, context)).toEqual({ ...settled, error: 'no' });
  expect(warnings).toEqual([
    [facts, expect.stringContaining('each round tries it again')],
    [facts, expect.stringContaining('Delete that Release')],
  ]);
  code = 'KUBE_UNREACHABLE';
  const shard = new AbortController();
  const moved = expect(write(last, { ...context, signal: shard.signal })).rejects.toThrow('moved');
  expect(await write(effect({}, { bundle: 'new' }), context)).toEqual(settled);
  await clock.advance(3_000);
  shard.abort(new OrreryError('NOT_OWNER', 'moved'));
  await moved;
  expect(warnings).toHaveLength(2);
});
