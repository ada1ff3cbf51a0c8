import { describe } from 'vitest';
import { contract } from '../contract.ts';
import { natsBackend } from './nats-backend.ts';

describe('the bus on a real NATS server', () => {
  contract(natsBackend);
});
