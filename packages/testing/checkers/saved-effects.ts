/**
 * I1: "An effect runs only after the step that asked for it was saved under the current fence."
 *
 * Every effect that begins must be, word for word, in the outbox of a record that was stored before. That the
 * owner stored the record under its fence is for I2 to check (fences.ts).
 */
import type { CheckerKind } from './checker.ts';

export const savedEffects: CheckerKind = {
  name: 'I1',
  create({ breach }) {
    const asked = new Map<string, string>();
    return (sighting) => {
      if (sighting.kind === 'saved') {
        const { record, before } = sighting;
        // An actor that comes back after its record was forgotten starts afresh, and so do its keys.
        if (before !== null && record.rev < before.rev)
          for (const key of asked.keys()) if (key.startsWith(`${sighting.id}/`)) asked.delete(key);
        for (const { key, effect } of record.outbox) {
          if (!asked.has(key)) asked.set(key, JSON.stringify(effect));
        }
      }
      if (sighting.kind !== 'effect') return;
      const { key, effect, replica } = sighting;
      const known = asked.get(key);
      if (known === undefined)
        breach(`${replica} runs ${effect.type} ${key}, which no stored step asked for`);
      else if (known !== JSON.stringify(effect))
        breach(
          `${replica} runs ${key} otherwise than it was saved: ${JSON.stringify(effect)}, saved ${known}`,
        );
    };
  },
};
