/** Who asks. */

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Whoever is in it may do everything. */
export const mastersGroup = 'system:masters';

const authenticated = 'system:authenticated';

/** Who brings no token. */
export const anonymous: User = {
  name: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

/** Who brings the server's own token. */
export const administrator: User = {
  name: 'kubernetes-admin',
  uid: '',
  groups: [mastersGroup, authenticated],
  extra: {},
};

export function serviceAccountUser(
  account: { namespace: string; name: string; uid: string },
  credential: string,
): User {
  return {
    name: `system:serviceaccount:${account.namespace}:${account.name}`,
    uid: account.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, authenticated],
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${credential}`] },
  };
}

/** A user as reviews tell it. */
export function userInfo({ name, uid, groups, extra }: User) {
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    groups: [...groups],
    ...(Object.keys(extra).length === 0
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}
