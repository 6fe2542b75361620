/** Where the pages are: served by a Worker, or files of a folder. */
import type { Bar } from '../shell.ts';

export interface Place {
  readonly bar: Bar;
  /** What is appended to a page's name. */
  readonly ending: '' | '.html';
  /**
   * The addresses of pages and pictures, by what links name: paths from the folder of the page. A
   * link to any other file shows its words alone.
   */
  readonly addresses: ReadonlyMap<string, string>;
}

/** The bar of the Worker's pages. @param root from a page to their folder */
export function workerBar(root: '' | '../'): Bar {
  return {
    home: `${root}.`,
    links: [
      ['Docs', `${root}docs/getting-started`],
      ['API reference', `${root}docs`],
      ['Inspector', `${root}inspect`],
    ],
    search: `${root}docs/search`,
  };
}
