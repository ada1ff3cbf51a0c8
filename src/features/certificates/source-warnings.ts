/**
 * Warns about objects that ask for certificates in an unreadable way: a Warning Event on each, and the status
 * of Domains.
 *
 * An invalid host has no actor, so this runs in the replica that mirrors Domains, from the world picture
 * alone. The Event's key derives from the object and the complaint, so it is the same whichever replica
 * writes it.
 */
import type { FeatureParts } from '../../actors/feature.ts';
import { sleep } from '../../base/clock.ts';
import { type AnyDigest, asDigest, isDigest, type WorldEntry } from '../../base/digests.ts';
import { asError, hasCode } from '../../base/errors.ts';
import { dated } from '../../kube/api/conditions.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import type { KubeEventWrite } from '../../machines/effects.ts';
import type { DomainDigest, IngressDigest, ServiceDigest } from './digests.ts';
import { domains } from './resources.ts';

export interface SourceWarning {
  readonly regarding: KubeEventWrite['regarding'];
  readonly reason: string;
  readonly note: string;
  readonly key: string;
}

export interface SourceWarningParts extends Pick<FeatureParts, 'kube' | 'clock' | 'log'> {
  readonly world: {
    entries(resource: string): Iterable<WorldEntry>;
    onChange(callback: (entry: WorldEntry, before: AnyDigest | null) => void): void;
  };
  readonly warn: (warning: SourceWarning, signal: AbortSignal) => Promise<unknown>;
}

const kinds = ['domains.orrery.dev', 'services', 'ingresses.networking.k8s.io'];
/** Between two attempts at a failed write, ms; then it is given up. */
const retryPauseMs = 5_000;
const attemptsMax = 5;

interface Complaint {
  readonly apiVersion: string;
  readonly kind: string;
  readonly uid: string;
  readonly generation: number;
  readonly reason: string;
  readonly note: string;
}

export class SourceWarnings {
  readonly #parts: SourceWarningParts;
  #abort: AbortController | null = null;

  constructor(parts: SourceWarningParts) {
    this.#parts = parts;
    parts.world.onChange((entry, before) => {
      if (this.#abort === null || !kinds.includes(entry.resource)) return;
      const complaint = complaintOf(entry.digest);
      if (complaint !== null && complaint.note !== complaintOf(before)?.note)
        void this.#say(entry, complaint);
    });
  }

  start(): void {
    this.#abort = new AbortController();
    for (const resource of kinds) {
      for (const entry of this.#parts.world.entries(resource)) {
        const complaint = complaintOf(entry.digest);
        if (complaint !== null) void this.#say(entry, complaint);
      }
    }
  }

  stop(): void {
    this.#abort?.abort(new Error('stopped'));
    this.#abort = null;
  }

  async #say(entry: WorldEntry, complaint: Complaint): Promise<void> {
    const signal = this.#abort?.signal;
    if (!signal) return;
    for (let attempt = 1; attempt <= attemptsMax && !signal.aborted; attempt++) {
      try {
        await this.#write(entry, complaint, signal);
        return;
      } catch (thrown) {
        if (signal.aborted || hasCode(thrown, 'KUBE_NOT_FOUND')) return;
        const facts = { object: `${entry.namespace}/${entry.name}`, error: asError(thrown).message };
        this.#parts.log.warn(facts, 'a Warning Event about an object was not written');
        await sleep(this.#parts.clock, retryPauseMs, signal).catch(() => {});
      }
    }
  }

  async #write({ namespace, name }: WorldEntry, complaint: Complaint, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, uid, generation, reason, note } = complaint;
    const regarding = { apiVersion, kind, namespace, name, uid };
    const { kube, warn, clock } = this.#parts;
    await warn({ regarding, reason, note, key: `source/${uid}/${note}` }, signal);
    if (kind !== 'Domain') return;
    const current = await kube.get(domains, namespace, name, signal);
    const told = { reason, message: note, observedGeneration: generation };
    const ready = dated(current, { type: 'Ready', status: 'False', ...told }, clock.now());
    const status = { state: 'invalid', lastError: note, observedGeneration: generation, conditions: [ready] };
    const body = { metadata: { uid }, status };
    await kube.patch(domains, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
  }
}

function complaintOf(digest: AnyDigest | null): Complaint | null {
  if (isDigest<DomainDigest>(digest, 'domains')) {
    if (!('invalid' in digest.spec)) return null;
    const { uid, generation } = digest;
    const named = { apiVersion: 'orrery.dev/v1alpha1', kind: 'Domain', uid, generation };
    return { ...named, reason: 'InvalidSpec', note: digest.spec.invalid };
  }
  if (isDigest<IngressDigest>(digest, 'ingresses')) {
    const { uid, generation, invalid } = digest;
    const named = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', uid, generation };
    return invalid === null ? null : { ...named, reason: 'InvalidHost', note: invalid };
  }
  const service = asDigest<ServiceDigest>(digest, 'services');
  if (service?.serve?.invalid == null) return null;
  const named = { apiVersion: 'v1', kind: 'Service', uid: service.uid, generation: 0 };
  const note = `annotation orrery.dev/serve: ${service.serve.invalid}; it changes nothing`;
  return { ...named, reason: 'InvalidServe', note };
}

/** Its Events are written by the same code as those of actors, under keys of the objects. */
export function sourceWarnings({
  kube,
  log,
  clock,
  world,
  replica,
}: Omit<SourceWarningParts, 'warn'> & { readonly replica: string }): SourceWarnings {
  const write = writeKubeEvent(kube, { replica });
  const warn = ({ regarding, reason, note, key }: SourceWarning, signal: AbortSignal) => {
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason, note } as const;
    const context = { key, actor: 'domain/_/_', signal, emit: () => {} } as const;
    return write({ ...event, at: clock.now() }, context);
  };
  return new SourceWarnings({ kube, log, clock, world, warn });
}
