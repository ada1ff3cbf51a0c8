/**
 * The world of certificates: hosts that Domains of three namespaces want, one Issuer with a budget, and an
 * ACME authority with limits, outages, bad nonces, failing proofs and revocations.
 */
import type { StartFeature } from '../../../src/actors/feature.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { certificates } from '../../../src/features/certificates/feature.ts';
import { domains, issuers, namespaces, secrets } from '../../../src/features/certificates/resources.ts';
import { startCertificates } from '../../../src/features/certificates/start.ts';
import { coreResource } from '../../../src/kube/api/resources.ts';
import { idsOf } from '../checkers/lives-as-its-object.ts';
import type {
  ApiStage,
  FeatureSimulation,
  FeatureUse,
  FeatureWorld,
  WorldParts,
} from '../features/feature-world.ts';
import { AcmeAuthority } from './acme-authority.ts';
import { certificateActions } from './certificate-actions.ts';
import { factsIn, hostIn, simulatedEffects } from './certificate-effects.ts';
import { domainStatus, issuerStatus } from './certificate-statuses.ts';
import { keysWhereTheyBelong } from './checkers/keys-where-they-belong.ts';
import { neverReadyExpired } from './checkers/never-ready-expired.ts';
import { ofItsGeneration } from './checkers/of-its-generation.ts';
import { ordersInBudget } from './checkers/orders-in-budget.ts';
import { isRemembered, unsettledHosts } from './settled-hosts.ts';

export const tenants = ['shop', 'other', 'third'] as const;
const ingresses: KubeResource = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'ingresses',
  kind: 'Ingress',
  namespaced: true,
};

export const certificateSimulation: FeatureSimulation = {
  name: 'certificates',
  kinds: [domains, issuers, namespaces, secrets, ingresses, coreResource('services', 'Service')],
  // Times of certificates are wall times.
  without: ['clockSet', 'away'],
  skewMaxMs: 200,
  // An authority that was away is tried again within five minutes.
  restMs: 900_000,
  standing: ['issuer-secrets.watch'],
  create: createCertificates,
};

export interface CertificateScene {
  readonly authority: AcmeAuthority;
  readonly hosts: readonly string[];
  readonly ordersPer3h: number;
  /** Namespaces that are being deleted. */
  readonly ending: Set<string>;
}

function createCertificates(parts: WorldParts): FeatureWorld {
  const { stage, chance, say } = parts;
  const { api, clock } = stage;
  const lifeMs = chance.pick([60_000, 600_000, 7_776_000_000]) ?? 600_000;
  const authority = new AcmeAuthority(clock, chance.of('authority'), lifeMs);
  const hosts = Array.from({ length: chance.int(2, 5) }, (_, n) => `h${n}.example.com`);
  const ordersPer3h = chance.pick([6, 12, 300]) ?? 300;
  const scene: CertificateScene = {
    ...{ authority, hosts, ordersPer3h },
    ending: new Set(),
  };
  const actions = certificateActions(parts, scene);
  return {
    uses: (replica) => [use(parts, authority, replica)],
    checkers: [
      ordersInBudget(scene),
      keysWhereTheyBelong(stage, authority),
      neverReadyExpired(stage),
      ofItsGeneration(stage),
    ],
    statuses: [domainStatus, issuerStatus],
    lives: [
      { kind: 'issuer', objects: () => idsOf('issuer', api.all(issuers)) },
      { kind: 'domain', objects: () => askedHosts(api), outlivesMs },
    ],
    begin() {
      for (const name of tenants) api.create(namespaces, { metadata: { name } });
      mendIssuer(parts, scene);
      for (const host of hosts) makeDomain(parts, host, chance.pick(tenants) ?? 'shop');
    },
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    heal() {
      authority.isUp = true;
      authority.badNonces = 0;
      authority.limitedUntil = 0;
      authority.unproven.clear();
      api.refuse = () => null;
      mendIssuer(parts, scene);
    },
    // With its budget spent, an Issuer gives no permits for three hours, and a host that is refused
    // repeatedly waits longer each time. Liveness checks that they get their certificates in the end.
    mayWait: (id, record) =>
      id.startsWith('domain/') &&
      (isRemembered(record) ||
        /waitingForPermit|issuerUnusable|expired|backingOff|failed/.test(
          JSON.stringify(record.snapshot.value),
        )),
    unsettled: (records) => unsettledHosts(parts, scene, records),
  };
}

/** The actors of the hosts that Domains ask for. */
const askedHosts = (api: ApiStage['api']): readonly string[] =>
  api
    .all(domains)
    .filter(({ metadata }) => metadata.labels?.['orrery.dev/shown'] === undefined)
    .map(({ spec }) => `domain/_/${(spec as { readonly host: string }).host}`);

/** The feature with its own join, keepers and reports; everything outside it is simulated. */
function use({ chance }: WorldParts, authority: AcmeAuthority, name: string): FeatureUse {
  const real = certificates();
  const feature = {
    ...real,
    watches: real.watches.map((watch) =>
      'plural' in watch.resource && watch.resource.plural === 'secrets'
        ? { ...watch, digest: secretOf }
        : watch,
    ),
  };
  const start: StartFeature = (parts) => {
    const run = startCertificates({})(parts);
    const outside = chance.of(`authority of ${name} ${parts.incarnation}`);
    const { kube, clock } = parts;
    const simulated = simulatedEffects({ kube, clock, chance: outside, authority });
    const types = new Set(simulated.map(({ type }) => type));
    return { ...run, effects: [...simulated, ...(run.effects ?? []).filter(({ type }) => !types.has(type))] };
  };
  return { feature, start };
}

/** The public part of a Secret. */
function secretOf(object: KubeObject) {
  const facts = factsIn(object);
  const host = hostIn(object);
  return {
    host,
    fingerprint: facts?.fingerprint ?? null,
    hosts: facts === null ? [] : [host],
    notBefore: facts?.notBefore ?? 0,
    notAfter: facts?.notAfter ?? 0,
  };
}

const served = { domains: ['**.example.com'] };

function makeIssuer({ stage: { api } }: WorldParts, { ordersPer3h }: CertificateScene) {
  api.create(issuers, {
    metadata: { name: 'acme' },
    spec: {
      ...served,
      acme: {
        server: 'https://ca/directory',
        accountSecret: { name: 'account', namespace: 'orrery' },
        challenge: 'http01',
      },
      budget: { ordersPer3h, certificatesPerDomainPer7d: 1_000, duplicatesPer7d: 1_000 },
    },
  });
}

/** It is there, and serves all hosts. */
export function mendIssuer(parts: WorldParts, scene: CertificateScene): void {
  const { api } = parts.stage;
  if (api.find(issuers, undefined, 'acme') === null) makeIssuer(parts, scene);
  else api.patch(issuers, { name: 'acme', type: 'merge', body: { spec: served } });
}

export function makeDomain({ stage }: WorldParts, host: string, namespace: string): string | null {
  const name = host.split('.')[0] ?? '';
  // Nothing is created in a namespace that is being deleted.
  if (stage.api.find(namespaces, undefined, namespace)?.metadata.deletionTimestamp !== undefined) return null;
  if (stage.api.find(domains, namespace, name) !== null) return null;
  stage.api.create(domains, { metadata: { namespace, name }, spec: { host } });
  return `${namespace}/${name}`;
}

/**
 * A host that nobody asks for any more retires once nothing of it is left at the authority; one whose
 * attempts failed, once that counts no more, after a day at the latest.
 */
const outlivesMs = (record: ActorRecord): number => (isRemembered(record) ? 25 * 3_600_000 : 900_000);
