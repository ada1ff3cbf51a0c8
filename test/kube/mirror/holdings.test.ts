/** Which mirrors there are: those of declared resources, and those of kinds that features come to name. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { HoldingSpec } from '../../../src/actors/shards/holding.ts';
import type { Ownership } from '../../../src/actors/shards/ownership.ts';
import type { NamedKind, NamedWatches } from '../../../src/actors/world/watch-declaration.ts';
import type { WorldEntry } from '../../../src/base/digests.ts';
import type { KubeResource, ListOptions } from '../../../src/base/kube-port.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { encode } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import {
  declaredHoldings,
  followNamedKinds,
  type HoldingParts,
  neededDefinitions,
  neededMirrors,
} from '../../../src/kube/mirror/holdings.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { fakePort } from '../effects/fake-port.ts';

const widgets: KubeResource = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const gadget: NamedKind = { apiVersion: 'example.com/v1', kind: 'Gadget' };
const widget: NamedKind = { apiVersion: 'example.com/v1', kind: 'Widget' };
const digest = () => ({});

let held: Set<string>;
let wanted: NamedKind[];
let tell: (entry: WorldEntry) => void;
let lists: ListOptions[];
let clock: VirtualClock;
beforeEach(() => {
  held = new Set();
  wanted = [];
  lists = [];
  clock = new VirtualClock();
});

const namedWatches: NamedWatches = {
  tellers: ['namers'],
  wanted: () => wanted,
  declare: (named) => ({ resource: named, digest }),
};
const ownership = {
  add: ({ name }: HoldingSpec) => void held.add(name),
  remove: (name: string) => void held.delete(name),
} as unknown as Ownership;

function partsOf(features: HoldingParts['features'], keepers: HoldingParts['keepers'] = {}) {
  return {
    features,
    keepers,
    kube: fakePort({
      list: async (_resource, options) => {
        lists.push(options);
        return { resourceVersion: '1', continue: '', items: [] };
      },
      watch: () => new Promise(() => {}),
    }),
    bus: memoryHub({ clock, cluster: 'test' }).connect('one'),
    subjects: subjects('test'),
    encode,
    world: {
      entries: () => [],
      onChange: (callback: (entry: WorldEntry) => void) => {
        tell = callback;
      },
      ready: async () => {},
    },
    clock,
    random: seededRandom(1),
    log: silentLog,
    metrics: { watchRestarts: () => {}, worldLag: () => {} },
  } satisfies HoldingParts;
}

const news = (resource: string) => tell({ resource, namespace: 'shop', name: 'a', digest: null });

describe('declared resources', () => {
  test('have one holding each, however many features watch them; those that are needed are named', () => {
    const features = [
      { watches: [{ resource: widgets, name: 'widgets', digest }] },
      { watches: [{ resource: widgets, name: 'widgets', needed: true, digest } as const] },
      { watches: [{ resource: gadget, digest }] },
    ];
    const holdings = declaredHoldings(partsOf(features), () => ownership);
    expect(holdings.map(({ name }) => name)).toEqual(['watch/widgets', 'watch/example.com/v1/Gadget']);
    expect(neededMirrors(features)).toEqual(['widgets']);
    expect([...neededDefinitions(features)]).toEqual([['widgets', 'widgets.example.com']]);
  });

  test('with a label are asked for by their label, and what is kept beside them lives as long as the reign', async () => {
    const kept: string[] = [];
    const keeper = { start: () => void kept.push('start'), stop: () => void kept.push('stop') };
    const parts = partsOf([{ watches: [{ resource: widgets, label: 'example.com/ours', digest }] }], {
      'example.com/v1/Widget': keeper,
    });
    const [holding] = declaredHoldings(parts, () => ownership);
    if (holding === undefined) throw new Error('it is declared');
    const { sequence } = await parts.bus.append(holding.fenceSubject, encode({ owner: 'one' }));
    await holding.work.load(sequence, new AbortController().signal);
    kept.length = 0;
    holding.work.open(sequence);
    await clock.advance(100);
    expect(lists).toMatchObject([{ labelSelector: 'example.com/ours' }]);
    holding.work.drop(sequence - 1);
    expect(kept).toEqual(['start']);
    holding.work.drop(sequence);
    expect(kept).toEqual(['start', 'stop']);
  });
});

describe('kinds that features name', () => {
  test('are held for as long as they are named', () => {
    followNamedKinds(partsOf([{ watches: [], namedWatches }]), ownership);
    expect([...held]).toEqual([]);
    wanted = [gadget];
    news('others');
    expect([...held]).toEqual([]);
    news('namers');
    expect([...held]).toEqual(['watch/example.com/v1/Gadget']);
    wanted = [];
    news('namers');
    expect([...held]).toEqual([]);
  });

  test('that are declared, too, have no second mirror', () => {
    wanted = [gadget, widget];
    followNamedKinds(partsOf([{ watches: [{ resource: widgets, digest }], namedWatches }]), ownership);
    expect([...held]).toEqual(['watch/example.com/v1/Gadget']);
  });

  test('by two features have one mirror, until neither names them', () => {
    const others: NamedKind[] = [gadget];
    const other: NamedWatches = { ...namedWatches, wanted: () => others };
    wanted = [gadget];
    const parts = partsOf([
      { watches: [], namedWatches },
      { watches: [], namedWatches: other },
    ]);
    followNamedKinds(parts, ownership);
    wanted = [];
    news('namers');
    expect([...held]).toEqual(['watch/example.com/v1/Gadget']);
    others.length = 0;
    news('namers');
    expect([...held]).toEqual([]);
  });
});
