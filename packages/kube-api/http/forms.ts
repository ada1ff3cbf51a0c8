/**
 * The form in which a client wants its answer: the objects themselves, tables of them (what `kubectl get`
 * prints), or their metadata.
 *
 * Owns the interpretation of `Accept`. Promises: the first listed form that the server offers is used; errors
 * keep the form of a Status.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';
import { badRequest, notAcceptable } from '../status.ts';
import { type IncludedObject, toMetadata, toTable } from '../tables/table.ts';
import type { WatchSink } from '../watch/watch-stream.ts';
import type { Answer, ApiRequest, Target } from './request.ts';

export type Form = 'object' | 'table' | 'metadata';

const offered = ['application/json', 'application/json;stream=watch'];

/** @throws ApiError 406 if the client accepts no form that the server offers */
export function formOf(accept: string): Form {
  const wanted = accept === '' ? ['*/*'] : accept.split(',');
  for (const range of wanted) {
    const form = formOfRange(range);
    if (form !== undefined) return form;
  }
  throw notAcceptable(offered);
}

function formOfRange(range: string): Form | undefined {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  if (!['*/*', 'application/*', 'application/json'].includes(type.toLowerCase())) return undefined;
  const asked = new Map(parameters.map((part) => part.split('=', 2) as [string, string]));
  const kind = asked.get('as');
  if (kind === undefined) return 'object';
  if (asked.get('g') !== 'meta.k8s.io' || asked.get('v') !== 'v1') return undefined;
  if (kind === 'Table') return 'table';
  return kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList' ? 'metadata' : undefined;
}

/**
 * Converts objects to the requested form, one after another; of several tables only the first has headers.
 */
export type Shaper = (value: Json) => Json;

/** undefined: the objects as they are. @throws ApiError 400, 406 */
export function shaperOf(request: ApiRequest, target: Target, now: () => number): Shaper | undefined {
  const form = formOf(request.accept);
  const isWhole = target.subresource === '' || target.subresource === 'status';
  if (form === 'object' || !isWhole) return undefined;
  if (form === 'metadata') return (value) => (isShown(value) ? toMetadata(value) : value);
  const include = includedOf(request.query);
  let hasHeaders = true;
  return (value) => {
    if (!isShown(value)) return value;
    const table = toTable(target.resource, value, { include, hasHeaders, nowMs: now() });
    hasHeaders = false;
    return table;
  };
}

function includedOf(query: URLSearchParams): IncludedObject {
  const asked = query.get('includeObject') ?? '';
  if (asked === '') return 'Metadata';
  if (asked === 'None' || asked === 'Metadata' || asked === 'Object') return asked;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(asked)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

function isShown(value: Json): value is JsonObject {
  return isObject(value) && value.kind !== 'Status';
}

export function shaped(answer: Answer, shape: Shaper | undefined): Answer {
  if (shape === undefined) return answer;
  return { ...answer, body: JSON.stringify(shape(JSON.parse(answer.body))) };
}

/** The same for the lines of a watch. */
export function shapedSink(sink: WatchSink, shape: Shaper | undefined): WatchSink {
  if (shape === undefined) return sink;
  return {
    write: (line) => {
      const event = JSON.parse(line.toString('utf8')) as JsonObject;
      sink.write(Buffer.from(`${JSON.stringify({ ...event, object: shape(event.object ?? null) })}\n`));
    },
    end: () => sink.end(),
    cut: () => sink.cut(),
    get waitingBytes() {
      return sink.waitingBytes;
    },
    onClose: (fn) => sink.onClose(fn),
  };
}
