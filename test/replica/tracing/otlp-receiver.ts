/** A small receiver of OTLP/HTTP in JSON that keeps what it is sent, for tests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** Milliseconds since the epoch, with fractions. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly error: string | undefined;
  /** `service.instance.id` */
  readonly replica: string;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): Promise<void>;
}

type Value = { readonly stringValue?: string; readonly intValue?: string | number };
type Attributes = ReadonlyArray<{ readonly key: string; readonly value: Value }>;
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: Attributes;
  readonly status?: { readonly code?: number; readonly message?: string };
}
interface Body {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: ReadonlyArray<{ readonly spans: readonly WireSpan[] }>;
  }>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (request.url === '/v1/traces') spans.push(...spansIn(JSON.parse(text) as Body));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function* spansIn({ resourceSpans }: Body): Iterable<ReceivedSpan> {
  for (const { resource, scopeSpans } of resourceSpans) {
    const replica = record(resource.attributes)['service.instance.id'] ?? '';
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      yield {
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId || undefined,
        name: span.name,
        start: Number(span.startTimeUnixNano) / 1e6,
        end: Number(span.endTimeUnixNano) / 1e6,
        attributes: record(span.attributes ?? []),
        error: span.status?.code === 2 ? (span.status.message ?? '') : undefined,
        replica,
      };
    }
  }
}

function record(attributes: Attributes): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, String(value.stringValue ?? value.intValue ?? '')]),
  );
}
