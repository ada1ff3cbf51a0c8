/** Roles and their bindings: what rules must contain, and that a binding keeps its role. */
import { type Cause, invalidValue, notSupported, required } from '../causes.ts';
import { equal, isObject, type JsonObject, listAt, objectAt, objectsAt, textAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { problems } from '../validation/metadata.ts';
import { dnsSubdomain, type NameRule } from '../validation/names.ts';
import { type Kind, plainKind } from './kind.ts';

const group = 'rbac.authorization.k8s.io';

/** The name of a role may be anything that can stand in a path. */
const pathSegment: NameRule = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((sign) => name.includes(sign)).map((sign) => `may not contain '${sign}'`);
};

export const roleKind: Kind = {
  ...plainKind,
  nameRule: pathSegment,
  createsOnUpdate: true,
  check: (role) =>
    objectsAt(role, 'rules').flatMap((rule, index) => ruleCauses(rule, `rules[${index}]`, true)),
};

export const clusterRoleKind: Kind = {
  ...roleKind,
  check: (role) =>
    objectsAt(role, 'rules').flatMap((rule, index) => ruleCauses(rule, `rules[${index}]`, false)),
};

export const roleBindingKind: Kind = {
  ...roleKind,
  fill: fillBinding,
  check: (binding) => bindingCauses(binding, ['Role', 'ClusterRole'], true),
  checkUpdate: roleRefCauses,
};

export const clusterRoleBindingKind: Kind = {
  ...roleBindingKind,
  check: (binding) => bindingCauses(binding, ['ClusterRole'], false),
};

function ruleCauses(rule: JsonObject, path: string, isNamespaced: boolean): Cause[] {
  const has = (field: string) => listAt(rule, field).length > 0;
  const causes: Cause[] = [];
  if (!has('verbs')) causes.push(required(`${path}.verbs`, 'verbs must contain at least one value'));
  if (has('nonResourceURLs')) {
    const at = `${path}.nonResourceURLs`;
    const value = listAt(rule, 'nonResourceURLs');
    const isMixed = has('apiGroups') || has('resources') || has('resourceNames');
    if (isNamespaced)
      return [...causes, invalidValue(at, value, 'namespaced rules cannot apply to non-resource URLs')];
    const text = 'rules cannot apply to both regular resources and non-resource URLs';
    return isMixed ? [...causes, invalidValue(at, value, text)] : causes;
  }
  if (!has('apiGroups'))
    causes.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  if (!has('resources'))
    causes.push(required(`${path}.resources`, 'resource rules must supply at least one resource'));
  return causes;
}

function fillBinding(binding: StoredObject): void {
  const roleRef = objectAt(binding, 'roleRef') ?? {};
  binding.roleRef = { ...roleRef, apiGroup: textAt(roleRef, 'apiGroup') || group };
  if (!Array.isArray(binding.subjects)) return;
  binding.subjects = binding.subjects.map((subject) => {
    const isNamed = isObject(subject) && (subject.kind === 'User' || subject.kind === 'Group');
    return isNamed ? { ...subject, apiGroup: textAt(subject, 'apiGroup') || group } : subject;
  });
}

function bindingCauses(binding: StoredObject, roles: readonly string[], isNamespaced: boolean): Cause[] {
  const causes: Cause[] = [];
  const kind = textAt(binding, 'roleRef', 'kind');
  const apiGroup = textAt(binding, 'roleRef', 'apiGroup');
  const name = textAt(binding, 'roleRef', 'name');
  if (apiGroup !== group) causes.push(notSupported('roleRef.apiGroup', apiGroup, [group]));
  if (!roles.includes(kind)) causes.push(notSupported('roleRef.kind', kind, roles));
  if (name === '') causes.push(required('roleRef.name'));
  else causes.push(...problems('roleRef.name', name, pathSegment(name)));
  const subjects = objectsAt(binding, 'subjects');
  return [
    ...causes,
    ...subjects.flatMap((item, index) => subjectCauses(item, `subjects[${index}]`, isNamespaced)),
  ];
}

function subjectCauses(subject: JsonObject, path: string, isNamespaced: boolean): Cause[] {
  const kind = textAt(subject, 'kind');
  const name = textAt(subject, 'name');
  const apiGroup = textAt(subject, 'apiGroup');
  const isAccount = kind === 'ServiceAccount';
  const causes: Cause[] = name === '' ? [required(`${path}.name`)] : [];
  if (!isAccount && kind !== 'User' && kind !== 'Group')
    return [...causes, notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group'])];
  if (isAccount && name !== '') causes.push(...problems(`${path}.name`, name, dnsSubdomain(name)));
  const wanted = isAccount ? '' : group;
  if (apiGroup !== wanted) causes.push(notSupported(`${path}.apiGroup`, apiGroup, [wanted]));
  if (isAccount && !isNamespaced && textAt(subject, 'namespace') === '')
    causes.push(required(`${path}.namespace`));
  return causes;
}

function roleRefCauses(binding: StoredObject, old: StoredObject): Cause[] {
  if (equal(binding.roleRef, old.roleRef)) return [];
  const ref = objectAt(binding, 'roleRef');
  const shown = {
    APIGroup: textAt(ref, 'apiGroup'),
    Kind: textAt(ref, 'kind'),
    Name: textAt(ref, 'name'),
  };
  return [invalidValue('roleRef', shown, 'cannot change roleRef')];
}
