/**
 * RouteGate: from the specification as somebody wrote it to one that can be relied on, or to the reasons why
 * it cannot.
 *
 * The schema of the custom resource refuses most of this already; here it is judged again, since a resource
 * can be older than its schema. Defaults are those of docs and schema. A field that is not known is left
 * alone.
 */
import * as v from 'valibot';
import type { LabelSelector } from '../../base/digests.ts';
import {
  isApiVersion,
  isDnsLabel,
  isFieldPath,
  isHeaderName,
  isLabelValue,
  isQualifiedName,
} from '../../kube/api/name-syntax.ts';
import type { RouteGateSpec } from './digests.ts';

/** The specification with its defaults, or what is wrong with it and why (at most `reasonsMax` reasons). */
export function readRouteGateSpec(spec: unknown): RouteGateSpec | { readonly invalid: string } {
  const result = v.safeParse(routeGateSpec, spec);
  if (result.success) return result.output;
  const reasons = result.issues.map((issue) => {
    const path = v.getDotPath(issue);
    return `${path === null ? 'spec' : `spec.${path}`}: ${issue.message}`;
  });
  const shown = reasons.slice(0, reasonsMax).join('; ');
  return {
    invalid: reasons.length > reasonsMax ? `${shown}; and ${reasons.length - reasonsMax} more` : shown,
  };
}

/** As many as fit a condition's message comfortably. */
const reasonsMax = 5;
/** Long enough for any path that a person wrote. */
const pathLengthMax = 1024;
/** A slower answer than this is no answer; a round of samples lasts no longer than 20 s anyway. */
const timeoutSecondsMax = 60;
/** 3 miss a backend with probability e^-3; 100 times that is a mistake. */
const attemptsMax = 100;

/** An object with the given fields; `what` says so where something else stands in its place. */
function shape<const E extends v.ObjectEntries>(entries: E, what: string) {
  return v.object(entries, ({ input }) => (input === undefined ? 'is missing' : what));
}

const text = v.string('must be text');
const integer = v.pipe(v.number('must be a number'), v.integer('must be a whole number'));

/** The types that the kubelet itself owns; two writers would fight over them. */
const kubeletConditions = ['Ready', 'ContainersReady', 'Initialized', 'PodScheduled'];

const conditionType = v.pipe(
  text,
  v.check(
    isQualifiedName,
    'must be a qualified name: an optional DNS name and "/", then up to 63 of [A-Za-z0-9-_.]',
  ),
  v.check((type) => !kubeletConditions.includes(type), 'this condition belongs to the kubelet'),
);

const labelKey = v.pipe(text, v.check(isQualifiedName, 'must be a label key'));
const labelValue = v.pipe(text, v.check(isLabelValue, 'must be a label value: up to 63 of [A-Za-z0-9-_.]'));

const requirement = v.pipe(
  shape(
    {
      key: labelKey,
      operator: v.picklist(
        ['In', 'NotIn', 'Exists', 'DoesNotExist'],
        'must be In, NotIn, Exists or DoesNotExist',
      ),
      values: v.optional(v.array(labelValue, 'must be a list')),
    },
    'must have key and operator',
  ),
  v.check(
    ({ operator, values = [] }) =>
      operator === 'In' || operator === 'NotIn' ? values.length > 0 : values.length === 0,
    'In and NotIn need at least one value, Exists and DoesNotExist none',
  ),
);

const selector = v.pipe(
  shape(
    {
      matchLabels: v.optional(v.record(labelKey, labelValue, 'must be a map of labels')),
      matchExpressions: v.optional(v.array(requirement, 'must be a list')),
    },
    'must be a label selector',
  ),
  v.transform((read): LabelSelector => plainSelector(read)),
);

const fieldPath = v.pipe(text, v.check(isFieldPath, 'must be names of fields joined by dots'));

const ownKinds = [
  'v1/Pod',
  'v1/Service',
  'discovery.k8s.io/v1/EndpointSlice',
  'orrery.dev/v1alpha1/RouteGate',
];

const groupResource = v.pipe(
  shape(
    {
      apiVersion: v.pipe(text, v.check(isApiVersion, 'must be "version" or "group/version"')),
      kind: v.pipe(text, v.regex(/^[A-Z][A-Za-z0-9]{0,62}$/, 'must be a kind, such as ProxyGroup')),
      require: v.optional(
        v.record(
          fieldPath,
          v.pipe(
            v.union([v.string(), v.number(), v.boolean()], 'must be text, a number or a boolean'),
            v.transform(String),
          ),
          'must be a map from field path to value',
        ),
        {},
      ),
      replicas: v.optional(
        v.nullable(
          shape(
            { path: fieldPath, default: v.optional(v.pipe(integer, v.minValue(1, 'must be at least 1')), 2) },
            'must have a path',
          ),
        ),
        null,
      ),
    },
    'must have apiVersion and kind',
  ),
  v.check(
    ({ apiVersion, kind }) => !ownKinds.includes(`${apiVersion}/${kind}`),
    'this kind is mirrored anyway and cannot own a group',
  ),
);

const header = (fallback: string) =>
  v.optional(v.pipe(text, v.check(isHeaderName, 'must be the name of an HTTP header')), fallback);

const onlyIfEnv = shape(
  {
    name: v.pipe(text, v.regex(/^[^=\0]{1,253}$/, 'must be the name of an environment variable')),
    value: v.pipe(text, v.maxLength(1024, 'must have at most 1024 characters')),
  },
  'must have name and value',
);

const probe = shape(
  {
    portName: v.pipe(text, v.check(isDnsLabel, 'must be the name of a port: up to 63 of [a-z0-9-]')),
    path: v.optional(
      v.pipe(
        text,
        v.maxLength(pathLengthMax, `must have at most ${pathLengthMax} characters`),
        v.startsWith('/', 'must start with "/"'),
        v.regex(/^[\x21-\x7e]*$/, 'must be ASCII without spaces; escape other characters'),
        v.excludes('#', 'must not have a fragment'),
      ),
      '/healthz',
    ),
    podIPHeaders: v.optional(
      v.pipe(
        shape({ IPv4: header('Pod-IPv4'), IPv6: header('Pod-IPv6') }, 'must be a map of IPv4 and IPv6'),
        v.check(
          ({ IPv4, IPv6 }) => IPv4.toLowerCase() !== IPv6.toLowerCase(),
          'the headers of the two families must differ',
        ),
      ),
      { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
    ),
    timeoutSeconds: v.optional(
      v.pipe(
        v.number('must be a number'),
        v.gtValue(0, 'must be greater than 0'),
        v.maxValue(timeoutSecondsMax, `must be at most ${timeoutSecondsMax}`),
      ),
      3,
    ),
    attemptsPerReplica: v.optional(
      v.pipe(
        integer,
        v.gtValue(0, 'must be greater than 0'),
        v.maxValue(attemptsMax, `must be at most ${attemptsMax}`),
      ),
      3,
    ),
    address: v.optional(v.picklist(['dns', 'clusterIP'], 'must be dns or clusterIP'), 'dns'),
    onlyIfEnv: v.optional(v.nullable(onlyIfEnv), null),
  },
  'must have a portName',
);

const routeGateSpec = shape(
  {
    conditionType,
    podSelector: selector,
    group: shape({ podLabel: labelKey, serviceLabel: labelKey }, 'must have podLabel and serviceLabel'),
    serviceSelector: selector,
    groupResource: v.optional(v.nullable(groupResource), null),
    probe,
    whenRouteIsLost: v.optional(v.picklist(['keep', 'withdraw'], 'must be keep or withdraw'), 'keep'),
    whenUnverifiable: v.optional(v.picklist(['pass', 'hold'], 'must be pass or hold'), 'pass'),
  },
  'must be an object',
);

/** Without the fields that are absent, so that equal selectors are equal digests. */
function plainSelector(read: {
  matchLabels?: Record<string, string> | undefined;
  matchExpressions?: ReadonlyArray<v.InferOutput<typeof requirement>> | undefined;
}): LabelSelector {
  const expressions = read.matchExpressions?.map(({ key, operator, values }) =>
    values === undefined ? { key, operator } : { key, operator, values },
  );
  return {
    ...(read.matchLabels === undefined ? {} : { matchLabels: read.matchLabels }),
    ...(expressions === undefined ? {} : { matchExpressions: expressions }),
  };
}
