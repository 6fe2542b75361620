/** The agent's own tool that fetches by ref, for modes in which Precis gives the model none. */
import { definitionOf } from '../src/retrieval/tool.ts';

export const FETCH_TOOL = definitionOf('retrieve_ref');

/**
 * The part of a content that a call of the tool asks for (`GET /v1/refs/{ref}`).
 *
 * @returns the content, or the sentence of the error
 */
export async function fetchPart(
  workerUrl: string,
  apiKey: string,
  json: string,
): Promise<{ ref: string; content: string }> {
  const { ref, ...part } = JSON.parse(json) as Record<string, string> & { ref: string };
  const url = `${workerUrl}/v1/refs/${ref}?${new URLSearchParams(part)}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
  return { ref, content: await response.text() };
}
