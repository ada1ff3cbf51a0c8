/** The `token` subresource of ServiceAccounts: issues a token for whoever acts in the account's name. */
import { kubeTime } from '../../../src/base/kube-time.ts';
import { invalidValue } from '../causes.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { type JsonObject, listAt, numberAt, objectAt } from '../json.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import { DecodeError, decode } from '../schema/typed-decode.ts';
import { badRequest, invalid } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { existing } from '../verbs/read.ts';
import { bodyObject } from '../writing/body.ts';
import { isDryRun } from '../writing/options.ts';
import { ownAudience } from './tokens.ts';

/** Seconds: Kubernetes' default, and its bounds. */
const lifetime = { default: 3600, min: 600, max: 2 ** 32 };

export function requestToken(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { object } = existing(cluster, target);
  const { name, namespace = '', uid } = object.metadata;
  const sent = objectAt(sentRequest(request, target), 'spec') ?? {};
  const seconds = numberAt(sent, 'expirationSeconds') ?? lifetime.default;
  checkLifetime(seconds);
  const asked = listAt(sent, 'audiences').map(String);
  const audiences = asked.length === 0 ? [ownAudience] : asked;
  const now = cluster.clock.now();
  const expiresAt = now + seconds * 1000;
  const token = isDryRun(request.query)
    ? ''
    : cluster.tokens.issue({ namespace, name, uid }, audiences, expiresAt);
  const body = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, uid, creationTimestamp: kubeTime(now) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: sent.boundObjectRef ?? null },
    status: { token, expirationTimestamp: kubeTime(expiresAt) },
  };
  return { code: 201, body: JSON.stringify(body) };
}

function sentRequest(request: ApiRequest, target: Target): JsonObject {
  const kind = 'TokenRequest';
  try {
    const value = bodyObject(request, { ...target.resource, kind });
    return decode(builtinSchema('AuthenticationV1TokenRequest'), value, []) as JsonObject;
  } catch (thrown) {
    if (!(thrown instanceof DecodeError)) throw thrown;
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${thrown.message}`);
  }
}

function checkLifetime(seconds: number): void {
  const text =
    seconds < lifetime.min
      ? 'may not specify a duration less than 10 minutes'
      : seconds > lifetime.max
        ? 'may not specify a duration larger than 2^32 seconds'
        : undefined;
  if (text === undefined) return;
  throw invalid({ kind: 'TokenRequest', group: 'authentication.k8s.io' }, '', [
    invalidValue('spec.expirationSeconds', seconds, text),
  ]);
}
