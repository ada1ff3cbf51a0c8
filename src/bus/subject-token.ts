/**
 * Writes any text as one token of a NATS subject, with `[A-Za-z0-9_-]` only.
 *
 * Every other byte of the text's UTF-8, `=` included, becomes `=XX` (two upper-case hex digits). The form is
 * canonical: a text has exactly one token and a token exactly one text, so two senders cannot name one actor
 * in two ways (the shard is a hash over the tokens).
 */
import { invariant } from '../base/errors.ts';

const literalToken = /^[A-Za-z0-9_-]+$/;
const legalToken = /^(?:[A-Za-z0-9_-]|=[0-9A-F]{2})+$/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const utf8 = new TextEncoder();

/**
 * The token of a text. A lone surrogate counts as U+FFFD, as everywhere in UTF-8.
 *
 * @throws OrreryError INVARIANT for an empty text: NATS has no empty token
 */
export function writeToken(text: string): string {
  if (literalToken.test(text)) return text;
  invariant(text !== '', 'a subject token is not empty');
  return escapedOf(text);
}

const escapedOf = remembered((text: string): string => {
  let token = '';
  for (const byte of utf8.encode(text)) token += isLiteral(byte) ? String.fromCharCode(byte) : escaped(byte);
  return token;
});

/** The text of a token; undefined if `writeToken` does not produce this token. */
export function readToken(token: string): string | undefined {
  if (literalToken.test(token)) return token;
  return unescapedOf(token);
}

const unescapedOf = remembered((token: string): string | undefined => {
  if (!legalToken.test(token)) return undefined;
  try {
    const text = strictUtf8.decode(bytesOf(token));
    return writeToken(text) === token ? text : undefined;
  } catch {
    return undefined;
  }
});

/** The names of resources come again with each of their objects. */
const rememberedMax = 256;

function remembered<T>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    if (known.has(text)) return known.get(text) as T;
    if (known.size >= rememberedMax) known.clear();
    const made = make(text);
    known.set(text, made);
    return made;
  };
}

function bytesOf(token: string): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < token.length; at++) {
    if (token[at] === '=') {
      bytes.push(Number.parseInt(token.slice(at + 1, at + 3), 16));
      at += 2;
    } else bytes.push(token.charCodeAt(at));
  }
  return Uint8Array.from(bytes);
}

function isLiteral(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x5f ||
    byte === 0x2d
  );
}

function escaped(byte: number): string {
  return `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
