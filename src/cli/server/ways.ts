/**
 * The two ways to Orrery's HTTP: directly to its address, or through the Kubernetes API to its Service, for
 * people who have only a kubeconfig.
 *
 * Promise: the token is the given one, otherwise a short-lived one that Kubernetes issues for the account
 * with exactly the needed permission; it's kept in memory only (I9).
 */
import { systemClock } from '../../base/clock.ts';
import { readGivenFile } from '../../base/config-values.ts';
import { hasCode } from '../../base/errors.ts';
import { systemRandom } from '../../base/random.ts';
import { tokenHeader } from '../../inspector/http/credentials.ts';
import { connectKube, kubeAccess } from '../../kube/api/kube-connection.ts';
import type { Access } from '../../kube/api/kube-http.ts';
import type { Terminal } from '../terminal.ts';
import { accounts, requestToken, whichKubeconfig } from '../token.ts';
import type { Right, Way } from './http-exchange.ts';
import type { ServerChoice, ServicePlace } from './server-choice.ts';

/** Long enough for any command except those that watch, which request another. */
const tokenSeconds = 3_600;
const namespaceOfAccounts = 'orrery';

/** @throws OrreryError USAGE */
export function wayTo(chosen: ServerChoice, terminal: Terminal): Way {
  const tokens = tokensFor(chosen, terminal);
  return chosen.place === null
    ? straight(chosen, tokens)
    : throughKubernetes(chosen, chosen.place, tokens, terminal);
}

function straight({ server, caFile }: ServerChoice, tokens: Tokens): Way {
  const tls = caFile === undefined ? {} : { ca: readGivenFile('server-ca', caFile) };
  return {
    name: server,
    access: async (right, refused): Promise<Access> => {
      const token = await tokens.of(right, refused);
      const headers = { 'user-agent': 'orrery', ...(token === null ? {} : { [tokenHeader]: token }) };
      return { server, headers, tls };
    },
    close: tokens.close,
  };
}

function throughKubernetes(
  chosen: ServerChoice,
  { namespace, service }: ServicePlace,
  tokens: Tokens,
  terminal: Terminal,
): Way {
  const getAccess = kubeAccess(kubeParts(chosen, terminal));
  const path = `/api/v1/namespaces/${namespace}/services/${service}/proxy`;
  return {
    name: `${namespace}/${service.replace(/^http:/, '')} through the Kubernetes API`,
    access: async (right, refused): Promise<Access> => {
      const { signal } = new AbortController();
      const [access, token] = await Promise.all([getAccess(refused, signal), tokens.of(right, refused)]);
      const headers = { ...access.headers, ...(token === null ? {} : { [tokenHeader]: token }) };
      return { ...access, headers, server: access.server.replace(/\/+$/, '') + path };
    },
    close: tokens.close,
  };
}

interface Tokens {
  /** null: none is available. */
  of(right: Right, refused: boolean): Promise<string | null>;
  close(): void;
}

function tokensFor(chosen: ServerChoice, terminal: Terminal): Tokens {
  const given = terminal.env.ORRERY_TOKEN || undefined;
  const { tokenFile } = chosen;
  // Read each time, because something may refresh the file.
  if (tokenFile !== undefined) {
    return {
      of: async () => readGivenFile('token-file', tokenFile).toString('utf8').trim(),
      close: () => {},
    };
  }
  if (given !== undefined) return { of: async () => given.trim(), close: () => {} };
  if (kubeParts(chosen, terminal).kubeconfig === undefined) return { of: async () => null, close: () => {} };
  return tokensOfKubernetes(chosen, terminal);
}

function tokensOfKubernetes(chosen: ServerChoice, terminal: Terminal): Tokens {
  const kube = connectKube(kubeParts(chosen, terminal));
  const namespace = chosen.place?.namespace ?? namespaceOfAccounts;
  const known = new Map<Right, Promise<string | null>>();
  const ofAccount = async (account: string): Promise<string | null> => {
    try {
      return (await requestToken(kube, namespace, account, tokenSeconds)).token;
    } catch (thrown) {
      // An Orrery without authentication, as in development, needs no token.
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
      throw thrown;
    }
  };
  const request = async (right: Right): Promise<string | null> => {
    const account = right === 'get' ? accounts.look : accounts.send;
    const named = account.replace('orrery', installationOf(chosen.place));
    if (named === account) return ofAccount(account);
    // A Service of somebody's own making leads to the accounts of "orrery".
    return (await ofAccount(named).catch(() => null)) ?? ofAccount(account);
  };
  return {
    of(right, refused) {
      const token = refused ? undefined : known.get(right);
      if (token !== undefined) return token;
      const asked = request(right);
      known.set(right, asked);
      return asked;
    },
    close: () => kube.close(),
  };
}

/** The chart names Service and accounts after the release. */
function installationOf(place: ServicePlace | null): string {
  return place?.service.split(':')[1] ?? 'orrery';
}

function kubeParts({ kubeconfig, context }: ServerChoice, terminal: Terminal) {
  const file = whichKubeconfig({ kubeconfig }, terminal);
  return { clock: systemClock, random: systemRandom, context, kubeconfig: file };
}
