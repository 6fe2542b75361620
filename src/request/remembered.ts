/** What this isolate remembers of one conversation. No kind is made before its first use. */
import type { RememberedConversation } from '../storage/conversation/remembered.ts';
import type { Isolate } from './beliefs.ts';

export class Remembered implements RememberedConversation {
  private readonly memory: Isolate;
  private readonly name: string;

  /** @param name see `conversationName` */
  constructor(memory: Isolate, name: string) {
    this.memory = memory;
    this.name = name;
  }

  get versions() {
    return this.memory.of('versions').of(this.name);
  }

  get rounds() {
    return this.memory.of('rounds').of(this.name);
  }

  get injection() {
    return this.memory.of('injections').of(this.name);
  }

  get blocks() {
    return this.memory.of('blocks').of(this.name);
  }

  get keptRounds() {
    return this.memory.of('keptRounds').of(this.name);
  }

  get keptAnswers() {
    return this.memory.of('keptAnswers').of(this.name);
  }

  get answerOutputs() {
    return this.memory.of('answerOutputs').of(this.name);
  }

  get digests() {
    return this.memory.of('outputDigests').of(this.name);
  }

  get archived() {
    return this.memory.of('archived').of(this.name);
  }

  forgetArchive(): void {
    this.memory.of('archived').forget(this.name);
  }
}
