/**
 * Traces, as the parts of the program see them: one change is followed from the watch over messages to the
 * patch.
 *
 * Owns the port and when tracing is wanted at all. The SDK is known by tracing-otlp.ts alone and loaded only
 * then; everybody else is handed a `Tracing` or nothing, and does nothing extra in the second case.
 */

/**
 * The context of a span as it travels with a message (W3C Trace Context): `00-<trace id>-<span id>-<flags>`.
 */
export type TraceContext = string;

/** The header of NATS messages and of HTTP requests that carries it. */
export const traceHeader = 'traceparent';

export interface Span {
  readonly context: TraceContext;
  set(attributes: SpanAttributes): void;
  /** @param error why what it stands for failed */
  end(error?: string): void;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracing {
  /** @param parent of another span, perhaps of another process; absent: a new trace begins */
  start(
    name: string,
    options?: { readonly parent?: TraceContext | undefined; readonly attributes?: SpanAttributes },
  ): Span;
  /** Sends what is collected, then ends. */
  stop(): Promise<void>;
}

export type TracingEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Whether the standard variables of OpenTelemetry ask for traces: an exporter or an address is named and
 * nothing forbids it.
 */
export function isTracingWanted(env: TracingEnvironment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  const exporter = env.OTEL_TRACES_EXPORTER?.trim();
  if (exporter) return exporter.split(',').includes('otlp');
  return Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
}

/** The trace's id, for log lines. */
export function traceIdOf(context: TraceContext | undefined): string | undefined {
  return context?.split('-', 2)[1];
}

/** Whether a header is the context of a span; anybody may have sent it. */
export function isTraceContext(text: string | undefined): text is TraceContext {
  return text !== undefined && /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text);
}
