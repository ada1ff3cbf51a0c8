/** `orrery dev` as the command line knows it: its flags and its help. What it runs is imported then. */
import type { Program } from '../../src/cli/parser.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { DevFlags } from './dev-run.ts';

const examples = `
Examples:
  orrery dev
  orrery dev --replicas 1 --no-scenario
  orrery dev --kubeconfig ~/.kube/test   (a kube-apiserver with --service-cluster-ip-range=127.96.0.0/16)

Ctrl-C stops everything. While it runs: KUBECONFIG=.orrery/kubeconfig kubectl get pods -A`;

export function devCommand(program: Program, terminal: Terminal): void {
  program
    .command('dev')
    .summary('run everything on this machine')
    .description(
      'Run a development cluster: a nats-server, a Kubernetes API, a kubelet and service routing of its own, and replicas.',
    )
    .option('--replicas <N>', 'replicas, each a process of its own', '3')
    .option(
      '--http <HOST:PORT>',
      'where the first replica answers; the others on the next ports',
      '127.0.0.1:7070',
    )
    .option('--dir <DIR>', 'the folder that holds everything', '.orrery')
    .option('--kubeconfig <FILE>', 'use this Kubernetes API instead of one of our own')
    .option('--no-scenario', 'do not play the scenario')
    .option('--requests <N>', 'requests a second of the scenario, through the Services', '100')
    .option('--feature <PATH>', 'a feature for the replicas to load; repeatable', (path, before?: string) =>
      before === undefined ? path : `${before},${path}`,
    )
    .option('--program <FILE>', 'what each replica runs, such as dist/main.js; by default these sources')
    .addHelpText('after', examples)
    .action(async (flags: DevFlags) => (await import('./dev-run.ts')).runDev(flags, terminal));
}
