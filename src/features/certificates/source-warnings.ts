/**
 * Warns about objects that ask for certificates in an unreadable way: a Warning Event on each, and the status
 * of Domains.
 *
 * An invalid host has no actor, so this runs in the replica that mirrors Domains, from the world picture
 * alone. The Event's key derives from the object and the complaint, so it is the same whichever replica
 * writes it.
 */
import type { FeatureParts } from '../../actors/feature.ts';
import { backOffMs } from '../../base/back-off.ts';
import { sleep } from '../../base/clock.ts';
import { type AnyDigest, asDigest, isDigest, type WorldEntry } from '../../base/digests.ts';
import { equal } from '../../base/equal.ts';
import { asError, hasCode } from '../../base/errors.ts';
import { dated } from '../../kube/api/conditions.ts';
import { record } from '../../kube/api/fields.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import { preconditions } from '../../kube/effects/object-edit.ts';
import { generationOf } from '../../kube/mirror/object-digest.ts';
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
/** Between two attempts at a failed write, ms; they go on for as long as the complaint holds. */
const [retryMinMs, retryMaxMs] = [5_000, 60_000];
/** From a changed status to the look at it, ms: two that both think that it is theirs write no faster. */
const lookMs = 30_000;
/** After so many the write is given up: the namespace takes no Events, or is being deleted. */
const refusalsMax = 4;

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
  /** What is being said of each object; anything later takes its place. */
  readonly #saying = new Map<string, Complaint>();
  /** Domains whose status changed: each is looked at after a pause, in case somebody else wrote it. */
  readonly #doubted = new Map<string, () => Promise<void>>();

  constructor(parts: SourceWarningParts) {
    this.#parts = parts;
    parts.world.onChange((entry, before) => {
      if (this.#abort === null || !kinds.includes(entry.resource)) return;
      const complaint = complaintOf(entry.digest);
      if (!equal(complaint, complaintOf(before))) this.#tell(entry);
      else if (complaint !== null && saidIn(entry.digest) !== saidIn(before))
        this.#lookAgain(entry, complaint);
    });
  }

  start(): void {
    this.#abort = new AbortController();
    for (const resource of kinds) {
      for (const entry of this.#parts.world.entries(resource)) this.#tell(entry);
    }
  }

  stop(): void {
    this.#abort?.abort(new Error('stopped'));
    this.#abort = null;
    this.#saying.clear();
    this.#doubted.clear();
  }

  #tell(entry: WorldEntry): void {
    const key = keyOf(entry);
    const complaint = complaintOf(entry.digest);
    if (complaint === null) return void this.#saying.delete(key);
    this.#saying.set(key, complaint);
    const isTrue = () => this.#saying.get(key) === complaint;
    void this.#say(entry, (signal) => this.#write(entry, complaint, signal), isTrue).finally(() => {
      if (isTrue()) this.#saying.delete(key);
    });
  }

  /** What is written here changes the status, too: it is found as it should be. */
  #lookAgain(entry: WorldEntry, complaint: Complaint): void {
    const key = keyOf(entry);
    const isAwaited = this.#doubted.has(key);
    this.#doubted.set(key, () => this.#say(entry, (signal) => this.#writeStatus(entry, complaint, signal)));
    if (isAwaited || this.#abort === null) return;
    sleep(this.#parts.clock, lookMs, this.#abort.signal).then(
      () => {
        const look = this.#doubted.get(key);
        this.#doubted.delete(key);
        return look?.();
      },
      () => {},
    );
  }

  async #say(
    { namespace, name }: WorldEntry,
    write: (signal: AbortSignal) => Promise<unknown>,
    isTrue = () => true,
  ): Promise<void> {
    const signal = this.#abort?.signal;
    if (!signal) return;
    for (let failures = 0; isTrue() && !signal.aborted; failures++) {
      try {
        await write(signal);
        return;
      } catch (thrown) {
        if (signal.aborted || hasCode(thrown, 'KUBE_NOT_FOUND')) return;
        if (hasCode(thrown, 'KUBE_REFUSED') && failures >= refusalsMax) return;
        const facts = { object: `${namespace}/${name}`, error: asError(thrown).message };
        this.#parts.log.warn(facts, 'an object could not be told what is wrong with it; trying again');
        const pauseMs = backOffMs(failures, retryMinMs, retryMaxMs);
        await sleep(this.#parts.clock, pauseMs, signal).catch(() => {});
      }
    }
  }

  async #write(entry: WorldEntry, complaint: Complaint, signal: AbortSignal): Promise<void> {
    const { namespace, name } = entry;
    const { apiVersion, kind, uid, reason, note } = complaint;
    // The status first: it says more, and some namespaces take no Events.
    if (kind === 'Domain') await this.#writeStatus(entry, complaint, signal);
    const regarding = { apiVersion, kind, namespace, name, uid };
    await this.#parts.warn({ regarding, reason, note, key: `source/${uid}/${note}` }, signal);
  }

  async #writeStatus(
    { namespace, name }: WorldEntry,
    { uid, generation, reason, note }: Complaint,
    signal: AbortSignal,
  ): Promise<void> {
    const { kube, clock } = this.#parts;
    const current = await kube.get(domains, namespace, name, signal);
    // Of another object or generation there will be other news.
    if (current.metadata.uid !== uid || generationOf(current) !== generation) return;
    const told = { reason, message: note, observedGeneration: generation };
    const ready = dated(current, { type: 'Ready', status: 'False', ...told }, clock.now());
    const status = { state: 'invalid', lastError: note, observedGeneration: generation, conditions: [ready] };
    if (isPart(status, current.status)) return;
    const { resourceVersion } = current.metadata;
    const body = { metadata: preconditions({ uid, resourceVersion }), status };
    await kube.patch(domains, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
  }
}

const keyOf = ({ resource, namespace, name }: WorldEntry) => `${resource}/${namespace}/${name}`;

/** What its status says, in short. */
const saidIn = (digest: AnyDigest | null) => asDigest<DomainDigest>(digest, 'domains')?.said;

/** A merge of it would change nothing. */
const isPart = (status: object, whole: unknown): boolean => equal({ ...record(whole), ...status }, whole);

const unwrittenText = (secrets: readonly string[]) =>
  `spec.tls: not written: ${secrets.join(', ')}. A Secret has the certificate of one host: those of an entry with several are in Secrets named like the hosts. Give each host an entry, with a secretName of its own`;

function complaintOf(digest: AnyDigest | null): Complaint | null {
  if (isDigest<DomainDigest>(digest, 'domains')) {
    if (!('invalid' in digest.spec)) return null;
    const { uid, generation } = digest;
    const named = { apiVersion: 'orrery.dev/v1alpha1', kind: 'Domain', uid, generation };
    return { ...named, reason: 'InvalidSpec', note: digest.spec.invalid };
  }
  if (isDigest<IngressDigest>(digest, 'ingresses')) {
    const { uid, generation, invalid, unwritten } = digest;
    const named = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', uid, generation };
    if (invalid !== null) return { ...named, reason: 'InvalidHost', note: invalid };
    if (unwritten === undefined) return null;
    return { ...named, reason: 'SecretNotWritten', note: unwrittenText(unwritten) };
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
  const write = writeKubeEvent(kube, { replica, log });
  const warn = ({ regarding, reason, note, key }: SourceWarning, signal: AbortSignal) => {
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason, note } as const;
    const context = { key, actor: 'domain/_/_', signal, emit: () => {} } as const;
    return write({ ...event, at: clock.now() }, context);
  };
  return new SourceWarnings({ kube, log, clock, world, warn });
}
