/**
 * `orrery access`: prints the permissions that a set of features needs, in Kubernetes and in NATS. Needs no
 * running Orrery.
 */
import type { Feature } from '../../actors/feature.ts';
import type { Need } from '../../actors/need.ts';
import { subjects as subjectsOf } from '../../bus/subjects.ts';
import { readClientConfig, readFeaturePlaces } from '../../replica/config.ts';
import { addClientFlags, addFeatureFlag, flagTexts, formatOption, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';

const examples = `
Examples:
  orrery access --feature ./drain/feature.ts | kubectl apply -f -
  orrery access --feature ./drain/feature.ts -o nats

In the YAML the NATS permissions are comments, so that kubectl takes all of it.`;

interface AccessOptions {
  readonly output: 'yaml' | 'nats' | 'json';
  readonly name: string;
  readonly namespace: string;
}

export function accessCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('access')
    .summary('the permissions that the features need')
    .description(
      'Print the ClusterRole and the NATS permissions that the features need, loaded ones included.',
    )
    .option('--name <NAME>', 'name of the roles', 'orrery')
    .option('-n, --namespace <NS>', 'where Orrery is installed', 'orrery')
    .addOption(formatOption('-o, --output <format>', ['yaml', 'nats', 'json']));
  addClientFlags(addFeatureFlag(command)).addHelpText('after', examples);
  command.action(async (options: AccessOptions) => {
    const given = flagTexts({ ...options });
    const [{ loadFeatures }, { featuresOf }, { rightsOf }] = await Promise.all([
      import('../../replica/loaded-features.ts'),
      import('../../replica/features.ts'),
      import('../../replica/rights.ts'),
    ]);
    const loaded = await loadFeatures(readFeaturePlaces(given, terminal.env), terminal.directory);
    const rights = rightsOf([...featuresOf(), ...loaded]);
    const nats = natsRights(readClientConfig(given, terminal.env).cluster, loaded);
    terminal.out(printed(rolesOf(rights, options), nats, options.output));
  });
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly why: string;
}

interface Role {
  readonly kind: 'ClusterRole' | 'Role';
  readonly name: string;
  readonly namespace: string | null;
  readonly rules: readonly Rule[];
}

function rolesOf(rights: readonly Need[], { name, namespace }: AccessOptions): readonly Role[] {
  const rules = (isOwn: boolean): readonly Rule[] => {
    const all = rights.filter(({ isOwnNamespace }) => (isOwnNamespace === true) === isOwn);
    const one = all.map(({ apiGroup, resources, verbs, why }) => ({
      apiGroups: [apiGroup],
      resources,
      verbs,
      why,
    }));
    return [...new Map(one.map(({ why, ...rule }) => [JSON.stringify(rule), { ...rule, why }])).values()];
  };
  const own = rules(true);
  return [
    { kind: 'ClusterRole', name, namespace: null, rules: rules(false) },
    ...(own.length === 0 ? [] : [{ kind: 'Role', name, namespace, rules: own } as const]),
  ];
}

interface NatsRights {
  readonly replica: readonly string[];
  /** Subjects on which people and programs may publish, beyond deploy/nats/permissions.conf. */
  readonly people: readonly string[];
}

function natsRights(cluster: string, loaded: readonly Feature[]): NatsRights {
  const { prefix, rpcFeature } = subjectsOf(cluster);
  const kinds = loaded.flatMap(({ kinds }) => kinds.map(({ chart }) => chart.name));
  return {
    replica: [`${prefix}.>`, '$JS.API.>', '$JS.ACK.>', '$JS.FC.>', '$SRV.>', '_INBOX.>', '_R_.>'],
    people: [
      ...kinds.flatMap((kind) =>
        ['send', 'rpc.send', 'rpc.get'].map((what) => `${prefix}.${what}.${kind}.*.*`),
      ),
      ...loaded.flatMap(({ name, requests = [] }) =>
        requests.map((request) => rpcFeature(name, request.name)),
      ),
    ],
  };
}

function printed(roles: readonly Role[], nats: NatsRights, output: AccessOptions['output']): string {
  const kubernetes = roles.map((role) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: role.kind,
    metadata: role.namespace === null ? { name: role.name } : { name: role.name, namespace: role.namespace },
    rules: role.rules.map(({ why: _, ...rule }) => rule),
  }));
  if (output === 'json') return `${JSON.stringify({ kubernetes, nats }, null, 2)}\n`;
  const conf = natsText(nats);
  if (output === 'nats') return conf;
  const comments = conf.replaceAll(/^(?=.)/gm, '# ').replaceAll(/^$/gm, '#');
  return `${roles.map(roleText).join('---\n')}---\n${comments}`;
}

function roleText({ kind, name, namespace, rules }: Role): string {
  const place = namespace === null ? '' : `\n  namespace: ${namespace}`;
  const list = (words: readonly string[]) => `[${words.map((word) => JSON.stringify(word)).join(', ')}]`;
  const lines = rules.flatMap(({ apiGroups, resources, verbs, why }) => [
    `  # ${why}`,
    `  - apiGroups: ${list(apiGroups)}`,
    `    resources: ${list(resources)}`,
    `    verbs: ${list(verbs)}`,
  ]);
  return `apiVersion: rbac.authorization.k8s.io/v1\nkind: ${kind}\nmetadata:\n  name: ${name}${place}\nrules:\n${lines.join('\n')}\n`;
}

function natsText({ replica, people }: NatsRights): string {
  const list = (subjects: readonly string[]) => subjects.map((subject) => `      "${subject}"\n`).join('');
  return `Permissions of NATS (deploy/nats/permissions.conf): the replicas'
orrery_replica: {
  publish: {
    allow: [
${list(replica)}    ]
  }
}
and what people and programs may publish to use the loaded features
orrery_features: {
  publish: {
    allow: [
${list(people)}    ]
  }
}
`.replaceAll(/^(Permissions|and what)/gm, '# $1');
}
