/**
 * One change followed with real processes: from the watch over NATS to the patch, across replicas, in one
 * trace.
 *
 * With ORRERY_TRACE_TEXT=<file> the trace is written there; docs/operating.md shows one that was made so.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startDevCluster } from '../../../packages/dev-cluster/cluster.ts';
import { startScenario } from '../../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { program } from '../../suite/program.ts';
import { until } from '../../until.ts';
import { type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts';
import { traceText } from './trace-text.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const undos: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

/** What a Pod's way to its condition consists of, whatever else happens. */
const steps = [
  'step pod pod.observed',
  'step service route.wanted',
  'route.sample',
  'message.send',
  'step pod route.proven',
];

/** Names on the way from a span up to its root. */
function ancestry(span: ReceivedSpan, spans: ReadonlyMap<string, ReceivedSpan>): ReceivedSpan[] {
  const parent = span.parentSpanId === undefined ? undefined : spans.get(span.parentSpanId);
  return [span, ...(parent ? ancestry(parent, spans) : [])];
}

test('a Pod that becomes ready is one trace: watch, steps, messages, samples, patch', {
  timeout: 120_000,
}, async () => {
  const receiver = await startOtlpReceiver();
  undos.push(() => receiver.close());
  const dir = mkdtempSync(join(tmpdir(), 'orrery-traces-'));
  undos.push(async () => rmSync(dir, { recursive: true, force: true }));
  const print = () => {};
  const cluster = await startDevCluster(
    {
      ...basics,
      dir,
      program,
      replicas: 2,
      http: { host: '127.0.0.1', port: 0 },
      restarts: false,
      replicaEnv: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '200',
      },
      print,
    },
    new AbortController().signal,
  );
  undos.push(() => cluster.stop());
  // Routed at once: a Pod's first question finds it. Later, a change of slices would begin the round and its
  // trace.
  const stage = { kube: cluster.kube, routing: cluster.routing, print, routingDelay: '0ms-50ms' };
  const scenario = startScenario({ ...basics, ...stage, rollOverEveryMs: 5_000, requestsPerSecond: 1 });
  undos.push(() => scenario.stop());

  const found = await until(
    () => {
      const spans = new Map(receiver.spans.map((span) => [span.spanId, span]));
      for (const span of receiver.spans) {
        if (span.name !== 'pod-condition.patch') continue;
        const way = ancestry(span, spans);
        const names = way.map(({ name }) => name);
        const replicas = new Set(way.map(({ replica }) => replica));
        const isWhole = steps.every((step) => names.includes(step)) && names.at(-1) === 'watch';
        if (isWhole && replicas.size === 2) return way;
      }
      return null;
    },
    { what: 'a patch whose trace begins at a watch and passes through both replicas', timeoutMs: 60_000 },
  );
  const [patch] = found;
  expect(patch?.attributes['orrery.outcome']).toBe('condition.patched');
  for (const span of found) expect([span.traceId, span.error]).toEqual([patch?.traceId, undefined]);
  const file = process.env.ORRERY_TRACE_TEXT;
  if (file)
    writeFileSync(file, `${traceText(receiver.spans.filter(({ traceId }) => traceId === patch?.traceId))}\n`);
});
