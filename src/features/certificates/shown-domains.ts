/**
 * Creates Domain objects that show the hosts of Services and Ingresses, so that kubectl lists every host
 * (docs/features/certificates.md §1.2).
 *
 * Runs in the replica that mirrors Domains, from the world picture alone: one object for each host in a
 * namespace, owned by the objects that ask for it there; none if a person's own Domain asks for it. The
 * object asks for nothing itself: the join treats it as one more object to be told. Absent: its status, which
 * the host's actor writes as for any Domain.
 */
import type { FeatureParts } from '../../actors/feature.ts';
import type { World } from '../../actors/world/world.ts';
import { backOffMs } from '../../base/back-off.ts';
import { sleep, type Timer } from '../../base/clock.ts';
import { type AnyDigest, asDigest, isDigest, isOfObject, type WorldEntry } from '../../base/digests.ts';
import { asError, hasCode } from '../../base/errors.ts';
import type { Log } from '../../base/log-port.ts';
import { unlessAnother } from '../../kube/api/absent.ts';
import { secretNameOf } from '../../machines/domain/domain-facts.ts';
import { isEnding } from './claims/claims.ts';
import { shownLabel } from './digest.ts';
import type { DomainDigest, IngressDigest, ServiceDigest } from './digests.ts';
import { sourceVersions } from './effects/certificate-secrets.ts';
import { domains } from './resources.ts';
import { sha256Hex } from './stored-certificate.ts';

export interface ShownDomainsParts extends Pick<FeatureParts, 'kube' | 'clock'> {
  readonly world: Pick<World, 'get' | 'entries' | 'statement' | 'onChange' | 'onStatement'>;
  readonly log: Pick<Log, 'warn'>;
}

/** The desired object: its owners and its content. */
interface Wanted {
  readonly owners: ReadonlyArray<Pick<ShownSource, 'kind' | 'name' | 'uid'>>;
  readonly secretName: string;
  readonly issuer: string | null;
}

const resources = ['services', 'ingresses.networking.k8s.io', 'domains.orrery.dev'];
const listed = ['services', 'networking.k8s.io/v1/Ingress', 'orrery.dev/v1alpha1/Domain'];
/** Between two attempts at a failed write, and until the first look at what was created, ms. */
const retryPauseMs = 5_000;
/** The most between two attempts where the API server refuses (a quota, a namespace that is deleted), ms. */
const laterPauseMs = 300_000;

export class ShownDomains {
  readonly #parts: ShownDomainsParts;
  /** By `<ns>/<host>`: the objects that ask there. */
  readonly #asking = new Map<string, Map<string, WorldEntry>>();
  readonly #due = new Set<string>();
  /** Places where the API server refuses, or something was created: how often in a row, and the next look. */
  readonly #later = new Map<string, { readonly times: number; readonly timer: Timer }>();
  #abort: AbortController | null = null;
  #wake: () => void = () => {};

  constructor(parts: ShownDomainsParts) {
    this.#parts = parts;
    for (const resource of resources)
      for (const entry of parts.world.entries(resource)) this.#fold(entry, null);
    parts.world.onChange((entry, before) => {
      if (resources.includes(entry.resource)) this.#fold(entry, before);
    });
    parts.world.onStatement((mirror) => {
      if (listed.includes(mirror)) this.#wake();
    });
  }

  start(): void {
    const abort = new AbortController();
    this.#abort = abort;
    for (const place of this.#asking.keys()) this.#due.add(place);
    void this.#run(abort.signal);
  }

  stop(): void {
    this.#abort?.abort(new Error('stopped'));
    this.#abort = null;
    this.#due.clear();
    for (const { timer } of this.#later.values()) timer.cancel();
    this.#later.clear();
  }

  #fold(entry: WorldEntry, before: AnyDigest | null): void {
    const key = `${entry.resource}/${entry.namespace}/${entry.name}`;
    for (const host of hostsIn(before)) {
      const place = `${entry.namespace}/${host}`;
      this.#asking.get(place)?.delete(key);
      this.#mark(place);
    }
    for (const host of hostsIn(entry.digest)) {
      const place = `${entry.namespace}/${host}`;
      const others = this.#asking.get(place) ?? new Map<string, WorldEntry>();
      this.#asking.set(place, others.set(key, entry));
      this.#mark(place);
    }
  }

  #mark(place: string): void {
    if (this.#abort === null) return;
    this.#due.add(place);
    this.#wake();
  }

  /** One place after another; failures are retried, and a place that is refused holds up no other. */
  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [place] = this.#isListed() ? this.#due : [];
      if (place === undefined) {
        await this.#woken(signal);
        continue;
      }
      this.#due.delete(place);
      try {
        const isSettled = await this.#reconcile(place, signal);
        if (signal.aborted) return;
        if (isSettled) this.#lookNoMore(place);
        else this.#lookLater(place);
      } catch (thrown) {
        if (signal.aborted) return;
        this.#parts.log.warn({ place, error: asError(thrown).message }, 'a host was not shown as a Domain');
        if (hasCode(thrown, 'KUBE_REFUSED', 'KUBE_NOT_FOUND')) {
          this.#lookLater(place);
          continue;
        }
        this.#due.add(place);
        await sleep(this.#parts.clock, retryPauseMs, signal).catch(() => {});
      }
    }
  }

  #lookLater(place: string): void {
    const { times = 0, timer: before } = this.#later.get(place) ?? {};
    before?.cancel();
    const pauseMs = backOffMs(times, retryPauseMs, laterPauseMs);
    const timer = this.#parts.clock.after(pauseMs, () => this.#mark(place));
    this.#later.set(place, { times: times + 1, timer });
  }

  #lookNoMore(place: string): void {
    this.#later.get(place)?.timer.cancel();
    this.#later.delete(place);
  }

  /** An object that is not listed yet must not look deleted. */
  #isListed(): boolean {
    return listed.every((resource) => this.#parts.world.statement(resource) !== null);
  }

  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /**
   * @returns whether the world shows what there is to show. Else somebody may delete what was created before
   *   the world shows it, or what has its name may be about to go, and nobody would tell.
   */
  async #reconcile(place: string, signal: AbortSignal): Promise<boolean> {
    const [namespace = '', host = ''] = splitOnce(place);
    const asking = [...(this.#asking.get(place)?.values() ?? [])];
    if (asking.length === 0) this.#asking.delete(place);
    const shown = asking.filter(({ digest }) => domainIn(digest)?.shown === true);
    const wanted = wantedBy(asking, host);
    const [kept, ...surplus] = wanted === null ? [undefined, ...shown] : shown;
    for (const entry of surplus) if (entry) await this.#remove(entry, signal);
    if (wanted === null) return true;
    // Another namespace of that name may be there already, which the world does not show yet.
    if (isEnding(this.#parts.world, namespace)) return false;
    if (kept === undefined) await this.#create({ namespace, host }, wanted, signal);
    else if (ownersOf(kept) !== ownerText(wanted)) await this.#adopt(kept, wanted, signal);
    return kept !== undefined;
  }

  async #create(
    { namespace, host }: { readonly namespace: string; readonly host: string },
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<void> {
    const { secretName, issuer } = wanted;
    const plain = secretNameOf(host);
    // A person's own Domain may have the name, with another host.
    for (const name of [plain, `${plain.slice(0, 230)}-${sha256Hex(host).slice(0, 8)}`]) {
      const metadata = {
        name,
        namespace,
        labels: { [shownLabel]: 'true' },
        ownerReferences: references(wanted),
      };
      const spec = { host, secretName, ...(issuer === null ? {} : { issuer }) };
      try {
        await this.#parts.kube.create(domains, { metadata, spec }, signal);
        return;
      } catch (thrown) {
        if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
        // Our object, which the world does not show yet.
        const there = await this.#parts.kube.get(domains, namespace, name, signal);
        if (there.metadata.labels?.[shownLabel] !== undefined) return;
      }
    }
  }

  async #adopt({ namespace, name, digest }: WorldEntry, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const body = { metadata: { uid: domainIn(digest)?.uid, ownerReferences: references(wanted) } };
    await unlessAnother(this.#parts.kube.patch(domains, { namespace, name, type: 'merge', body }, signal));
  }

  async #remove({ namespace, name, digest: any }: WorldEntry, signal: AbortSignal): Promise<void> {
    const digest = domainIn(any);
    if (digest === null) return;
    await unlessAnother(this.#parts.kube.delete(domains, namespace, name, { uid: digest.uid }, signal));
  }
}

function splitOnce(place: string): readonly string[] {
  const at = place.indexOf('/');
  return [place.slice(0, at), place.slice(at + 1)];
}

const domainIn = (digest: AnyDigest | null) => asDigest<DomainDigest>(digest, 'domains');

function hostsIn(digest: AnyDigest | null): readonly string[] {
  if (digest === null || !isOfObject(digest) || digest.deleting) return [];
  if (isDigest<DomainDigest>(digest, 'domains')) return 'invalid' in digest.spec ? [] : [digest.spec.host];
  if (isDigest<IngressDigest>(digest, 'ingresses')) return digest.hosts.map(({ host }) => host);
  return asDigest<ServiceDigest>(digest, 'services')?.serve?.hosts ?? [];
}

interface ShownSource {
  readonly kind: 'Service' | 'Ingress';
  readonly name: string;
  readonly uid: string;
  readonly secretName: string;
  readonly issuer: string | null;
}

function shownSources({ name, digest }: WorldEntry, host: string): readonly ShownSource[] {
  if (isDigest<ServiceDigest>(digest, 'services'))
    return [{ kind: 'Service', name, uid: digest.uid, secretName: secretNameOf(host), issuer: null }];
  if (!isDigest<IngressDigest>(digest, 'ingresses')) return [];
  const secretName = digest.hosts.find((one) => one.host === host)?.secretName ?? secretNameOf(host);
  return [{ kind: 'Ingress', name, uid: digest.uid, secretName, issuer: digest.issuer }];
}

/** null: nothing asks that has to be shown, or a person's own Domain asks. */
function wantedBy(asking: readonly WorldEntry[], host: string): Wanted | null {
  const own = asking.flatMap(({ digest }) => domainIn(digest) ?? []);
  if (own.some(({ shown }) => shown !== true)) return null;
  const sources = asking.flatMap((entry) => shownSources(entry, host));
  const owners = sources.sort((a, b) => (a.uid < b.uid ? -1 : 1));
  const [first] = owners;
  return first === undefined ? null : { owners, secretName: first.secretName, issuer: first.issuer };
}

const references = ({ owners }: Wanted) =>
  owners.map(({ kind, name, uid }) => ({ apiVersion: sourceVersions[kind], kind, name, uid }));
const ownerText = ({ owners }: Wanted) => owners.map(({ uid }) => uid).join(' ');
const ownersOf = ({ digest }: WorldEntry) => [...(domainIn(digest)?.owners ?? [])].sort().join(' ');
