/**
 * What the Kubernetes side asks of a logger: the part of the program's log that it uses.
 */
import type { Log } from '../../base/log.ts';

export type KubeLog = Pick<Log, 'debug' | 'info' | 'warn'>;
