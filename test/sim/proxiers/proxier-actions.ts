/** What happens in the world of proxiers: to proxies, to their connection, and to their Nodes. */
import { encodeJson } from '../../../src/bus/codec.ts';
import { nodes } from '../../../src/features/proxiers/resources.ts';
import type { WorldParts } from '../features/feature-world.ts';
import { families, type NodeProxy } from './node-proxy.ts';
import { makeNode, type ProxierScene } from './proxier-world.ts';

type Action = readonly [name: string, act: () => string | null];

export function proxierActions(parts: WorldParts, scene: ProxierScene): readonly Action[] {
  const { chance } = parts;
  return [...proxyActions(parts, scene), ...nodeActions(parts, scene)].filter(() => chance.happens(0.7));
}

function proxyActions({ stage, chance }: WorldParts, { proxies }: ProxierScene): readonly Action[] {
  const { clock } = stage;
  const of = (act: (proxy: NodeProxy) => void) => () => {
    const proxy = chance.pick(proxies);
    if (proxy) act(proxy);
    return proxy?.node ?? null;
  };
  const family = () => chance.pick(families) ?? 'IPv4';
  return [
    ['change', of((proxy) => proxy.change(family(), chance.seldomLong(5, 4_000)))],
    [
      'flapping',
      of((proxy) => {
        for (let n = 0; n < 8; n++)
          clock.after(n * chance.between(20, 400), () => proxy.change(family(), chance.seldomLong(5, 500)));
      }),
    ],
    [
      'stuck',
      of((proxy) => {
        proxy.fallBehind(family());
        clock.after(chance.between(500, 20_000), () => proxy.mend());
      }),
    ],
    [
      'unheard',
      of((proxy) => {
        proxy.setLink(chance.happens(0.5) ? 'down' : 'silent');
        clock.after(chance.seldomLong(100, 12_000), () => proxy.setLink('up'));
      }),
    ],
    ['restarted', of((proxy) => proxy.restart())],
    [
      // One that nobody has to believe, about a node without a proxy of its own.
      'stranger',
      () => {
        const event = { type: chance.happens(0.5) ? 'proxier.queued' : 'proxier.updated', family: family() };
        const id = 'proxier/_/elsewhere';
        stage.hub
          .connect('stranger')
          .append(stage.subjects.send(id), encodeJson({ ...event, id: `s-${chance.int(0, 1e9)}` }))
          .catch(() => {});
        return event.type;
      },
    ],
  ];
}

function nodeActions(parts: WorldParts, scene: ProxierScene): readonly Action[] {
  const { stage, chance } = parts;
  const { api } = stage;
  const any = () => chance.pick(scene.proxies)?.node ?? 'node-0';
  return [
    [
      'marked',
      () => {
        const name = any();
        if (api.find(nodes, undefined, name) === null) return null;
        const isMarked = chance.happens(0.5);
        const taints = isMarked ? [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] : [];
        api.patch(nodes, { name, type: 'merge', body: { spec: { taints } } });
        return `${name} ${isMarked ? 'to be deleted' : 'no more'}`;
      },
    ],
    [
      'deleted',
      () => {
        const name = any();
        if (api.find(nodes, undefined, name) === null) return null;
        api.remove(nodes, undefined, name);
        return name;
      },
    ],
    ['made', () => makeNode(parts, any())],
  ];
}
