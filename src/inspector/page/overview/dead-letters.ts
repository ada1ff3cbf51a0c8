/** The view of all dead letters, newest first: reason, content, sending again and dropping. */
import { systemClock } from '../../../base/clock.ts';
import type { DeadLetter } from '../../../base/views.ts';
import { indented } from '../../../base/words.ts';
import type { Answer } from '../answer.ts';
import { dropLetter, readLetters, resendLetter } from '../api.ts';
import type { Store } from '../page-store.ts';
import { createPersistentReading } from '../persistent-reading.ts';
import { ActorLink, Age, useTick } from '../pieces.ts';
import { html, useEffect, useMemo, useState, type VNode } from '../vendor.ts';

type Letter = DeadLetter & { readonly sequence: number };

/** The most letters that the page requests; the command line shows all. */
const shownMax = 500;

export function DeadLettersPage({ store }: { store: Store }): VNode {
  const [letters, setLetters] = useState<readonly Letter[] | null>(null);
  const [problem, setProblem] = useState('');
  const newest = store.cluster?.deadLetters.newest[0]?.at ?? 0;
  const count = store.cluster?.deadLetters.count ?? 0;
  useTick(1_000);
  const reading = useMemo(() => {
    const onAnswer = (_: null, answer: Answer<readonly Letter[]>) => {
      if ('ok' in answer) setLetters(answer.ok);
      setProblem('ok' in answer ? '' : answer.refused.reason);
    };
    return createPersistentReading({ clock: systemClock, read: readAll, onAnswer });
  }, []);
  useEffect(() => void reading.ask(null), [newest, count]);
  useEffect(() => reading.forget, []);
  const gone = (sequence: number) =>
    setLetters((all) => all?.filter((one) => one.sequence !== sequence) ?? null);
  const maySend = store.session !== null && 'ok' in store.session && store.session.ok.maySend;
  return html`<section class="card dead-letters" aria-labelledby="h-dead">
    <h1 id="h-dead">Dead letters</h1>
    <p class="quiet">Messages that nobody took, of the last seven days, newest first.</p>
    ${problem !== '' && html`<p class="problem" role="alert">${problem}</p>`}
    ${letters === null && problem === '' && html`<p class="quiet">reading …</p>`}
    ${letters?.length === 0 && html`<p class="quiet">There are none.</p>`}
    <ul class="letters">${letters?.map(
      (letter) =>
        html`<${LetterRow} key=${letter.sequence} letter=${letter} now=${store.now()} maySend=${maySend}
          onGone=${() => gone(letter.sequence)} />`,
    )}</ul>
    ${(letters?.length ?? 0) >= shownMax && html`<p class="quiet">There may be more: <code>orrery dead</code> lists all.</p>`}
  </section>`;
}

function LetterRow({
  letter,
  now,
  maySend,
  onGone,
}: {
  letter: Letter;
  now: number;
  maySend: boolean;
  onGone: () => void;
}): VNode {
  const [asked, setAsked] = useState<'resend' | 'drop' | null>(null);
  const [told, setTold] = useState('');
  const { sequence, at, to, subject, event, code, error, body } = letter;
  const act = async () => {
    const what = asked;
    setAsked(null);
    setTold('…');
    const answer = await (what === 'resend' ? resendLetter(sequence) : dropLetter(sequence));
    if ('refused' in answer) return setTold(answer.refused.reason);
    if ('code' in answer.ok) return setTold(`${answer.ok.code}: ${answer.ok.reason}`);
    onGone();
  };
  return html`<li>
    <div class="letter-line">
      <span class="letter" aria-hidden="true">✉</span><b class="code">${code ?? ''}</b>
      ${to ? html`<${ActorLink} id=${to} />` : html`<span class="letter-subject">${subject}</span>`}
      <span class="event">${event ?? ''}</span><${Age} since=${at} now=${now} />
    </div>
    <p class="why">${error}</p>
    <details><summary>What it says</summary><pre>${indented(body)}</pre></details>
    ${
      maySend &&
      (asked === null
        ? html`<div class="buttons">
          <button onClick=${() => setAsked('resend')} aria-label="Send again … (letter ${sequence})">Send again …</button>
          <button onClick=${() => setAsked('drop')} aria-label="Dismiss … (letter ${sequence})">Dismiss …</button>
        </div>`
        : html`<div class="buttons" role="alert">
          <span>${asked === 'resend' ? `This sends it to ${to ?? subject} again.` : 'This deletes it for good.'}</span>
          <button onClick=${() => setAsked(null)}>Keep it</button>
          <button class="primary danger" onClick=${act}>${asked === 'resend' ? 'Yes, send it' : 'Yes, dismiss it'}</button>
        </div>`)
    }
    ${told !== '' && html`<p class="problem" role="status">${told}</p>`}
  </li>`;
}

/** Newest first; the feed has those of a day, this list has all. */
async function readAll(): Promise<Answer<readonly Letter[]>> {
  const letters: Letter[] = [];
  for (let after: number | null | undefined; after !== null; ) {
    const answer = await readLetters(after);
    if ('refused' in answer) return answer;
    letters.push(...answer.ok.letters);
    after = answer.ok.next;
  }
  return { ok: letters.reverse().slice(0, shownMax) };
}
