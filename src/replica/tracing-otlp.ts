/**
 * Traces by OpenTelemetry's SDK, sent over OTLP/HTTP: the only file that imports it. Loaded only if tracing
 * is on.
 *
 * Reads the standard variables: OTEL_EXPORTER_OTLP_* (the exporter does), OTEL_EXPORTER_OTLP_PROTOCOL
 * (http/protobuf, http/json), OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER with _ARG,
 * OTEL_BSP_*. Promise: an unreachable receiver costs spans (they are dropped when the queue is full) and
 * nothing else. Absent: gRPC, metrics and logs by OTLP.
 */
import { type Context, ROOT_CONTEXT, type SpanContext, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { notAllowed } from '../base/config-values.ts';
import {
  isTraceContext,
  type Span,
  type TraceContext,
  type Tracing,
  type TracingEnvironment,
} from '../base/tracing.ts';

export interface OtlpOptions {
  readonly env: TracingEnvironment;
  /** Attributes of this process, unless the environment sets others. */
  readonly resource: Readonly<Record<string, string>>;
}

/** @throws OrreryError USAGE for an unsupported protocol or sampler */
export function startOtlp({ env, resource }: OtlpOptions): Tracing {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'orrery', ...resource }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    sampler: samplerOf(env),
    spanProcessors: [new BatchSpanProcessor({ exporter: exporterOf(env), ...batchOf(env) })],
  });
  const tracer = provider.getTracer('orrery');
  return {
    start(name, { parent, attributes } = {}) {
      const context = isTraceContext(parent) ? trace.setSpanContext(ROOT_CONTEXT, remote(parent)) : root;
      return wrap(tracer.startSpan(name, attributes ? { attributes: { ...attributes } } : {}, context));
    },
    stop: () => provider.shutdown(),
  };
}

const root: Context = ROOT_CONTEXT;

function wrap(span: ReturnType<ReturnType<TracerProvider['getTracer']>['startSpan']>): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    context: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    set: (attributes) => void span.setAttributes({ ...attributes }),
    end(error) {
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
  };
}

function remote(context: TraceContext): SpanContext {
  const [, traceId = '', spanId = '', flags = '00'] = context.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function exporterOf(env: TracingEnvironment): JsonExporter | ProtobufExporter {
  const protocol =
    env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf';
  if (protocol === 'http/protobuf') return new ProtobufExporter();
  if (protocol === 'http/json') return new JsonExporter();
  throw notAllowed('OTEL_EXPORTER_OTLP_PROTOCOL', protocol, 'http/protobuf, http/json');
}

/** The samplers in OpenTelemetry's specification. */
function samplerOf(env: TracingEnvironment): Sampler {
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || '1');
  const bases: Readonly<Record<string, () => Sampler>> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const name = env.OTEL_TRACES_SAMPLER || 'parentbased_always_on';
  const base = bases[name.replace(/^parentbased_/, '')];
  if (!base) {
    const names = Object.keys(bases).flatMap((one) => [one, `parentbased_${one}`]);
    throw notAllowed('OTEL_TRACES_SAMPLER', name, names.join(', '));
  }
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root: base() }) : base();
}

function batchOf(env: TracingEnvironment) {
  const number = (name: string) => (env[name] ? Number(env[name]) : undefined);
  const settings = {
    scheduledDelayMillis: number('OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: number('OTEL_BSP_EXPORT_TIMEOUT'),
    maxQueueSize: number('OTEL_BSP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}
