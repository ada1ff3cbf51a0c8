import { describe } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { contract } from '../contract.ts';

describe('the memory bus', () => {
  contract(async (cluster) => {
    const hub = memoryHub({ clock: systemClock, cluster });
    return { connect: async () => hub.connect(), close: async () => undefined };
  });
});
