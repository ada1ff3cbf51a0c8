/**
 * Writes `packages/kube-api/schema/builtin-types.txt`: the fields of the built-in Kubernetes kinds that the
 * development API server serves, one type per line. It reads the type maps of the installed
 * @kubernetes/client-node as text, so the table follows that dependency's Kubernetes release and needs no
 * cluster.
 *
 * Run: `node scripts/kube-types.ts`. Only names and types are taken; defaults, merge keys and rules are our
 * own tables in `packages/kube-api/schema`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const models = new URL('../node_modules/@kubernetes/client-node/dist/gen/models/', import.meta.url);
export const kubeTypesFile = new URL('../packages/kube-api/schema/builtin-types.txt', import.meta.url);

const roots = [
  'V1ConfigMap',
  'V1ControllerRevision',
  'V1CustomResourceDefinition',
  'V1DeleteOptions',
  'V1Deployment',
  'V1EndpointSlice',
  'V1Eviction',
  'V1Ingress',
  'V1Lease',
  'V1Namespace',
  'V1Node',
  'V1Pod',
  'V1PodDisruptionBudget',
  'V1ReplicaSet',
  'V1Scale',
  'V1Secret',
  'V1Service',
  'V1ServiceAccount',
  'V1StatefulSet',
  'V1ClusterRole',
  'V1ClusterRoleBinding',
  'V1LocalSubjectAccessReview',
  'V1Role',
  'V1RoleBinding',
  'V1SelfSubjectAccessReview',
  'V1SelfSubjectReview',
  'V1SelfSubjectRulesReview',
  'V1SubjectAccessReview',
  'V1TokenReview',
  'AuthenticationV1TokenRequest',
  'CoreV1Event',
  'EventsV1Event',
];

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

/** The whole table as text. */
export function kubeTypes(): string {
  const types = new Map<string, string>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (types.has(name)) continue;
    const fields = attributesOf(name);
    types.set(name, lineOf(name, fields, requiredOf(name)));
    waiting.push(...fields.map((field) => modelOf(field.type)).filter((model) => isModel(model)));
  }
  const release = /OpenAPI spec version: release-(\S+)/.exec(textOf('V1Pod', 'js'))?.[1] ?? 'unknown';
  const head = `# Kubernetes ${release}. Made by scripts/kube-types.ts; do not edit. "!" = always present; [] list; {} map.\n`;
  return `${head}${[...types.values()].sort().join('\n')}\n`;
}

function textOf(model: string, extension: 'js' | 'd.ts'): string {
  return readFileSync(new URL(`${model}.${extension}`, models), 'utf8');
}

function attributesOf(model: string): Attribute[] {
  const map = /attributeTypeMap = (\[[\s\S]*?\n\]);/.exec(textOf(model, 'js'))?.[1] ?? '[]';
  return JSON.parse(map) as Attribute[];
}

/** Fields without `?` in the declaration: the API always has them. */
function requiredOf(model: string): Set<string> {
  return new Set([...textOf(model, 'd.ts').matchAll(/^ {4}'([^']+)': /gm)].map((match) => match[1] ?? ''));
}

function lineOf(model: string, fields: readonly Attribute[], required: ReadonlySet<string>): string {
  const parts = fields.map((field) => {
    const mark = required.has(field.baseName.replaceAll('-', '_')) || required.has(field.baseName) ? '!' : '';
    return `${field.baseName} ${typeOf(field.type, field.format)}${mark}`;
  });
  return `${shortName(model)}: ${parts.join(', ')}`;
}

function typeOf(type: string, format: string): string {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return `[]${typeOf(list, format)}`;
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) return `{}${typeOf(map, format)}`;
  if (type === 'Date') return 'time';
  if (type === 'V1MicroTime') return 'microtime';
  if (type === 'IntOrString') return 'intOrString';
  if (type === 'number') return format === 'double' ? 'double' : format;
  if (type === 'string') return format === 'byte' ? 'bytes' : 'string';
  return type === 'boolean' || type === 'any' ? type : shortName(type);
}

function modelOf(type: string): string {
  const inner = /^Array<(.*)>$/.exec(type)?.[1] ?? /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  return inner === undefined ? type : modelOf(inner);
}

function isModel(name: string): boolean {
  return name !== 'V1MicroTime' && /^[A-Z]\w*$/.test(name) && existsSync(new URL(`${name}.js`, models));
}

function shortName(model: string): string {
  return model.replace(/^V1/, '');
}

if (import.meta.main) writeFileSync(kubeTypesFile, kubeTypes());
