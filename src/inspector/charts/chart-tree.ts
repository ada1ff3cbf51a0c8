/**
 * Reads a machine's configuration into a plain tree for drawing: states, their transitions, resolved targets.
 *
 * Reads `machine.config` (not `machine.definition`, which leaves out `always`). Promises: pure, and total:
 * anything inline instead of named is shown as `inline`. Absent: what guards and actions do; a chart names
 * them.
 */

export type StateType = 'atomic' | 'compound' | 'parallel' | 'final' | 'history';

export interface ChartState {
  /** The state's own name; the machine's for the root. */
  readonly name: string;
  /** `marking.patching`; empty for the root. */
  readonly path: string;
  readonly type: StateType;
  readonly description: string;
  /** Name of the child that is entered first. */
  readonly initial: string | null;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly transitions: readonly ChartTransition[];
  readonly children: readonly ChartState[];
}

export interface ChartTransition {
  readonly on: 'event' | 'always' | 'after' | 'done';
  /** Event type, or name of the delay; empty for `always`. */
  readonly trigger: string;
  readonly guard: string | null;
  /** Paths of the targets; null: the state stays and only acts. */
  readonly targets: readonly string[] | null;
  readonly actions: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

interface Scope {
  readonly ids: ReadonlyMap<string, string>;
  readonly delays: Fields;
}

/**
 * @param config `machine.config`
 * @param delays `machine.implementations.delays`: constant ones are shown with their time
 */
export function readChart(config: unknown, delays: unknown = {}): ChartState {
  const root = fields(config);
  const name = typeof root.id === 'string' ? root.id : 'machine';
  const ids = new Map(idsOf(root, name, ''));
  return readState(name, '', root, { ids, delays: fields(delays) });
}

/** The state and everything below it, in the order of the chart. */
export function* statesOf(state: ChartState): Generator<ChartState> {
  yield state;
  for (const child of state.children) yield* statesOf(child);
}

/** `pod.observed [isGone]`, `after 30 s`, `always`. */
export function labelOf({ on, trigger, guard }: ChartTransition): string {
  const cause = { event: trigger, always: 'always', after: `after ${trigger}`, done: trigger || 'done' }[on];
  return guard === null ? cause : `${cause} [${guard}]`;
}

function* idsOf(state: Fields, id: string, path: string): Generator<[string, string]> {
  yield [id, path];
  for (const [name, child] of Object.entries(fields(state.states))) {
    const own = fields(child).id;
    // A state without an explicit id has xstate's: the root's name and the path.
    yield* idsOf(fields(child), typeof own === 'string' ? own : `${id}.${name}`, join(path, name));
  }
}

function readState(name: string, path: string, config: Fields, scope: Scope): ChartState {
  const children = Object.entries(fields(config.states));
  return {
    name,
    path,
    type: typeOf(config, children.length > 0),
    description: typeof config.description === 'string' ? config.description : '',
    initial: typeof config.initial === 'string' ? config.initial : null,
    tags: list(config.tags).map(String),
    entry: list(config.entry).map(nameOf),
    exit: list(config.exit).map(nameOf),
    transitions: [...transitionsOf(path, config, scope)],
    children: children.map(([child, state]) => readState(child, join(path, child), fields(state), scope)),
  };
}

function typeOf(config: Fields, hasChildren: boolean): StateType {
  const { type } = config;
  if (type === 'parallel' || type === 'final' || type === 'history') return type;
  return hasChildren ? 'compound' : 'atomic';
}

function* transitionsOf(path: string, config: Fields, scope: Scope): Generator<ChartTransition> {
  for (const [trigger, made] of Object.entries(fields(config.on))) yield* read('event', trigger, made);
  yield* read('always', '', config.always);
  for (const [delay, made] of Object.entries(fields(config.after))) {
    yield* read('after', delayText(delay, scope.delays), made);
  }
  yield* read('done', '', config.onDone);
  for (const invoked of list(config.invoke).map(fields)) {
    yield* read('done', `done ${nameOf(invoked.src)}`, invoked.onDone);
    yield* read('done', `error ${nameOf(invoked.src)}`, invoked.onError);
  }

  function* read(on: ChartTransition['on'], trigger: string, made: unknown): Generator<ChartTransition> {
    for (const one of list(made)) {
      const { target, guard, actions } = typeof one === 'string' ? { target: one } : fields(one);
      yield {
        on,
        trigger,
        guard: guard === undefined ? null : nameOf(guard),
        targets: target === undefined ? null : list(target).map((to) => resolve(String(to), path, scope)),
        actions: list(actions).map(nameOf),
      };
    }
  }
}

/** xstate's rule: `#id` from the root, `.child` from here, else from the parent. */
function resolve(target: string, path: string, { ids }: Scope): string {
  if (target.startsWith('.')) return join(path, target.slice(1));
  if (!target.startsWith('#')) return join(path.split('.').slice(0, -1).join('.'), target);
  const words = target.slice(1).split('.');
  for (let length = words.length; length > 0; length--) {
    const found = ids.get(words.slice(0, length).join('.'));
    if (found !== undefined) return join(found, words.slice(length).join('.'));
  }
  return target;
}

/** A delay by its name, with its time if constant; a bare number is milliseconds. */
function delayText(name: string, delays: Fields): string {
  if (/^\d+$/.test(name)) return spanText(Number(name));
  const constant = delays[name];
  return typeof constant === 'number' ? `${name} (${spanText(constant)})` : name;
}

function spanText(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000} min`;
  return ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
}

function nameOf(made: unknown): string {
  if (typeof made === 'string') return made;
  const { type, guards } = fields(made);
  if (Array.isArray(guards)) return combined(String(type ?? ''), guards.map(nameOf));
  return typeof type === 'string' && !type.startsWith('xstate.') ? type : 'inline';
}

function combined(type: string, names: readonly string[]): string {
  if (type.includes('not') || names.length === 1) return `not ${names[0]}`;
  return names.join(type.includes('or') ? ' or ' : ' and ');
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Functions have fields too: combined guards are made that way. */
function fields(value: unknown): Fields {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
    ? (value as Fields)
    : {};
}

export function join(path: string, name: string): string {
  return [path, name].filter((part) => part !== '').join('.');
}
