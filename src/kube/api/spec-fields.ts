/**
 * Building blocks for declaring specifications of custom resources, beside valibot: texts in the syntax of
 * Kubernetes, selectors, and rules that exist both as CEL for the API server and as a function for us.
 *
 * Promises: the definitions in deploy/crds are generated from the same declarations (docs/decisions/0008), so
 * the API server admits what is readable here; an object that is older than its definition is checked here
 * only. A pattern uses the syntax common to RE2 and JavaScript, and is checked after the length.
 */
import * as v from 'valibot';

export interface Invalid {
  /** Why, for people. */
  readonly invalid: string;
}

/** As many as fit comfortably into a condition's message. */
const reasonsMax = 5;

/** The specification with its defaults, or what is wrong with it and why. */
export function readSpec<S extends v.GenericSchema>(schema: S, spec: unknown): v.InferOutput<S> | Invalid {
  const read = v.safeParse(schema, spec, { abortPipeEarly: true });
  if (read.success) return read.output;
  const reasons = read.issues.map((issue) => {
    const path = v.getDotPath(issue);
    return `${path === null ? 'spec' : `spec.${path}`}: ${issue.message}`;
  });
  const more = reasons.length > reasonsMax ? `; and ${reasons.length - reasonsMax} more` : '';
  return { invalid: reasons.slice(0, reasonsMax).join('; ') + more };
}

/** A rule that types cannot express: as CEL for the API server, and as a function for us. */
export const rule = <T>(cel: string, holds: (value: T) => boolean, message: string) => ({
  ...v.check(holds, message),
  cel,
});

/** To valibot a list is an object, too: an empty one would be a selector of everything. */
const noList = <S extends v.GenericSchema>(schema: S): S => ({
  ...schema,
  '~run': (dataset: v.UnknownDataset, config: v.Config<v.BaseIssue<unknown>>) =>
    schema['~run'](Array.isArray(dataset.value) ? { ...dataset, value: '' } : dataset, config),
});

/** An object with the given fields; `what` names it in the message about a value of another type. */
export const shape = <const E extends v.ObjectEntries>(entries: E, what = 'must be an object') =>
  noList(v.object(entries, ({ input }) => (input === undefined ? 'is missing' : what)));

export const map = <
  K extends v.BaseSchema<string, string, v.BaseIssue<unknown>>,
  V extends v.GenericSchema<unknown, string>,
>(
  key: K,
  value: V,
  what = 'must be a map',
) => noList(v.record(key, value, what));

export const text = v.string(({ input }) => (input === undefined ? 'is missing' : 'must be text'));
export const bounded = (max: number) => v.pipe(text, v.maxLength(max, `must have at most ${max} characters`));
export const formed = (max: number, pattern: RegExp, says: string) =>
  v.pipe(text, v.maxLength(max, says), v.regex(pattern, says));
const named = (max: number, pattern: RegExp, says: string) =>
  v.pipe(text, v.minLength(1, says), v.maxLength(max, says), v.regex(pattern, says));

export const whole = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  v.pipe(
    v.number('must be a number'),
    v.integer('must be a whole number'),
    v.minValue<number, number, string>(min, `must be at least ${min}`),
    v.maxValue<number, number, string>(max, `must be at most ${max}`),
  );

const dnsName = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const qualified = new RegExp(`^(${dnsName}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`);

/** RFC 1123 label: names of namespaces and ports; the parts of most objects' names. */
export const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
export const namespaceName = named(63, dnsLabel, 'must be the name of a namespace');
export const objectName = named(253, new RegExp(`^${dnsName}$`), 'must be the name of an object');

/** `v1` or `group.example.com/v1alpha1`. */
export const apiVersion = formed(
  317,
  new RegExp(`^(${dnsName}/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`),
  'must be "version" or "group/version"',
);

/** `[prefix/]name`: label keys and condition types. */
export const qualifiedName = (says: string) => named(317, qualified, says);
export const labelKey = qualifiedName('must be a label key');

const labelValue = formed(
  63,
  /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/,
  'must be a label value: up to 63 of [A-Za-z0-9-_.]',
);
const operator = v.picklist(
  ['In', 'NotIn', 'Exists', 'DoesNotExist'],
  'must be In, NotIn, Exists or DoesNotExist',
);
const expression = 'must have key and operator';

const requirement = v.pipe(
  shape(
    {
      key: labelKey,
      operator,
      values: v.exactOptional(v.pipe(v.array(labelValue, 'must be a list'), v.maxLength(64))),
    },
    expression,
  ),
  rule(
    "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
    ({ operator, values = [] }) => /In$/.test(operator) === values.length > 0,
    'In and NotIn need at least one value, Exists and DoesNotExist none',
  ),
);

/** A LabelSelector of metav1 with bounds; an empty one selects everything. */
export const boundedSelector = shape(
  {
    matchLabels: v.exactOptional(
      v.pipe(map(labelKey, labelValue, 'must be a map of labels'), v.maxEntries(32)),
    ),
    matchExpressions: v.exactOptional(v.pipe(v.array(requirement, 'must be a list'), v.maxLength(32))),
  },
  'must be a label selector',
);

const atomic = { 'x-kubernetes-list-type': 'atomic' } as const;

/** A LabelSelector of metav1 as Kubernetes itself declares it. */
export const labelSelector = v.pipe(
  shape(
    {
      matchLabels: v.exactOptional(map(v.string(), text)),
      matchExpressions: v.exactOptional(
        v.pipe(
          v.array(
            shape(
              { key: text, operator, values: v.exactOptional(v.pipe(v.array(text), v.metadata(atomic))) },
              expression,
            ),
            'must be a list',
          ),
          v.metadata(atomic),
        ),
      ),
    },
    'must be a label selector',
  ),
  v.metadata({ 'x-kubernetes-map-type': 'atomic' }),
);
