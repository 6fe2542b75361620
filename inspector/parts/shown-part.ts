/** A part of a screen that an address names: it is scrolled to, and has the focus. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { placeOf } from '../place.ts';

/**
 * The id that the address names, such as `caller-alice`. A part that is loaded later is shown once
 * it is there.
 *
 * @returns for the part's element, which has the id
 */
export function useShownPart<Part extends HTMLElement>(id: string) {
  const part = useRef<Part>(null);
  useLayoutEffect(() => {
    const look = (): void => {
      const place = placeOf(location.hash);
      if (place.screen === 'operator' && place.shown === id) showPart(part.current);
    };
    // After the page was scrolled to where its address was left (`scroll.ts`).
    const later = (): number => requestAnimationFrame(look);
    later();
    addEventListener('hashchange', later);
    return () => removeEventListener('hashchange', later);
  }, [id]);
  return part;
}

/** Also for a link to the address that is there already, which changes nothing by itself. */
export function showPart(part: HTMLElement | null): void {
  part?.scrollIntoView({ block: 'center' });
  part?.setAttribute('tabindex', '-1');
  part?.focus({ preventScroll: true });
}
