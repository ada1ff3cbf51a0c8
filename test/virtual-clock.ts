/** The clock that only a test moves; it lies with the other parts that users of the package test with. */
export { type OwnClock, ownClock, settle, VirtualClock } from '../packages/testing/time/virtual-clock.ts';
