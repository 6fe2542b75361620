/**
 * Finds references in a body to things stored in the upstream's account: files, vector stores,
 * containers, skills, prompts, responses and their items, audio, voices, connectors. Callers who
 * share an account must not name any, since nothing says whose they are.
 *
 * The places follow OpenAI's types, `openai` 6.49 for Node (`ResponseInputItem`, `Tool`,
 * `ChatCompletionMessageParam` and their parts), and
 * https://developers.openai.com/api/reference/resources/responses/methods/create:
 *
 * - `input[]`: `{id, type?: 'item_reference' | null}` is an item reference, and so is `{id}`.
 *   `reasoning` without its content, and `image_generation_call`, are looked up by their id.
 *   `code_interpreter_call.container_id`, `mcp_*`, `file_search_call`.
 * - Parts of contents and outputs: `file_id` of `input_file`, `input_image`, `computer_screenshot`
 *   and chat's `file`.
 * - `tools[]`, also in `additional_tools` and `tool_search_output`: `file_search.vector_store_ids`,
 *   `code_interpreter.container`, `mcp.connector_id`, `.tunnel_id` and `.server_url`,
 *   `image_generation.input_image_mask.file_id`, `shell.environment` (a container, `file_ids`,
 *   skills).
 * - `prompt`, `previous_response_id`, `conversation`, and
 *   `prompt_cache_options.comparison_response_id`; `background` answers are always stored.
 *   Chat's `store`, `messages[].audio.id`, `audio.voice.id`.
 *
 * In Anthropic's Messages: `source.file_id`, `container` with its skills, `mcp_servers`,
 * `user_profile_id`, `diagnostics.previous_message_id`, and tools that run code
 * (https://platform.claude.com/docs/en/api/messages/create).
 *
 * Item kinds and tool types are allowed by list, so future ones are refused. Everything else is
 * searched for names, except free-form values such as schemas, and for what chooses another server.
 * Servers differ in which of two equal
 * keys they take, and some accept `File_ID` for `file_id`, so duplicates and misspellings are
 * refused.
 */

import { wordsOf } from '../lib/elements.ts';
import { isOwnField } from './body.ts';
import type { JsonSpan } from './json/outline.ts';
import { elementsOf, jsonOf, membersOf, textOf } from './json/spans.ts';
import type { Protocol } from './protocol.ts';
import { foldedName } from './top-fields.ts';

/** What the deployer allows beyond the lists below. It is not searched. */
export interface Opened {
  readonly items: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
}

/** Why a body is refused: the field, and what would be right. */
export interface StoredName {
  readonly param: string;
  readonly message: string;
}

/** Item kinds that contain all that they refer to. */
const ITEMS = wordsOf(
  'message reasoning compaction compaction_trigger additional_tools configuration_update web_search_call',
  'function_call function_call_output custom_tool_call custom_tool_call_output tool_search_call tool_search_output',
  'local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output',
  'computer_call computer_call_output',
);

/** Tool types that access nothing in the account. */
const TOOLS = wordsOf(
  'function custom namespace tool_search local_shell shell apply_patch computer computer_use computer_use_preview',
  'web_search web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11',
);

/**
 * The same of Anthropic's API. Its tools that run code keep files
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool).
 */
const MESSAGES_TOOLS = wordsOf(
  'custom bash text_editor computer computer_toolset browser_toolset memory web_search web_fetch',
  'tool_search_tool_regex tool_search_tool_bm25',
);

/** Fields that refer to stored things or to other servers, wherever they are. */
const NAMES = wordsOf(
  'file_id file_ids vector_store_id vector_store_ids container container_id skill_id connector_id tunnel_id server_url mcp_servers',
  'previous_response_id comparison_response_id response_id previous_message_id conversation thread_id assistant_id prompt_id data_sources background_options user_profile_id',
);

/**
 * Fields of gateways that choose another server, key or set of models, wherever they are
 * (https://docs.litellm.ai/docs/proxy/clientside_auth).
 */
const CHOOSING = wordsOf('user_config router_settings_override api_base base_url api_key');

/** Fields that are checked by name elsewhere, here or where the body is written. */
const LOOKED_AT = new Set([
  ...NAMES,
  ...CHOOSING,
  ...wordsOf('type id role content encrypted_content summary status tools audio voice environment'),
  ...wordsOf('input instructions messages store background prompt prompt_cache_key annotations'),
]);

/**
 * Free-form values: schemas, arguments, labels. A `file_id` in one of these means nothing to the
 * upstream.
 */
const FREE_FORM = wordsOf(
  'parameters schema input_schema output_schema metadata client_metadata env logprobs logit_bias',
  'arguments parsed parsed_arguments',
);

/** Tools whose answers cite the files that they have read or made. */
const CITED_TOOLS = ['file_search', 'code_interpreter'];

/**
 * Free-form values aside, no body of OpenAI's is nested deeper or has objects with more fields.
 * Each level takes another pass over its contents.
 */
const MOST_LEVELS = 12;
const MOST_MEMBERS = 500;

/** Fields of the Responses API that hold items. */
const ITEM_LISTS = new Set(['input', 'instructions']);

/** Objects that may be a reference, depending on their fields. */
const NAMING_OBJECTS = new Set(['audio', 'voice', 'environment']);

/**
 * The first reference to something stored, or something that may hide one.
 *
 * @param root of the body, with its fields
 * @param protocol of the body
 */
export function findStoredName(
  bytes: Uint8Array,
  root: JsonSpan,
  protocol: Protocol,
  opened: Opened,
): StoredName | undefined {
  return new Search(bytes, opened, protocol).body(root);
}

/** The position of a value. Its path is only built for errors. */
class Position {
  /** Levels below the body. */
  readonly level: number;
  private readonly parent: Position | undefined;
  private readonly step: string | number;

  constructor(step: string | number, parent?: Position) {
    this.step = step;
    this.parent = parent;
    this.level = parent ? parent.level + 1 : 1;
  }

  get path(): string {
    if (!this.parent) return `${this.step}`;
    return this.parent.path + (typeof this.step === 'number' ? `[${this.step}]` : `.${this.step}`);
  }
}

class Search {
  private readonly bytes: Uint8Array;
  private readonly opened: Opened;
  private readonly protocol: Protocol;
  private readonly citesFiles: boolean;

  constructor(bytes: Uint8Array, opened: Opened, protocol: Protocol) {
    this.bytes = bytes;
    this.opened = opened;
    this.protocol = protocol;
    this.citesFiles = CITED_TOOLS.some((type) => opened.tools.has(type));
  }

  body({ fields = [] }: JsonSpan): StoredName | undefined {
    const isChat = this.protocol === 'chat';
    return first(fields, ({ key, value }) => {
      if (isOwnField(key)) return undefined;
      // In a response, `instructions` are items, and a server may accept them in a request too.
      if (ITEM_LISTS.has(key) && this.protocol === 'responses') return this.items(key, value);
      const at = new Position(key);
      if (this.isLiteral(value, 'null')) return misspelled(key, at);
      if (key === 'prompt') return named(key);
      if (key === 'prompt_cache_key' && value.kind !== 'string') return fault(key, 'must be a string');
      if (key === 'background' && !this.isLiteral(value, 'false'))
        return fault(key, 'must be false: answers in the background are stored');
      if (key === 'store' && isChat && !this.isLiteral(value, 'false'))
        return fault(key, 'must be false: callers share what this account stores');
      return this.field(key, value, at);
    });
  }

  private items(key: string, input: JsonSpan): StoredName | undefined {
    const at = new Position(key);
    if (input.kind !== 'array') return this.value(input, at);
    return first(input.items ?? elementsOf(this.bytes, input), (item, index) =>
      this.item(item, new Position(index, at)),
    );
  }

  private item(item: JsonSpan, at: Position): StoredName | undefined {
    const known = this.known(item, at);
    if ('param' in known) return known;
    const type = this.textIn(known.get('type'));
    if (type === undefined) {
      const isMessage = !known.has('type') && known.has('role') && this.holds(known.get('content'));
      if (!isMessage)
        return fault(at.path, 'may be a reference to a stored item; send the item itself, with its type');
    } else {
      if (this.opened.items.has(type)) return undefined;
      if (!ITEMS.has(type)) return closed(`${at.path}.type`, 'items', ITEMS, 'FORWARDED_ITEMS');
    }
    if (this.isNameAlone(type, known))
      return fault(
        at.path,
        type === 'reasoning'
          ? "is known by its id alone; ask for include: ['reasoning.encrypted_content'], and send that back"
          : 'is known by its id alone; send the item itself',
      );
    return this.fields(known, at);
  }

  /** Whether an item has an id but no content, so that the upstream would look it up. */
  private isNameAlone(type: string | undefined, known: ReadonlyMap<string, JsonSpan>): boolean {
    if (!this.holds(known.get('id'))) return false;
    const contents =
      type === 'reasoning' || type === 'compaction' ? ['encrypted_content', 'content'] : [...known.keys()];
    const says = contents.filter((key) => !['type', 'id', 'status', 'role', 'summary'].includes(key));
    return !says.some((key) => this.holds(known.get(key)));
  }

  private tools(tools: JsonSpan, at: Position): StoredName | undefined {
    if (tools.kind !== 'array')
      return this.isLiteral(tools, 'null') ? undefined : fault(at.path, 'must be an array of tools');
    if (at.level > MOST_LEVELS) return tooDeep(at);
    return first(elementsOf(this.bytes, tools), (tool, index) => {
      const place = new Position(index, at);
      const known = this.known(tool, place);
      if ('param' in known) return known;
      const type = this.textIn(known.get('type'));
      if (type !== undefined && this.opened.tools.has(type)) return undefined;
      if (!this.isPlainTool(type)) {
        const known = this.protocol === 'messages' ? MESSAGES_TOOLS : TOOLS;
        return closed(`${place.path}.type`, 'tools', known, 'FORWARDED_TOOLS');
      }
      return this.fields(known, place);
    });
  }

  /** Whether a tool accesses nothing in the account. Types of Anthropic's end in their date. */
  private isPlainTool(type: string | undefined): boolean {
    if (this.protocol !== 'messages') return type !== undefined && TOOLS.has(type);
    return type === undefined || MESSAGES_TOOLS.has(type.replace(/_\d{8}$/, ''));
  }

  /** The members of an object by key. Duplicates are refused. */
  private known(object: JsonSpan, at: Position): Map<string, JsonSpan> | StoredName {
    if (object.kind !== 'object') return fault(at.path, 'must be an object');
    const known = new Map<string, JsonSpan>();
    for (const { key, value } of membersOf(this.bytes, object)) {
      if (known.has(key)) return fault(`${at.path}.${key}`, 'occurs twice, and may occur once');
      if (known.size === MOST_MEMBERS) return fault(at.path, `has more than ${MOST_MEMBERS} fields`);
      known.set(key, value);
    }
    return known;
  }

  private fields(known: ReadonlyMap<string, JsonSpan>, at: Position): StoredName | undefined {
    return first(known, ([key, value]) => this.field(key, value, new Position(key, at)));
  }

  private field(key: string, value: JsonSpan, at: Position): StoredName | undefined {
    const isNull = this.isLiteral(value, 'null');
    const meant = foldedName(key);
    if (NAMES.has(meant) && !isNull) return named(at.path);
    if (CHOOSING.has(meant) && !isNull) return fault(at.path, CHOOSES);
    const spelling = misspelled(key, at);
    const isFree = FREE_FORM.has(key) || (key === 'input' && this.protocol === 'messages');
    if (spelling || isFree || isNull) return spelling;
    if (key === 'tools') return this.tools(value, at);
    if (key === 'annotations' && this.citesFiles) return undefined;
    return value.kind === 'object' && NAMING_OBJECTS.has(key)
      ? this.namingObject(key, value, at)
      : this.value(value, at);
  }

  /** Checks an object that may be a reference through a field with a common name. */
  private namingObject(key: string, value: JsonSpan, at: Position): StoredName | undefined {
    if (key === 'voice') return named(at.path);
    const known = this.known(value, at);
    if ('param' in known) return known;
    if (key === 'audio' && this.holds(known.get('id'))) return named(`${at.path}.id`);
    if (key === 'environment' && this.textIn(known.get('type')) !== 'local')
      return fault(`${at.path}.type`, "must be 'local': containers belong to the account that callers share");
    return this.fields(known, at);
  }

  private value(value: JsonSpan, at: Position): StoredName | undefined {
    if (value.kind !== 'object' && value.kind !== 'array') return undefined;
    if (at.level > MOST_LEVELS) return tooDeep(at);
    if (value.kind === 'object') {
      const known = this.known(value, at);
      return 'param' in known ? known : this.fields(known, at);
    }
    return first(value.items ?? elementsOf(this.bytes, value), (element, index) =>
      element.kind === 'object' || element.kind === 'array'
        ? this.value(element, new Position(index, at))
        : undefined,
    );
  }

  private isLiteral(value: JsonSpan, literal: 'null' | 'false'): boolean {
    return value.kind === 'literal' && textOf(this.bytes, value) === literal;
  }

  private holds(value: JsonSpan | undefined): boolean {
    if (!value || this.isLiteral(value, 'null')) return false;
    if (value.kind === 'array') return !elementsOf(this.bytes, value).next().done;
    return value.kind !== 'string' || value.end - value.start > '""'.length;
  }

  private textIn(value: JsonSpan | undefined): string | undefined {
    return value?.kind === 'string' ? (jsonOf(this.bytes, value) as string) : undefined;
  }
}

function first<Value>(
  values: Iterable<Value>,
  find: (value: Value, index: number) => StoredName | undefined,
): StoredName | undefined {
  let index = 0;
  for (const value of values) {
    const found = find(value, index++);
    if (found) return found;
  }
  return undefined;
}

function misspelled(key: string, at: Position): StoredName | undefined {
  const folded = foldedName(key);
  if (folded === key || !LOOKED_AT.has(folded)) return undefined;
  return fault(at.path, `must be written as '${folded}'`);
}

function named(param: string): StoredName {
  return fault(
    param,
    "names something that the upstream's account has stored, which callers share; send the content itself",
  );
}

const CHOOSES = 'would choose a server, a key or models for an account that callers share; leave it out';

function tooDeep({ path }: Position): StoredName {
  return fault(path, `is nested deeper than ${MOST_LEVELS} levels`);
}

function closed(param: string, what: string, list: ReadonlySet<string>, variable: string): StoredName {
  const names = [...list].join(', ');
  return fault(
    param,
    `is not one of the ${what} that are forwarded: ${names}. The deployer may allow more (${variable})`,
  );
}

function fault(param: string, message: string): StoredName {
  return { param, message: `${param} ${message}.` };
}
