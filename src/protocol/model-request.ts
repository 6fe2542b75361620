/** A request to a model as the rest of Precis sees it, whatever its wire format. */
import type { Message } from '../memory/conversation/message.ts';
import type { View } from '../memory/plan/view.ts';
import type { Tools } from '../memory/tokens/tokens.ts';
import type { OwnField } from './body.ts';
import type { Opened, StoredName } from './stored-names.ts';
import type { FunctionTool } from './tools.ts';

/** A message in the caller's bytes. */
export interface WireMessage extends Message {
  /** The role as the message says it. */
  readonly wireRole: string | undefined;
  /** The message as it came; where it is several items, with the commas between them. */
  readonly json: Uint8Array;
}

/** A message that is put in behind the preamble. */
export interface InjectedMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

/** What keeps the callers of one account apart. */
export interface SharedAccount {
  /** A caller's own key of the upstream's prompt cache, as one that no other caller has. */
  cacheKey(key: string): string;
}

/** What else is done to a body. */
export interface Beside {
  readonly injected?: InjectedMessage | undefined;
  /** Tools of ours, each as its JSON. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Present where other callers share the upstream's account: then nothing of the request may be
   * stored there.
   */
  readonly shared?: SharedAccount | undefined;
  /**
   * Whether the model's reasoning is asked for in encrypted form, beside what the caller asks for.
   */
  readonly reasoning?: boolean;
  /**
   * What becomes of the wish that the upstream compacts: it is cut out where the upstream can't, or
   * put in. Absent: as it came.
   */
  readonly compaction?: 'cut' | { readonly threshold: number | undefined } | undefined;
}

export interface ModelRequest {
  /** The body as it came. */
  readonly bytes: Uint8Array;
  /** The name of the field that holds the conversation. */
  readonly conversationField: 'messages' | 'input';
  /** Empty when there are too many of them. */
  readonly messages: readonly WireMessage[];
  /** Whether there are more than are looked into. */
  readonly tooManyMessages: boolean;
  readonly model: string | undefined;
  readonly tools: Tools | undefined;
  /** The caller's limit of the answer, in tokens; 0 without one. */
  readonly answerTokens: number;
  /**
   * The field by which the request names what the upstream has stored of its conversation; then no
   * view of it can be made.
   */
  readonly upstreamState: string | undefined;
  /** The names of the caller's tools that a tool of ours must not have. */
  readonly toolNames: ReadonlySet<string>;
  /** Whether the request has tools of the caller's. */
  readonly hasTools: boolean;
  /**
   * What the request asks the upstream to compact by itself; undefined where it doesn't, or the
   * protocol has no such thing.
   */
  readonly compaction: { readonly threshold: number | undefined } | undefined;
  /** Whether the protocol has upstreams that compact by themselves. */
  readonly hasCompaction: boolean;
  /** Whether the request asks for nothing but a compaction. */
  readonly isCompaction: boolean;
  /**
   * What of the preamble stands for a part of the conversation that can't be read here, such as
   * what the upstream has compacted.
   */
  readonly compacted: readonly WireMessage[];
  /**
   * Whether the caller asks for the model's reasoning in a form that can be said back; true where
   * the protocol knows no other.
   */
  readonly asksReasoning: boolean;
  /** Whether tools of ours may stand beside them, and one answer be made of several. */
  readonly takesTools: boolean;
  /**
   * What the body names of the things that the upstream has stored, the history of the conversation
   * or others.
   *
   * @param opened kinds that may
   */
  storedName(opened: Opened): StoredName | undefined;
  /** The value of one of Precis' own fields; undefined when it is absent or null. */
  own(field: OwnField): unknown;
  /** The value of any other top-level field. */
  field(key: string): unknown;
  /** A tool of ours, as it stands in a body. */
  toolJson(tool: FunctionTool): string;
  /**
   * The body as it goes upstream: own fields and marks cut out, and the view in place of the
   * messages.
   */
  write(view: View | undefined, beside?: Beside): Uint8Array;
}
