/**
 * The variable that passes the configuration to the agent's own process. Addresses of NATS may contain
 * passwords, so they are not on its command line (I9).
 */
export const agentVariable = 'ORRERY_AGENT_CONFIG';
