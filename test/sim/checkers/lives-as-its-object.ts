/**
 * "No actor ends while its object lives", and none lives on for long after it (docs/architecture.md, the flow
 * of one change).
 *
 * Judged in quiet times, as statuses are: what an actor could not know while nobody could tell it, it has to
 * know soon after. Each feature's world says which objects stand for whom.
 */
import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import { createQuiet, type TroubledWorld } from '../../../packages/testing/checkers/quiet-time.ts';
import type { FaultyWorld } from '../../../packages/testing/simulation/fault-parts.ts';
import { type ActorRecord, isForgotten } from '../../../src/actors/host/records.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';

/** The actors of a kind, and the objects that they represent. */
export interface ActorLife {
  readonly kind: string;
  /** Ids of the actors for which there is an object. */
  readonly objects: () => Iterable<string>;
  /** Whether each of these objects has an actor; absent: yes. */
  readonly isSparse?: true;
  /** How long an actor may outlive its object, ms; absent: as long as one may be missing. */
  readonly outlivesMs?: number | ((record: ActorRecord) => number);
}

/** A failed watch is tried again within half a minute; then lists are made anew. */
const withinMs = 75_000;

export const livesAsItsObject = (
  stage: Pick<FaultyWorld, 'kubeErrors'>,
  lives: readonly ActorLife[],
): CheckerKind<TroubledWorld> => ({
  name: 'an actor lives as long as its object',
  create(eye) {
    const records = new Map<string, ActorRecord>();
    const quiet = createQuiet(eye, stage);
    /** Since when something is amiss, world time, by its description. */
    let since = new Map<string, number>();
    const look = () => {
      const [before, now] = [since, eye.now()];
      since = new Map();
      for (const { text, patienceMs } of lives.flatMap((life) => amissIn(life, records, now))) {
        const from = before.get(text) ?? now;
        since.set(text, from);
        const lastedMs = now - Math.max(from, quiet.since());
        if (lastedMs > patienceMs) eye.breach(`for ${Math.round(lastedMs / 1_000)} s ${text}`);
      }
    };
    return (sighting) => {
      quiet.see(sighting);
      if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
      if (sighting.kind === 'second') look();
    };
  },
});

interface Amiss {
  readonly text: string;
  readonly patienceMs: number;
}

function amissIn(life: ActorLife, records: ReadonlyMap<string, ActorRecord>, now: number): readonly Amiss[] {
  const { kind, isSparse = false, outlivesMs = withinMs } = life;
  const objects = new Set(life.objects());
  const isAlive = (record: ActorRecord | undefined) =>
    record !== undefined && !record.gone && !isForgotten(record, now);
  const without = [...objects].filter((id) => !isSparse && !isAlive(records.get(id)));
  const stray = [...records].filter(
    ([id, record]) => id.startsWith(`${kind}/`) && isAlive(record) && !objects.has(objectOf(id)),
  );
  return [
    ...without.map((id) => ({ text: `the object of ${id} has had no actor`, patienceMs: withinMs })),
    ...stray.map(([id, record]) => ({
      text: `${id} has lived on without its object`,
      patienceMs: typeof outlivesMs === 'number' ? outlivesMs : outlivesMs(record),
    })),
  ];
}

/** A Service has an actor for each RouteGate that asks for it: `service/shop/web@second`; so has a Pod. */
export const objectOf = (id: string) => id.split('@', 1)[0] ?? id;

/** Ids of the actors of a kind that are named after these objects. */
export const idsOf = (kind: string, objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata: { namespace = '_', name } }) => `${kind}/${namespace}/${name}`);
