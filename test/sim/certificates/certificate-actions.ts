/** What happens in the world of certificates. */
import { equal } from '../../../src/base/equal.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { domains, issuers, namespaces, secrets } from '../../../src/features/certificates/resources.ts';
import { end, endAll, setFinalizers, terminating } from '../api/ending.ts';
import { isReplica } from '../api/sim-api.ts';
import type { WorldParts } from '../features/feature-world.ts';
import { type CertificateScene, makeDomain, mendIssuer, tenants } from './certificate-world.ts';

type Action = readonly [name: string, act: () => string | null];

export function certificateActions(parts: WorldParts, scene: CertificateScene): readonly Action[] {
  const all = [
    ...troubles(parts, scene),
    ...refusals(parts, scene),
    ...people(parts, scene),
    ...hostEdits(parts, scene),
    ...issuerChanges(parts, scene),
    ...namespaceEnds(parts, scene),
  ];
  return all.filter(() => parts.chance.happens(0.6));
}

/** Temporary refusals of the authority. */
function troubles({ stage, chance }: WorldParts, { authority, hosts }: CertificateScene): readonly Action[] {
  const { clock } = stage;
  const forAWhile = (most: number, undo: () => void) => void clock.after(chance.seldomLong(200, most), undo);
  return [
    [
      'outage',
      () => {
        authority.isUp = false;
        forAWhile(15_000, () => {
          authority.isUp = true;
        });
        return 'of the authority';
      },
    ],
    [
      'nonces',
      () => {
        authority.badNonces = 0.5;
        forAWhile(10_000, () => {
          authority.badNonces = 0;
        });
        return 'do not fit';
      },
    ],
    [
      'limit',
      () => {
        authority.limitedUntil = clock.now() + chance.seldomLong(1_000, 30_000);
        return 'for everybody';
      },
    ],
    [
      'unproven',
      () => {
        const host = chance.pick(hosts) ?? '';
        authority.unproven.add(host);
        forAWhile(12_000, () => void authority.unproven.delete(host));
        return host;
      },
    ],
    [
      'revoked',
      () => {
        const [fingerprint] = chance.pick([...authority.issued]) ?? [];
        if (fingerprint === undefined) return null;
        authority.revoked.add(fingerprint);
        return fingerprint;
      },
    ],
  ];
}

/** Temporary refusals of Kubernetes. */
function refusals({ stage, chance }: WorldParts, { ending }: CertificateScene): readonly Action[] {
  const { api, clock } = stage;
  const facts = { status: 403, reason: 'Forbidden' };
  let full: string | undefined;
  let isMute = false;
  api.refuse = ({ resource: { plural }, before, after, by }) => {
    const namespace = after?.metadata.namespace;
    if (before === null && by !== 'world' && namespace !== undefined && ending.has(namespace))
      return terminating(namespace);
    if (plural === 'secrets' && by !== 'world' && full !== undefined && after?.metadata.namespace === full)
      return new OrreryError('KUBE_REFUSED', 'exceeded quota', { facts });
    if (isMute && plural === 'domains' && isReplica(by) && !equal(before?.status, after?.status))
      return new OrreryError('KUBE_REFUSED', 'denied by a webhook', { facts });
    return null;
  };
  return [
    [
      'quota',
      () => {
        full = chance.pick(tenants);
        clock.after(chance.seldomLong(200, 10_000), () => {
          full = undefined;
        });
        return `of ${full}`;
      },
    ],
    [
      // Long enough that a host often comes to rest meanwhile: what was to be said then is said later.
      'no statuses',
      () => {
        isMute = true;
        clock.after(chance.between(1_000, 12_000), () => {
          isMute = false;
        });
        return 'of Domains are taken';
      },
    ],
  ];
}

/** One that somebody wrote, not one that only shows a host. */
const drawnDomain = ({ stage: { api }, chance }: WorldParts) =>
  chance.pick(api.all(domains).filter(({ metadata }) => metadata.labels === undefined));

/** What people do. */
function people(parts: WorldParts, { hosts }: CertificateScene): readonly Action[] {
  const { stage, chance } = parts;
  const { api, clock } = stage;
  const anyDomain = () => drawnDomain(parts);
  return [
    ['another asks', () => makeDomain(parts, chance.pick(hosts) ?? '', chance.pick(tenants) ?? 'shop')],
    [
      'domain removed',
      () => {
        const found = anyDomain();
        if (!found) return null;
        api.remove(domains, found.metadata.namespace, found.metadata.name);
        return `${found.metadata.namespace}/${found.metadata.name}`;
      },
    ],
    [
      'shared',
      () => {
        const found = anyDomain();
        if (!found) return null;
        const { namespace = '', name } = found.metadata;
        const sharedWith = chance.happens(0.5) ? [] : tenants.filter((one) => one !== namespace);
        api.patch(domains, { namespace, name, type: 'merge', body: { spec: { sharedWith } } });
        return `${namespace}/${name} with ${sharedWith.join()}`;
      },
    ],
    [
      'secret removed',
      () => {
        const found = chance.pick(api.all(secrets));
        if (!found) return null;
        api.remove(secrets, found.metadata.namespace, found.metadata.name);
        return `${found.metadata.namespace}/${found.metadata.name}`;
      },
    ],
    [
      'renew',
      () => {
        const found = anyDomain();
        if (!found) return null;
        const { namespace = '', name } = found.metadata;
        const body = { metadata: { annotations: { 'orrery.dev/renew': `${clock.now()}` } } };
        api.patch(domains, { namespace, name, type: 'merge', body });
        return `${namespace}/${name}`;
      },
    ],
  ];
}

function hostEdits(parts: WorldParts, { hosts }: CertificateScene): readonly Action[] {
  const { stage, chance } = parts;
  return [
    [
      'host edited',
      () => {
        const found = drawnDomain(parts);
        const host = chance.pick(hosts);
        if (!found) return null;
        const { namespace = '', name } = found.metadata;
        stage.api.patch(domains, { namespace, name, type: 'merge', body: { spec: { host } } });
        return `${namespace}/${name} asks for ${host}`;
      },
    ],
  ];
}

/** What whoever runs the Issuer does to it, amid orders. */
function issuerChanges(parts: WorldParts, scene: CertificateScene): readonly Action[] {
  const { stage, chance } = parts;
  const { api, clock } = stage;
  const edit = (spec: object) => {
    if (api.find(issuers, undefined, 'acme') === null) return null;
    api.patch(issuers, { name: 'acme', type: 'merge', body: { spec } });
    return JSON.stringify(spec);
  };
  const mendLater = () => void clock.after(chance.seldomLong(100, 20_000), () => mendIssuer(parts, scene));
  return [
    ['issuer status overwritten', () => issuerOverwritten(parts)],
    ['domain status overwritten', () => domainOverwritten(parts)],
    ['issuer edited', () => edit({ budget: { duplicatesPer7d: chance.int(1_000, 2_000) } })],
    [
      'issuer of other hosts',
      () => {
        mendLater();
        return edit({ domains: ['**.example.org'] });
      },
    ],
    [
      'issuer made anew',
      () => {
        if (api.find(issuers, undefined, 'acme') === null) return null;
        api.remove(issuers, undefined, 'acme');
        mendLater();
        return 'acme';
      },
    ],
  ];
}

/** As Kubernetes does it; later there is one of that name again, and somebody in it asks for a host. */
function namespaceEnds(parts: WorldParts, { hosts, ending }: CertificateScene): readonly Action[] {
  const { stage, chance } = parts;
  const { api, clock } = stage;
  return [
    [
      'namespace deleted',
      () => {
        const name = chance.pick(tenants) ?? 'shop';
        const one = api.find(namespaces, undefined, name);
        if (one === null || ending.has(name)) return null;
        ending.add(name);
        setFinalizers(api, namespaces, one, ['kubernetes']);
        api.remove(namespaces, undefined, name);
        const goneMs = endAll(
          stage,
          chance,
          [domains, secrets],
          (object) => object.metadata.namespace === name,
        );
        clock.after(goneMs, () => end(api, namespaces, one));
        clock.after(goneMs + chance.seldomLong(10, 8_000), () => {
          ending.delete(name);
          api.create(namespaces, { metadata: { name } });
          makeDomain(parts, chance.pick(hosts) ?? '', name);
        });
        return name;
      },
    ],
  ];
}

/** As a former owner's request does that is served late, or somebody by hand. */
function issuerOverwritten({ stage: { api } }: WorldParts): string | null {
  if (api.find(issuers, undefined, 'acme') === null) return null;
  const conditions = [{ type: 'Ready', status: 'False', reason: 'Somebody', message: '' }];
  const body = { status: { conditions, rateLimitedUntil: '2020-01-01T00:00:00Z' } };
  api.patch(issuers, { name: 'acme', type: 'merge', body, subresource: 'status' });
  return 'acme';
}

function domainOverwritten({ stage: { api }, chance }: WorldParts): string | null {
  const { namespace = '', name } = chance.pick(api.all(domains))?.metadata ?? {};
  if (name === undefined) return null;
  const ready = { type: 'Ready', status: chance.pick(['True', 'False']), reason: 'Somebody', message: '' };
  const status = { state: chance.pick(['valid', 'failed', 'storing']), conditions: [ready] };
  api.patch(domains, { namespace, name, type: 'merge', body: { status }, subresource: 'status' });
  return `${namespace}/${name}`;
}
