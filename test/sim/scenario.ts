/**
 * The stage of a scenario: a few replicas, one group of Pods and Services, and whatever the commands of a
 * transcript do to them. Nothing that a reader would see is drawn by chance: every delay is the same each
 * time.
 */

import { SimReplica } from '../../packages/testing/replicas/sim-replica.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import { createStory } from '../../packages/testing/simulation/story.ts';
import { type Chance, createChance } from '../../packages/testing/time/chance.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { encode } from '../../src/bus/codec.ts';
import type { AppendFate, LinkState } from '../../src/bus/memory/faults.ts';
import { checkers } from './checkers/all.ts';
import { namespace, probedPort } from './objects.ts';
import { routesLife } from './routes-life.ts';
import { transcript } from './scenario-file.ts';
import { createLines } from './scenario-lines.ts';
import { createShop, type Shop } from './sim-shop.ts';
import { createSimWorld, type SimWorld } from './sim-world.ts';

const group = 'one';

/** Middle delays, first come, first served; only ids and the answering Pod are drawn, from a fixed seed. */
function steady(): Chance {
  const drawn = createChance(1);
  return {
    random: { next: () => 0.5, id: () => drawn.random.id() },
    between: (least, most) => (least + most) / 2,
    seldomLong: (least, most) => least + (most - least) / 4,
    int: (least) => least,
    happens: (probability) => probability >= 0.5,
    pick: (list) => list[0],
    of: (part) => (part === 'routing' ? { ...steady(), pick: drawn.pick } : steady()),
  };
}

/**
 * Plays one scenario, block by block.
 * @throws Error for an unknown command, or a broken promise
 */
export class Scenario {
  readonly #lines = createLines();
  readonly #story = createStory((atMs, sighting) => this.#see(atMs, sighting));
  readonly #replicas = new Map<string, SimReplica>();
  readonly #world: SimWorld;
  #shop: Shop;
  /** The awaited sighting; true once it was seen. */
  #wanted: ((sighting: Sighting) => boolean) | null = null;
  #isMet = false;

  constructor() {
    this.#world = createSimWorld({
      chance: steady(),
      times: { latencyMaxMs: 1, followLagMaxMs: {}, mirrorDelayMaxMs: 1, learnMaxMs: 10 },
      see: this.#story.see,
      trace: (who, facts, message) => this.#lines.hear(this.#world.clock.monotonic(), who, facts, message),
    });
    const replicas = () => [...this.#replicas.values()].filter(({ process }) => process.state !== 'dead');
    this.#story.watch({ world: this.#world, now: () => this.#world.clock.now(), replicas }, checkers);
    this.#shop = this.#newShop('keep');
  }

  /** @returns what was seen of the block */
  async play(commands: readonly string[]): Promise<string[]> {
    for (const command of commands) {
      const [name = '', ...words] = command.trim().split(/\s+/);
      const run = this.#commands[name];
      if (!run) throw new Error(`there is no command "${name}"`);
      await run(words);
      const { breach } = this.#story.verdict();
      if (breach) throw new Error(`"${command}" breaks ${breach.promise}: ${breach.text}`);
    }
    return this.#lines.take();
  }

  end(): void {
    for (const replica of this.#replicas.values()) replica.kill(false);
  }

  readonly #commands: Readonly<Record<string, (words: readonly string[]) => unknown>> = {
    /** start a b: replicas, which settle who owns what. */
    start: async (names) => {
      for (const name of names) this.#start(name);
      await this.#pass(2_000);
    },
    kill: ([name]) => this.#replica(name).kill(true),
    stop: ([name]) => void this.#replica(name).stop(),
    pause: ([name]) => this.#replica(name).process.pause(),
    resume: ([name]) => this.#replica(name).process.resume(),
    /** link a silent|down|up */
    link: ([name, state]) => this.#replica(name).setLink(state as LinkState),
    /** broker silent|down|up: for everybody */
    broker: ([state]) => {
      for (const replica of this.#replicas.values()) {
        if (replica.process.state !== 'dead') replica.setLink(state as LinkState);
      }
    },
    /** appends a .state. answerLost once|always; appends a: all is well */
    appends: ([name, part, fate, often]) => this.#appends(this.#replica(name), part, fate, often),
    /** gate keep|withdraw */
    gate: ([whenRouteIsLost]) => {
      this.#shop = this.#newShop(whenRouteIsLost === 'withdraw' ? 'withdraw' : 'keep');
      this.#shop.makeGate({ isNew: true });
    },
    service: ([name = '']) => this.#shop.makeService(name, group),
    pod: ([name = '']) => this.#shop.makePod(name, group),
    remove: ([name = '']) => this.#shop.removePod(name),
    'remove-service': ([name = '']) => this.#shop.removeService(name),
    'close-port': ([name = '']) => this.#shop.changeService(name, { ports: [] }),
    'open-port': ([name = '']) => this.#shop.changeService(name, { ports: [probedPort] }),
    address: ([name = '']) => this.#shop.giveAddress(name),
    /** condition web-0 False: somebody else sets it. */
    condition: ([name = '', status]) => this.#shop.setCondition(name, status === 'True' ? 'True' : 'False'),
    /** The routing of a Service swallows every call, or no longer does. */
    swallow: ([name = '']) => this.#world.routing.blackHoled.add(name),
    deliver: ([name = '']) => this.#world.routing.blackHoled.delete(name),
    /** The Pods do not name themselves. */
    anonymous: () => this.#world.routing.anonymousGroups.add(group),
    /** say pod/shop/web-0 pod.recheck m1 [times] */
    say: ([id, type, messageId, times = '1']) => this.#say(id as ActorId, type, messageId, Number(times)),
    pass: ([text = '']) => this.#pass(milliseconds(text)),
    /** until saves|runs|patched|mail TEXT: time stops at that moment, before anybody hears of it. */
    until: ([kind = '', ...text]) => this.#until(kind, text.join(' ')),
  };

  #newShop(whenRouteIsLost: 'keep' | 'withdraw'): Shop {
    const options = { family: 'IPv4', address: 'clusterIP', hasOwner: false, hasEnv: false } as const;
    return createShop(this.#world, { ...options, whenRouteIsLost });
  }

  #replica(name = ''): SimReplica {
    const replica = this.#replicas.get(name);
    if (!replica) throw new Error(`there is no replica "${name}"`);
    return replica;
  }

  #start(name: string): void {
    const chance = createChance(this.#replicas.size + 1);
    const engineChance = {
      ...steady(),
      of: () => ({ ...steady(), random: { next: () => 0.5, id: chance.random.id } }),
    };
    this.#replicas.set(
      name,
      new SimReplica({
        world: this.#world,
        name,
        chance: engineChance,
        skewMs: 0,
        sleepsWhilePaused: false,
        life: routesLife(this.#world),
      }),
    );
  }

  #appends(
    replica: SimReplica,
    part: string | undefined,
    fate: string | undefined,
    often: string | undefined,
  ) {
    replica.appendFate = undefined;
    if (part === undefined) return;
    const late = /^late=(\d+)$/.exec(fate ?? '');
    const chosen = (late ? { lateMs: Number(late[1]) } : fate) as AppendFate;
    replica.appendFate = (subject) => {
      if (!subject.includes(part)) return 'store';
      if (often === 'once') replica.appendFate = undefined;
      return chosen;
    };
  }

  #say(id: ActorId, type: string | undefined, messageId: string | undefined, times: number): void {
    const { hub, subjects } = this.#world;
    const people = hub.connect('people');
    const data = encode({ type, id: messageId });
    for (let n = 0; n < times; n++) people.append(subjects.send(id), data).catch(() => {});
  }

  async #pass(ms: number): Promise<void> {
    await this.#world.clock.run(ms, this.#story.isOver);
  }

  async #until(kind: string, text: string): Promise<void> {
    this.#isMet = false;
    this.#wanted = (sighting) => isWanted(sighting, kind, text);
    await this.#world.clock.run(600_000, () => this.#isMet || this.#story.isOver());
    this.#wanted = null;
    if (!this.#isMet && !this.#story.isOver()) throw new Error(`"until ${kind} ${text}" never came`);
  }

  #see(atMs: number, sighting: Sighting): void {
    this.#lines.see(atMs, sighting);
    this.#isMet ||= this.#wanted?.(sighting) ?? false;
  }
}

function isWanted(sighting: Sighting, kind: string, text: string): boolean {
  switch (sighting.kind) {
    case 'saved':
      return (
        kind === 'saves' &&
        sighting.record.rev !== sighting.before?.rev &&
        `${sighting.id} ${sighting.record.feed.at(-1)?.to}`.startsWith(text)
      );
    case 'effect':
      return kind === 'runs' && `${sighting.actor} ${sighting.effect.type}`.startsWith(text);
    case 'patched':
      return kind === 'patched' && `${namespace}/${sighting.name}`.startsWith(text);
    case 'mail':
      return kind === 'mail' && `${sighting.id} ${sighting.type}`.startsWith(text);
    default:
      return false;
  }
}

function milliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(ms|s)$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`"${text}" is no time, such as 20ms or 3s`);
  return Number(number) * (unit === 's' ? 1_000 : 1);
}

/**
 * Plays a transcript.
 * @returns the transcript as it ought to be
 */
export async function playScenario(text: string): Promise<string> {
  const scenario = new Scenario();
  try {
    return await transcript(text, (commands) => scenario.play(commands));
  } finally {
    scenario.end();
  }
}
