/** Which objects a list or a watch asks for: by namespace, labels and fields. */
import type { KubeObject, ListOptions } from '../../../src/base/kube-port.ts';

export function isSelected(
  { metadata }: KubeObject,
  {
    namespace,
    labelSelector,
    fieldSelector,
  }: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>,
): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (fieldSelector !== undefined && fieldSelector !== `metadata.name=${metadata.name}`) return false;
  return labelSelector === undefined || hasLabels(metadata.labels ?? {}, labelSelector);
}

function hasLabels(labels: Readonly<Record<string, string>>, selector: string): boolean {
  const [, name, values] = /^(\S+) in \((.*)\)$/.exec(selector) ?? [];
  if (name !== undefined) return (values ?? '').split(',').includes(labels[name] ?? '');
  return selector.split(',').every((part) => {
    const [label = '', value] = part.split('=');
    return value === undefined ? label in labels : labels[label] === value;
  });
}
