/**
 * Replicas and their shards as an orrery: each replica is a sun, its shards are planets on orbits around it,
 * larger with more actors. A shard has the same place around every sun, so a moving one visibly flies to its
 * new sun while all others stay. The position shows the owner, and so does the colour.
 */
import type { ShardView } from '../../../base/views.ts';
import { ownerIndex, ownerLetter } from '../pieces.ts';
import { html, type VNode } from '../vendor.ts';

interface Planet {
  readonly shard: ShardView;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly owner: number;
}

/** The radius of each orbit and its number of planets. */
const orbits = [
  [38, 9],
  [60, 15],
  [82, 20],
  [104, 26],
] as const;
const planet = { min: 4, max: 9 } as const;
/** Between two systems, with space for a name below. */
const gap = 22;
const nameHeight = 12;
const size = 2 * (104 + planet.max) + gap;

export function ShardMap({
  shards,
  replicas,
}: {
  shards: readonly ShardView[];
  replicas: readonly string[];
}): VNode {
  const names = [...replicas].sort();
  const lost = shards.filter(({ owner }) => owner === null || !names.includes(owner));
  const systems = lost.length > 0 ? [...names, null] : names;
  const ownOf = (name: string | null) =>
    name === null ? lost : shards.filter(({ owner }) => owner === name);
  const most = Math.max(1, ...shards.map(({ actors }) => actors));
  const planets = systems
    .flatMap((name, at) => ownOf(name).map((shard) => place(shard, at, most, ownerIndex(name, names))))
    .sort((a, b) => a.shard.shard - b.shard.shard);
  const label = systems.map((name) => `${name ?? 'nobody'} owns ${ownOf(name).length}`).join(', ');
  return html`<svg class="shard-map" viewBox="0 0 ${Math.max(1, systems.length) * size} ${size + nameHeight}" role="img" aria-label="${shards.length} shards: ${label}">
    ${systems.map(
      (
        name,
        at,
      ) => html`<g key=${name ?? '-'} class="system owner-${name === null ? 'none' : ownerIndex(name, names) % 8}"
        transform="translate(${(at + 0.5) * size} ${size / 2})">
      ${orbits.map(([radius]) => html`<circle r=${radius} class="orbit" />`)}
      <circle r="19" class="sun" /><text class="sun-letter" y="5.5">${name === null ? '!' : ownerLetter(ownerIndex(name, names))}</text>
      <text class="system-name" y=${size / 2 + 2}>${name ?? 'no owner'}<tspan class="quiet"> · ${ownOf(name).length}</tspan></text>
    </g>`,
    )}
    ${planets.map(
      ({
        shard,
        x,
        y,
        radius,
        owner,
      }) => html`<g key=${shard.shard} class="planet owner-${owner < 0 ? 'none' : owner % 8} ${isWell(shard) ? '' : 'moving'}"
        style=${{ transform: `translate(${x}px, ${y}px)` }}>
      <circle r=${radius} /><title>shard ${shard.shard}: ${shard.actors} actors, ${shard.owner ?? 'no owner'}, ${shard.state}, fence ${shard.fence}</title>
    </g>`,
    )}
  </svg>`;
}

function place(shard: ShardView, system: number, most: number, owner: number): Planet {
  let [left, ring] = [shard.shard, 0];
  while (ring < orbits.length - 1 && left >= (orbits[ring]?.[1] ?? 0)) left -= orbits[ring++]?.[1] ?? 0;
  const [radius, room] = orbits[ring] ?? [104, 26];
  // Each ring starts at another angle, so that planets do not line up.
  const angle = (left / room) * 2 * Math.PI + ring * 0.7 - Math.PI / 2;
  return {
    shard,
    owner,
    x: Math.round(((system + 0.5) * size + radius * Math.cos(angle)) * 10) / 10,
    y: Math.round((size / 2 + radius * Math.sin(angle)) * 10) / 10,
    radius: planet.min + (planet.max - planet.min) * Math.sqrt(shard.actors / most),
  };
}

function isWell({ state, owner }: ShardView): boolean {
  return state === 'active' && owner !== null;
}
