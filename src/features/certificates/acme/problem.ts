/**
 * What an authority's refusal means for the next attempt: converts problem documents (RFC 7807, RFC 8555 6.7)
 * to our errors.
 */
import { attempt, OrreryError } from '../../../base/errors.ts';
import type { LimitScope } from '../../../machines/domain/domain-events.ts';
import { whatCame } from './answer-form.ts';
import type { HttpAnswer } from './authority-http.ts';

export interface Problem {
  /** Without `urn:ietf:params:acme:error:`; `about:blank`: the authority names none (RFC 7807 4.2). */
  readonly type: string;
  readonly detail: string;
}

const prefix = 'urn:ietf:params:acme:error:';

/**
 * Problems that retrying does not solve: the request, the name or the account's permissions have to change
 * first.
 */
const hopeless = [
  'malformed',
  'rejectedIdentifier',
  'unsupportedIdentifier',
  'caa',
  'invalidProfile',
  'unsupportedContact',
  'invalidContact',
];

/** The problem in an answer's body, or in an order or challenge; null if it has none. */
export function readProblem(value: unknown): Problem | null {
  const { type = untyped, title, subproblems, ...rest } = (value ?? {}) as Record<string, unknown>;
  const detail =
    [rest.detail, title].find((one): one is string => typeof one === 'string' && one !== '') ?? '';
  if (typeof type !== 'string' || (type === untyped && detail === '')) return null;
  // A compound problem has the type of its first part (RFC 8555 6.7.1).
  const first: Problem | null = Array.isArray(subproblems) ? readProblem(subproblems[0]) : null;
  const own = { type: inOneLine(type.replace(prefix, '')), detail: inOneLine(detail) };
  if (first !== null && own.type === 'compound') return first;
  if (own.type === 'userActionRequired') return { ...own, detail: `${own.detail}${placeIn(rest)}` };
  if (own.type === 'badSignatureAlgorithm') return { ...own, detail: `${own.detail}${algorithmsIn(rest)}` };
  return own;
}

/** Authorities quote what a host answered, whatever that is. */
const inOneLine = (text: string) =>
  text
    .slice(0, 500)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();

const untyped = 'about:blank';

/** Where a person agrees to new terms (RFC 8555 7.3.3). */
const placeIn = ({ instance }: Record<string, unknown>) =>
  typeof instance === 'string' && URL.canParse(instance) ? `; see ${instance.slice(0, 300)}` : '';

/** What it would take instead (RFC 8555 6.2). */
function algorithmsIn({ algorithms }: Record<string, unknown>): string {
  const names = Array.isArray(algorithms) ? algorithms.filter((one) => typeof one === 'string') : [];
  return names.length === 0 ? '' : `; it takes ${inOneLine(names.join(', ')).slice(0, 100)}`;
}

/** Of what is no problem by its media type, a type shows that it is one. */
function problemIn({ headers, body }: HttpAnswer): Problem | null {
  const problem = readProblem(attempt(() => JSON.parse(body) as unknown, null));
  const isDeclared = headers['content-type']?.startsWith('application/problem+json') === true;
  return problem?.type === untyped && !isDeclared ? null : problem;
}

/**
 * The error of an answer with status 400 or above.
 *
 * @param now ms since the epoch, for Retry-After as a date
 * @param scope of a limit; absent: what its words say
 */
export function answerError(answer: HttpAnswer, place: string, now: number, scope?: LimitScope): OrreryError {
  const { status, headers } = answer;
  const problem = problemIn(answer);
  const retryAfterMs = readRetryAfter(headers, now);
  const text = `${place} answered ${status}${problem === null ? ` ${whatCame(answer)}` : `: ${said(problem)}`}`;
  const facts = { status, type: problem?.type ?? null, retryAfterMs };
  if (status === 429 || problem?.type === 'rateLimited' || (status === 503 && retryAfterMs !== null)) {
    const waitMs = retryAfterMs ?? readRetryIn(problem, sentAt(headers, now));
    return new OrreryError('ACME_LIMITED', text, {
      facts: { ...facts, retryAfterMs: waitMs, scope: scope ?? limitScope(problem, status) },
    });
  }
  if (isBareDenial(answer)) return new OrreryError('ACME_REFUSED', text, { facts });
  if (
    status >= 500 ||
    problem?.type === 'serverInternal' ||
    problem?.type === 'badNonce' ||
    problem === null
  ) {
    return new OrreryError('ACME_UNREACHABLE', text, { facts });
  }
  return problemError(problem, text, status);
}

/**
 * The authority itself does not know what it was asked for, such as an order that it has lost (Pebble says no
 * more): the nonce is its own. Without one, it may be what stands before an authority that is away.
 */
const isBareDenial = ({ status, headers, body }: HttpAnswer) =>
  status === 404 && body.trim() === '' && headers['replay-nonce'] !== undefined;

const said = ({ type, detail }: Problem) =>
  type === untyped ? detail : detail === '' ? type : `${type} (${detail})`;

/** How authorities word their limits, with the scope of each; the first match counts. */
const limitWords: ReadonlyArray<readonly [RegExp, LimitScope]> = [
  [/exact set of (?:domains|identifiers)|duplicate certificate/i, 'host'],
  [/failed authorizations|authorization failures|temporarily prevented|paused/i, 'host'],
  [/too many certificates|certificates-per-(?:registered-)?domain/i, 'domain'],
  [
    /new orders|pending (?:authorizations|orders)|new registrations|new accounts|account registrations/i,
    'account',
  ],
  [/service busy|server is busy|from this ip|requests from/i, 'account'],
];

/**
 * The scope of a limit: docs/features/certificates.md §7.3. An outage of the service counts as a limit of the
 * account.
 */
function limitScope(problem: Problem | null, status: number): LimitScope {
  if (status === 503) return 'account';
  const found = limitWords.find(([words]) => words.test(problem?.detail ?? ''));
  return found?.[1] ?? 'unknown';
}

/**
 * `retry after 2026-01-31 12:00:00 UTC`, which some authorities state in words only.
 *
 * @param now as the authority has it
 * @returns ms from now; null: not stated
 */
function readRetryIn(problem: Problem | null, now: number): number | null {
  const [, day, time] =
    /retry after (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)/i.exec(problem?.detail ?? '') ?? [];
  const at = Date.parse(`${day}T${time}Z`);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** The error of a problem in an order or a challenge. */
function problemError(problem: Problem, text: string, status = 0): OrreryError {
  const facts = {
    status,
    type: problem.type,
    retryAfterMs: null,
    // An order that is not found can be recreated.
    hopeless: hopeless.includes(problem.type) && status !== 404,
  };
  if (problem.type === 'rateLimited') {
    const scope = limitScope(problem, status);
    return new OrreryError('ACME_LIMITED', text, { facts: { ...facts, scope } });
  }
  if (problem.type === 'serverInternal') return new OrreryError('ACME_UNREACHABLE', text, { facts });
  return new OrreryError('ACME_REFUSED', text, { facts });
}

/** The order is used up. @param error as in the order or a challenge; null: none */
export function lostOrder(error: unknown, text: string): OrreryError {
  const problem = readProblem(error);
  if (problem === null) return new OrreryError('ACME_REFUSED', text, { facts: { orderLost: true } });
  const { code, message, facts } = problemError(problem, `${text}: ${said(problem)}`);
  return new OrreryError(code, message, { facts: { ...facts, orderLost: true } });
}

/**
 * `Retry-After`, seconds or a date (RFC 9110 10.2.3), as ms from now; null: missing or unreadable. A date
 * counts from the answer's own, so that clocks may differ.
 */
export function readRetryAfter(headers: HttpAnswer['headers'], now: number): number | null {
  const text = headers['retry-after']?.trim() ?? '';
  if (/^[0-9]+$/.test(text)) return Math.min(Number(text) * 1000, retryAfterMsMax);
  // Node reads `-5` and `1.5` as dates, too.
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - sentAt(headers, now));
}

/** Some thirty years: a number that every record and answer can hold. */
const retryAfterMsMax = 1e12;

function sentAt({ date = '' }: HttpAnswer['headers'], now: number): number {
  const at = Date.parse(date);
  return Number.isNaN(at) ? now : at;
}
