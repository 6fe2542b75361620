/**
 * Where each entry of the tab's history was scrolled to. Screens load their content after they are
 * shown, so the browser's own restoration would come too early.
 */

/** In pixels from the top. */
interface Position {
  page: number;
  /** Of the list that scrolls by itself, if the screen has one. */
  list: number;
}

const positions = new Map<number, Position>();
/** Names the entries. Entries of an earlier load of the page stay unknown. */
let newest = Date.now();
let entry = newest;
/** Whether a person scrolls the page, and not content that is loading. */
let isFree = true;
let stop: (() => void) | undefined;

/** Events by which a person takes over. */
const TAKES_OVER = ['wheel', 'pointerdown', 'touchstart', 'keydown'] as const;

/**
 * Calls `work` at each event by which a person takes over, until the returned function is called.
 */
export function onTakeOver(target: EventTarget, work: () => void): () => void {
  for (const name of TAKES_OVER) target.addEventListener(name, work, { passive: true });
  return () => {
    for (const name of TAKES_OVER) target.removeEventListener(name, work);
  };
}

/** Listens from now on. Call it once, before anything is rendered. */
export function keepScroll(): void {
  history.scrollRestoration = 'manual';
  addEventListener('scroll', () => {
    if (isFree) position().page = scrollY;
  });
  enterEntry();
}

/** Notes which entry of the history is shown. Call it as soon as the address has changed. */
export function enterEntry(): void {
  stop?.();
  isFree = false;
  const { entry: known } = Object(history.state) as { entry?: unknown };
  if (typeof known === 'number' && positions.has(known)) {
    entry = known;
    return;
  }
  newest++;
  entry = newest;
  history.replaceState({ entry }, '');
  position();
}

/** Scrolls to where the entry was. Call it when its screen has been rendered. */
export function restoreScroll(): void {
  const { page } = position();
  scrollTo(0, page);
  if (page === 0) {
    isFree = true;
    return;
  }
  const observer = new ResizeObserver(() => scrollTo(0, page));
  const unlisten = onTakeOver(window, () => stop?.());
  stop = () => {
    observer.disconnect();
    unlisten();
    isFree = true;
    stop = undefined;
  };
  observer.observe(document.body);
}

/** Where the list of the entry was scrolled to. */
export function listPosition(): number {
  return position().list;
}

export function keepListPosition(top: number): void {
  position().list = top;
}

function position(): Position {
  const known = positions.get(entry) ?? { page: 0, list: 0 };
  positions.set(entry, known);
  return known;
}
