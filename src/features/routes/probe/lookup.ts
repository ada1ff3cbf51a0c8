/**
 * Resolves the names of probes with a given name server, for machines whose resolver does not know the
 * cluster's names.
 *
 * Promises: only that server is asked. Answers are never cached, so a Service's new address is found at once.
 * A name without an address fails with the server's error (ENOTFOUND, ENODATA, ETIMEOUT). Absent: the
 * system's resolver, which Node uses by itself if there is no lookup function (always within a cluster).
 */
import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIPv6, type LookupFunction } from 'node:net';
import type { HostPort } from '../../../base/config-values.ts';
import { asError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';

/** Resolves names for connections (`lookup` of node:net) by this server alone. */
export function lookupAt({ host, port }: HostPort): LookupFunction {
  const resolver = new Resolver({ timeout: limits.probeDnsMs, tries: 2 });
  resolver.setServers([isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`]);

  const resolve = async (name: string, family: 4 | 6): Promise<LookupAddress[]> => {
    const addresses = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name));
    return addresses.map((address) => ({ address, family }));
  };
  return (name, { all = false, family = 0 }, callback) => {
    void Promise.allSettled(familiesOf(family).map((one) => resolve(name, one))).then((answers) => {
      const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      const [first] = found;
      const failed = answers.find((answer) => answer.status === 'rejected');
      if (first === undefined) callback(asError(failed?.reason), '');
      else if (all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

function familiesOf(family: number | 'IPv4' | 'IPv6'): ReadonlyArray<4 | 6> {
  if (family === 4 || family === 'IPv4') return [4];
  return family === 6 || family === 'IPv6' ? [6] : [4, 6];
}
