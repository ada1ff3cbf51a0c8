/**
 * Makes Issuers of ours from those of cert-manager that the Certificates of a namespace name. Pure.
 *
 * An issuer of cert-manager may have several solvers, one of ours has one: each solver becomes an Issuer. It
 * allows exactly the adopted hosts; people decide about others.
 */
import type { KubeObject } from '../../../base/kube-port.ts';
import { record } from '../../../kube/api/fields.ts';
import { readIssuerSpec } from '../issuer-spec.ts';
import { readSolver, solverFor, type TheirCertificate, type TheirSolver, textOf } from './foreign-objects.ts';

export interface AdoptedIssuer {
  readonly name: string;
  /** `ClusterIssuer letsencrypt` */
  readonly from: string;
  readonly spec: Readonly<Record<string, unknown>> & { readonly domains: readonly string[] };
  readonly losses: readonly string[];
}

/** Our Issuer for a host, or why there can be none. */
export type IssuerChoice = AdoptedIssuer | { readonly refusal: string };

export interface TheirIssuer {
  readonly kind: string;
  readonly object: KubeObject;
  /** The namespace of the Secrets that it names. */
  readonly namespace: string;
}

/** For each host its Issuer of ours. @param certificates those that name this issuer */
export function adoptIssuer(
  theirs: TheirIssuer,
  certificates: readonly TheirCertificate[],
): ReadonlyMap<string, IssuerChoice> {
  const hosts = [...new Set(certificates.flatMap((one) => one.hosts))].sort();
  const { acme, ca, ...others } = record(theirs.object.spec);
  if (acme !== undefined) return adoptAcme(theirs, record(acme), hosts);
  const base = baseOf(theirs, hosts);
  if (ca === undefined) {
    const kind = Object.keys(others).join(', ') || 'of no known kind';
    return all(hosts, { refusal: `${base.from} is ${kind}: only acme and ca can be taken over` });
  }
  const secret = { name: textOf(record(ca).secretName), namespace: theirs.namespace };
  // cert-manager's own default; the losses already name what Certificates say about it.
  return all(hosts, checked({ ...base, spec: { ...base.spec, ca: { secret, lifetime: '2160h' } } }));
}

const all = (hosts: readonly string[], choice: IssuerChoice) =>
  new Map(hosts.map((host): [string, IssuerChoice] => [host, choice]));

function baseOf({ kind, object, namespace }: TheirIssuer, domains: readonly string[]): AdoptedIssuer {
  const isCluster = kind === 'ClusterIssuer';
  const { name } = object.metadata;
  const labels = { 'kubernetes.io/metadata.name': namespace };
  return {
    name: isCluster ? name : `${namespace}-${name}`,
    from: `${kind} ${isCluster ? name : `${namespace}/${name}`}`,
    // A namespaced issuer serves that namespace only.
    spec: { domains, ...(isCluster ? {} : { allowedNamespaces: { matchLabels: labels } }) },
    losses: [],
  };
}

/** We write nothing that we would not accept from a person. */
function checked(issuer: AdoptedIssuer): IssuerChoice {
  const read = readIssuerSpec(issuer.spec);
  return 'invalid' in read ? { refusal: `${issuer.from}: ${read.invalid}` } : issuer;
}

function adoptAcme(
  theirs: TheirIssuer,
  acme: ReturnType<typeof record>,
  hosts: readonly string[],
): ReadonlyMap<string, IssuerChoice> {
  const solvers = (Array.isArray(acme.solvers) ? acme.solvers : []).map((one) =>
    readSolver(one, theirs.namespace),
  );
  const bySolver = new Map<TheirSolver, string[]>();
  const choices = new Map<string, IssuerChoice>();
  const { from } = baseOf(theirs, []);
  for (const host of hosts) {
    const solver = solverFor(solvers, host);
    if (solver === null) choices.set(host, { refusal: `${from} has no solver that can prove it` });
    else if (solver.challenge === null)
      choices.set(host, { refusal: `the solver of ${from}: ${solver.refusal}` });
    else bySolver.set(solver, [...(bySolver.get(solver) ?? []), host]);
  }
  for (const [solver, domains] of bySolver) {
    const base = baseOf(theirs, domains);
    // Numbered by its place in the issuer, so it is the same for every adopted namespace.
    const n = solvers.indexOf(solver);
    const name = n === 0 ? base.name : `${base.name}-${n + 1}`;
    const { spec, losses } = acmeSpec(acme, theirs.namespace, {
      challenge: solver.challenge,
      name: base.name,
    });
    const issuer = checked({ ...base, name, spec: { ...base.spec, acme: spec }, losses });
    for (const host of domains) choices.set(host, issuer);
  }
  return choices;
}

function acmeSpec(
  acme: ReturnType<typeof record>,
  namespace: string,
  { challenge, name }: { readonly challenge: unknown; readonly name: string },
): { readonly spec: object; readonly losses: readonly string[] } {
  const { name: account, key = 'tls.key' } = record(acme.privateKeySecretRef);
  const isSameKey = key === 'tls.key' && textOf(account) !== '';
  const binding = record(acme.externalAccountBinding);
  const { name: bindingSecret, key: bindingKey } = record(binding.keySecretRef);
  const eab = { keyId: binding.keyID, secretRef: { name: bindingSecret, namespace, key: bindingKey } };
  const left = ['preferredChain', 'skipTLSVerify'].filter(
    (one) => acme[one] !== undefined && acme[one] !== false,
  );
  return {
    spec: {
      server: acme.server,
      ...(textOf(acme.email) === '' ? {} : { email: acme.email }),
      ...(textOf(acme.caBundle) === ''
        ? {}
        : { caBundle: Buffer.from(textOf(acme.caBundle), 'base64').toString() }),
      ...(textOf(acme.profile) === '' ? {} : { profile: acme.profile }),
      ...(acme.externalAccountBinding === undefined ? {} : { eab }),
      accountSecret: { name: isSameKey ? textOf(account) : `${name}-account`, namespace },
      challenge,
    },
    losses: [
      ...(isSameKey ? [] : ['its account key is not named tls.key: a new account is created']),
      ...left.map((one) => `${one} cannot be expressed and is left out`),
    ],
  };
}
