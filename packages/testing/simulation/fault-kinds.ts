/** The kinds of faults of replicas, of the broker and of the outside, each on or off for a whole run. */
export const faultKinds = [
  'kill',
  'pause',
  'cut',
  'silence',
  'brokerAway',
  'stop',
  'appends',
  'core',
  'kubeErrors',
  'mirror',
  'away',
  'clockSet',
  'storeFull',
  'mailAnew',
  'reflected',
  'etcdRestored',
  'twin',
  'forged',
] as const;
export type FaultKind = (typeof faultKinds)[number];
