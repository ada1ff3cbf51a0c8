/**
 * OpenAPI v2, which describes nothing here: kubectl asks for it before it can say that a kind is unknown ("ensure CRDs are installed
 * first"), and is content with a document without kinds. Everything else is in v3 (`documents.ts`).
 */
import type { Answer, ApiRequest } from '../http/request.ts';

/** Asked for in a spelling that is no media type, and answered in one that is. */
const protobufAsked = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const info = { title: 'Kubernetes', version: 'v1.36.0' };

/** undefined: the request is about something else. */
export function oldOpenApiAnswer(request: ApiRequest): Answer | undefined {
  if (request.method !== 'GET' || request.path !== '/openapi/v2') return undefined;
  if (request.accept.includes(protobufAsked))
    return { code: 200, body: protobufDocument(), contentType: protobufType };
  return { code: 200, body: JSON.stringify({ swagger: '2.0', info, paths: {} }) };
}

/** The same in protobuf: everything is short plain text, so each length is one byte. */
function protobufDocument(): string {
  const field = (number: number, text: string) => String.fromCharCode((number << 3) | 2, text.length) + text;
  return field(1, '2.0') + field(2, field(1, info.title) + field(2, info.version)) + field(8, '');
}
