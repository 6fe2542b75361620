/**
 * A part of the page that few visits show, loaded when it is shown. The name of its file has a hash
 * of its contents, so a page never runs parts of two versions.
 */
import type { ComponentChildren, ComponentType } from 'preact';
import { Failure } from '../api/connection.ts';
import { useLoad } from '../api/use-load.ts';
import { Of } from './states.tsx';

/**
 * @param load imports the part
 * @param around what the part is in, while it is loading or has failed to
 */
export function late<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  around: (state: ComponentChildren) => ComponentChildren,
) {
  return function Late(props: Props) {
    const loaded = useLoad(() => load().catch(failed), []);
    if (loaded.value === undefined)
      return around(
        <Of loaded={loaded} lines={8}>
          {() => null}
        </Of>,
      );
    const Part = loaded.value;
    return <Part {...props} />;
  };
}

/**
 * There is no connection, or the Worker was deployed after this page was loaded. A browser may
 * remember that a module failed for as long as the page is open.
 */
function failed(): never {
  const message =
    'This part of the page could not be loaded. If that does not change with another try, reload the page.';
  throw new Failure(0, 'part_not_loaded', message);
}
