/**
 * Traces, as the parts of the program use them: a trace follows one change from the watch over messages to
 * the patch.
 *
 * Owns the port, and the decision whether tracing is on. Only tracing-otlp.ts knows the SDK, which is loaded
 * only if tracing is on. Every other part takes a `Tracing` or nothing, and without one does no extra work.
 */

/**
 * The context of a span as it travels with a message (W3C Trace Context): `00-<trace id>-<span id>-<flags>`.
 */
export type TraceContext = string;

/** The header of NATS messages and HTTP requests that carries the trace context. */
export const traceHeader = 'traceparent';

export interface Span {
  readonly context: TraceContext;
  set(attributes: SpanAttributes): void;
  /** @param error why the traced operation failed */
  end(error?: string): void;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracing {
  /** @param parent the parent span's context, perhaps from another process; absent: a new trace starts */
  start(
    name: string,
    options?: { readonly parent?: TraceContext | undefined; readonly attributes?: SpanAttributes },
  ): Span;
  /** Exports the collected spans, then stops. */
  stop(): Promise<void>;
}

export type TracingEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Whether the standard variables of OpenTelemetry turn tracing on: they name an exporter or an address and
 * none of them disables it.
 */
export function isTracingWanted(env: TracingEnvironment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  const exporter = env.OTEL_TRACES_EXPORTER?.trim();
  if (exporter) return exporter.split(',').includes('otlp');
  return Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
}

/** The trace id, for log lines. */
export function traceIdOf(context: TraceContext | undefined): string | undefined {
  return context?.split('-', 2)[1];
}

/** Whether a header value is a valid trace context; the sender may be anybody. */
export function isTraceContext(text: string | undefined): text is TraceContext {
  return text !== undefined && /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
}
