/**
 * Rolls replicas of an older checkout over to this one and back, under load, and reports what was lost:
 * nothing may be.
 *
 * Run: npm run roll-over -- --from <folder of an older checkout> [--to <folder>] [--seconds 10]
 * The older code comes from a worktree: git worktree add ../older <commit>, with node_modules linked into it.
 * The nats-server, the development API and the load come from this checkout. Exit code 1 on any difference.
 */
import { resolve } from 'node:path';
import { number, readFlags, text, toggle, whole } from './flags.ts';
import { keepLedger, type Ledger } from './roll-over/ledger.ts';
import { startWork, type Work } from './roll-over/load.ts';
import { type ActorSummary, clock, createControl, sleep, subjectsOf } from './roll-over/product.ts';
import { clusterName, type RunningReplica, type Stage, startStage } from './roll-over/stage.ts';
import { takeStepsOn } from './roll-over/steps.ts';

const values = readFlags(
  'npm run roll-over --',
  'Rolls replicas of an older checkout over to this one and back, under load; exit code 1 if anything was lost.',
  {
    from: text('the folder of the older checkout'),
    to: text('the checkout to roll over to (this one)'),
    seconds: number('how long the load continues after each replaced replica', 10),
    crowd: whole('workloads outside the cluster, besides those of the scenario', 60),
    verbose: toggle('also prints what happens'),
  },
);
const replicaCount = 3;
/** Time for the last messages to reach the feed. */
const settleMs = 3_000;

const say = (line: string) => console.log(line);
const tell = values.verbose ? say : () => {};

interface Run {
  readonly stage: Stage;
  readonly work: Work;
  readonly ledger: Ledger;
  readonly replicas: RunningReplica[];
  readonly differences: string[];
}

/** Replaces each replica by one of the checkout, under load. */
async function rollOver(run: Run, generation: string, checkout: string): Promise<void> {
  for (const [index, old] of [...run.replicas].entries()) {
    const began = clock.monotonic();
    await old.stop();
    run.replicas[index] = await run.stage.start(`${generation}-${index}`, checkout);
    tell(`${old.name} → ${generation}-${index} in ${Math.round(clock.monotonic() - began)} ms`);
    await sleep(clock, values.seconds * 1_000);
    await look(run, `after ${generation}-${index}`);
  }
  const { asked, quiet, silent } = await takeStepsOn(run.stage, run.ledger, new RegExp(`^${generation}-`));
  run.differences.push(...silent.map((id) => `${id}: took no step on ${generation}`));
  const records = [...run.ledger.records.values()].filter(({ gone }) => !gone).length;
  const { ledger, work } = run;
  const { sent, lost } = work.shop.counts();
  say(
    `${generation.padEnd(5)} ${records} actors, ${asked} asked for a step, ${quiet} had none to take, ${silent.length} silent; ` +
      `${ledger.counts.steps} steps, ${ledger.counts.records} records so far; ${sent} requests, ${lost} lost`,
  );
}

/** The whole list, page by page. */
async function listAll({ bus }: Stage): Promise<ActorSummary[]> {
  const control = createControl({ bus, subjects: subjectsOf(clusterName) });
  const actors: ActorSummary[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const answer = await control.list(after === '' ? {} : { after });
    actors.push(...answer.actors);
    if (answer.missingShards.length > 0) throw new Error(`nobody answers for shards ${answer.missingShards}`);
    after = answer.next;
  }
  return actors;
}

/**
 * Checks that no actor is parked, and that every actor with a record is there. Actors that are just beginning
 * or ending are checked again.
 */
async function look({ stage, ledger, differences }: Run, when: string): Promise<void> {
  let found: string[] = [];
  for (let attempt = 0; attempt < 10; attempt++) {
    found = await listAll(stage).then(
      (actors) => lossesIn(actors, ledger),
      (error: Error) => [error.message],
    );
    if (found.length === 0) return;
    await sleep(clock, 500);
  }
  differences.push(...found.map((text) => `${when}: ${text}`));
}

function lossesIn(actors: readonly ActorSummary[], ledger: Ledger): string[] {
  const listed = new Set<string>(actors.map(({ id }) => id));
  const living = [...ledger.records].filter(([, { gone }]) => !gone).map(([id]) => id);
  return [
    ...actors.filter(({ parked }) => parked).map(({ id, lastError }) => `${id} is parked: ${lastError}`),
    ...living.filter((id) => !listed.has(id)).map((id) => `${id} has a record and is not listed`),
  ];
}

/**
 * Checks that the feed has every record's last step, and that every actor in the feed has a record. Actors
 * step meanwhile, and a step is stored before it is told, so differences are checked again. A step that is
 * never told stays missing, and the next one shows the gap.
 */
async function compareAtEnd(run: Run): Promise<string[]> {
  let found: string[] = [];
  for (let attempt = 0; attempt < 10; attempt++) {
    found = differencesNow(run);
    if (found.length === 0) return found;
    await sleep(clock, 500);
  }
  return found;
}

function differencesNow({ ledger }: Run): string[] {
  const untold = [...ledger.records].flatMap(([id, record]) => {
    const told = ledger.steps.get(id);
    return told?.rev === record.rev
      ? []
      : [`${id}: its record is at ${record.rev}, the feed at ${told?.rev}`];
  });
  const lost = [...ledger.steps.keys()].filter((id) => !ledger.records.has(id));
  return [...untold, ...lost.map((id) => `${id}: the feed tells of it, and it has no record`)];
}

async function main(from: string): Promise<readonly string[]> {
  const stage = await startStage(tell);
  try {
    const replicas: RunningReplica[] = [];
    for (let index = 0; index < replicaCount; index++) replicas.push(await stage.start(`old-${index}`, from));
    const ledger = await keepLedger(stage.bus);
    const work = await startWork(stage, tell, values.crowd);
    const run: Run = { stage, work, ledger, replicas, differences: [] };
    try {
      await sleep(clock, values.seconds * 1_000);
      await rollOver(run, 'new', values.to ?? resolve(import.meta.dirname, '..'));
      await rollOver(run, 'back', from);
    } finally {
      await work.stop();
    }
    await sleep(clock, settleMs);
    const { sent, lost, reasons } = work.shop.counts();
    if (lost > 0) run.differences.push(`${lost} of ${sent} requests lost: ${JSON.stringify(reasons)}`);
    run.differences.push(...(await compareAtEnd(run)), ...ledger.differences);
    await ledger.stop();
    const { counts } = ledger;
    say(
      `in all ${ledger.records.size} actors, ${counts.steps} steps, ${counts.records} records, ${sent} requests`,
    );
    return run.differences;
  } finally {
    await stage.stop();
  }
}

if (values.from === undefined) {
  console.error('error: --from is missing: the folder of an older checkout');
  process.exit(2);
}
const differences = await main(resolve(values.from));
for (const difference of differences) console.error(difference);
say(differences.length === 0 ? 'nothing was lost' : `${differences.length} differences`);
process.exit(differences.length === 0 ? 0 : 1);
