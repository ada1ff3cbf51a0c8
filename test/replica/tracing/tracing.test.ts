/** When traces are wanted, and that the SDK says what the port promises. */
import { afterEach, describe, expect, test } from 'vitest';
import { isTraceContext, isTracingWanted, type Tracing, traceIdOf } from '../../../src/base/tracing.ts';
import { startOtlp } from '../../../src/replica/tracing-otlp.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

const closing: Array<() => Promise<unknown>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

test.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' }, false],
])('the environment %j wants traces: %s', (env, wanted) => {
  expect(isTracingWanted(env)).toBe(wanted);
});

test('a header that is no context of a span is told from one', () => {
  const context = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  expect([isTraceContext(context), traceIdOf(context)]).toEqual([true, '0af7651916cd43dd8448eb211c80319c']);
  for (const text of [
    '',
    'x',
    context.toUpperCase(),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `${context}-`,
  ]) {
    expect(isTraceContext(text)).toBe(false);
  }
});

describe('over OTLP', () => {
  async function begin(
    env: Record<string, string> = {},
  ): Promise<{ receiver: OtlpReceiver; tracing: Tracing }> {
    const receiver = await startOtlpReceiver();
    closing.push(() => receiver.close());
    // The exporter reads its own variables from the process.
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = receiver.url;
    const tracing = startOtlp({
      env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', ...env },
      resource: { 'service.instance.id': 'r1' },
    });
    closing.push(async () => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
    return { receiver, tracing };
  }

  test('a span of another process is the parent, its trace goes on, and a failure is told', async () => {
    const { receiver, tracing } = await begin();
    const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const span = tracing.start('step', { parent, attributes: { 'orrery.actor': 'pod/shop/web-0' } });
    tracing.start('effect', { parent: span.context }).end('no route');
    span.end();
    await tracing.stop();
    const [effect, step] = receiver.spans;
    expect(step).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      attributes: { 'orrery.actor': 'pod/shop/web-0' },
      replica: 'r1',
    });
    expect(effect).toMatchObject({ parentSpanId: step?.spanId, traceId: step?.traceId, error: 'no route' });
  });

  test('what is no context begins a trace of its own', async () => {
    const { receiver, tracing } = await begin();
    tracing.start('step', { parent: 'nonsense' }).end();
    await tracing.stop();
    expect(receiver.spans[0]?.parentSpanId).toBeUndefined();
  });

  test('a sampler that takes nothing sends nothing', async () => {
    const { receiver, tracing } = await begin({ OTEL_TRACES_SAMPLER: 'always_off' });
    expect(tracing.start('step').context).toMatch(/-00$/);
    await tracing.stop();
    expect(receiver.spans).toEqual([]);
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ])('%s=%s is refused with what is allowed', (variable, value) => {
    expect(() => startOtlp({ env: { [variable]: value }, resource: {} })).toThrow(
      /is not allowed; allowed: /,
    );
  });
});
