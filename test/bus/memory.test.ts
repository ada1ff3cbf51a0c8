import { describe } from 'vitest';
import { memoryHub } from '../../src/bus/memory.ts';
import { systemClock } from '../../src/clock.ts';
import { contract } from './contract.ts';

describe('the memory bus', () => {
  contract(async (cluster) => {
    const hub = memoryHub({ clock: systemClock, cluster });
    return { connect: async () => hub.connect(), close: async () => undefined };
  });
});
