/**
 * Built-in objects that arrive as protobuf (`application/vnd.kubernetes.protobuf`), as JSON values. Many of
 * kubectl's own commands (`create deployment`, `auth can-i`, `drain`) send nothing else.
 *
 * Owns the meaning of the table of wire types (`wire-types.txt`, generated). Promises: what JSON would omit
 * because it is empty is omitted; unknown fields are skipped, as protobuf requires. Absent: writing, because
 * every sender also reads JSON.
 */
import { readFileSync } from 'node:fs';
import { isObject, type Json, type JsonObject, set } from '../json.ts';
import { wireFields } from './reader.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** The first bytes of every protobuf object of Kubernetes. */
const prefix = Buffer.from('k8s\0', 'latin1');

interface Field {
  readonly name: string;
  /** Without the marks. */
  readonly type: string;
  /** An empty value differs from an absent one. */
  readonly isOptional: boolean;
  /** The fields of the message appear beside this one's. */
  readonly isInline: boolean;
}

type Message = ReadonlyMap<number, Field>;

let cached: ReadonlyMap<string, Message> | undefined;

/** @throws RangeError if the bytes are not an object of a kind in the table */
export function decodeProtobuf(bytes: Buffer): JsonObject {
  if (!bytes.subarray(0, prefix.length).equals(prefix))
    throw new RangeError('provided data does not appear to be a protobuf message, expected prefix k8s');
  let typeMeta: JsonObject = {};
  let raw: Buffer = Buffer.alloc(0);
  for (const { number, value } of wireFields(bytes.subarray(prefix.length))) {
    if (number === 1 && Buffer.isBuffer(value)) typeMeta = typeMetaOf(value);
    if (number === 2 && Buffer.isBuffer(value)) raw = value;
  }
  const { apiVersion, kind } = typeMeta;
  const message = messages().get(typeName(String(apiVersion), String(kind)));
  if (message === undefined)
    throw new RangeError(`no kind "${kind}" is registered for version "${apiVersion}"`);
  return { ...typeMeta, ...decodeMessage(message, raw) };
}

function typeMetaOf(bytes: Buffer): JsonObject {
  const fields: JsonObject = { apiVersion: '', kind: '' };
  for (const { number, value } of wireFields(bytes))
    fields[number === 1 ? 'apiVersion' : 'kind'] = value.toString();
  return fields;
}

/** Options may come under the version of the object that they concern. */
function typeName(apiVersion: string, kind: string): string {
  if (kind === 'DeleteOptions') return 'meta.DeleteOptions';
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : 'core';
  return `${group?.split('.')[0]}.${kind}`;
}

function messages(): ReadonlyMap<string, Message> {
  cached ??= parseTable(readFileSync(new URL('./wire-types.txt', import.meta.url), 'utf8'));
  return cached;
}

function parseTable(text: string): Map<string, Message> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [name = '', fields = ''] = line.split(': ');
      return [
        name,
        new Map(
          fields
            .split(', ')
            .filter((part) => part !== '')
            .map(parseField),
        ),
      ];
    }),
  );
}

function parseField(part: string): [number, Field] {
  const [name = '', number = '', marked = ''] = part.split(' ');
  const field = {
    name,
    type: marked.replace(/^[*~]/, ''),
    isOptional: marked.startsWith('*'),
    isInline: marked.startsWith('~'),
  };
  return [Number(number), field];
}

function decodeMessage(message: Message, bytes: Buffer): JsonObject {
  const result: JsonObject = {};
  for (const { number, value } of wireFields(bytes)) {
    const field = message.get(number);
    if (field !== undefined) addField(result, field, value);
  }
  return result;
}

function addField(result: JsonObject, field: Field, value: bigint | Buffer): void {
  const { name, type } = field;
  if (type.startsWith('[]')) {
    const known = result[name];
    const item = decodeValue(type.slice(2), value);
    result[name] = [...(Array.isArray(known) ? known : []), item];
  } else if (type.startsWith('{}')) {
    const known = result[name];
    const entries = isObject(known) ? known : {};
    addEntry(entries, type.slice(2), value);
    result[name] = entries;
  } else {
    const decoded = decodeValue(type, value);
    if (field.isInline && isObject(decoded)) Object.assign(result, decoded);
    else if (field.isOptional || !isEmpty(decoded)) result[name] = decoded;
  }
}

/** A map arrives as a list of pairs. */
function addEntry(entries: JsonObject, type: string, value: bigint | Buffer): void {
  let key = '';
  let found: Json = emptyOf(type);
  for (const field of wireFields(bytesOf(value))) {
    if (field.number === 1) key = field.value.toString();
    else found = decodeValue(type, field.value);
  }
  set(entries, key, found);
}

function emptyOf(type: string): Json {
  return type === 'string' || type === 'bytes' ? '' : {};
}

function isEmpty(value: Json): boolean {
  const isEmptyObject = isObject(value) && Object.keys(value).length === 0;
  return isEmptyObject || value === '' || value === 0 || value === false || value === null;
}

function decodeValue(type: string, value: bigint | Buffer): Json {
  switch (type) {
    case 'string':
      return bytesOf(value).toString('utf8');
    case 'bool':
      return value !== 0n;
    case 'int32':
    case 'int64':
      return Number(value);
    case 'float64':
      return bytesOf(value).readDoubleLE();
    case 'bytes':
      return bytesOf(value).toString('base64');
    case 'time':
    case 'microtime':
      return momentText(bytesOf(value), type === 'microtime');
    case 'quantity':
      return textField(bytesOf(value), 1);
    case 'json':
      return JSON.parse(textField(bytesOf(value), 1) || 'null') as Json;
    case 'intOrString':
      return intOrString(bytesOf(value));
    default:
      return ownValue(type, bytesOf(value));
  }
}

function ownValue(type: string, bytes: Buffer): Json {
  const message = messages().get(type);
  if (message === undefined) throw new RangeError(`the table of wire types has no ${type}`);
  const decoded = decodeMessage(message, bytes);
  // A named list is a message around a list.
  return message.size === 1 && message.get(1)?.name === 'items' ? (decoded.items ?? []) : decoded;
}

function bytesOf(value: bigint | Buffer): Buffer {
  if (Buffer.isBuffer(value)) return value;
  throw new RangeError('a number where a text or a message belongs');
}

function textField(bytes: Buffer, wanted: number): string {
  for (const { number, value } of wireFields(bytes)) if (number === wanted) return value.toString();
  return '';
}

/** Seconds since 1970, and nanoseconds. Without seconds there is no time. */
function momentText(bytes: Buffer, isPrecise: boolean): Json {
  const numbers = new Map([...wireFields(bytes)].map(({ number, value }) => [number, Number(value)]));
  const seconds = numbers.get(1);
  if (seconds === undefined) return null;
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  const micros = String(Math.trunc((numbers.get(2) ?? 0) / 1000)).padStart(6, '0');
  return isPrecise ? `${whole}.${micros}Z` : `${whole}Z`;
}

function intOrString(bytes: Buffer): Json {
  const fields = new Map([...wireFields(bytes)].map(({ number, value }) => [number, value]));
  return Number(fields.get(1) ?? 0) === 1 ? (fields.get(3)?.toString() ?? '') : Number(fields.get(2) ?? 0);
}
