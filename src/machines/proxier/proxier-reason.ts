/**
 * Why a proxier stands as it does: which changes its proxy has not processed, and whether the node should get
 * traffic. Pure.
 */
import type { IpFamily } from '../../base/address.ts';
import type { Fact } from '../../base/views.ts';
import { age } from '../../base/words.ts';
import { isIn, type Standing, type Told, tells } from '../tell.ts';
import { type FamilyHealth, isLate } from './health-family.ts';
import { deletedSilenceMs, type ProxierContext, unknownSilenceMs } from './proxier-context.ts';

type ProxierStanding = Standing<ProxierContext>;

const families = ['IPv4', 'IPv6'] as const satisfies readonly IpFamily[];

export const tellProxier = tells<ProxierContext>((standing) => ({
  ...sentenceOf(standing),
  facts: factsOf(standing),
}));

function sentenceOf(standing: ProxierStanding): Told {
  const { context, at } = standing;
  const node = nodeText(standing);
  const about = families.map((family) => ({ family, health: context.families[family] }));
  const late = about.filter(({ health }) => isLate(health, at, context.timeoutMs));
  if (late.length > 0) {
    const text = late.map(({ family, health }) => `an ${family} change has waited for ${waited(health, at)}`);
    const bound = age(context.timeoutMs);
    return {
      text: `the proxy does not keep up: ${text.join(', ')}, the limit is ${bound}${node}`,
      next: null,
    };
  }
  const pending = about.filter(({ health }) => health.pendingSince !== null && health.lastUpdated !== null);
  const [first] = pending.sort((a, b) => (a.health.pendingSince ?? 0) - (b.health.pendingSince ?? 0));
  if (first !== undefined) {
    const { family, health } = first;
    const due = (health.pendingSince ?? at) + context.timeoutMs;
    const text = `the proxy has an ${family} change to apply${node}`;
    return { text, next: { text: `the proxy counts as late`, at: due } };
  }
  const next = silence(standing);
  if (about.every(({ health }) => health.lastUpdated === null)) {
    return { text: `the proxy has not applied anything yet${node}`, next };
  }
  return { text: `the proxy has applied every change that it told of${node}`, next };
}

const waited = ({ pendingSince }: FamilyHealth, at: number) => age(at - (pendingSince ?? at));

function nodeText(standing: ProxierStanding): string {
  if (isIn(standing, 'node.ineligible.leaving'))
    return '; the node should get no new traffic: it is being removed';
  if (isIn(standing, 'node.ineligible')) return '; the node should get no new traffic: it was deleted';
  return isIn(standing, 'node.unknown') ? '; nothing is known about the Node' : '';
}

/** An actor without a Node ends by itself (§3.3). */
function silence(standing: ProxierStanding): NonNullable<Told['next']> | null {
  const { heardAt } = standing.context;
  const patience = isIn(standing, 'node.ineligible.deleted') ? deletedSilenceMs : unknownSilenceMs;
  const isVouched = isIn(standing, 'node.eligible') || isIn(standing, 'node.ineligible.leaving');
  if (isVouched || heardAt === null) return null;
  return { text: 'it is forgotten unless it reports', at: heardAt + patience };
}

function factsOf(standing: ProxierStanding): readonly Fact[] {
  const { context, at } = standing;
  const eligible = isIn(standing, 'node.ineligible') ? 'ineligible' : 'eligible';
  return [
    { label: 'Node', value: isIn(standing, 'node.unknown') ? 'unknown, counts as eligible' : eligible },
    ...families.flatMap((family) => familyFacts(family, context, at)),
    { label: 'Timeout', value: context.timeoutMs, unit: 'ms' },
  ];
}

function familyFacts(family: IpFamily, { families, timeoutMs }: ProxierContext, at: number): readonly Fact[] {
  const { pendingSince, lastUpdated } = families[family];
  if (lastUpdated === null && pendingSince === null) return [];
  const isBehind = isLate(families[family], at, timeoutMs);
  const word =
    lastUpdated === null ? 'starting' : isBehind ? 'late' : pendingSince === null ? 'synced' : 'pending';
  return [
    { label: family, value: word },
    ...(lastUpdated === null ? [] : [{ label: `${family} updated`, value: lastUpdated, unit: 'time' }]),
    ...(pendingSince === null ? [] : [{ label: `${family} waits since`, value: pendingSince, unit: 'time' }]),
  ];
}
