/**
 * Reads the head of an HTTP/1 answer.
 *
 * It is read strictly, because it may prove a route: what is not a head to the letter is no answer. Interim
 * answers (1xx) are skipped. Absent: the body, and what the headers mean.
 */

export interface AnswerHead {
  readonly status: number;
  /** By name in lower case; the values of several headers of one name are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** Where the body begins in the text. */
  readonly bodyAt: number;
}

export type HeadReading = AnswerHead | 'unfinished' | 'malformed';

const lineEnd = '\r\n';
const headEnd = '\r\n\r\n';
const statusLine = /^HTTP\/1\.[01] ([1-9]\d\d)(?: [^\r\n\0]*)?$/;
/** A name is a token of RFC 9110; a value has no control characters but tabs. */
const headerLine = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;

/** @param text what has come so far, a character for each byte */
export function readHead(text: string, from = 0): HeadReading {
  const end = text.indexOf(headEnd, from);
  if (end < 0) return 'unfinished';
  const [first = '', ...lines] = text.slice(from, end).split(lineEnd);
  const status = Number(statusLine.exec(first)?.[1]);
  if (Number.isNaN(status)) return 'malformed';
  const bodyAt = end + headEnd.length;
  if (status < 200 && status !== 101) return readHead(text, bodyAt);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ''] = headerLine.exec(line) ?? [];
    if (name === undefined) return 'malformed';
    const key = name.toLowerCase();
    const before = headers.get(key);
    headers.set(key, before === undefined ? value.trimEnd() : `${before}, ${value.trimEnd()}`);
  }
  return { status, headers, bodyAt };
}

/** Whether the whole body has come, as far as the head says how long it is; else the sender ends it. */
export function isBodyWhole({ status, headers, bodyAt }: AnswerHead, text: string): boolean {
  if (status === 204 || status === 304) return true;
  if (headers.has('transfer-encoding')) return text.endsWith('0\r\n\r\n');
  const length = headers.get('content-length');
  return length !== undefined && text.length - bodyAt >= Number(length);
}
