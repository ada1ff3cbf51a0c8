/** Converts a replica's flags to the settings of its features. */
import type { CertificatesSettings } from '../features/certificates/start.ts';
import type { ElectionsSettings } from '../features/elections/start.ts';
import type { EndpointsSettings } from '../features/endpoints/start.ts';
import type { ProxiersSettings } from '../features/proxiers/feature.ts';
import { type Bundle, loadBundle } from '../features/releases/bundle.ts';
import type { ReleasesSettings } from '../features/releases/start.ts';
import { lookupAt } from '../features/routes/probe/lookup.ts';
import type { RoutesSettings } from '../features/routes/start.ts';
import type { RunConfig } from './config.ts';

export interface FeatureSettings {
  readonly routes?: RoutesSettings;
  readonly endpoints?: EndpointsSettings;
  readonly certificates?: CertificatesSettings;
  readonly elections?: ElectionsSettings;
  readonly releases?: ReleasesSettings;
  readonly proxiers?: ProxiersSettings;
}

/** @throws OrreryError USAGE if the bundle cannot be read */
export function settingsOf(config: RunConfig): FeatureSettings & { readonly bundle: Bundle | null } {
  const {
    probeDns,
    probeCidrs,
    endpointsPerSlice,
    takeOverSlices,
    acmeHttp,
    acmeService,
    acmeDns,
    release,
    proxierHealthTimeoutMs: timeoutMs,
  } = config;
  const bundle = config.bundle === null ? null : loadBundle(config.bundle, config.cluster);
  return {
    bundle,
    routes: probeDns === null ? {} : { lookup: lookupAt(probeDns) },
    endpoints: { endpointsPerSlice, takeOver: takeOverSlices, probeCidrs },
    certificates: { acmeHttp, acmeService, acmeDns },
    elections: { leaseNamespaces: config.electionNamespaces },
    releases: { bundle, release },
    proxiers: { timeoutMs },
  };
}
