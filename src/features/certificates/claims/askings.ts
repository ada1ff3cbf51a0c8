/**
 * Who asks for which hosts, and which hosts' certificates are to stand in which Secrets: an index over what
 * the world shows.
 *
 * Promises: a change costs what it changes for others. However many hosts one Secret is to hold, another one
 * concerns those alone whose claim to it is another then: one namespace may name one Secret a thousand times.
 */
import { type Asking, byAge, type OtherClaim, secretKey } from './claims.ts';

type Claim = NonNullable<ReturnType<OtherClaim>>;

export class Askings {
  /** Host → who asks for it, by `<kind>/<ns>/<name>`. */
  readonly #askers = new Map<string, Map<string, Asking>>();
  /** By `<ns>/<secret>`. */
  readonly #secrets = new Map<string, SecretClaims>();

  /**
   * What an object asks for now, by host; empty: nothing.
   *
   * @returns the hosts that hear something new by it
   */
  replace(key: string, asked: ReadonlyMap<string, Asking>, before: Iterable<string>): ReadonlySet<string> {
    const was = [...before].flatMap((host) => {
      const asking = this.#askers.get(host)?.get(key);
      return asking === undefined ? [] : [[host, asking] as const];
    });
    const all = [...was, ...asked];
    const places = [
      ...new Set(all.map(([, { source, secretName }]) => secretKey(source.namespace, secretName))),
    ];
    const firsts = places.map((place) => this.#secrets.get(place)?.firsts ?? []);
    for (const [host, asking] of was) this.#remove(key, host, asking);
    for (const [host, asking] of asked) this.#add(key, host, asking);
    const concerned = new Set(all.map(([host]) => host));
    places.forEach((place, n) => {
      const claims = this.#secrets.get(place);
      for (const host of claims?.concernedSince(firsts[n] ?? []) ?? []) concerned.add(host);
    });
    return concerned;
  }

  hosts(): Iterable<string> {
    return this.#askers.keys();
  }

  of(host: string): Iterable<Asking> {
    return this.#askers.get(host)?.values() ?? [];
  }

  hostsOf(namespace: string, secretName: string): Iterable<string> {
    return this.#secrets.get(secretKey(namespace, secretName))?.hosts() ?? [];
  }

  *hostsIn(namespace: string): Iterable<string> {
    for (const [host, askers] of this.#askers) {
      if ([...askers.values()].some(({ source }) => source.namespace === namespace)) yield host;
    }
  }

  /** Of the other hosts that are to stand in a Secret, the one that was asked for first. */
  otherClaim(host: string): OtherClaim {
    return ({ namespace, secretName }) => {
      const firsts = this.#secrets.get(secretKey(namespace, secretName))?.firsts ?? [];
      return firsts.find((claim) => claim.host !== host) ?? null;
    };
  }

  #add(key: string, host: string, asking: Asking): void {
    const others = this.#askers.get(host) ?? new Map<string, Asking>();
    this.#askers.set(host, others.set(key, asking));
    const place = secretKey(asking.source.namespace, asking.secretName);
    const claims = this.#secrets.get(place) ?? new SecretClaims();
    this.#secrets.set(place, claims);
    claims.add(`${key} ${host}`, { host, first: asking });
  }

  #remove(key: string, host: string, asking: Asking): void {
    const others = this.#askers.get(host);
    others?.delete(key);
    if (others?.size === 0) this.#askers.delete(host);
    const place = secretKey(asking.source.namespace, asking.secretName);
    const claims = this.#secrets.get(place);
    claims?.remove(`${key} ${host}`);
    if (claims?.isEmpty) this.#secrets.delete(place);
  }
}

class SecretClaims {
  readonly #claims = new Map<string, Claim>();
  /** The oldest claim, and the oldest of another host: what each host has to know of the others. */
  #firsts: readonly Claim[] | null = [];

  get firsts(): readonly Claim[] {
    this.#firsts ??= [...this.#claims.values()].reduce<readonly Claim[]>(withClaim, []);
    return this.#firsts;
  }

  get isEmpty(): boolean {
    return this.#claims.size === 0;
  }

  hosts(): ReadonlySet<string> {
    return new Set([...this.#claims.values()].map(({ host }) => host));
  }

  add(key: string, claim: Claim): void {
    this.#claims.set(key, claim);
    this.#firsts = withClaim(this.firsts, claim);
  }

  remove(key: string): void {
    const claim = this.#claims.get(key);
    this.#claims.delete(key);
    if (claim !== undefined && this.#firsts?.includes(claim)) this.#firsts = null;
  }

  /** Those for whom the oldest claim of another host is a different one now. */
  concernedSince([first, second]: readonly Claim[]): Iterable<string> {
    const [firstNow, secondNow] = this.firsts;
    if (!isSame(first, firstNow)) return this.hosts();
    return firstNow === undefined || isSame(second, secondNow) ? [] : [firstNow.host];
  }
}

/** A Domain that is only shown claims nothing. */
function withClaim(firsts: readonly Claim[], claim: Claim): readonly Claim[] {
  if (claim.first.isShown) return firsts;
  const sorted = [...firsts, claim].sort((a, b) => byAge(a.first, b.first));
  const [first] = sorted;
  return [first, sorted.find(({ host }) => host !== first?.host)].filter((one) => one !== undefined);
}

const isSame = (a: Claim | undefined, b: Claim | undefined) =>
  a?.host === b?.host && a?.first.source.uid === b?.first.source.uid;
