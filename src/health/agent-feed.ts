/**
 * What a node agent hears of its proxier: the messages that anybody sends to it, from the stream that keeps them, and the digest of its
 * Node.
 *
 * Promises: messages are taken in the stream's order and dated by it, also those that came while NATS was away; what the stream has
 * forgotten meanwhile is made up from the record of the proxier's owner. Absent: the connection, HTTP.
 */
import type { Bus, Following, StoredMessage } from '../bus/bus.ts';
import { decode } from '../bus/codec.ts';
import { readMessage } from '../bus/envelope.ts';
import { shardOf } from '../bus/shard.ts';
import type { Subjects } from '../bus/subjects.ts';
import { type Clock, sleep } from '../clock.ts';
import { type Digest, type IpFamily, nodeEligibility } from '../digests.ts';
import { asError } from '../errors.ts';
import { actorId } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Log } from '../log-port.ts';
import type { FamilyHealth } from '../machines/health-family.ts';
import type { ProxierContext } from '../machines/proxier-context.ts';
import type { ControlPort } from '../views.ts';
import type { ProxierHealth } from './proxier-health.ts';

export interface AgentFeedOptions {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly control: Pick<ControlPort, 'get'>;
  readonly node: string;
  readonly timeoutMs: number;
  readonly health: ProxierHealth;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly signal: AbortSignal;
}

const families: readonly IpFamily[] = ['IPv4', 'IPv6'];

/** Resolves once what was said before is known; from then on the chart follows what is said. */
export async function followProxier(options: AgentFeedOptions): Promise<void> {
  const { bus, subjects, node, clock, timeoutMs, signal } = options;
  const id = actorId('proxier', '_', node);
  const followings: Following[] = [];
  signal.addEventListener('abort', () => followings.forEach((one) => void one.stop()), { once: true });

  // Whoever is late was queued longer ago than the timeout; the record below tells of what is older still.
  const from = { kind: 'time', at: clock.now() - 2 * timeoutMs } as const;
  const mail = subjects.mail(shardOf(id), id);
  followings.push(
    await bus.follow('mail', { subjects: [mail], from, onMessage: (message) => takeMail(options, message) }),
  );
  followings.push(await followNode(options));
  await reconcile(options);
  // The stream forgets what the owner has taken: after an absence only the record may know of it.
  const status = bus.onStatus((now) => {
    if (now === 'connected') void reconcile(options);
  });
  signal.addEventListener('abort', () => status.stop(), { once: true });
}

function takeMail({ health, log }: AgentFeedOptions, message: StoredMessage): void {
  try {
    const { type, family } = readMessage(message).event;
    if (!isFamily(family)) return;
    if (type === 'proxier.queued') health.queued(family, message.storedAt);
    if (type === 'proxier.updated') health.updated(family, message.storedAt);
  } catch (error) {
    // The proxier's owner puts it aside where people look for such things.
    log.warn({ subject: message.subject, error: asError(error).message }, 'a message cannot be read');
  }
}

function isFamily(value: unknown): value is IpFamily {
  return families.includes(value as IpFamily);
}

async function followNode({ bus, subjects, node, health, log }: AgentFeedOptions): Promise<Following> {
  const own = subjects.world('nodes', '', node);
  const synced = subjects.world('_synced', '', 'nodes');
  let digest: Digest | null = null;
  let isListed = false;
  return bus.follow('world', {
    subjects: [own, synced],
    from: { kind: 'lastPerSubject' },
    onMessage(message) {
      try {
        if (message.subject === own) digest = digestOf(message);
        else isListed = true;
        // A Node that is not listed yet is no Node that was deleted.
        if (digest !== null || isListed) health.nodeIs(nodeEligibility(digest));
      } catch (error) {
        log.warn({ subject: message.subject, error: asError(error).message }, 'the Node cannot be read');
      }
    },
  });
}

function digestOf({ data }: StoredMessage): Digest | null {
  if (data.byteLength === 0) return null;
  const value = decode(data) as (Partial<Digest> & { readonly deleted?: boolean }) | null;
  return value === null || value.deleted === true || value.kind === undefined ? null : (value as Digest);
}

/** Compares with the record of the proxier's owner; tries again for as long as nobody answers. */
async function reconcile(options: AgentFeedOptions): Promise<void> {
  const { bus, control, node, clock, log, signal } = options;
  while (!signal.aborted && bus.status === 'connected') {
    try {
      const view = await control.get(actorId('proxier', '_', node), { history: false });
      if (view?.context) merge(options.health, (view.context as ProxierContext).families);
      return;
    } catch (error) {
      log.warn({ node, error: asError(error).message }, 'no replica answers; asked again');
      await sleep(clock, limits.agentRetryMs, signal).catch(() => {});
    }
  }
}

/** Takes over what the record knows and the chart does not. */
function merge(health: ProxierHealth, record: Readonly<Record<IpFamily, FamilyHealth>>): void {
  for (const family of families) {
    const own = health.families()[family];
    const { lastUpdated, pendingSince } = record[family];
    if (lastUpdated !== null && lastUpdated > (own.lastUpdated ?? -1)) {
      health.updated(family, lastUpdated);
      // A change that came after it still waits.
      if (own.pendingSince !== null && own.pendingSince > lastUpdated)
        health.queued(family, own.pendingSince);
    }
    const settled = health.families()[family].lastUpdated ?? -1;
    if (pendingSince !== null && pendingSince > settled) health.queued(family, pendingSince);
  }
}
