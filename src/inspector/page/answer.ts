/** What a request to the replica comes back with. */

export interface Refused {
  /** 0: no answer. */
  readonly status: number;
  readonly reason: string;
}

/**
 * What a replica sent. Characters that turn the text around them are written as `\u202e`, as in a terminal:
 * a holder or an error may come from anybody, and would turn the sentence that names it.
 */
export function readJson(text: string): unknown {
  return JSON.parse(
    text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `\\\\u${sign.charCodeAt(0).toString(16)}`),
  );
}

export type Answer<T> = { readonly ok: T } | { readonly refused: Refused };
