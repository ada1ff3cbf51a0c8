/**
 * Figures of certificates: 300 domains with a CA, 100 with a real ACME server, how soon a certificate is in
 * its Secret, and what a hundred thousand valid domains cost one replica while nothing happens.
 *
 * node --expose-gc bench/certificates.ts [--program dist/main.js] [--node-options=…] [--only ca|acme|idle]
 */

import { choice, readFlags, text } from '../scripts/flags.ts';
import { packRecord } from '../src/actors/host/records.ts';
import { createStepper } from '../src/actors/host/step.ts';
import { systemClock } from '../src/base/clock.ts';
import { secrets } from '../src/features/certificates/resources.ts';
import { machines } from '../test/chart-of.ts';
import { certificate, domainFacts, inspected } from '../test/features/certificates/certificate-samples.ts';
import { startPebble } from '../test/features/certificates/pebble.ts';
import { Stage } from '../test/features/certificates/stage.ts';
import { until } from '../test/until.ts';
import { cpuSeconds } from './process-costs.ts';

const values = readFlags('node --expose-gc bench/certificates.ts', 'Figures of certificates.', {
  only: choice('one part', ['ca', 'acme', 'idle']),
  program: text('what the replicas run, such as dist/main.js (the sources)'),
  'node-options': text('options of Node for the replicas only, as in deploy/base/orrery.yaml', ''),
});
const wanted = values.only === undefined ? ['ca', 'acme', 'idle'] : [values.only];
const say = (line: string) => void process.stdout.write(`${line}\n`);

if (wanted.includes('ca'))
  await many('ca', 300, async (stage) => stage.caIssuer('bench-ca', '24h', ['**.bench.example.org']));
if (wanted.includes('acme')) {
  const pebble = await startPebble();
  await many('acme', 100, async (stage) => {
    pebble.answerers = stage.cluster.replicas.map(({ acmeUrl }) => acmeUrl);
    // The default budget allows 50 per registered domain.
    const budget = { certificatesPerDomainPer7d: 1_000 };
    await stage.acmeIssuer('bench', pebble, { domains: ['**.bench.example.org'], budget });
  });
  await pebble.stop();
}
if (wanted.includes('idle')) idle(100_000);

async function many(name: string, count: number, prepare: (stage: Stage) => Promise<unknown>): Promise<void> {
  const replicaEnv = { NODE_OPTIONS: values['node-options'] };
  const stage = await Stage.start({ program: values.program, replicaEnv });
  const costs = () => stage.cluster.replicas.map((replica) => cpuSeconds(replica.pid()));
  try {
    await prepare(stage);
    const hosts = Array.from({ length: count }, (_, n) => `d${n}`);
    const stored = untilStored(stage, count);
    const before = { replicas: costs(), all: process.cpuUsage() };
    const began = systemClock.monotonic();
    await Promise.all(hosts.map((host) => stage.domain(host, { host: `${host}.bench.example.org` })));
    const made = systemClock.monotonic();
    await stored;
    const took = systemClock.monotonic() - began;
    say(
      `${name}: ${count} Domains made in ${Math.round(made - began)} ms; all Secrets there after ${Math.round(took)} ms`,
    );
    const used = costs().map((seconds, n) => (seconds - (before.replicas[n] ?? 0)).toFixed(2));
    const { user, system } = process.cpuUsage(before.all);
    say(
      `${name}: CPU of the replicas meanwhile ${used.join(', ')} s; of the API server and of who asks ${((user + system) / 1e6).toFixed(2)} s`,
    );
    await lag(stage, name);
    await steps(stage, name, count);
  } finally {
    await stage.stop();
  }
}

/**
 * Resolves when this many of our Secrets have been seen. Uses a watch, because polling would slow down what
 * is measured.
 */
async function untilStored(stage: Stage, count: number): Promise<void> {
  const { kube } = stage.cluster;
  const ended = new AbortController();
  const names = new Set<string>();
  const options = { namespace: stage.namespace, labelSelector: 'orrery.dev/domain' };
  const { resourceVersion } = await kube.list(secrets, options, ended.signal);
  await kube
    .watch(
      secrets,
      { ...options, resourceVersion, timeoutSeconds: 160 },
      (event) => {
        if (event.type !== 'BOOKMARK') names.add(event.object.metadata.name);
        if (names.size === count) ended.abort();
      },
      ended.signal,
    )
    .catch(() => {});
  if (names.size < count) throw new Error(`only ${names.size} of ${count} Secrets came in time`);
}

/** From the existence of the certificate to its storage, according to the feed. */
async function lag(stage: Stage, name: string): Promise<void> {
  await until(
    async () =>
      (await stage.story()).filter(({ to, from }) => to === 'valid' && from === 'acquiring.storing').length >=
      100,
    {
      what: 'the feed',
    },
  );
  const storing = new Map<string, number>();
  const lags: number[] = [];
  for (const { id, from, to, at } of await stage.story()) {
    if (to === 'acquiring.storing') storing.set(id, at);
    if (to === 'valid' && from === 'acquiring.storing') lags.push(at - (storing.get(id) ?? at));
  }
  lags.sort((a, b) => a - b);
  const quantile = (q: number) => lags[Math.min(lags.length - 1, Math.floor(lags.length * q))];
  say(`${name}: issuance to Secret p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms (${lags.length})`);
}

/** According to the feed: steps of a host and of its Issuer until there is a certificate. */
async function steps(stage: Stage, name: string, count: number): Promise<void> {
  const story = await stage.story();
  const of = (kind: string) => story.filter(({ id }) => id.startsWith(`${kind}/`));
  const writes = of('domain').flatMap(({ effects }) => effects);
  const tally = new Map<string, number>();
  for (const effect of writes) tally.set(effect.type, (tally.get(effect.type) ?? 0) + 1);
  const asked = [...tally].map(([type, times]) => `${type} ${(times / count).toFixed(1)}`).join(', ');
  say(`${name}: steps of a domain ${(of('domain').length / count).toFixed(1)}, asking for ${asked}`);
  say(`${name}: steps of its Issuer for each domain ${(of('issuer').length / count).toFixed(1)}`);
}

/** Records at rest, as a replica keeps them between two looks. */
function idle(count: number): void {
  const chart = machines.domain;
  if (!chart) throw new Error('there is no domain chart');
  const stepper = createStepper(chart);
  const at = certificate.notBefore;
  globalThis.gc?.();
  const before = process.memoryUsage();
  const records: Uint8Array[] = [];
  for (let n = 0; n < count; n++) {
    const host = `store-${n}.shops.example.org`;
    const namespace = 'storefront-production';
    const target = { namespace, secretName: host };
    const uid = `0c5bfd5e-3f4c-4d3c-9a0e-${String(n).padStart(12, '0')}`;
    const facts = {
      ...domainFacts,
      owner: namespace,
      sources: [{ kind: 'Domain', namespace, name: `store-${n}`, uid, generation: 1 }],
      issuer: { name: 'letsencrypt', version: `${uid}/1`, kind: 'acme', challenge: 'http01' } as const,
      registered: 'example.org',
      targets: [target],
      stored: ['f'.repeat(16)],
    };
    const input = { id: `domain/_/${host}`, namespace: '_', name: host };
    const begun = stepper.begin(input, { type: 'domain.observed', facts, at, random: 0.5 });
    const good = { ...certificate, fingerprint: 'f'.repeat(32), ariId: 'a'.repeat(50) };
    const { snapshot, timers } = stepper.step(begun.snapshot, { ...inspected(1, { good }), at, random: 0.5 });
    records.push(
      packRecord({
        format: 1,
        machine: 'domain',
        version: 1,
        rev: 2,
        fence: 1,
        at,
        since: at,
        snapshot: stepper.persist(snapshot),
        timers: timers.flatMap((timer) =>
          timer.kind === 'set' ? [{ id: timer.id, event: timer.event, at: at + timer.delayMs }] : [],
        ),
        outbox: [],
        feed: [],
        world: 1,
        mail: 0,
        recentIds: [],
        lastError: null,
        gone: false,
      }),
    );
  }
  globalThis.gc?.();
  const after = process.memoryUsage();
  const bytes = records.reduce((sum, record) => sum + record.byteLength, 0);
  // `external` includes the array buffers.
  const grown = after.heapUsed + after.external - before.heapUsed - before.external;
  say(
    `idle: ${count} valid domains: ${Math.round(bytes / count)} bytes of record each, ${Math.round(grown / count)} bytes of memory each; one deadline each, no step between looks`,
  );
}
