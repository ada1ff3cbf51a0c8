/**
 * The join that tells the actor of an object what its status says (src/machines/said.ts). Another join of the
 * kind names whom a change concerns.
 */
import { type StatusSaid, saidNothing } from '../../machines/said.ts';
import type { Join } from './join.ts';

interface SaidDigest {
  readonly uid: string;
  readonly createdAt: number;
  /** Absent: mirrored by an earlier release. */
  readonly said?: string;
}

/** @param digestOf what the world has of the object */
export function createStatusJoin<D extends SaidDigest>(
  kind: string,
  digestOf: (namespace: string, name: string) => D | null,
  more: (digest: D) => object = () => ({}),
): Join {
  return createStatusesJoin(kind, (namespace, name) => {
    const digest = digestOf(namespace, name);
    const said = saidIn(digest);
    return digest === null || said === null ? null : { ...said, ...more(digest) };
  });
}

export function saidIn(digest: SaidDigest | null): StatusSaid {
  if (digest?.said === undefined) return null;
  const { uid, said, createdAt } = digest;
  return said === saidNothing ? { uid, said, createdAt } : { uid, said };
}

/** @param factsOf what one status says, or those of several objects that share the actor; null: nothing */
export function createStatusesJoin(
  kind: string,
  factsOf: (namespace: string, name: string) => object | null,
): Join {
  return {
    kinds: [kind],
    fold: () => [],
    *members() {},
    observe: (_kind, namespace, name) => ({
      type: `${kind}.status.observed`,
      facts: factsOf(namespace, name),
    }),
  };
}
