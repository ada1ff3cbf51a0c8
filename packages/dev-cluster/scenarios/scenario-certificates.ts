/**
 * The scenario's certificates: a CA of the development cluster, and three Domains.
 *
 * `www` is issued and stays. `api` lives for two minutes, so its renewal can be watched. `login` names a
 * Secret that belongs to somebody else, fails for that reason, and is mended after a while as a person would
 * do it. Plays until it is stopped; its objects stay.
 */

import { sleep } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { domains, issuers, secrets } from '../../../src/features/certificates/resources.ts';
import { createAuthority } from '../../kube-api/http/server-certificate.ts';
import { type Change, startInformer } from '../controllers/informer.ts';
import { ensureObject } from '../manifests.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { namespaces } from '../resources.ts';

export interface CertificateScenarioParts extends Omit<DevParts, 'namespace'> {
  readonly print: (line: string) => void;
  readonly namespace?: string;
  /** How long `login` fails, ms. */
  readonly failingMs?: number;
  /** Lifetime of the certificate whose renewal can be watched. */
  readonly shortLifetime?: string;
}

export interface CertificateScenario extends DevPart {
  /** Resolves when the objects exist; rejects if they cannot be created. */
  readonly started: Promise<void>;
}

const authorityName = 'shop-ca';

export function startCertificateScenario(parts: CertificateScenarioParts): CertificateScenario {
  const { kube, clock, print, namespace = 'shop', failingMs = 30_000, shortLifetime = '2m' } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const informer = startInformer<DomainObject>({
    ...parts,
    namespace,
    resource: domains,
    onChange: createDomainLines(print),
  });
  const begin = async () => {
    print('certificates: 3 hosts; login names a Secret of somebody else, on purpose, and is mended later');
    for (const [resource, object] of objects(namespace, shortLifetime)) {
      await ensureObject(kube, resource, object, signal);
    }
  };
  const mend = async () => {
    await sleep(clock, failingMs, signal);
    print('certificate: the Domain of login is told to use another Secret');
    const body = { spec: { secretName: 'login-tls' } };
    await kube.patch(domains, { namespace, name: 'login', type: 'merge', body }, signal);
  };
  const started = begin();
  const playing = started.then(mend).catch((thrown) => {
    if (!signal.aborted) print(`certificates: ${asError(thrown).message}`);
  });
  return {
    started,
    async stop() {
      stopping.abort(new Error('the scenario ended'));
      await playing;
      await informer.stop();
    },
  };
}

interface DomainObject extends KubeObject {
  readonly status?: {
    readonly state?: string;
    readonly notAfter?: string;
    readonly lastError?: string;
  };
}

function objects(namespace: string, shortLifetime: string) {
  const authority = createAuthority(authorityName);
  const secret = { name: authorityName, namespace };
  const issuer = (name: string, hosts: readonly string[], lifetime: string): KubeObject => ({
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'Issuer',
    metadata: { name },
    spec: { domains: hosts, ca: { secret, lifetime } },
  });
  const domain = (name: string, spec: object = {}): KubeObject => ({
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'Domain',
    metadata: { name, namespace },
    spec: { host: `${name}.shop.example.com`, ...spec },
  });
  const theirs = { 'tls.crt': encoded('made by hand'), 'tls.key': encoded('made by hand') };
  return [
    [namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }],
    [secrets, tlsSecret(secret, { 'tls.crt': encoded(authority.cert), 'tls.key': encoded(authority.key) })],
    [secrets, tlsSecret({ name: 'login', namespace }, theirs)],
    [issuers, issuer('shop', ['www.shop.example.com', 'login.shop.example.com'], '24h')],
    [issuers, issuer('shop-short', ['api.shop.example.com'], shortLifetime)],
    [domains, domain('www')],
    [domains, domain('api')],
    [domains, domain('login', { secretName: 'login' })],
  ] as const;
}

function tlsSecret(
  metadata: { readonly name: string; readonly namespace: string },
  data: object,
): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data };
}

const encoded = (text: string) => Buffer.from(text).toString('base64');

/** A line for each certificate that is issued or renewed, and one for each failure. */
function createDomainLines(print: (line: string) => void): (change: Change<DomainObject>) => void {
  const ends = new Map<string, string>();
  return (change) => {
    if (change.type === 'gone') return;
    const { metadata, spec, status } = change.object;
    const host = String((spec as { host?: unknown }).host);
    const before = change.previous?.status;
    if (
      status?.state === 'valid' &&
      status.notAfter !== undefined &&
      ends.get(metadata.name) !== status.notAfter
    ) {
      const what = ends.has(metadata.name) ? 'renewed' : 'issued';
      ends.set(metadata.name, status.notAfter);
      print(`certificate: ${host} ${what}, it ends ${status.notAfter}`);
    }
    const isNews = status?.lastError !== undefined && status.lastError !== before?.lastError;
    if (isNews) print(`certificate: ${host} ${status.state}: ${status.lastError}`);
  };
}
