/**
 * Which Pods each Service selects, kept while both change. A changed Pod costs a look at the distinct
 * selectors of its namespace, a Service a look at its own Pods. Pure, apart from what it keeps.
 */
import { keyOf, type PodObject, type ServiceObject } from '../objects.ts';
import { isSelected } from './endpoint-slices.ts';

export interface Selections {
  /** Takes a Service as it is now; `isGone`: it no longer exists. */
  setService(service: ServiceObject, isGone?: boolean): void;
  /**
   * Takes a Pod as it is now.
   * @returns the Services that select it, or did before
   */
  setPod(pod: PodObject, isGone?: boolean): string[];
  /** The Pods of a Service, by its key. */
  podsOf(serviceKey: string): PodObject[];
}

/** Services of one namespace with the same selector. */
interface Selection {
  readonly example: ServiceObject;
  readonly services: Set<string>;
  readonly pods: Map<string, PodObject>;
}

export function createSelections(): Selections {
  /** By namespace, then by the selector's text. */
  const selections = new Map<string, Map<string, Selection>>();
  const ofService = new Map<string, Selection>();
  const pods = new Map<string, Map<string, PodObject>>();

  const leave = (key: string, namespace: string) => {
    const inside = selections.get(namespace);
    const before = ofService.get(key);
    ofService.delete(key);
    before?.services.delete(key);
    if (before?.services.size === 0) inside?.delete(selectorText(before.example));
  };
  const selectionOf = (service: ServiceObject, namespace: string): Selection => {
    const inside = inner(selections, namespace);
    const known = inside.get(selectorText(service));
    if (known !== undefined) return known;
    const selected = [...inner(pods, namespace)].filter(([, pod]) => isSelected(service, pod));
    const made = { example: service, services: new Set<string>(), pods: new Map(selected) };
    inside.set(selectorText(service), made);
    return made;
  };

  return {
    setService(service, isGone = false) {
      const { namespace = '' } = service.metadata;
      const key = keyOf(service);
      const after = isGone ? undefined : selectionOf(service, namespace);
      if (after === undefined || ofService.get(key) !== after) leave(key, namespace);
      if (after === undefined) return;
      ofService.set(key, after);
      after.services.add(key);
    },
    setPod(pod, isGone = false) {
      const { namespace = '' } = pod.metadata;
      const key = keyOf(pod);
      if (isGone) inner(pods, namespace).delete(key);
      else inner(pods, namespace).set(key, pod);
      return [...inner(selections, namespace).values()].flatMap((selection) => {
        const isIn = !isGone && isSelected(selection.example, pod);
        const wasIn = selection.pods.has(key);
        if (isIn) selection.pods.set(key, pod);
        else selection.pods.delete(key);
        return isIn || wasIn ? [...selection.services] : [];
      });
    },
    podsOf: (serviceKey) => [...(ofService.get(serviceKey)?.pods.values() ?? [])],
  };
}

const selectorText = ({ spec }: ServiceObject): string =>
  spec?.type === 'ExternalName' ? '' : JSON.stringify(Object.entries(spec?.selector ?? {}).sort());

function inner<T>(maps: Map<string, Map<string, T>>, outer: string): Map<string, T> {
  const known = maps.get(outer);
  if (known !== undefined) return known;
  const made = new Map<string, T>();
  maps.set(outer, made);
  return made;
}
