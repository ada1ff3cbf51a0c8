/**
 * Writes `packages/kube-api/protobuf/wire-types.txt`: the protobuf numbers of the built-in Kubernetes types
 * that kubectl sends.
 *
 * Run: `node scripts/kube-wire.ts <folder>`, where <folder> holds the Go modules `api` and `apimachinery` of
 * k8s.io (of the release that docs/development-cluster.md names). It takes only names, numbers and types,
 * from the tags of the Go structs.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const target = new URL('../packages/kube-api/protobuf/wire-types.txt', import.meta.url);

const packages: Readonly<Record<string, string>> = {
  core: 'api/core/v1',
  apps: 'api/apps/v1',
  authentication: 'api/authentication/v1',
  authorization: 'api/authorization/v1',
  autoscaling: 'api/autoscaling/v1',
  coordination: 'api/coordination/v1',
  discovery: 'api/discovery/v1',
  events: 'api/events/v1',
  policy: 'api/policy/v1',
  rbac: 'api/rbac/v1',
  meta: 'apimachinery/pkg/apis/meta/v1',
};

const roots = [
  ...['Binding', 'ConfigMap', 'Event', 'Namespace', 'Node', 'Pod', 'Secret', 'Service', 'ServiceAccount'].map(
    (kind) => `core.${kind}`,
  ),
  ...['ControllerRevision', 'Deployment', 'ReplicaSet', 'StatefulSet'].map((kind) => `apps.${kind}`),
  ...['SelfSubjectReview', 'TokenRequest', 'TokenReview'].map((kind) => `authentication.${kind}`),
  ...[
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
  ].map((kind) => `authorization.${kind}`),
  ...['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'].map((kind) => `rbac.${kind}`),
  'autoscaling.Scale',
  'coordination.Lease',
  'discovery.EndpointSlice',
  'events.Event',
  'meta.DeleteOptions',
  'policy.Eviction',
];

/** Types with an encoding of their own. */
const special: Readonly<Record<string, string>> = {
  'meta.Time': 'time',
  'meta.MicroTime': 'microtime',
  'meta.FieldsV1': 'json',
  'runtime.RawExtension': 'json',
  'resource.Quantity': 'quantity',
  'intstr.IntOrString': 'intOrString',
  'types.UID': 'string',
  'types.NodeName': 'string',
  'runtime.Object': 'json',
};

const scalars = new Set(['string', 'bool', 'int32', 'int64', 'float64', '[]byte']);

interface Source {
  /** Struct → its source lines. */
  readonly structs: ReadonlyMap<string, string>;
  /** Any other type → what it stands for. */
  readonly aliases: ReadonlyMap<string, string>;
}

export function wireTypes(folder: string): string {
  const sources = new Map(
    Object.entries(packages).map(([name, path]) => [name, readPackage(join(folder, path))]),
  );
  const lines = new Map<string, string>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (lines.has(name)) continue;
    const fields = fieldsOf(sources, name);
    lines.set(name, `${name}: ${fields.map(({ text }) => text).join(', ')}`);
    waiting.push(...fields.map(({ type }) => elementOf(type)).filter((type) => type.includes('.')));
  }
  const head =
    '# Made by scripts/kube-wire.ts; do not edit. Name, number, type; "*" = may be absent; "~" = its fields stand beside; [] list; {} map.\n';
  return `${head}${[...lines.values()].sort().join('\n')}\n`;
}

function readPackage(folder: string): Source {
  const files = ['types.go', 'micro_time.go']
    .map((name) => join(folder, name))
    .filter((file) => existsSync(file));
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const structs = [...text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)];
  const aliases = [...text.matchAll(/^type (\w+) (?!struct|interface)([^\n]+?)(?: *\/\/.*)?$/gm)];
  return {
    structs: new Map(structs.map(([, name = '', body = '']) => [name, body])),
    aliases: new Map(aliases.map(([, name = '', type = '']) => [name, type.trim()])),
  };
}

interface Field {
  readonly text: string;
  readonly type: string;
}

function fieldsOf(sources: ReadonlyMap<string, Source>, name: string): Field[] {
  const [owner = '', struct = ''] = name.split('.');
  const source = sources.get(owner);
  const alias = source?.aliases.get(struct);
  // A named list is a message with one field.
  if (alias?.startsWith('[]')) {
    const type = `[]${typeOf(sources, owner, alias.slice(2))}`;
    return [{ text: `items 1 ${type}`, type }];
  }
  const body = source?.structs.get(struct);
  if (body === undefined) throw new Error(`there is no type ${name}`);
  const tagged = body.matchAll(
    /^\s*(?:(\w+)\s+)?(\S+)\s+`json:"([^",]*)([^"]*)"[^`\n]*? protobuf:"\w+,(\d+),/gm,
  );
  return [...tagged].map(([, , goType = '', json = '', flags = '', number = '']) => {
    const type = typeOf(sources, owner, goType.replace(/^\*/, ''));
    const mark = flags.includes('inline') ? '~' : goType.startsWith('*') ? '*' : '';
    return { text: `${json === '' ? '-' : json} ${number} ${mark}${type}`, type };
  });
}

function typeOf(sources: ReadonlyMap<string, Source>, owner: string, goType: string): string {
  const bare = goType.replace(/^\*/, '');
  if (scalars.has(bare)) return bare;
  if (bare === 'map[string][]byte') return '{}bytes';
  const map = /^map\[\w+\](.*)$/.exec(bare)?.[1];
  if (map !== undefined) return `{}${typeOf(sources, owner, map)}`;
  if (bare.startsWith('[]')) return `[]${typeOf(sources, owner, bare.slice(2))}`;
  return namedType(sources, owner, bare);
}

function namedType(sources: ReadonlyMap<string, Source>, owner: string, name: string): string {
  const full = name.includes('.')
    ? name.replace(/^metav1\./, 'meta.').replace(/^(?:v1|corev1)\./, 'core.')
    : `${owner}.${name}`;
  const known = special[full];
  if (known !== undefined) return known;
  const [home = '', short = ''] = full.split('.');
  const alias = sources.get(home)?.aliases.get(short);
  if (alias === undefined || alias.startsWith('[]')) return full;
  return typeOf(sources, home, alias);
}

function elementOf(type: string): string {
  return type.replace(/^(?:\[\]|\{\})+/, '');
}

if (import.meta.main) writeFileSync(target, wireTypes(process.argv[2] ?? '.').replaceAll('[]byte', 'bytes'));
