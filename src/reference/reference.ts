/** All that the reference is made of, loaded when it is first asked for. */

export { docPage, searchPage } from './docs/doc-page.ts';
export { type ApiParts, apiDocument } from './document.ts';
export { pageOf } from './page/page.ts';
export { LLMS_TEXT, PAGES } from './pages.ts';
