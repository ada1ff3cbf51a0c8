/** Property tests with the values that the API server lives on. A failure prints its seed. */
import fastCheck from 'fast-check';
import { test as vitest } from 'vitest';
import type { Json, JsonObject } from '../../packages/kube-api/json.ts';

const key = fastCheck.constantFrom('a', 'b', 'c', 'items', 'name');

const { value } = fastCheck.letrec<{ value: Json; object: JsonObject }>((tie) => ({
  value: fastCheck.oneof(
    { maxDepth: 4 },
    fastCheck.constantFrom<Json[]>(null, true, false, 0, 1, '', 'x'),
    fastCheck.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fastCheck.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));

export const fc = {
  ...fastCheck,
  json: value,
  /** Objects with few keys, so that two of them often share some. */
  jsonObject: fastCheck.dictionary(key, value, {
    maxKeys: 4,
    noNullPrototype: true,
  }) as fastCheck.Arbitrary<JsonObject>,
};

type Values<A extends readonly unknown[]> = { [I in keyof A]: fastCheck.Arbitrary<A[I]> };

export function test<A extends readonly [unknown, ...unknown[]]>(
  arbitraries: Values<A>,
  name: string,
  holds: (...values: A) => void,
): void {
  vitest(name, () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.tuple(...arbitraries), (values) => holds(...(values as unknown as A))),
    );
  });
}
