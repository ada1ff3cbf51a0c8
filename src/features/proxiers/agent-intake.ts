/**
 * What a node agent hears about its proxier: the messages sent to it, as they are sent, and the digest of its
 * Node.
 *
 * Plain subscriptions, which cost the server next to nothing, because every node has an agent. At each
 * connection, and once a minute, it catches up: from the record of the proxier's owner, which has everything,
 * and from any replica's knowledge of the Node. While no replica answers, it reads the streams, if the
 * agent's permissions allow that; most do not. Promise: catching up never undoes later knowledge. Absent: the
 * connection, HTTP.
 */

import { createAdmission } from '../../actors/admission.ts';
import type { FeatureParts } from '../../actors/feature.ts';
import { kindOf, type Origin } from '../../actors/kind.ts';
import type { IpFamily } from '../../base/address.ts';
import { sleep } from '../../base/clock.ts';
import type { AnyDigest } from '../../base/digests.ts';
import { asError } from '../../base/errors.ts';
import { actorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log-port.ts';
import type { ControlPort } from '../../base/views.ts';
import type { BusMessage, StoredMessage, Subscription } from '../../bus/bus.ts';
import { contentType, decode } from '../../bus/codec.ts';
import { headerOf, readMessage } from '../../bus/envelope.ts';
import { shardOf } from '../../bus/partition.ts';
import { errorInAnswer } from '../../bus/rpc.ts';
import { proxierChart } from '../../machines/proxier/proxier.ts';
import type { ProxierContext } from '../../machines/proxier/proxier-context.ts';
import type { ProxierReport } from '../../machines/proxier/proxier-events.ts';
import { proxierMessages } from './messages.ts';
import { nodeEligibility } from './node-digest.ts';
import type { NodeAnswer } from './node-request.ts';
import type { ProxierHealth } from './proxier-health.ts';

export interface AgentIntakeParts extends Pick<FeatureParts, 'bus' | 'subjects' | 'clock' | 'random'> {
  readonly control: Pick<ControlPort, 'get'>;
  readonly node: string;
  readonly timeoutMs: number;
  readonly health: ProxierHealth;
  readonly log: Pick<Log, 'warn'>;
  readonly signal: AbortSignal;
}

const families: readonly IpFamily[] = ['IPv4', 'IPv6'];
const admission = createAdmission([kindOf(proxierChart, proxierMessages)]);

/** Resolves once earlier messages are known; after that the chart follows the subscriptions. */
export async function followProxier(parts: AgentIntakeParts): Promise<void> {
  const { bus, subjects, node, health, clock, timeoutMs, signal } = parts;
  const id = actorId('proxier', '_', node);
  // A late family was queued longer ago than the timeout; anything older is in the record.
  let heardUntil = clock.now() - 2 * timeoutMs;
  const hear = (isTrusted: boolean) => (message: BusMessage) => {
    const said = saidIn(parts, message, { receivedAt: clock.now(), isTrusted });
    if (said?.type === 'proxier.reported') health.reported(said, { isTimed: isTrusted });
    if (said?.type === 'proxier.queued') health.queued(said.family, said.happenedAt);
    if (said?.type === 'proxier.updated') health.updated(said.family, said.happenedAt);
  };
  const nodeIntake = createNodeIntake(parts);
  const catchUp = async () => {
    const from = heardUntil;
    heardUntil = clock.now();
    const [isAnswered] = await Promise.all([askOnce(parts), nodeIntake.read()]);
    if (!isAnswered) await readMissed(parts, from);
    // What was in transit to the owner at the first question is in the record by the second.
    await sleep(clock, limits.agentRetryMs, signal);
    await askOwner(parts);
    if (bus.status === 'connected') health.back();
  };
  const status = bus.onStatus((now) => {
    if (now === 'connected') return void catchUp().catch(() => {});
    heardUntil = clock.now();
    health.away();
  });
  const subscriptions: Subscription[] = [
    status,
    bus.subscribe(subjects.send(id), hear(false)),
    // A replica answers requests; they are heard here, too.
    bus.subscribe(subjects.rpcSend(id), hear(true)),
    ...nodeIntake.begin(),
  ];
  signal.addEventListener('abort', () => subscriptions.forEach((one) => void one.stop()), { once: true });
  await catchUp();
  void compareAgain(parts, () => nodeIntake.read()).catch(() => {});
}

/**
 * Plain messages get lost where no connection breaks that the agent could notice, such as one between two
 * servers of NATS. Until the next one it would answer as before, for days in a quiet cluster.
 */
async function compareAgain(parts: AgentIntakeParts, readNode: () => Promise<void>): Promise<void> {
  const { bus, clock, random, signal } = parts;
  while (!signal.aborted) {
    // Agents that connected together do not ask together.
    await sleep(clock, limits.agentCompareMs * (0.8 + 0.4 * random.next()), signal);
    if (bus.status === 'connected') await Promise.all([askOnce(parts), readNode()]);
  }
}

type Said =
  | {
      readonly type: 'proxier.queued' | 'proxier.updated';
      readonly family: IpFamily;
      readonly happenedAt?: number;
    }
  | ProxierReport;

function saidIn(
  { log }: AgentIntakeParts,
  message: BusMessage | StoredMessage,
  origin: Origin = { receivedAt: 0, isTrusted: false },
): Said | undefined {
  try {
    // What the owner would refuse is refused here too.
    return admission.admit('proxier', readMessage(message).event, origin) as unknown as Said;
  } catch (error) {
    // The proxier's owner makes it a dead letter for people to find.
    log.warn({ subject: message.subject, error: asError(error).message }, 'a message cannot be read');
    return undefined;
  }
}

/** Reads what the stream still has since `from`. */
async function readMissed(parts: AgentIntakeParts, from: number): Promise<void> {
  const { bus, subjects, node, clock, health, log } = parts;
  const id = actorId('proxier', '_', node);
  const reading = bus.follow('mail', {
    subjects: [subjects.mail(shardOf(id), id)],
    // The clocks of NATS and of this machine may differ a little.
    from: { kind: 'time', at: from - 1_000 },
    onMessage(message) {
      const said = saidIn(parts, message);
      if (said?.type === 'proxier.reported') health.reported(said, { at: message.storedAt, isTimed: false });
      if (said?.type === 'proxier.queued') learnQueued(health, said.family, message.storedAt);
      if (said?.type === 'proxier.updated') learnUpdated(health, said.family, message.storedAt);
    },
  });
  try {
    await Promise.race([
      reading.then(({ caughtUp }) => caughtUp),
      sleep(clock, limits.agentCatchUpMs, parts.signal),
    ]);
  } catch (error) {
    log.warn({ node, error: asError(error).message }, 'missed messages cannot be read');
  }
  void reading.then((following) => following.stop()).catch(() => {});
}

/** A change arrived at that time; no news if everything was applied later. */
function learnQueued(health: ProxierHealth, family: IpFamily, at: number): void {
  if (at > (health.families()[family].lastUpdated ?? -1)) health.queued(family, at);
}

/** Everything was applied at that time; a later change still waits. */
function learnUpdated(health: ProxierHealth, family: IpFamily, at: number): void {
  const { lastUpdated, pendingSince } = health.families()[family];
  if (at < (lastUpdated ?? -1)) return;
  health.updated(family, at);
  if (pendingSince !== null && pendingSince > at) health.queued(family, pendingSince);
}

/** Takes over the knowledge of the proxier's owner; retries until somebody answers. */
async function askOwner(parts: AgentIntakeParts): Promise<void> {
  const { bus, clock, signal } = parts;
  while (!signal.aborted && bus.status === 'connected' && !(await askOnce(parts)))
    await sleep(clock, limits.agentRetryMs, signal).catch(() => {});
}

/** @returns whether somebody answered */
async function askOnce({ control, node, health, log }: AgentIntakeParts): Promise<boolean> {
  try {
    const view = await control.get(actorId('proxier', '_', node), { history: false });
    if (!view?.context) return true;
    const record = (view.context as ProxierContext).families;
    for (const family of families) {
      const { lastUpdated, pendingSince } = record[family];
      if (lastUpdated !== null) learnUpdated(health, family, lastUpdated);
      if (pendingSince !== null) learnQueued(health, family, pendingSince);
    }
    return true;
  } catch (error) {
    log.warn({ node, error: asError(error).message }, 'no replica answers; asking again');
    return false;
  }
}

/** How often a replica is asked for an unknown Node after each statement of a list. */
const statementTries = 2;

/** The Node, as in the world. */
function createNodeIntake({ bus, subjects, node, health, clock, log, signal }: AgentIntakeParts) {
  const own = subjects.world('nodes', '', node);
  const synced = subjects.world('_synced', '', 'nodes');
  let isKnown = false;
  /** Messages about the Node that were heard. An answer may be older than the last of them. */
  let heard = 0;
  /** A message about the Node itself, including its deletion. */
  const take = (message: BusMessage | StoredMessage) => {
    try {
      const digest = digestOf(message);
      isKnown = digest !== null;
      health.nodeIs(nodeEligibility(digest));
    } catch (error) {
      log.warn({ subject: message.subject, error: asError(error).message }, 'the Node cannot be read');
    }
  };
  /** The answering replica may read the statement a moment after us, or hear its maker only then. */
  const lookAfterStatement = async () => {
    for (let tries = 0; tries < statementTries && !isKnown && !signal.aborted; tries++) {
      await intake.read();
      await sleep(clock, limits.agentRetryMs, signal).catch(() => {});
    }
  };
  const hear = (message: BusMessage) => {
    heard++;
    take(message);
  };
  const intake = {
    // Only a replica can say whether a statement counts: it knows the fences and who lives.
    begin: () => [bus.subscribe(own, hear), bus.subscribe(synced, () => void lookAfterStatement())],
    /**
     * The present knowledge: a replica's, or the stream's if permitted. A Node that is not listed yet is not
     * a deleted Node (docs/features/proxiers.md §3.2).
     */
    async read(): Promise<void> {
      const before = heard;
      try {
        const asked = await bus.request(subjects.rpcNode(node), noData, {
          timeoutMs: limits.requestTimeoutMs,
        });
        const answer = errorInAnswer(asked) ? null : (decode(asked.data) as Partial<NodeAnswer> | null);
        if (heard !== before) return;
        if (typeof answer?.isListed === 'boolean') {
          isKnown = answer.node != null;
          if (isKnown || answer.isListed) health.nodeIs(nodeEligibility(answer.node ?? null));
          return;
        }
      } catch (error) {
        log.warn({ node, error: asError(error).message }, 'no replica answers about the Node');
      }
      try {
        const known = await bus.last('world', own);
        if (known && heard === before) take(known);
      } catch (error) {
        log.warn({ node, error: asError(error).message }, 'the Node is not known');
      }
    },
  };
  return intake;
}

const noData = new Uint8Array();

/** @throws Error for anything but a Node's digest: it must not look as if the Node were gone */
function digestOf(message: BusMessage | StoredMessage): AnyDigest | null {
  const value = messageValue(message);
  if (value === null || value.deleted === true) return null;
  if (value.kind !== 'nodes') throw new Error('it is not a digest of a Node');
  return value as unknown as AnyDigest;
}

function messageValue({
  data,
  headers,
}: BusMessage | StoredMessage): Readonly<Record<string, unknown>> | null {
  if (data.byteLength === 0) return null;
  return decode(data, headerOf(headers, contentType.header)) as Readonly<Record<string, unknown>> | null;
}
