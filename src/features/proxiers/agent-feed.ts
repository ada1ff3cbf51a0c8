/**
 * What a node agent hears of its proxier: the messages that anybody sends to it, as they are sent, and the digest of its Node.
 *
 * Plain subscriptions, which cost the server next to nothing, for there is an agent on every node. At each connection, what was missed
 * is made up: first from the stream that keeps messages for a while, then from the record of the proxier's owner, which knows all.
 * Promises: what is made up never undoes what is known to be later. Absent: the connection, HTTP.
 */

import type { IpFamily } from '../../base/address.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { AnyDigest } from '../../base/digests.ts';
import { asError } from '../../base/errors.ts';
import { actorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log-port.ts';
import type { ControlPort } from '../../base/views.ts';
import type { Bus, BusMessage, StoredMessage, Subscription } from '../../bus/bus.ts';
import { contentType, decode } from '../../bus/codec.ts';
import { headerOf, readMessage } from '../../bus/envelope.ts';
import { shardOf } from '../../bus/shard.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { ProxierContext } from '../../machines/proxier/proxier-context.ts';
import { nodeEligibility } from './node-digest.ts';
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
  const { bus, subjects, node, health, clock, timeoutMs, signal } = options;
  const id = actorId('proxier', '_', node);
  // Whoever is late was queued longer ago than the timeout; the record tells of what is older still.
  let heardUntil = clock.now() - 2 * timeoutMs;
  const onMessage = (message: BusMessage) => {
    const said = saidIn(options, message);
    if (said?.type === 'proxier.queued') health.queued(said.family);
    if (said?.type === 'proxier.updated') health.updated(said.family);
  };
  const nodeFeed = createNodeFeed(options);
  const catchUp = async () => {
    const from = heardUntil;
    heardUntil = clock.now();
    await Promise.all([readMissed(options, from), nodeFeed.read()]);
    await askOwner(options);
  };
  const status = bus.onStatus((now) => {
    if (now === 'connected') void catchUp();
    else heardUntil = clock.now();
  });
  const subscriptions: Subscription[] = [
    status,
    bus.subscribe(subjects.send(id), onMessage),
    ...nodeFeed.begin(),
  ];
  signal.addEventListener('abort', () => subscriptions.forEach((one) => void one.stop()), { once: true });
  await catchUp();
}

interface Said {
  readonly type: string;
  readonly family: IpFamily;
}

function saidIn({ log }: AgentFeedOptions, message: BusMessage | StoredMessage): Said | undefined {
  try {
    const { type, family } = readMessage(message).event;
    return families.includes(family as IpFamily) ? { type, family: family as IpFamily } : undefined;
  } catch (error) {
    // The proxier's owner puts it aside where people look for such things.
    log.warn({ subject: message.subject, error: asError(error).message }, 'a message cannot be read');
    return undefined;
  }
}

/** Reads what the stream still has of the time since `from`. */
async function readMissed(options: AgentFeedOptions, from: number): Promise<void> {
  const { bus, subjects, node, clock, health, log } = options;
  const id = actorId('proxier', '_', node);
  const reading = bus.follow('mail', {
    subjects: [subjects.mail(shardOf(id), id)],
    // The clocks of NATS and of this machine may differ a little.
    from: { kind: 'time', at: from - 1_000 },
    onMessage(message) {
      const said = saidIn(options, message);
      if (said?.type === 'proxier.queued') learnQueued(health, said.family, message.storedAt);
      if (said?.type === 'proxier.updated') learnUpdated(health, said.family, message.storedAt);
    },
  });
  try {
    await Promise.race([
      reading.then(({ caughtUp }) => caughtUp),
      sleep(clock, limits.agentCatchUpMs, options.signal),
    ]);
  } catch (error) {
    log.warn({ node, error: asError(error).message }, 'what was missed cannot be read');
  }
  void reading.then((following) => following.stop()).catch(() => {});
}

/** A change that arrived then; nothing new if all was applied later. */
function learnQueued(health: ProxierHealth, family: IpFamily, at: number): void {
  if (at > (health.families()[family].lastUpdated ?? -1)) health.queued(family, at);
}

/** All was applied then; a change that arrived later still waits. */
function learnUpdated(health: ProxierHealth, family: IpFamily, at: number): void {
  const { lastUpdated, pendingSince } = health.families()[family];
  if (at < (lastUpdated ?? -1)) return;
  health.updated(family, at);
  if (pendingSince !== null && pendingSince > at) health.queued(family, pendingSince);
}

/** Takes over what the proxier's owner knows; tries again for as long as nobody answers. */
async function askOwner({ bus, control, node, health, clock, log, signal }: AgentFeedOptions): Promise<void> {
  while (!signal.aborted && bus.status === 'connected') {
    try {
      const view = await control.get(actorId('proxier', '_', node), { history: false });
      if (!view?.context) return;
      const record = (view.context as ProxierContext).families;
      for (const family of families) {
        const { lastUpdated, pendingSince } = record[family];
        if (lastUpdated !== null) learnUpdated(health, family, lastUpdated);
        if (pendingSince !== null) learnQueued(health, family, pendingSince);
      }
      return;
    } catch (error) {
      log.warn({ node, error: asError(error).message }, 'no replica answers; asked again');
      await sleep(clock, limits.agentRetryMs, signal).catch(() => {});
    }
  }
}

/** The Node, as it stands in the world. */
function createNodeFeed({ bus, subjects, node, health, log }: AgentFeedOptions) {
  const own = subjects.world('nodes', '', node);
  const synced = subjects.world('_synced', '', 'nodes');
  let digest: AnyDigest | null = null;
  let isListed = false;
  const take = (message: BusMessage | StoredMessage) => {
    try {
      if (message.subject === own) digest = digestOf(message);
      else isListed = true;
      // A Node that is not listed yet is no Node that was deleted.
      if (digest !== null || isListed) health.nodeIs(nodeEligibility(digest));
    } catch (error) {
      log.warn({ subject: message.subject, error: asError(error).message }, 'the Node cannot be read');
    }
  };
  return {
    begin: () => [bus.subscribe(own, take), bus.subscribe(synced, take)],
    /** What is known now, from the stream's leader. */
    async read(): Promise<void> {
      try {
        const known = await bus.lastOfMany('world', [own, synced]);
        // Of a Node that was deleted long ago not even the tombstone is left.
        if (!known.has(own)) digest = null;
        for (const message of known.values()) take(message);
      } catch (error) {
        log.warn({ node, error: asError(error).message }, 'the Node is not known');
      }
    },
  };
}

function digestOf({ data, headers }: BusMessage | StoredMessage): AnyDigest | null {
  if (data.byteLength === 0) return null;
  const value = decode(data, headerOf(headers, contentType.header)) as
    | (Partial<AnyDigest> & { readonly deleted?: boolean })
    | null;
  return value === null || value.deleted === true || value.kind === undefined ? null : (value as AnyDigest);
}
