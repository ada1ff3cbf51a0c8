/**
 * `/proxiers/<node>/healthz` and `/livez`: a load balancer asks about the service proxy of a node, and any
 * replica answers.
 */

import { createControl } from '../../actors/control/control-client.ts';
import type { FeatureParts, HttpAnswerer, HttpReply } from '../../actors/feature.ts';
import { actorId } from '../../base/ids.ts';
import { type HealthEndpoint, healthAnswer, proxierReport, replyOf } from './health-body.ts';

export function answerForProxiers(
  { bus, subjects, clock, metrics }: Pick<FeatureParts, 'bus' | 'subjects' | 'clock' | 'metrics'>,
  timeoutMs: number,
): Readonly<Record<string, HttpAnswerer>> {
  const control = createControl({ bus, subjects });
  const count = (endpoint: HealthEndpoint, code: number) =>
    metrics.count('orrery_health_answers_total', { subject: 'proxier', endpoint, code: String(code) });
  /** The owner provides its knowledge; the time and the timeout are this replica's. */
  const answer = async (endpoint: HealthEndpoint, node: string): Promise<HttpReply> => {
    const view = await control.get(actorId('proxier', '_', node), { history: false });
    const reply =
      view === null || view === undefined
        ? unheardOf(node)
        : replyOf(healthAnswer(endpoint, proxierReport(view, timeoutMs), clock.now()));
    count(endpoint, reply.status);
    return reply;
  };
  return {
    '/proxiers/:node/livez': ({ node = '' }) => answer('livez', node),
    '/proxiers/:node/healthz': ({ node = '' }) => answer('healthz', node),
  };
}

function unheardOf(node: string): HttpReply {
  const message = `no proxier on node ${node} has ever reported`;
  return {
    status: 404,
    contentType: 'application/json',
    headers: {},
    body: JSON.stringify({ error: { code: 'ACTOR_MISSING', message } }),
  };
}
