/** The inspector's frame: where it is, whose data it shows, and the screen. */
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { LINES } from '../src/reference/mark.ts';
import { Client } from './api/client.ts';
import { credentialsOf } from './api/connection.ts';
import { type Kept, SignIn } from './api/sign-in.ts';
import { late } from './parts/late.tsx';
import { Palette } from './parts/palette.tsx';
import { RefDialog } from './parts/ref-dialog.tsx';
import { SecretForm } from './parts/secret-form.tsx';
import { SignOut } from './parts/sign-out.tsx';
import { Words } from './parts/term.tsx';
import { fragmentOf, type Place, placeOf } from './place.ts';
import { titleOf } from './read/titles.ts';
import { ConversationScreen } from './screens/conversation.tsx';
import { Conversations } from './screens/conversations.tsx';
import { Deployment } from './screens/deployment.tsx';
import { RequestScreen } from './screens/request.tsx';
import { enterEntry, restoreScroll } from './scroll.ts';

const OperatorScreen = late(
  async () => (await import('./screens/operator.tsx')).OperatorScreen,
  asScreen('Operator'),
);
const TryIt = late(async () => (await import('./screens/try-it.tsx')).TryIt, asScreen('Try it'));
const TryRequest = late(
  async () => (await import('./screens/try-it.tsx')).TryRequest,
  asScreen('Try this conversation'),
);

/** For what is served without a key. */
const ANONYMOUS = new Client();

const SCREENS = [
  ['conversations', 'Conversations'],
  ['try', 'Try it'],
  ['deployment', 'Deployment'],
  ['operator', 'Operator'],
] as const;

/** The screen of the menu that a place belongs to. */
const SHOWN_IN: Readonly<Record<Place['screen'], (typeof SCREENS)[number][0]>> = {
  conversations: 'conversations',
  conversation: 'conversations',
  request: 'conversations',
  try: 'try',
  'try-request': 'try',
  deployment: 'deployment',
  operator: 'operator',
};

/** @param keyOptional whether this deployment serves callers without a key */
export function App({ keyOptional }: { keyOptional: boolean }) {
  const [signIn, setSignIn] = useSignIn('caller');
  /** Holds the operator's token, apart from the key. */
  const [operatorSignIn, setOperatorSignIn] = useSignIn('operator');
  /** Whether somebody wants to enter a key where none is needed. */
  const [wantsKey, setWantsKey] = useState(false);
  /** Whether the data belongs to all callers without a key of their own. */
  const [isLocal, setLocal] = useState(keyOptional && !signIn);
  const client = useMemo(
    () => (signIn ? new Client(signIn.credentials) : keyOptional && !wantsKey ? ANONYMOUS : undefined),
    [signIn, keyOptional, wantsKey],
  );
  const [ref, setRef] = useState<string>();
  const place = usePlace();
  const openRef = useCallback((chosen: string) => setRef(chosen), []);
  const forget = (): void => {
    setRef(undefined);
    setSignIn(undefined);
    setWantsKey(true);
  };
  const shown = SHOWN_IN[place.screen];
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <header class="top">
        <Brand />
        <nav aria-label="Screens">
          {SCREENS.map(([screen, title]) => (
            <a
              key={screen}
              href={fragmentOf({ screen })}
              aria-current={screen === shown ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
          <a href="docs/getting-started">Docs</a>
        </nav>
        {client && (
          <span class="whose">
            {isLocal && (
              <span class="tag notice" title={client.hasKey ? SHORT_KEY : NO_KEY}>
                no key
              </span>
            )}
            <Palette client={client} screens={SCREENS} />
            <Words />
            {signIn ? (
              <SignOut signIn={signIn} onEnd={forget} />
            ) : (
              <button type="button" class="quiet" onClick={forget}>
                Use a key
              </button>
            )}
          </span>
        )}
      </header>
      {client?.hasKey && isLocal && <aside class="local-note">{SHORT_KEY}</aside>}
      {place.screen === 'operator' ? (
        <OperatorScreen signIn={operatorSignIn} onSignIn={setOperatorSignIn} />
      ) : client || place.screen === 'try' ? (
        // Another place is another screen: nothing of the one before is shown under its title.
        <Screen key={keyOf(place)} place={place} client={client ?? ANONYMOUS} onRef={openRef} />
      ) : (
        <KeyForm
          onSignIn={(entered, isLocalKey) => {
            setLocal(isLocalKey);
            setSignIn(entered);
          }}
        />
      )}
      {ref !== undefined && (
        <RefDialog key={ref} client={client ?? ANONYMOUS} reference={ref} onClose={() => setRef(undefined)} />
      )}
    </>
  );
}

/** What the list shows is in its address, which it changes itself. */
function keyOf(place: Place): string {
  return place.screen === 'conversations' ? place.screen : fragmentOf(place);
}

const SHORT_KEY =
  'This key is too short to identify a caller, so you see the conversations of all callers without their own key.';
const NO_KEY = 'The conversations of all callers without their own key.';

interface ScreenProps {
  readonly place: Exclude<Place, { screen: 'operator' }>;
  readonly client: Client;
  readonly onRef: (ref: string) => void;
}

function Screen({ place, client, onRef }: ScreenProps) {
  switch (place.screen) {
    case 'conversations':
      return <Conversations client={client} />;
    case 'conversation':
      return <ConversationScreen client={client} named={place} onRef={onRef} />;
    case 'request':
      return <RequestScreen client={client} named={place} n={place.n} onRef={onRef} />;
    case 'try':
      return <TryIt client={client} onRef={onRef} />;
    case 'try-request':
      return <TryRequest client={client} named={place} n={place.n} onRef={onRef} />;
    case 'deployment':
      return <Deployment client={client} />;
  }
}

/** A screen that is not there yet, under its title. */
function asScreen(title: string) {
  return (state: ComponentChildren) => (
    <main>
      <h1>{title}</h1>
      {state}
    </main>
  );
}

/** A sign-in, at first the one that this browser has kept. Undefined once it is over. */
function useSignIn(whose: 'caller' | 'operator') {
  const [signIn, setSignIn] = useState(() => SignIn.remembered(whose));
  useEffect(() => signIn?.whenOver(() => setSignIn(undefined)), [signIn]);
  return [signIn, setSignIn] as const;
}

function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  useEffect(() => {
    const read = (): void => {
      enterEntry();
      setPlace(placeOf(location.hash));
    };
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  useLayoutEffect(restoreScroll, [place]);
  useEffect(() => {
    document.title = titleOf(place);
  }, [place]);
  return place;
}

/** Moves the focus to the screen, and leaves the address as it is. */
function skip(): void {
  const main = document.querySelector('main');
  main?.setAttribute('tabindex', '-1');
  main?.focus();
}

interface KeyFormProps {
  /** @param isLocal whether the key names nobody, so that it shows the local tenant's data */
  readonly onSignIn: (signIn: SignIn, isLocal: boolean) => void;
}

function KeyForm({ onSignIn }: KeyFormProps) {
  const enter = async (key: string, kept: Kept): Promise<void> => {
    const signIn = await SignIn.with('caller', credentialsOf(key), kept);
    const { caller } = await new Client(signIn.credentials).deployment();
    onSignIn(signIn, caller === 'local_tenant');
  };
  return (
    <SecretForm title="Sign in with your API key" label="API key" onSecret={enter}>
      <p>
        Conversations are kept under the API key of their requests. Enter that key to see them. It is never
        stored, and is in no address. If you stay signed in, the browser keeps a sealed text instead, which
        only this deployment can open.
      </p>
    </SecretForm>
  );
}

function Brand() {
  return (
    <a class="brand" href=".">
      <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="#1f5fbf" />
        <path d={LINES} stroke="#fff" stroke-width="3" stroke-linecap="round" />
      </svg>
      Precis
    </a>
  );
}
