/**
 * `orrery adopt certificates`: takes over certificates from another controller, without new orders.
 *
 * Prints one line for each step or obstacle; the feature does the work.
 */
import { systemClock } from '../base/clock.ts';
import { notAllowed } from '../base/config-values.ts';
import { systemRandom } from '../base/random.ts';
import type { Program } from './parser.ts';
import type { Terminal } from './terminal.ts';
import { whichKubeconfig } from './token.ts';

interface AdoptFlags {
  readonly from: string;
  readonly namespace: string;
  readonly clusterResourceNamespace: string;
  readonly dryRun?: boolean;
  readonly kubeconfig?: string;
}

const patienceMs = 300_000;

const examples = `
Examples:
  orrery adopt certificates --from cert-manager -n shop --dry-run     what would be written, and what cannot be expressed
  orrery adopt certificates --from cert-manager -n shop`;

export function adoptCommand(program: Program, terminal: Terminal): void {
  const adopt = program.command('adopt').summary('take over from another controller');
  // With an action of its own a command has none for help by itself.
  adopt.helpCommand(true);
  adopt.allowExcessArguments().action(() => {
    throw notAllowed('COMMAND', adopt.args[0] ?? '', 'certificates');
  });
  adopt
    .command('certificates')
    .summary('take over the certificates of a namespace')
    .description(
      'Write Domains and Issuers for the Certificates of a namespace, and take over their Secrets without a new order.',
    )
    .requiredOption('--from <CONTROLLER>', 'the controller that manages them now: cert-manager')
    .requiredOption('-n, --namespace <NS>', 'whose Certificates')
    .option('--dry-run', 'print what would be written; write nothing')
    .option(
      '--cluster-resource-namespace <NS>',
      'where cert-manager keeps the Secrets of ClusterIssuers',
      'cert-manager',
    )
    .option('--kubeconfig <FILE>', 'the Kubernetes API (env: KUBECONFIG; default: ~/.kube/config)')
    .addHelpText('after', examples)
    .action((flags: AdoptFlags) => adoptFrom(flags, terminal));
}

async function adoptFrom(flags: AdoptFlags, terminal: Terminal): Promise<void> {
  if (flags.from !== 'cert-manager') throw notAllowed('--from', flags.from, 'cert-manager');
  const [{ connectKube }, { adoptCertificates }] = await Promise.all([
    import('../kube/api/kube-connection.ts'),
    import('../features/certificates/adoption/adopt.ts'),
  ]);
  const kubeconfig = whichKubeconfig(flags, terminal);
  const kube = connectKube({ clock: systemClock, random: systemRandom, kubeconfig });
  const options = {
    namespace: flags.namespace,
    clusterNamespace: flags.clusterResourceNamespace,
    isDry: flags.dryRun === true,
  };
  try {
    const say = (line: string) => terminal.out(`${line}\n`);
    await adoptCertificates(kube, options, say, AbortSignal.timeout(patienceMs));
  } finally {
    kube.close();
  }
}
