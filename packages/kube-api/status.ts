/**
 * The errors of the API server: the `Status` object with code, reason and details, in the real server's
 * words.
 *
 * Owns `ApiError`, which every room may throw and only `http/http-server.ts` turns into an answer.
 */
import type { Cause } from './causes.ts';
import type { JsonObject } from './json.ts';

/** A resource as errors name it: plural and group. */
export interface ResourceName {
  readonly plural: string;
  readonly group: string;
}

/** A kind as errors of validation name it. */
export interface KindName {
  readonly kind: string;
  readonly group: string;
}

export interface ErrorDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: ReadonlyArray<{ reason: string; message: string; field?: string }>;
  readonly retryAfterSeconds?: number;
}

export class ApiError extends Error {
  readonly code: number;
  /** Empty if the real server gives no reason. */
  readonly reason: string;
  readonly details: ErrorDetails | undefined;
  /** `metadata.continue` of the Status: how to go on after an expired list. */
  readonly continueToken: string;

  constructor(
    code: number,
    reason: string,
    message: string,
    options: { details?: ErrorDetails; continueToken?: string } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = options.details;
    this.continueToken = options.continueToken ?? '';
  }

  status(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === '' ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: { ...this.details } as unknown as JsonObject }),
      code: this.code,
    };
  }
}

/** `deployments.apps`, or `pods` in the core group. */
export function qualified(name: ResourceName | KindName): string {
  const short = 'plural' in name ? name.plural : name.kind;
  return name.group === '' ? short : `${short}.${name.group}`;
}

function detailsOf(name: ResourceName | KindName, objectName: string): ErrorDetails {
  const kind = 'plural' in name ? name.plural : name.kind;
  return {
    ...(objectName === '' ? {} : { name: objectName }),
    ...(name.group === '' ? {} : { group: name.group }),
    ...(kind === '' ? {} : { kind }),
  };
}

export function notFound(resource: ResourceName, name: string): ApiError {
  const message = `${qualified(resource)} ${JSON.stringify(name)} not found`;
  return new ApiError(404, 'NotFound', message, { details: detailsOf(resource, name) });
}

/** Nothing exists at this path. */
export function noSuchPath(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });
}

/** Only real containers could answer this; the development cluster's Pods are servers within one process. */
export function noContainers(part: string): ApiError {
  const message = `pods/${part} is not there: Pods of the development cluster have no containers, only servers within one process`;
  return new ApiError(501, 'NotImplemented', message, { details: {} });
}

export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(405, 'MethodNotAllowed', message, { details: {} });
}

export function alreadyExists(resource: ResourceName, name: string): ApiError {
  const message = `${qualified(resource)} ${JSON.stringify(name)} already exists`;
  return new ApiError(409, 'AlreadyExists', message, { details: detailsOf(resource, name) });
}

export function conflict(resource: ResourceName | KindName, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} ${JSON.stringify(name)}: ${why}`;
  return new ApiError(409, 'Conflict', message, { details: detailsOf(resource, name) });
}

/** Somebody else has written the object since the caller read it. */
export function modified(resource: ResourceName, name: string): ApiError {
  return conflict(
    resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function forbidden(
  resource: ResourceName,
  name: string,
  why: string,
  causes?: ErrorDetails['causes'],
) {
  const message = `${qualified(resource)} ${JSON.stringify(name)} is forbidden: ${why}`;
  const details = { ...detailsOf(resource, name), ...(causes === undefined ? {} : { causes }) };
  return new ApiError(403, 'Forbidden', message, { details });
}

/**
 * The caller asked too early.
 * @param seconds after which it may ask again; absent: the server does not know
 */
export function tooManyRequests(
  message: string,
  causes: NonNullable<ErrorDetails['causes']>,
  seconds?: number,
): ApiError {
  const wait = seconds === undefined ? {} : { retryAfterSeconds: seconds };
  return new ApiError(429, 'TooManyRequests', message, { details: { causes, ...wait } });
}

/** The object breaks rules of its kind (422). */
export function invalid(kind: KindName | ResourceName, name: string, causes: readonly Cause[]): ApiError {
  const texts = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const all = texts.length === 1 ? texts[0] : `[${[...new Set(texts)].join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualified(kind)} ${JSON.stringify(name)} is invalid: ${all}`, {
    details: {
      ...detailsOf(kind, name),
      causes: causes.map((cause) => ({
        reason: cause.reason,
        message: cause.message,
        field: cause.field,
      })),
    },
  });
}

/** A JSON patch that cannot be applied; the real server says nothing more. */
export function patchRejected(): ApiError {
  const message = 'the server rejected our request due to an error in our request';
  return new ApiError(422, 'Invalid', message, { details: {} });
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

export function unsupportedMedia(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}

/** A media type that is not a patch at all. */
export function unknownMedia(): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', { details: {} });
}

export function notAcceptable(offered: readonly string[]): ApiError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${offered.join(', ')}`;
  return new ApiError(406, 'NotAcceptable', message, { details: {} });
}

export function bodyTooLarge(bytesMax: number): ApiError {
  return new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bytesMax}`);
}

/** The requested version is no longer in the history. */
export function expired(message: string, continueToken = ''): ApiError {
  return new ApiError(410, 'Expired', message, { continueToken });
}

/** The requested version does not exist yet. */
export function versionTooLarge(asked: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}

/** A fault of this server. */
export function internalError(message: string): ApiError {
  return new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, { details: {} });
}

/** The real server's answer where it passes on a plain error: 500 without a reason. */
export function plainError(message: string): ApiError {
  return new ApiError(500, '', message);
}
