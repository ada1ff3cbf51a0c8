/**
 * `orrery token`: prints a short-lived token for the inspector and the API.
 *
 * Requests a token for one of the two service accounts that an installation has for this
 * (deploy/base/orrery.yaml): the person needs the permission to `create` `serviceaccounts/token` there. The
 * token goes to standard output only (I9).
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { duration, notAllowed } from '../base/config-values.ts';
import { asError, hasCode, OrreryError } from '../base/errors.ts';
import type { KubePort } from '../base/kube-port.ts';
import { limits } from '../base/limits.ts';
import { systemRandom } from '../base/random.ts';
import { devFile } from './dev-file.ts';
import type { Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

interface TokenFlags {
  readonly send?: boolean;
  readonly duration: string;
  readonly namespace: string;
  readonly serviceAccount?: string;
  readonly kubeconfig?: string;
}

/** Kubernetes issues no token for less. */
const shortestMs = 600_000;
export const accounts = { look: 'orrery-inspector-view', send: 'orrery-inspector-operate' } as const;

const examples = `
Examples:
  orrery token                              paste it into the inspector's sign-in page
  orrery token --send --duration 10m        one that may also send events
  curl -H "Authorization: Bearer $(orrery token)" https://orrery.example.com/api/v1/actors`;

export function tokenCommand(program: Program, terminal: Terminal): void {
  program
    .command('token')
    .summary('a short-lived token for the inspector')
    .description(
      'Print a short-lived token for the inspector and the API, made by Kubernetes for a service account.',
    )
    .option('--send', 'a token that may send events, not only look')
    .option('--duration <TIME>', 'lifetime: 10m or more', '1h')
    .option('-n, --namespace <NS>', 'where Orrery is installed', 'orrery')
    .option('--service-account <NAME>', `whose token (default: ${accounts.look}, or ${accounts.send})`)
    .option(
      '--kubeconfig <FILE>',
      'the Kubernetes API (env: KUBECONFIG; default: the one of `orrery dev` here, then ~/.kube/config)',
    )
    .addHelpText('after', examples)
    .action((flags: TokenFlags) => printToken(flags, terminal));
}

async function printToken(flags: TokenFlags, terminal: Terminal): Promise<void> {
  const seconds = readSeconds(flags.duration);
  const name = flags.serviceAccount ?? (flags.send ? accounts.send : accounts.look);
  const { connectKube } = await import('../kube/api/kube-connection.ts');
  const kubeconfig = whichKubeconfig(flags, terminal);
  const kube = connectKube({ clock: systemClock, random: systemRandom, kubeconfig });
  try {
    const { token, expires } = await requestToken(kube, flags.namespace, name, seconds);
    terminal.out(`${token}\n`);
    terminal.err(`token of ${flags.namespace}/${name}, valid until ${expires}\n`);
  } finally {
    kube.close();
  }
}

function readSeconds(text: string): number {
  const ms = duration.read(text);
  if (ms !== undefined && ms >= shortestMs) return Math.floor(ms / 1000);
  throw notAllowed('--duration', text, `${duration.allowed}, at least 10m`);
}

/** For a command that talks to Kubernetes itself. */
export function whichKubeconfig(
  { kubeconfig }: { readonly kubeconfig?: string | undefined },
  { env, directory }: Terminal,
): string | undefined {
  const given = kubeconfig ?? (env.ORRERY_KUBECONFIG || env.KUBECONFIG || undefined);
  if (given !== undefined) return given;
  const here = join(directory, dirname(devFile), 'kubeconfig');
  if (existsSync(join(directory, devFile)) && existsSync(here)) return here;
  const own = join(env.HOME ?? homedir(), '.kube', 'config');
  return existsSync(own) ? own : undefined;
}

/** @throws OrreryError KUBE_NOT_FOUND, KUBE_REFUSED, with what to do */
export async function requestToken(
  kube: Pick<KubePort, 'create'>,
  namespace: string,
  name: string,
  expirationSeconds: number,
): Promise<{ readonly token: string; readonly expires: string }> {
  const [{ coreResource }, { audience }] = await Promise.all([
    import('../kube/api/resources.ts'),
    import('../kube/api/token-review.ts'),
  ]);
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, namespace },
    spec: { audiences: [audience], expirationSeconds },
  };
  try {
    const signal = AbortSignal.timeout(limits.kubeRequestMs);
    const { status } = await kube.create(
      coreResource('serviceaccounts', 'ServiceAccount'),
      request,
      signal,
      'token',
    );
    const { token, expirationTimestamp } = (status ?? {}) as {
      token?: unknown;
      expirationTimestamp?: unknown;
    };
    if (typeof token !== 'string' || token === '')
      throw new OrreryError('KUBE_SERVER', 'Kubernetes answered without a token');
    return { token, expires: String(expirationTimestamp) };
  } catch (error) {
    // With a wrong token no role helps.
    if (hasCode(error, 'KUBE_REFUSED') && error.facts.status !== 401) {
      const text = `${asError(error).message} (${allowing(namespace, name)})`;
      throw new OrreryError('KUBE_REFUSED', text, { cause: error });
    }
    if (hasCode(error, 'KUBE_UNREACHABLE')) {
      const text = `the Kubernetes API cannot be reached: ${error.message} (is it the right kubeconfig, or --context?)`;
      throw new OrreryError('KUBE_UNREACHABLE', text, { cause: error });
    }
    if (!hasCode(error, 'KUBE_NOT_FOUND')) throw error;
    const hint = 'is Orrery installed there? Name another with --namespace and --service-account';
    throw new OrreryError('KUBE_NOT_FOUND', `there is no service account ${namespace}/${name}: ${hint}`, {
      cause: error,
    });
  }
}

/** The chart has a Role for those who look; who may send is for the cluster's owner to say. */
function allowing(namespace: string, name: string): string {
  if (name === accounts.look) return `the Role orrery-kubectl of namespace ${namespace} allows it`;
  return `a Role of namespace ${namespace} has to allow create of serviceaccounts/token for ${name}`;
}
