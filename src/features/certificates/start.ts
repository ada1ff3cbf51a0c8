/**
 * The feature `certificates` in one replica: its join, its effects, the answers to challenges, and its
 * metrics.
 */

import { type RunnableEffect, runs } from '../../actors/effect-runner.ts';
import type { FeatureParts, FeatureRun, Keeper, StartFeature } from '../../actors/feature.ts';
import type { World } from '../../actors/world/world.ts';
import { type HostPort, hostPortText } from '../../base/config-values.ts';
import { asDigest } from '../../base/digests.ts';
import type { Log } from '../../base/log-port.ts';
import {
  acmeAuthorize,
  acmeFinalize,
  acmeOrder,
  ariFetch,
  certificateInspect,
  certificateStore,
  challengeClear,
  challengePlan,
  domainReport,
  pendingDiscard,
} from '../../machines/domain/domain-effects.ts';
import { issuerReport, issuerSecretsWatch, issuerVerify } from '../../machines/issuer/issuer-effects.ts';
import { createHttpClient, type HttpClient } from './acme/authority-http.ts';
import type { ChallengeBoard } from './acme/challenge.ts';
import { startChallengeServer } from './acme/challenge-server.ts';
import { type ProxyEnv, proxyEnvOf, unusableProxies } from './acme/proxy-env.ts';
import { attemptOutcome, certificateGauges } from './certificate-metrics.ts';
import {
  createCertificatesJoin,
  createDomainStatusJoin,
  createIssuerStatusJoin,
} from './certificates-join.ts';
import { createChallengeBoard } from './challenges.ts';
import { Askings } from './claims/askings.ts';
import type { IssuerDigest } from './digests.ts';
import { createNames, type Names } from './dns/names.ts';
import { createAcmeAccounts, type IssuerLookup } from './effects/acme-accounts.ts';
import { authorizeOrder } from './effects/acme-authorize.ts';
import { finalizeOrder } from './effects/acme-finalize.ts';
import { makeOrder } from './effects/acme-order.ts';
import { signedBy } from './effects/acquisition-failure.ts';
import { afterList } from './effects/after-list.ts';
import { askForWindow } from './effects/ari-fetch.ts';
import { createAuthorities } from './effects/certificate-authorities.ts';
import { inspectCertificate } from './effects/certificate-inspect.ts';
import { reportDomain, reportIssuer } from './effects/certificate-reports.ts';
import { storeCertificate } from './effects/certificate-store.ts';
import { clearChallenges } from './effects/challenge-clear.ts';
import { planChallenge } from './effects/challenge-plan.ts';
import { watchIssuerSecrets } from './effects/issuer-secrets-watch.ts';
import { verifyIssuer } from './effects/issuer-verify.ts';
import { discardPending } from './effects/pending-discard.ts';
import { createRouteSweep } from './route-sweep.ts';
import { ShownDomains } from './shown-domains.ts';
import type { ChallengeService } from './solvers/exhibits.ts';
import { createTurns } from './solvers/turns.ts';
import { sourceWarnings } from './source-warnings.ts';

export interface CertificatesSettings {
  /** Where challenge answers are served; absent: nowhere. */
  readonly acmeHttp?: HostPort;
  /** Orrery's own Service, to which Issuers may route challenges; absent: none. */
  readonly acmeService?: ChallengeService | null;
  /** The name server for the names of challenges; absent: those of the machine. */
  readonly acmeDns?: HostPort | null;
}

export function startCertificates({
  acmeHttp,
  acmeService: service = null,
  acmeDns,
}: CertificatesSettings): StartFeature {
  return (parts): FeatureRun => {
    const { engine, clock, random, log, metrics } = parts;
    const { world } = engine;
    const asked = new Askings();
    const board = createChallengeBoard({ ...parts, world });
    const challenges =
      acmeHttp === undefined ? null : startChallengeServer({ listen: acmeHttp, board, clock, log });
    return {
      joins: [
        createCertificatesJoin(world, asked),
        createIssuerStatusJoin(world),
        createDomainStatusJoin(world, asked),
      ],
      effects: certificateEffects(parts, {
        ...{ world, board },
        issuerOf: issuersIn(world),
        http: createHttpClient(usualProxies(log)),
        names: createNames({ random, ...(acmeDns ? { servers: [hostPortText(acmeDns)] } : {}) }),
        service,
      }),
      keepers: {
        'orrery.dev/v1alpha1/Domain': together([
          sourceWarnings({ ...parts, world }),
          new ShownDomains({ ...parts, world }),
          ...(service === null ? [] : [createRouteSweep({ ...parts, namespace: service.namespace })]),
        ]),
      },
      onStep(transition, context) {
        const outcome = attemptOutcome(transition, context);
        if (outcome !== null) metrics.count('orrery_certificate_attempts_total', { outcome });
      },
      gauges: () => certificateGauges(engine),
      stop: () => challenges?.close(),
    };
  };
}

function usualProxies(log: Log): ProxyEnv | undefined {
  const proxies = proxyEnvOf(process.env);
  const unusable = proxies === undefined ? [] : unusableProxies(proxies);
  if (unusable.length > 0) log.warn({ variables: unusable }, unusableProxy);
  return proxies;
}

const unusableProxy =
  'a proxy for certificate authorities is not used: only http:// and https:// can be one. Correct the variable or remove it';

const together = (keepers: readonly Keeper[]): Keeper => ({
  start() {
    for (const keeper of keepers) keeper.start();
  },
  stop() {
    for (const keeper of keepers) keeper.stop();
  },
});

function issuersIn(world: Pick<World, 'get'>): IssuerLookup {
  return (name) => {
    const digest = asDigest<IssuerDigest>(world.get('issuers.orrery.dev', '', name), 'issuers');
    if (digest === null || digest.deleting || 'invalid' in digest.spec) return null;
    const { uid, generation, spec } = digest;
    return { uid, version: `${uid}/${generation}`, spec };
  };
}

/** What certificates need beside Kubernetes. */
export interface CertificateParts {
  readonly world: Pick<World, 'statement'>;
  readonly board: ChallengeBoard;
  readonly http: HttpClient;
  readonly issuerOf: IssuerLookup;
  readonly names: Names;
  readonly service: ChallengeService | null;
}

function certificateEffects(
  { kube, clock, random, replica, log }: Pick<FeatureParts, 'kube' | 'clock' | 'random' | 'replica' | 'log'>,
  certificates: CertificateParts,
): readonly RunnableEffect[] {
  const own = { ...certificates, kube, clock, random, replica, log, turns: createTurns() };
  const accounts = createAcmeAccounts(own);
  const authorities = createAuthorities(own);
  const ofIssuers = [
    runs(acmeOrder, makeOrder(accounts, clock)),
    runs(challengePlan, planChallenge(accounts, own)),
    runs(acmeAuthorize, authorizeOrder(accounts, own)),
    runs(acmeFinalize, finalizeOrder(accounts, own)),
    runs(certificateStore, storeCertificate({ kube, clock, authorities })),
    runs(ariFetch, askForWindow(accounts, own)),
    runs(issuerVerify, verifyIssuer({ ...own, accounts, authorities })),
    runs(issuerSecretsWatch, watchIssuerSecrets({ ...own, authorities })),
  ];
  return [
    ...signedBy(replica, afterList(own, ofIssuers)),
    runs(certificateInspect, inspectCertificate(kube)),
    runs(challengeClear, clearChallenges(own, own.turns)),
    runs(pendingDiscard, discardPending(kube)),
    runs(domainReport, reportDomain(own)),
    runs(issuerReport, reportIssuer(own)),
  ];
}
