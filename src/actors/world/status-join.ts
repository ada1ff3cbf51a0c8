/**
 * The join that tells the actor of an object what its status says (src/machines/said.ts). Another join of the
 * kind names whom a change concerns.
 */
import type { StatusSaid } from '../../machines/said.ts';
import type { Join } from './join.ts';

interface SaidDigest {
  readonly uid: string;
  /** Absent: the status says nothing, or was mirrored by an earlier release. */
  readonly said?: string;
}

/** @param digestOf what the world has of the object */
export function createStatusJoin<D extends SaidDigest>(
  kind: string,
  digestOf: (namespace: string, name: string) => D | null,
  more: (digest: D) => object = () => ({}),
): Join {
  return {
    kinds: [kind],
    fold: () => [],
    *members() {},
    observe(_kind, namespace, name) {
      const digest = digestOf(namespace, name);
      if (digest?.said === undefined) return { type: `${kind}.status.observed`, facts: null };
      const facts: StatusSaid = { uid: digest.uid, said: digest.said };
      return { type: `${kind}.status.observed`, facts: { ...facts, ...more(digest) } };
    },
  };
}
