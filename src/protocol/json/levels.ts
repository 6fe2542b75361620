/**
 * How many more objects and lists a part of a JSON text opens than it closes. Of the text before a
 * place, it is how deep that place is; of the text after it, the negative of that.
 *
 * @param part neither begins nor ends inside a string
 */
export function levelsOpened(part: string): number {
  const bare = part.replace(/"(?:[^"\\]|\\.)*"/g, '');
  return bare.replace(/[^{[]/g, '').length - bare.replace(/[^}\]]/g, '').length;
}
