/**
 * Where the configuration stands for the agent's own process: addresses of NATS may hold passwords, so not on
 * its command line (I9).
 */
export const agentVariable = 'ORRERY_AGENT_CONFIG';
