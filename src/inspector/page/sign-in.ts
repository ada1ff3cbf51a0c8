/** Asks for a token if the replica requires one. */
import type { Refused } from './answer.ts';
import { signIn } from './api.ts';
import { html, useState, type VNode } from './vendor.ts';

export function SignIn({ refused, onSignedIn }: { refused: Refused; onSignedIn: () => void }): VNode {
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const token = String(new FormData(event.target as HTMLFormElement).get('token') ?? '').trim();
    setBusy(true);
    const answer = await signIn(token);
    setBusy(false);
    if ('ok' in answer) onSignedIn();
    else setProblem(answer.refused.reason);
  };
  const isForbidden = refused.status === 403;
  const told = problem || (isForbidden ? refused.reason : '');
  return html`<main class="sign-in">
    <form onSubmit=${onSubmit}>
      <img src="/assets/inspector/page/orrery.svg" alt="" width="56" height="56" />
      <h1>${isForbidden ? 'A right is missing' : 'Orrery'}</h1>
      <p>Whoever may <code>get</code> <code>inspector.orrery.dev</code> in this cluster may look. ${isForbidden ? 'This page opens by itself once you may. Or paste the Kubernetes bearer token of somebody who may:' : 'Paste a Kubernetes bearer token:'}</p>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" spellcheck=${false} required autofocus aria-describedby="token-problem" />
      <p id="token-problem" class="problem" role="alert">${told}</p>
      <button class="primary" disabled=${isBusy}>${isBusy ? 'Asking Kubernetes …' : 'Sign in'}</button>
      <p class="hint">A short-lived one: <code>orrery token</code></p>
    </form>
  </main>`;
}
