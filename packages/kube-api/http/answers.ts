/** Answers that are the same for every server: version, health, index. */
import type { ApiError } from '../status.ts';
import type { Answer } from './request.ts';

/** The Kubernetes release whose behaviour this server follows. */
const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+orrery',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'node/any',
};

/** Paths that anybody may ask, as in the real server. */
export function publicAnswer(path: string): Answer | undefined {
  if (path === '/version' || path === '/version/') return jsonAnswer(200, version);
  if (!/^\/(healthz|livez|readyz)(\/|$)/.test(path)) return undefined;
  return { code: 200, body: 'ok', contentType: 'text/plain; charset=utf-8' };
}

export function jsonAnswer(code: number, value: object): Answer {
  return { code, body: JSON.stringify(value) };
}

export function pageNotFound(): Answer {
  return { code: 404, body: '404 page not found\n', contentType: 'text/plain; charset=utf-8' };
}

export function errorAnswer(error: ApiError): Answer {
  return jsonAnswer(error.code, error.status());
}
