/** Dead letters on the page, in the browser of page.test.ts: announced, listed, sent again, dismissed. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects } from '../../src/bus/subjects.ts';
import { accessibilityFaults, picture } from './browser.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };

/** Sends an actor a message, whether it can take it or not. */
export async function tell(natsUrl: string, id: ActorId, message: object): Promise<void> {
  const bus = await connectNats({ ...basics, servers: [natsUrl], name: 'test', cluster: 'dev' });
  await bus.append(subjects('dev').send(id), encodeJson(message));
  await bus.close();
}

export function deadLetterTests(
  scene: () => {
    readonly natsUrl: string;
    readonly tokens: { readonly look: string };
    readonly signedIn: (path?: string, options?: { token?: string }) => Promise<Page>;
  },
): void {
  test('shows what is wrong first: a message that nobody could take', async () => {
    const page = await scene().signedIn();
    await page.locator('.planet').nth(63).waitFor();
    await tell(scene().natsUrl, 'pod/shop/web-0', { type: 'pod.explode' });
    await page.getByRole('heading', { name: 'Needs a look' }).waitFor();
    await page.locator('.trouble-rows').getByText('MESSAGE_UNKNOWN_EVENT').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await picture(page, 'trouble-light');
  });

  test('lists dead letters, sends one again and dismisses one; who may only look is offered neither', async () => {
    for (const name of ['lost-1', 'lost-2'])
      await tell(scene().natsUrl, `pod/shop/${name}`, { type: 'pod.recheck', password: 'hunter2' });
    const looking = await scene().signedIn('#/dead-letters', { token: scene().tokens.look });
    const seen = looking.getByRole('listitem').filter({ hasText: 'pod/shop/lost-1' });
    await seen.getByText('ACTOR_MISSING', { exact: true }).waitFor();
    expect(await looking.getByRole('button', { name: /^Send again|^Dismiss/ }).count()).toBe(0);
    expect(await looking.content()).not.toContain('hunter2');

    const page = await scene().signedIn('#/dead-letters');
    const letter = (name: string) => page.getByRole('listitem').filter({ hasText: `pod/shop/${name}` });
    await letter('lost-1')
      .getByRole('button', { name: /^Send again/ })
      .click();
    await letter('lost-1').getByRole('button', { name: 'Yes, send it' }).click();
    await letter('lost-1').getByRole('status').filter({ hasText: 'ACTOR_MISSING' }).waitFor();
    await letter('lost-2')
      .getByRole('button', { name: /^Dismiss/ })
      .click();
    await letter('lost-2').getByRole('button', { name: 'Yes, dismiss it' }).click();
    await letter('lost-2').waitFor({ state: 'detached' });
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.reload();
    await letter('lost-1').waitFor();
    expect(await letter('lost-2').count()).toBe(0);
  });
}
