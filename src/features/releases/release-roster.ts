/**
 * What a replica knows of the others' releases and of its bundle's written status, from the state stream.
 *
 * One subscription carries the nodes, their epoch, the status and the fence of the leadership, so their order
 * is the stored one: a reader of a fence knows every status written before it, and a reader of an epoch knows
 * its nodes (in a batch the node comes first). A roster may lag; a write under its epoch or fence is then
 * refused.
 */

import * as v from 'valibot';
import type { FeatureParts } from '../../actors/feature.ts';
import { asError, attempt } from '../../base/errors.ts';
import { ledShard } from '../../base/limits.ts';
import { isRelease } from '../../base/semantic-version.ts';
import type { Following, StoredMessage } from '../../bus/bus.ts';
import { decode } from '../../bus/codec.ts';
import { createReaching } from '../../bus/reaching.ts';
import type { ReleaseRoster } from '../../machines/release/release-events.ts';
import type { NodeFacts, SeenStatus } from '../../machines/release/release-table.ts';

export interface StoredNode extends NodeFacts {
  readonly incarnation: string;
  readonly sequence: number;
}

const release = v.pipe(v.string(), v.check(isRelease, 'not a semantic version'));
const nodeSchema = v.object({
  replica: v.string(),
  incarnation: v.string(),
  release: v.string(),
  bundle: v.nullable(v.object({ name: v.string(), minReconciler: v.string() })),
});
const statusSchema = v.object({
  state: v.picklist(['Working', 'Done']),
  release,
  minimumCompatible: release,
  kinds: v.array(v.object({ apiVersion: v.string(), kind: v.string() })),
});

const nothing: SeenStatus = { sequence: 0, status: null, unreadable: null };

interface RosterParts extends Pick<FeatureParts, 'bus' | 'subjects' | 'log'> {
  /** Name of the replica's bundle; null: it has none, and no status concerns it. */
  readonly bundle: string | null;
  readonly onChange: () => void;
}

export type ReleaseRosterKeeper = ReturnType<typeof createReleaseRoster>;

export function createReleaseRoster(parts: RosterParts) {
  const { bus, subjects, bundle, onChange } = parts;
  const nodes = new Map<string, StoredNode>();
  const reaching = createReaching();
  const statusSubject = bundle === null ? null : subjects.releaseStatus(bundle);
  const fenceSubject = subjects.fence(ledShard);
  let following: Following | null = null;
  let seen = nothing;
  let epoch = 0;
  let sequence = 0;
  let isRead = false;

  const fold = (message: StoredMessage) => {
    sequence = message.sequence;
    if (message.subject === subjects.nodesEpoch) epoch = message.sequence;
    else if (message.subject === statusSubject) seen = readStatus(message);
    else foldNode(parts, nodes, message);
    reaching.reached(sequence);
    if (isRead) onChange();
  };

  return {
    async start(): Promise<void> {
      const subject = [subjects.nodeAll, subjects.nodesEpoch, fenceSubject];
      following = await bus.follow('state', {
        subjects: statusSubject === null ? subject : [...subject, statusSubject],
        from: { kind: 'lastPerSubject' },
        onMessage: fold,
        onAnother() {
          nodes.clear();
          [seen, epoch, sequence] = [nothing, 0, 0];
          if (isRead) onChange();
        },
      });
      await following.caughtUp;
      isRead = true;
      onChange();
    },
    /** false: nothing has been read yet. */
    get isRead(): boolean {
      return isRead;
    },
    roster: (): ReleaseRoster => ({
      seen,
      epoch,
      nodes: [...nodes.values()].map(({ replica, release, bundle }) => ({ replica, release, bundle })),
    }),
    nodes: (): readonly StoredNode[] => [...nodes.values()],
    /** This entry is no longer stored, and its removal was missed; one that was heard since stays. */
    forget({ replica, sequence }: Pick<StoredNode, 'replica' | 'sequence'>): void {
      if (nodes.get(replica)?.sequence === sequence && nodes.delete(replica)) onChange();
    },
    /** Resolves once everything stored before this fence of the leadership is known. */
    async reached(fence: number, signal: AbortSignal): Promise<void> {
      if (sequence < fence) await reaching.wait(fence, signal);
    },
    stop: (): void => void following?.stop(),
  };
}

function foldNode(
  { subjects, log }: RosterParts,
  nodes: Map<string, StoredNode>,
  message: StoredMessage,
): void {
  const replica = subjects.parseNode(message.subject);
  if (replica === undefined) return;
  const node = readNode(message);
  if (node === null) nodes.delete(replica);
  else nodes.set(replica, { ...node, sequence: message.sequence });
  if (node !== null && node.replica !== replica)
    log.warn({ subject: message.subject }, 'a node is stored under another name');
}

/** null: the node has gone, or the message is unreadable. */
function readNode({ data }: StoredMessage): Omit<StoredNode, 'sequence'> | null {
  return attempt(() => {
    const result = v.safeParse(nodeSchema, decode(data));
    return result.success ? result.output : null;
  }, null);
}

function readStatus({ data, sequence }: StoredMessage): SeenStatus {
  if (data.byteLength === 0) return { ...nothing, sequence };
  try {
    const result = v.safeParse(statusSchema, decode(data));
    if (result.success) return { sequence, status: result.output, unreadable: null };
    const [issue] = result.issues;
    const path = issue.path?.map(({ key }) => String(key)).join('.') ?? '';
    return { sequence, status: null, unreadable: `${path} ${issue.message}`.trim() };
  } catch (error) {
    return { sequence, status: null, unreadable: asError(error).message };
  }
}
