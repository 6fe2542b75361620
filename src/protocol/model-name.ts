/** The model of a body that is not read otherwise. */
import { fieldOf, jsonOf, scanObject } from './json/spans.ts';

const MODEL = new Map([['model', {}]]);

/** Undefined if the body is no JSON object, or names no model. */
export function modelIn(body: Uint8Array): string | undefined {
  const root = scanObject(body, { fields: MODEL });
  const span = root && fieldOf(root, 'model')?.value;
  const model = span && jsonOf(body, span);
  return typeof model === 'string' ? model : undefined;
}
