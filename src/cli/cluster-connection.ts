/**
 * The connection of the reading commands to a running Orrery.
 *
 * Promises: the Orrery is chosen by the flags, then the environment, then the file that `orrery dev` writes
 * into the working directory, then the defaults; an unreachable one is reported within `limits.cliConnectMs`,
 * and a request without an answer after `limits.cliAnswerMs` (no-answer.ts).
 */

import { systemClock, type Timer } from '../base/clock.ts';
import { hasCode, OrreryError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { silentLog } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { ControlPort, ForgetAnswer, StoredPort } from '../base/views.ts';
import type { Bus } from '../bus/bus.ts';
import { withoutPasswords } from '../bus/nats/server/nats-url.ts';
import { subjects as subjectsOf } from '../bus/subjects.ts';
import { type ClientConfig, type FlagTexts, isGiven, readClientConfig } from '../replica/config.ts';
import { natsAccess } from '../replica/nats-access.ts';
import { devFile, hasDevFile, readDevFile } from './dev-file.ts';
import { busFeed, type Feed, type FeedScope } from './events/events-log.ts';
import { noAnswer } from './no-answer.ts';
import { givenServer, rememberedServer, type ServerChoice } from './server/server-choice.ts';
import type { Terminal } from './terminal.ts';

export interface Client {
  readonly control: ControlPort & StoredPort;
  /** Removes the remains of a kind; absent over HTTP. */
  readonly forget?: (kind: string, dryRun: boolean) => Promise<ForgetAnswer>;
  /** Live events. */
  readonly feed: (scope: FeedScope) => Feed;
}

/**
 * Calls `use` with a connection and closes it afterwards.
 *
 * @throws OrreryError USAGE | BUS_UNREACHABLE, whose messages say what to do
 */
export async function withClient<T>(
  given: FlagTexts,
  terminal: Terminal,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const chosen = whichServer(given, terminal);
  return chosen === undefined ? overNats(given, terminal, use) : overHttp(chosen, terminal, use);
}

/**
 * In this order: flags or environment, the `orrery dev` of this folder, the choice of `orrery login`.
 * `kubectl orrery` uses the kubeconfig's cluster unless a flag says otherwise.
 *
 * @returns undefined: over NATS
 */
export function whichServer(given: FlagTexts, terminal: Terminal): ServerChoice | undefined {
  const server = givenServer(given, terminal);
  if (server !== undefined || given.nats !== undefined) return server;
  if (terminal.isPlugin) return givenServer({ ...given, server: 'kube' }, terminal);
  if (isGiven('nats', given, terminal.env) || hasDevFile(terminal.directory)) return undefined;
  return rememberedServer(terminal);
}

async function overHttp<T>(
  chosen: ServerChoice,
  terminal: Terminal,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const [{ wayTo }, { createHttpControl }, { polledFeed }] = await Promise.all([
    import('./server/ways.ts'),
    import('./server/http-control.ts'),
    import('./server/polled-feed.ts'),
  ]);
  const way = wayTo(chosen, terminal);
  const control = createHttpControl(way);
  try {
    return await use({ control, feed: (scope) => polledFeed(control.history, scope, systemClock) });
  } finally {
    way.close();
  }
}

async function overNats<T>(
  given: FlagTexts,
  terminal: Terminal,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const { config, hint } = whichOrrery(given, terminal);
  const [bus, { createControl, createForget }] = await Promise.all([
    connect(config, hint),
    import('../actors/control/control-client.ts'),
  ]);
  const subjects = subjectsOf(config.cluster);
  const asking = { bus, subjects, persistence: systemClock };
  const control = createControl(asking);
  try {
    const forget = createForget(asking);
    return await use({ control, forget, feed: (scope) => busFeed({ bus, subjects }, scope) });
  } catch (error) {
    const where = `${serversOf(config.nats)}${hint}`;
    if (hasCode(error, 'BUS_UNREACHABLE'))
      throw noAnswer(error, { cluster: config.cluster, where }, bus.troubles());
    throw error;
  } finally {
    await bus.close();
  }
}

async function connect({ cluster, nats }: ClientConfig, hint: string): Promise<Bus> {
  const { connectNats } = await import('../bus/nats/nats.ts');
  const givenUp = new AbortController();
  const noNats = (reason: string) =>
    new OrreryError('BUS_UNREACHABLE', `no NATS at ${serversOf(nats)}${hint}: ${reason}`);
  // A replica would retry forever; a person wants to know the first reason, which goes to the log.
  let refuse = (_error: OrreryError) => {};
  const refused = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const warn = (facts: object) => refuse(noNats('reason' in facts ? String(facts.reason) : 'refused'));
  const connecting = connectNats({
    ...natsAccess(nats),
    name: 'orrery command line',
    cluster,
    clock: systemClock,
    random: systemRandom,
    log: { ...silentLog, warn },
    signal: givenUp.signal,
  });
  return bounded(Promise.race([connecting, refused]), () => noNats('no answer')).finally(() =>
    givenUp.abort(),
  );
}

/** Settles like `work`, or rejects after `limits.cliConnectMs`. */
export async function bounded<T>(work: Promise<T>, overdue: () => OrreryError): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = systemClock.after(limits.cliConnectMs, () => reject(overdue()));
  });
  return Promise.race([work, late]).finally(() => timer?.cancel());
}

/** The configuration and its origin, for the message when nobody answers. */
export function whichOrrery(given: FlagTexts, terminal: Terminal): { config: ClientConfig; hint: string } {
  const { env, directory } = terminal;
  const isNamed = isGiven('nats', given, env);
  const found = isNamed ? undefined : readDevFile(directory);
  const ofNobody = ' (the default: give --server or --nats, or run this in the folder of "orrery dev")';
  if (found === undefined) return { config: readClientConfig(given, env), hint: isNamed ? '' : ofNobody };
  const { nats, cluster } = found;
  const fromFile = isGiven('cluster', given, env) ? { nats } : { nats, cluster };
  const config = readClientConfig({ ...given, ...fromFile }, env);
  return { config, hint: ` (from ${devFile}: is "orrery dev" running?)` };
}

const serversOf = ({ servers }: ClientConfig['nats']) => withoutPasswords(servers.join(','));
