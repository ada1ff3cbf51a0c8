/**
 * RouteGate: from the specification as somebody wrote it to one that can be relied on, or to the reasons why
 * it cannot be used. Unknown fields are left alone.
 */
import * as v from 'valibot';
import {
  apiVersion,
  bounded,
  boundedSelector,
  dnsLabel,
  formed,
  type Invalid,
  labelKey,
  map,
  qualifiedName,
  readSpec,
  rule,
  shape,
  text,
  whole,
} from '../../kube/api/spec-fields.ts';

/** The specification with its defaults, or what is wrong with it. */
export const readRouteGateSpec = (spec: unknown): RouteGateSpec | Invalid => readSpec(routeGateSpec, spec);

type Written = v.InferOutput<typeof routeGateSpec>;
/** `whenUnverifiable` is absent in digests of an earlier release and means pass. */
export type RouteGateSpec = Omit<Written, 'whenUnverifiable'> & Partial<Pick<Written, 'whenUnverifiable'>>;

/** The types that the kubelet owns; two writers would fight over them. */
const kubeletConditions = [
  'Ready',
  'ContainersReady',
  'Initialized',
  'PodScheduled',
  'PodReadyToStartContainers',
  'DisruptionTarget',
  'PodResizePending',
  'PodResizeInProgress',
  'AllContainersRestarting',
];

const conditionType = v.pipe(
  qualifiedName('must be a qualified name: an optional DNS name and "/", then up to 63 of [A-Za-z0-9-_.]'),
  rule(
    `!(self in ${cel(kubeletConditions)})`,
    (type) => !kubeletConditions.includes(type),
    'this condition belongs to the kubelet',
  ),
);

const fieldPath = v.pipe(
  formed(
    256,
    /^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$/,
    'must be names of fields joined by dots',
  ),
  v.title('path'),
);

/** Kinds that are mirrored for their own sake; and nothing of a Secret but its public part may be (I9). */
const ownKinds = [
  'v1/Pod',
  'v1/Service',
  'v1/Secret',
  'v1/Namespace',
  'v1/Node',
  'discovery.k8s.io/v1/EndpointSlice',
  'networking.k8s.io/v1/Ingress',
  'workload.linkerd.io/v1beta1/ExternalWorkload',
  'orrery.dev/v1alpha1/RouteGate',
  'orrery.dev/v1alpha1/Issuer',
  'orrery.dev/v1alpha1/Domain',
  'orrery.dev/v1alpha1/Election',
];

const groupResource = v.pipe(
  shape(
    {
      apiVersion,
      kind: v.pipe(text, v.regex(/^[A-Z][A-Za-z0-9]{0,62}$/, 'must be a kind, such as ProxyGroup')),
      require: v.optional(
        v.pipe(
          map(fieldPath, bounded(256), 'must be a map from field path to value'),
          v.maxEntries(16, 'must have at most 16 entries'),
        ),
        () => ({}),
      ),
      replicas: v.optional(
        v.nullable(shape({ path: fieldPath, default: v.optional(whole(1), 2) }, 'must have a path')),
        null,
      ),
    },
    'must have apiVersion and kind',
  ),
  rule(
    `!((self.apiVersion + '/' + self.kind) in ${cel(ownKinds)})`,
    (of) => !ownKinds.includes(`${of.apiVersion}/${of.kind}`),
    'this kind owns no group',
  ),
);

const badHeader = 'must be the name of an HTTP header';
const header = (name: string) =>
  v.optional(
    v.pipe(formed(128, /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, badHeader), v.minLength(1, badHeader)),
    name,
  );

const podIPHeaders = v.pipe(
  shape({ IPv4: header('Pod-IPv4'), IPv6: header('Pod-IPv6') }, 'must be a map of IPv4 and IPv6'),
  rule(
    'self.IPv4.lowerAscii() != self.IPv6.lowerAscii()',
    ({ IPv4, IPv6 }) => IPv4.toLowerCase() !== IPv6.toLowerCase(),
    'the headers of the two families must differ',
  ),
);

const onlyIfEnv = shape(
  { name: formed(253, /^[^=]+$/, 'must be the name of an environment variable'), value: bounded(1024) },
  'must have name and value',
);

const badPath = 'must be at most 1024 ASCII characters, starting with "/", without spaces or fragment';

const probe = shape(
  {
    portName: formed(63, dnsLabel, 'must be the name of a port: up to 63 of [a-z0-9-]'),
    path: v.optional(formed(1024, /^\/[!-"$-~]*$/, badPath), '/healthz'),
    podIPHeaders: v.optional(podIPHeaders, { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' }),
    // An answer that takes longer than 60 s is none; a round lasts at most 20 s anyway.
    timeoutSeconds: v.optional(
      v.pipe(
        v.number('must be a number'),
        v.gtValue(0, 'must be greater than 0'),
        v.maxValue(60, 'must be at most 60'),
      ),
      3,
    ),
    // Three attempts miss a backend with probability e^-3; more than 100 are a mistake.
    attemptsPerReplica: v.optional(whole(1, 100), 3),
    address: v.optional(v.picklist(['dns', 'clusterIP'], 'must be dns or clusterIP'), 'dns'),
    onlyIfEnv: v.optional(v.nullable(onlyIfEnv), null),
  },
  'must have a portName',
);

export const routeGateSpec = shape({
  conditionType,
  podSelector: boundedSelector,
  group: shape({ podLabel: labelKey, serviceLabel: labelKey }, 'must have podLabel and serviceLabel'),
  serviceSelector: boundedSelector,
  groupResource: v.optional(v.nullable(groupResource), null),
  probe,
  whenRouteIsLost: v.optional(v.picklist(['keep', 'withdraw'], 'must be keep or withdraw'), 'keep'),
  whenUnverifiable: v.optional(v.picklist(['pass', 'hold'], 'must be pass or hold'), 'pass'),
});

function cel(texts: readonly string[]): string {
  return `[${texts.map((one) => `'${one}'`).join(', ')}]`;
}
