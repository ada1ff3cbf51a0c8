/** Defaults and rules of a Pod's specification, in Pods and in the templates of workloads. */
import { type Cause, duplicate, invalidValue, notSupported, required } from '../causes.ts';
import { isObject, type JsonObject, numberAt, objectsAt, textAt } from '../json.ts';
import { problems } from '../validation/metadata.ts';
import { dnsLabel, portName, portNumber, qualifiedName } from '../validation/names.ts';

export const protocols = ['SCTP', 'TCP', 'UDP'];

/** A new specification with the pull policy that follows from the image's tag. */
export function filledPodSpec(spec: JsonObject): JsonObject {
  const lists = ['initContainers', 'containers', 'ephemeralContainers'];
  const filled: JsonObject = { ...spec };
  for (const list of lists) {
    if (Array.isArray(spec[list]))
      filled[list] = spec[list].map((item) => (isObject(item) ? filledContainer(item) : item));
  }
  return filled;
}

function filledContainer(container: JsonObject): JsonObject {
  if (textAt(container, 'imagePullPolicy') !== '') return container;
  const image = textAt(container, 'image');
  const tag = image
    .slice(image.lastIndexOf('/') + 1)
    .split('@')[0]
    ?.split(':')[1];
  const isLatest = !image.includes('@') && (tag === undefined || tag === 'latest');
  return { ...container, imagePullPolicy: isLatest ? 'Always' : 'IfNotPresent' };
}

/** @param claims volumes that the Pod gets from elsewhere */
export function podSpecCauses(
  spec: JsonObject | undefined,
  path: string,
  claims: readonly string[] = [],
): Cause[] {
  const containers = objectsAt(spec, 'containers');
  const volumes = objectsAt(spec, 'volumes');
  const names = new Set([...volumes.map((volume) => textAt(volume, 'name')), ...claims]);
  const grace = numberAt(spec, 'terminationGracePeriodSeconds') ?? 0;
  return [
    ...namedItems(volumes, `${path}.volumes`),
    ...(containers.length === 0 ? [required(`${path}.containers`)] : []),
    ...containerListCauses(containers, names, `${path}.containers`),
    ...containerListCauses(objectsAt(spec, 'initContainers'), names, `${path}.initContainers`),
    ...oneOf(spec, 'restartPolicy', `${path}.restartPolicy`, ['Always', 'OnFailure', 'Never']),
    ...oneOf(spec, 'dnsPolicy', `${path}.dnsPolicy`, [
      'ClusterFirstWithHostNet',
      'ClusterFirst',
      'Default',
      'None',
    ]),
    ...(grace < 0
      ? [invalidValue(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than or equal to 0')]
      : []),
    ...readinessGateCauses(spec, path),
  ];
}

function readinessGateCauses(spec: JsonObject | undefined, path: string): Cause[] {
  return objectsAt(spec, 'readinessGates').flatMap((gate, index) => {
    const type = textAt(gate, 'conditionType');
    return problems(`${path}.readinessGates[${index}].conditionType`, type, qualifiedName(type));
  });
}

function containerListCauses(
  containers: readonly JsonObject[],
  volumes: ReadonlySet<string>,
  path: string,
): Cause[] {
  return [
    ...containers.flatMap((container, index) => containerCauses(container, volumes, `${path}[${index}]`)),
    ...namedItems(containers, path),
  ];
}

function containerCauses(container: JsonObject, volumes: ReadonlySet<string>, path: string): Cause[] {
  return [
    ...objectsAt(container, 'ports').flatMap((port, index) => portCauses(port, `${path}.ports[${index}]`)),
    ...objectsAt(container, 'env').flatMap((env, index) =>
      envCauses(textAt(env, 'name'), `${path}.env[${index}].name`),
    ),
    ...objectsAt(container, 'volumeMounts').flatMap((mount, index) =>
      mountCauses(mount, volumes, `${path}.volumeMounts[${index}]`),
    ),
    ...oneOf(container, 'imagePullPolicy', `${path}.imagePullPolicy`, ['Always', 'IfNotPresent', 'Never']),
    ...(textAt(container, 'image') === '' ? [required(`${path}.image`)] : []),
  ];
}

function portCauses(port: JsonObject, path: string): Cause[] {
  const name = textAt(port, 'name');
  const number = numberAt(port, 'containerPort') ?? 0;
  return [
    ...(name === '' ? [] : problems(`${path}.name`, name, portName(name))),
    ...(number === 0
      ? [required(`${path}.containerPort`)]
      : problems(`${path}.containerPort`, number, portNumber(number))),
    ...oneOf(port, 'protocol', `${path}.protocol`, protocols),
  ];
}

function envCauses(name: string, path: string): Cause[] {
  if (name === '') return [required(path)];
  if (/^[ -<>-~]+$/.test(name)) return [];
  const text =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
  return [invalidValue(path, name, text)];
}

function mountCauses(mount: JsonObject, volumes: ReadonlySet<string>, path: string): Cause[] {
  const name = textAt(mount, 'name');
  return [
    ...(name === '' ? [required(`${path}.name`)] : []),
    ...(textAt(mount, 'mountPath') === '' ? [required(`${path}.mountPath`)] : []),
    ...(volumes.has(name)
      ? []
      : [
          {
            reason: 'FieldValueNotFound' as const,
            field: `${path}.name`,
            message: `Not found: ${JSON.stringify(name)}`,
          },
        ]),
  ];
}

/** Names must be labels, and each must be unique. */
function namedItems(items: readonly JsonObject[], path: string): Cause[] {
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const name = textAt(item, 'name');
    const field = `${path}[${index}].name`;
    const isSecond = seen.has(name);
    seen.add(name);
    if (name === '') return [required(field)];
    return isSecond ? [duplicate(field, name)] : problems(field, name, dnsLabel(name));
  });
}

/** If `field` has a value, it must be among `allowed`. */
export function oneOf(
  owner: JsonObject | undefined,
  field: string,
  path: string,
  allowed: readonly string[],
): Cause[] {
  const value = textAt(owner, field);
  return value === '' || allowed.includes(value) ? [] : [notSupported(path, value, allowed)];
}
