/**
 * Tells a node agent about its Node, because agents have no permission on the streams. `rpc.node.<name>`,
 * answered by any replica.
 */
import type { EngineView } from '../../actors/feature.ts';
import type { AnyDigest } from '../../base/digests.ts';
import { OrreryError } from '../../base/errors.ts';
import { encodeJson } from '../../bus/codec.ts';
import type { Endpoint } from '../../bus/rpc.ts';
import type { Subjects } from '../../bus/subjects.ts';

/** Answer to `rpc.node.<name>`. */
export interface NodeAnswer {
  /** null: there is no such Node, or it is not listed yet. */
  readonly node: AnyDigest | null;
  /** Whether all Nodes were listed once. */
  readonly isListed: boolean;
}

export function nodeEndpoint({
  engine: { world },
  subjects,
}: {
  readonly engine: Pick<EngineView, 'world'>;
  readonly subjects: Subjects;
}): Endpoint {
  return {
    name: 'node',
    subject: subjects.rpcNodeAll,
    queue: 'orrery',
    async handler({ subject }) {
      const name = subjects.parseRpcNode(subject);
      if (name === undefined) throw new OrreryError('MESSAGE_UNKNOWN_KIND', 'no Node has such a name');
      const node = world.get('nodes', '', name);
      const isListed = world.statement('nodes') !== null;
      return encodeJson({ node, isListed } satisfies NodeAnswer);
    },
  };
}
