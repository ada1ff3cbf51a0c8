/** Who makes a request. */

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Members of this group may do everything. */
export const mastersGroup = 'system:masters';

const authenticated = 'system:authenticated';

/** The user without a token. */
export const anonymous: User = {
  name: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

/** The user with the server's own token. */
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

/** A user in the form of reviews. */
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
