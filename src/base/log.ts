/**
 * The log of a replica: one JSON object per line on the standard error stream.
 *
 * Promises (I9): a value that looks like a secret, by its name or by its form, is never written, however deep
 * it is in the facts; an error is written with its code, facts and causes. When thousands of actors meet the
 * same fault, the first lines are written and the rest are counted, so a flood neither fills the disk nor
 * hides other lines; debug lines are always written. Absent: rotation and shipping, which the platform does.
 */
import { destination, pino } from 'pino';
import { type Clock, systemClock, timestamp } from './clock.ts';
import { OrreryError } from './errors.ts';
import { limits } from './limits.ts';
import type { Log } from './log-port.ts';
import { type LogLevel, logLevels } from './log-port.ts';
import { senderOf } from './words.ts';

export { type Log, silentLog } from './log-port.ts';

export interface LogParts {
  readonly level: LogLevel;
  /** Added to every line. */
  readonly facts?: object;
  readonly clock?: Clock;
  /** Where lines go; the standard error stream by default. */
  readonly write?: (line: string) => void;
}

/** A log whose level can be changed at run time, for itself and all its children. */
export interface LeveledLog extends Log {
  /** A log that adds `facts` to every line. */
  child(facts: object): Log;
  readonly level: LogLevel;
  setLevel(level: LogLevel): void;
}

export function createLog({ level, facts = {}, clock = systemClock, write }: LogParts): LeveledLog {
  const threshold = { level };
  const stream = write ? { write } : destination({ dest: 2, sync: true });
  const logger = pino(
    {
      // The threshold below decides what is written; children share it, and it may change.
      level: 'trace',
      base: withoutSecrets(facts),
      timestamp: () => `,"time":"${timestamp(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  const rate = createLogRate(clock, (sentence, left) => {
    const [level, message] = partsOf(sentence);
    const facts = { left, seconds: limits.logSpanMs / 1000, message };
    logger[level](facts, 'further lines of one kind were left out');
  });
  return {
    ...wrap(logger, threshold, rate),
    get level() {
      return threshold.level;
    },
    setLevel: (next) => {
      threshold.level = next;
    },
  };
}

/** The part of pino that is used here. */
interface Sink {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  child(facts: Record<string, unknown>): Sink;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

const sentenceOf = (level: Level, message: string) => `${level} ${message}`;

function partsOf(sentence: string): [level: Level, message: string] {
  const space = sentence.indexOf(' ');
  return [sentence.slice(0, space) as Level, sentence.slice(space + 1)];
}

type Threshold = { level: LogLevel };

type ChildLog = Log & Pick<LeveledLog, 'child'>;

function wrap(sink: Sink, threshold: Threshold, rate: LogRate): ChildLog {
  const isOn = (level: LogLevel) => logLevels.indexOf(level) >= logLevels.indexOf(threshold.level);
  const at = (level: Level) => (facts: object, message: string) => {
    if (!isOn(level)) return;
    const text = withoutSecretText(message);
    if (level === 'debug' || rate.admits(sentenceOf(level, text))) sink[level](withoutSecrets(facts), text);
  };
  return {
    debug: at('debug'),
    isDebug: () => isOn('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (facts) => wrap(sink.child(withoutSecrets(facts)), threshold, rate),
  };
}

const secretName =
  /token|secret|passw|credential|creds$|authorization|cookie|hmac|^seed$|nkey|(private|account|api|tls)[-_.]?key|^key$/i;
const hidden = '[hidden]';

/** A copy of `facts`, bounded in depth and size, without anything that looks like a secret. */
export function withoutSecrets(facts: object): Record<string, unknown> {
  return Object.fromEntries(entriesOf(facts, 0));
}

function entriesOf(facts: object, depth: number): [string, unknown][] {
  return Object.entries(facts)
    .slice(0, limits.logFields)
    .map(([name, value]) => [name, isSecret(name, value) ? hidden : clean(value, depth + 1)]);
}

function isSecret(name: string, value: unknown): boolean {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number')
    return false;
  // The key of an effect contains names, no secret.
  return secretName.test(name) && !(name === 'key' && typeof value === 'string' && senderOf(value) !== null);
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutSecretText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > limits.logDepth) return '[deeper]';
  if (value instanceof Error) return cleanError(value, depth);
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (Array.isArray(value)) return value.slice(0, limits.logFields).map((item) => clean(item, depth + 1));
  return Object.fromEntries(entriesOf(value, depth));
}

function cleanError(error: Error, depth: number): Record<string, unknown> {
  const known =
    error instanceof OrreryError ? { code: error.code, facts: clean(error.facts, depth + 1) } : {};
  return {
    type: error.name,
    message: withoutSecretText(error.message),
    ...known,
    stack: withoutSecretText(error.stack ?? ''),
    ...(error.cause === undefined ? {} : { cause: clean(error.cause, depth + 1) }),
  };
}

/**
 * Secrets recognized by their form: PEM private keys, JSON web tokens, bearer tokens, NATS seeds, passwords
 * in URLs.
 */
const secretForms: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/g, hidden],
  [/\b(bearer|authorization:\s*basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${hidden}`],
  [/\bS[UAONCX][A-Z2-7]{54,}/g, hidden],
  [/(:\/\/)[^\s/@]+@/g, `$1${hidden}@`],
];

export function withoutSecretText(text: string): string {
  const short = text.length > limits.logTextChars ? `${text.slice(0, limits.logTextChars)}…` : text;
  return secretForms.reduce((left, [form, instead]) => left.replace(form, instead), short);
}

/**
 * Bounds the lines for each sentence. A sentence is the same each time (log-port.ts), so there are few of
 * them.
 */
interface LogRate {
  /** Whether another line with this sentence may be written now. */
  admits(sentence: string): boolean;
}

interface Span {
  /** Monotonic, ms. */
  readonly until: number;
  written: number;
  /** Number of lines left out. */
  left: number;
}

/** @param tell called at the end of a span in which lines were left out */
function createLogRate(clock: Clock, tell: (sentence: string, left: number) => void): LogRate {
  const spans = new Map<string, Span>();
  const begin = (sentence: string, now: number): Span => {
    const span = { until: now + limits.logSpanMs, written: 0, left: 0 };
    // Sentences with names in them are not worth remembering.
    if (spans.size >= limits.logSentences) forgetOver(spans, now);
    if (spans.size < limits.logSentences) spans.set(sentence, span);
    return span;
  };
  const leave = (sentence: string, span: Span, now: number) => {
    span.left++;
    if (span.left > 1) return;
    clock.after(span.until - now, () => {
      if (spans.get(sentence) === span) spans.delete(sentence);
      tell(sentence, span.left);
    });
  };
  return {
    admits(sentence) {
      const now = clock.monotonic();
      const known = spans.get(sentence);
      const span = known !== undefined && known.until > now ? known : begin(sentence, now);
      if (span.written >= limits.logLinesPerSpan) leave(sentence, span, now);
      else span.written++;
      return span.left === 0;
    },
  };
}

function forgetOver(spans: Map<string, Span>, now: number): void {
  for (const [sentence, { until }] of spans) if (until <= now) spans.delete(sentence);
}
