/** What a request to the replica comes back with. */

export interface Refused {
  /** 0: no answer. */
  readonly status: number;
  readonly reason: string;
}

export type Answer<T> = { readonly ok: T } | { readonly refused: Refused };
