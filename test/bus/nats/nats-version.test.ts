import { describe, expect, test } from 'vitest';
import { checkServerVersion, isAtLeast, parseVersion } from '../../../src/bus/nats/server/nats-version.ts';

describe('the version of the NATS server', () => {
  test.each([
    ['2.11.9', false, false],
    ['2.12.0', true, false],
    ['2.12.13', true, false],
    ['2.12.14', true, true],
    ['2.12.20', true, true],
    ['2.13.0', true, false],
    ['2.13.99', true, false],
    ['2.14.0', true, false],
    ['2.14.3', true, false],
    ['2.14.4', true, true],
    ['2.14.12', true, true],
    ['2.15.0', true, true],
    ['2.15.0-RC.2', true, true],
    ['v2.16.1', true, true],
    ['3.0.0', true, true],
    ['1.99.99', false, false],
    ['2.9.25', false, false],
    ['', false, false],
    ['unknown', false, false],
    ['2.12', false, false],
  ])('%s: alone %s, in a cluster %s', (version, alone, inCluster) => {
    const verdict = (isCluster: boolean) => {
      try {
        checkServerVersion(version, isCluster);
        return true;
      } catch (error) {
        expect(error).toMatchObject({ code: 'BUS_VERSION', facts: { version, isCluster } });
        return false;
      }
    };
    expect([verdict(false), verdict(true)]).toEqual([alone, inCluster]);
  });

  test('that is refused is named, with what would do', () => {
    expect(() => checkServerVersion('2.11.4', false)).toThrow('"2.11.4"; a single NATS server must be 2.12');
    expect(() => checkServerVersion('2.13.1', true)).toThrow(/"2.13.1".*2\.12\.14.*2\.14\.4.*2\.15/);
  });

  test('is compared number by number', () => {
    const at = (text: string) => parseVersion(text) ?? { major: 0, minor: 0, patch: 0 };
    expect(isAtLeast(at('2.12.0'), at('2.9.30'))).toBe(true);
    expect(isAtLeast(at('2.9.30'), at('2.12.0'))).toBe(false);
    expect(isAtLeast(at('2.12.1'), at('2.12.1'))).toBe(true);
  });
});
