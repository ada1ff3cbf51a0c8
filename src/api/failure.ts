/** How a chart learns of a failed effect. */
import { asError, type OrreryError } from '../base/errors.ts';
import type { PlainEvent } from '../base/plain-event.ts';

/** Thrown by the runner of an effect: `<name>.failed` tells the chart the code and the pause. */
export class Failure extends Error {
  readonly code: string;
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    options: { readonly code?: string; readonly retryAfterMs?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = options.code ?? 'FAILED';
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** @param cause the exception; absent: a timeout */
export function failedEvent(type: string, message: string, cause?: unknown): PlainEvent {
  return { type: `${type}.failed`, message, ...detailsOf(cause) };
}

function detailsOf(cause: unknown): {
  readonly code: string;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
} {
  if (cause === undefined) return { code: 'TIMEOUT', status: null, retryAfterMs: null };
  const { code = 'FAILED', retryAfterMs, facts } = asError(cause) as Partial<Failure> & Partial<OrreryError>;
  const { status = null, retryAfterMs: asked = null } = facts ?? {};
  return {
    code: String(code),
    status: typeof status === 'number' ? status : null,
    retryAfterMs: numberOf(retryAfterMs) ?? numberOf(asked),
  };
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
