/**
 * Resolves the names of Services for probes.
 *
 * Promises: answers are never cached, so a Service's new address is found at once. Of several addresses each
 * is as likely: the name of a headless Service leads to all its Pods, and resolvers sort them (RFC 6724), so
 * the first one would always be the same Pod. Only the name itself is asked for, and not the search domains
 * of /etc/resolv.conf with it: four questions for one, of which a domain with a wildcard would answer for a
 * host that is none of the cluster's. With a name server of its own only that server is asked.
 */
import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { type HostPort, hostPortText } from '../../../base/config-values.ts';
import { asError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';

/**
 * The resolver of the system.
 *
 * @param hosts its file of names, which lists them without the final dot (a Pod's hostAliases)
 */
export function lookupBySystem(hosts = '/etc/hosts', resolve: LookupFunction = systemLookup): LookupFunction {
  const isListed = createHostNames(hosts);
  return (name, options, callback) => resolve(isListed(name) ? name : `${name}.`, options, callback);
}

/** Resolves names by this server alone, for machines whose resolver does not know the cluster's names. */
export function lookupAt(server: HostPort): LookupFunction {
  const resolver = new Resolver({ timeout: limits.probeDnsMs, tries: 2 });
  resolver.setServers([hostPortText(server)]);

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

/** Any one of the addresses that the lookup finds. */
export function anyAddressOf(lookup: LookupFunction, random: Pick<Random, 'next'>): LookupFunction {
  return (name, options, callback) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      const all = Array.isArray(found) ? found : [];
      const one = all[Math.floor(random.next() * all.length)];
      if (error !== null || one === undefined) callback(error, '');
      else if (options.all) callback(null, [one]);
      else callback(null, one.address, one.family);
    });
}

function familiesOf(family: number | 'IPv4' | 'IPv6'): ReadonlyArray<4 | 6> {
  if (family === 4 || family === 'IPv4') return [4];
  return family === 6 || family === 'IPv6' ? [6] : [4, 6];
}

/** Whether the file lists a name; it is read again when it has changed. */
function createHostNames(path: string): (name: string) => boolean {
  let form = '';
  let names: ReadonlySet<string> = new Set();
  const look = () => {
    const { mtimeMs, size, ino } = statSync(path);
    const now = `${mtimeMs}/${size}/${ino}`;
    if (now === form) return;
    const lines = readFileSync(path, 'utf8').split('\n');
    names = new Set(lines.flatMap((line) => line.replace(/#.*$/, '').trim().split(/\s+/).slice(1)));
    form = now;
  };
  return (name) => {
    try {
      look();
    } catch {
      // Without the file nothing is listed.
      names = new Set();
    }
    return names.has(name);
  };
}
