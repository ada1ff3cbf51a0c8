/** How the name of a Service leads to an address: docs/features/routes.md §4.2. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parseAddress } from '../../../src/base/address.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { type ProbeAnswer, probeCall } from '../../../src/features/routes/probe/call.ts';
import { anyAddressOf, lookupBySystem } from '../../../src/features/routes/probe/lookup.ts';
import { pod } from './backends.ts';

const name = 'web.shop.svc.cluster.local';
const undos: Array<() => unknown> = [];
afterEach(async () => {
  for (const undo of undos.splice(0)) await undo();
});

async function serve(host: string, port: number): Promise<number> {
  const server: Server = createServer(pod(host));
  undos.push(() => new Promise((resolve) => server.close(resolve)));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return (server.address() as AddressInfo).port;
}

async function whoAnswers(url: string, lookup: LookupFunction): Promise<string> {
  const answers: ProbeAnswer[] = [];
  const target = {
    url,
    family: 'IPv4' as const,
    podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
    timeoutMs: 3_000,
  };
  const { signal } = new AbortController();
  await probeCall(target, { clock: systemClock, parseAddress, lookup }, signal, (one) => answers.push(one));
  const [answer] = answers;
  return answer?.kind === 'named' ? (answer.addresses[0]?.ip ?? '') : (answer?.kind ?? '');
}

test('the name of a headless Service leads to each of its Pods, though resolvers sort them', async () => {
  const port = await serve('127.0.0.1', 0);
  for (const host of ['127.0.0.2', '127.0.0.3']) await serve(host, port);
  const sorted: LookupFunction = (_name, _options, callback) =>
    callback(
      null,
      [1, 2, 3].map((n) => ({ address: `127.0.0.${n}`, family: 4 })),
    );
  const lookup = anyAddressOf(sorted, seededRandom(1));
  const met = new Map<string, number>();
  for (let n = 0; n < 60; n++) {
    const one = await whoAnswers(`http://${name}:${port}/`, lookup);
    met.set(one, (met.get(one) ?? 0) + 1);
  }
  expect([...met.keys()].sort()).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.3']);
  for (const count of met.values()) expect(count).toBeGreaterThan(8);
});

test('a lookup that fails, or finds nothing, is a failure', async () => {
  const failed = Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  const fails: LookupFunction = (_name, _options, callback) => callback(failed, '');
  expect(await whoAnswers(`http://${name}:80/`, anyAddressOf(fails, seededRandom(1)))).toBe('unreachable');
});

describe('the resolver of the system', () => {
  /** The names that it is asked for. */
  function asked(hosts: string): string[] {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-hosts-'));
    undos.push(() => rmSync(dir, { recursive: true, force: true }));
    const path = join(dir, 'hosts');
    writeFileSync(path, hosts);
    const names: string[] = [];
    const lookup = lookupBySystem(path, (one) => void names.push(one));
    const ask = () => lookup(name, { family: 4 }, () => {});
    ask();
    writeFileSync(path, `${hosts}10.0.0.1 web ${name} # a Pod's hostAliases\n`);
    ask();
    rmSync(path);
    ask();
    return names;
  }

  test('is asked for the name alone, not with the search domains, one of which may have a wildcard', () => {
    expect(asked('127.0.0.1 localhost\n')).toEqual([`${name}.`, name, `${name}.`]);
  });
});
