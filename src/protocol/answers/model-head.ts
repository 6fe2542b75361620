/**
 * The model that has answered, read from the beginning of an answer in either protocol, whole or
 * streamed, without parsing it.
 */
import { concat } from '../../lib/bytes.ts';
import { levelsOpened } from '../json/levels.ts';

/** In bytes. The model is before the contents, after a response's instructions at worst. */
const HEAD_BYTES = 4 * 1024;

const decoder = new TextDecoder();

export class ModelHead {
  private readonly chunks: Uint8Array[] = [];
  private size = 0;

  push(chunk: Uint8Array): void {
    if (this.size >= HEAD_BYTES) return;
    // A copy, since a part of a chunk would keep all of it alive.
    this.chunks.push(chunk.slice(0, HEAD_BYTES - this.size));
    this.size += chunk.length;
  }

  /**
   * Undefined if the beginning names no model. A response repeats the metadata of its request,
   * which may name one too, but deeper.
   */
  read(): string | undefined {
    const text = decoder.decode(concat(this.chunks));
    // In a stream, an event holds the answer.
    const most = /^\s*\{/.test(text) ? 1 : 2;
    const isOwn = ({ index }: RegExpExecArray) => levelsOpened(text.slice(0, index + 1)) <= most;
    return [...text.matchAll(/[{,]\s*"model"\s*:\s*"([^"\\]{1,200})"/g)].find(isOwn)?.[1];
  }
}
