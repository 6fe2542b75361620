/** What all parts of the picture share: its width, its colors and its text. */

export const WIDTH = 860;
export const INK = '#1f2328';
export const PALE_INK = '#59636e';
export const LINES = '#d8dee4';
export const PAPER = '#ffffff';

export function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped(content)}</text>`;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

export function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
