/** What certificates need of a replica, put together: Issuers as the world knows them, the board of challenges, HTTP to authorities. */

import type { Engine } from '../../actors/engine.ts';
import type { World } from '../../actors/world/world.ts';
import type { Clock } from '../../base/clock.ts';
import type { HostPort } from '../../base/config-values.ts';
import type { Transition } from '../../base/views.ts';
import type { Bus } from '../../bus/bus.ts';
import { shardOf } from '../../bus/shard.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { CertificateParts } from '../../replica/effects.ts';
import type { CertificateOutcome, Metrics } from '../../replica/metrics.ts';
import { type ChallengeServer, type ServerLog, startChallengeServer } from './acme/challenge-server.ts';
import { createHttpClient } from './acme/http.ts';
import { createChallengeBoard } from './challenges.ts';

export function certificateParts(parts: BoardParts): CertificateParts {
  const world: Pick<World, 'get'> = { get: (...place) => parts.world().get(...place) };
  return {
    http: createHttpClient(),
    board: createChallengeBoard({ ...parts, world }),
    issuerOf(name) {
      const digest = world.get('issuers.orrery.dev', '', name);
      if (digest?.kind !== 'issuers' || digest.deleting || 'invalid' in digest.spec) return null;
      return { version: `${digest.uid}/${digest.generation}`, spec: digest.spec };
    },
  };
}

/** The ends of the certificates whose actors are owned here: so each host is told by one replica. */
export function* certificateExpiries(
  engine: Pick<Engine, 'world' | 'shards'>,
): Iterable<{ readonly host: string; readonly notAfter: number }> {
  const owned = new Set<number>();
  for (const { shard, phase } of engine.shards.open()) if (phase === 'active') owned.add(shard);
  const earliest = new Map<string, number>();
  for (const { digest } of engine.world.entries('secrets')) {
    if (digest?.kind !== 'secrets' || digest.fingerprint === null) continue;
    const { host, notAfter } = digest;
    if (owned.has(shardOf(`domain/_/${host}`)))
      earliest.set(host, Math.min(notAfter, earliest.get(host) ?? notAfter));
  }
  for (const [host, notAfter] of earliest) yield { host, notAfter };
}

const steps = ['ordering', 'authorizing', 'finalizing', 'storing'];

const outcomes: Readonly<Record<string, CertificateOutcome>> = {
  valid: 'issued',
  backingOff: 'refused',
  rateLimited: 'rate_limited',
  issuerDown: 'authority_down',
  failed: 'failed',
};

/** Counts an attempt that ended with this step. */
export function countAttempt(metrics: Metrics, { id, from, to, event }: Transition, context: unknown): void {
  if (!id.startsWith('domain/') || from === null || !steps.includes(from)) return;
  const outcome = outcomes[to];
  const isCopy = (context as { storeFrom?: unknown }).storeFrom === 'stored';
  if (outcome === undefined || isCopy) return;
  metrics.certificateAttempt(outcome === 'refused' && event.outcome !== 'refused' ? 'cluster' : outcome);
}

interface BoardParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly world: () => World;
  readonly clock: Clock;
}

/** Answers to HTTP-01 challenges, whichever replica asked for the certificate. */
export function startChallenges(
  listen: HostPort,
  { log, ...parts }: BoardParts & { readonly log: ServerLog },
): ChallengeServer {
  const { board } = certificateParts(parts);
  return startChallengeServer({ listen, board, clock: parts.clock, log });
}
