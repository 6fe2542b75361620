/** The pages of a list that a route answers. */

interface ReadPage {
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** One after the other, each read when it is asked for. */
export async function* pagesOf<Page extends ReadPage>(
  read: (cursor: string | null) => Promise<Page>,
): AsyncGenerator<Page> {
  let cursor: string | null = null;
  do {
    const page = await read(cursor);
    yield page;
    cursor = page.has_more ? page.cursor : null;
  } while (cursor !== null);
}
