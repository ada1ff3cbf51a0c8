/** `orrery shards`: shows who owns what, trouble first. */
import { systemClock } from '../base/clock.ts';
import type { ReplicaView, ShardsView, ShardView } from '../base/views.ts';
import { age } from '../base/words.ts';
import { withClient } from './cluster-connection.ts';
import { addClientFlags, flagTexts, formatOption, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';
import { table } from './text-table.ts';

const examples = `
Examples:
  orrery shards                             replicas, then the shards that are not active, then the others
  orrery shards -o json | jq '.replicas[] | {replica, shards: (.shards | length)}'`;

export function shardsCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('shards')
    .summary('replicas, their shards, load and fences')
    .description('Replicas, their shards, load and fences.')
    .addOption(formatOption('-o, --output <format>', ['table', 'json']));
  addClientFlags(command).addHelpText('after', examples);
  command.action(async (options: { output: 'table' | 'json' }) => {
    const view = await withClient(flagTexts({ ...options }), terminal, ({ control }) => control.shards());
    if (options.output === 'json') terminal.out(`${JSON.stringify(view, null, 2)}\n`);
    else print(view, systemClock.now(), terminal);
  });
}

function print({ replicas, shards }: ShardsView, now: number, terminal: Terminal): void {
  const heading = ['REPLICA', 'RELEASE', 'SHARDS', 'ACTORS', 'STEPS/S', 'SEEN'];
  terminal.out(
    table(
      heading,
      replicas.map((replica) => replicaRow(replica, now)),
    ),
  );
  const sorted = [...shards].sort((a, b) => Number(isWell(a)) - Number(isWell(b)) || a.shard - b.shard);
  terminal.out('\n');
  terminal.out(
    table(
      ['SHARD', 'STATE', 'OWNER', 'FENCE', 'ACTORS'],
      sorted.map((shard) => shardRow(shard, terminal)),
    ),
  );
  const unwell = shards.filter((shard) => !isWell(shard)).length;
  if (unwell > 0) terminal.err(`${unwell} of ${shards.length} shards are not active\n`);
}

function isWell({ state, owner }: ShardView): boolean {
  return state === 'active' && owner !== null;
}

function replicaRow(replica: ReplicaView, now: number): string[] {
  const { release, shards, actors, stepsPerSecond, lastSeen } = replica;
  return [
    replica.replica,
    release,
    String(shards.length),
    String(actors),
    stepsPerSecond.toFixed(stepsPerSecond < 10 ? 1 : 0),
    `${age(now - lastSeen)} ago`,
  ];
}

function shardRow(shard: ShardView, { style }: Terminal): string[] {
  const state = isWell(shard) ? shard.state : style('red', shard.state);
  return [String(shard.shard), state, shard.owner ?? '-', String(shard.fence), String(shard.actors)];
}
