/** The words of the document, which have codes in backticks, as HTML. */
import { html } from 'hono/html';

export type Html = ReturnType<typeof html>;

/** Paragraphs. */
export function prose(text: string): Html {
  return html`${text.split('\n\n').map((paragraph) => html`<p>${line(paragraph)}</p>`)}`;
}

/** What a field means: its words alone where they are one paragraph. */
export function meaning(text: string): Html {
  return text.includes('\n\n') ? prose(text) : line(text);
}

/** A line with codes. */
export function line(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
