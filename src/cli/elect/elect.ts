/** `orrery elect`: runs a command only while leading an election. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { machineClock } from '../../actors/time/machine-clock.ts';
import { sleep, systemClock } from '../../base/clock.ts';
import { notAllowed } from '../../base/config-values.ts';
import { asError, hasCode } from '../../base/errors.ts';
import { silentLog } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import type { KubeConnection } from '../../kube/api/kube-connection.ts';
import { defaultTiming, type ElectionTiming, type LeasePlace } from '../../machines/election/lease-record.ts';
import { environmentName } from '../../replica/config.ts';
import { devFile } from '../dev-file.ts';
import { CommandEnded, CommandFailed, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { readTiming, type TimingFlags, timingWith } from './elect-timing.ts';

const examples = `
Examples:
  orrery elect shop/worker --id "$(hostname)" -- ./worker
  orrery elect shop/worker --id a --keep -- sh -c 'echo leading under term $ORRERY_TERM; exec sleep 600'

COMMAND starts when this process has won, with ORRERY_TERM and ORRERY_ELECTION in its environment. When the leadership is lost it gets
SIGTERM, and SIGKILL when the Lease is over. orrery passes signals on to it and ends with its exit code. Who leads is decided by the Lease
NS/NAME, or the one that the Election NS/NAME names; programs with client-go's leader election may contend for it, too.`;

interface ElectFlags extends TimingFlags {
  readonly id: string;
  readonly keep?: true;
  readonly kubeconfig?: string;
}

export function electCommand(program: Program, terminal: Terminal): void {
  const seconds = (ms: number) => `default: that of the Election, else ${ms / 1_000}`;
  program
    .command('elect')
    .summary('run a command only while leading an election')
    .description('Run COMMAND only while leading the election NS/NAME; end it when leadership is lost.')
    .argument('<election>', 'NAMESPACE/NAME')
    .argument('<command...>', 'what to run, after "--"')
    .requiredOption('--id <ID>', 'the candidate; different for each process')
    .option('--keep', 'campaign again when the command has ended')
    .option(
      '--kubeconfig <FILE>',
      'how to reach Kubernetes (env: KUBECONFIG; default: the service account of the Pod)',
    )
    .option(
      '--lease-duration <SECONDS>',
      `how long others respect a silent leader (${seconds(defaultTiming.leaseMs)})`,
    )
    .option(
      '--renew-deadline <SECONDS>',
      `how long it leads without a renewal (${seconds(defaultTiming.renewDeadlineMs)})`,
    )
    .option('--retry-period <SECONDS>', `from one renewal to the next (${seconds(defaultTiming.retryMs)})`)
    .addHelpText('after', examples)
    .action((election: string, command: string[], flags: ElectFlags) =>
      elect(election, command, flags, terminal),
    );
}

async function elect(
  election: string,
  command: readonly string[],
  flags: ElectFlags,
  terminal: Terminal,
): Promise<void> {
  const named = readPlace(election);
  readTiming(flags);
  if (flags.id === '') throw notAllowed('--id', '', 'a text that is not empty');
  const signals = listen();
  const say = (line: string) => terminal.err(`orrery elect: ${line}\n`);
  const { Electing } = await import('./elect-run.ts');
  const kube = await connect(flags, terminal);
  try {
    const held = await findElection(kube, named, say, signals.ended);
    if (held === null) return;
    const electing = new Electing({
      kube,
      clock: machineClock,
      random: systemRandom,
      log: silentLog,
      place: held.place,
      id: flags.id,
      timing: timingWith(flags, held.timing),
      command,
      env: terminal.env,
      keep: flags.keep === true,
      say,
    });
    signals.to((signal) => electing.signal(signal));
    throw new CommandEnded(await electing.ended);
  } finally {
    kube.close();
  }
}

const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** Handles signals that arrive before the command runs: they end us. */
function listen() {
  const early = new AbortController();
  let pass = (signal: NodeJS.Signals) => early.abort(signal);
  for (const signal of passedOn) process.on(signal, () => pass(signal));
  return {
    ended: early.signal,
    to(receiver: (signal: NodeJS.Signals) => void) {
      pass = receiver;
    },
  };
}

async function connect(flags: ElectFlags, { env, directory }: Terminal): Promise<KubeConnection> {
  const { connectKube } = await import('../../kube/api/kube-connection.ts');
  const left = join(directory, devFile, '../kubeconfig');
  const found =
    flags.kubeconfig ??
    env[environmentName('kubeconfig')] ??
    env.KUBECONFIG ??
    (existsSync(left) ? left : undefined);
  return connectKube({ clock: systemClock, random: systemRandom, kubeconfig: found || undefined });
}

/**
 * Without an Election of that name, or without permission to read it, the Lease has that name and the default
 * times.
 */
async function findElection(
  kube: KubeConnection,
  place: LeasePlace,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ readonly place: LeasePlace; readonly timing: ElectionTiming } | null> {
  const [{ elections }, { readElectionSpec }] = await Promise.all([
    import('../../features/elections/resources.ts'),
    import('../../features/elections/election-spec.ts'),
  ]);
  for (let isSaid = false; !signal.aborted; isSaid = true) {
    try {
      const spec = readElectionSpec(await kube.get(elections, place.namespace, place.name, signal));
      if (spec.invalid === null) return spec;
      say(`the Election is not valid: ${spec.invalid}`);
      throw new CommandFailed(spec.invalid);
    } catch (thrown) {
      if (thrown instanceof CommandFailed) throw thrown;
      if (hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_REFUSED')) return { place, timing: defaultTiming };
      if (!isSaid) say(`waits for the Kubernetes API: ${asError(thrown).message}`);
      await sleep(systemClock, defaultTiming.retryMs, signal).catch(() => {});
    }
  }
  return null;
}

function readPlace(text: string): LeasePlace {
  const match = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)\/([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$/.exec(text);
  const [, namespace, , name] = match ?? [];
  if (namespace === undefined || name === undefined) {
    throw notAllowed('ELECTION', text, 'NAMESPACE/NAME of an Election');
  }
  return { namespace, name };
}
