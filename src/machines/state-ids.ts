/**
 * Lets states that moved under a parent keep their former ids: deadlines in records are named after these,
 * and continue (chart.ts, `Migration`).
 */

/** @param parent the id under which they were */
export function keepIds<const S extends Readonly<Record<string, object>>>(parent: string, states: S): S {
  const named = Object.entries(states).map(([name, state]) => [name, withId(`${parent}.${name}`, state)]);
  return Object.fromEntries(named) as S;
}

function withId(id: string, state: { readonly states?: Readonly<Record<string, object>> }): object {
  const children = state.states === undefined ? {} : { states: keepIds(id, state.states) };
  return { id, ...state, ...children };
}
