/** Names of models, and families: how names begin. Every table of models is read by this rule. */

/** A model's name without what a router puts before it: `gpt-4o` of `openai/gpt-4o`. */
export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}

/**
 * The model that a name is a variant of: `gpt-4o` of the fine-tuned `ft:gpt-4o:acme::id`
 * (https://docs.litellm.ai/docs/tutorials/finetuned_chat_gpt, read 2026-11) and of a router's
 * `openai/gpt-4o:nitro` (https://openrouter.ai/docs/guides/routing/model-variants/overview, read
 * 2026-11).
 */
export function variantOf(model: string): string {
  const [first = '', second = ''] = bareName(model).split(':');
  return first === 'ft' ? second : first;
}

/**
 * The model that a name is a variant of, by the name that its vendor gives it:
 * `claude-opus-5-5` of `us.anthropic.claude-opus-5-5-v1:0`, `claude-opus-5` of
 * `claude-opus-5@20260724`. Its tokens and window are the model's; its prices may be others.
 */
export function baseName(model: string): string {
  return variantOf(withoutGateway(bareName(model)));
}

/**
 * Words before dots: regions and vendors of Bedrock
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html), vendors
 * of Oracle, and `system.ai.` of Databricks. No model's own name has a word without a number before
 * its first dot. `deepseek.v3` and `deepseek.r1` need their vendor.
 */
const DOTTED_WORDS = /^(?:[a-z]+(?:-[a-z]+)*\.){1,2}(?![vr]\d)(?=.*\d)/i;

/**
 * Words before dashes: `databricks-claude-opus-5`
 * (https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/supported-models), and
 * SAP's `anthropic--claude-4.5-sonnet` (https://github.com/SAP/ai-sdk-js).
 */
const DASHED_WORDS = /^(?:databricks|anthropic|azure|bedrock|google|openai|vertex|xai)--?(?=.*\d)/i;

/**
 * A name without the words of a gateway, the version at the end of Bedrock's names (`-v1:0`), and
 * the version or region that Vertex puts after an `@`
 * (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude). All of these
 * were read in 2026-11.
 *
 * @param name bare
 */
export function withoutGateway(name: string): string {
  const [unplaced = ''] = name.split('@', 1);
  return unplaced
    .replace(DOTTED_WORDS, '')
    .replace(DASHED_WORDS, '')
    .replace(/-v?\d+:\d+$/, '');
}

/**
 * A name without case and dots: servers write `claude-opus-5.5` for Anthropic's `claude-opus-5-5`,
 * and `GLM-5.2` for `glm-5.2`. It is still the name that the vendor gives the model.
 */
export function spelling(name: string): string {
  return name.toLowerCase().replaceAll('.', '-');
}

/**
 * The `spelling` of the vendor's name for a name that is a gateway's own: Fireworks' `glm-5p2` for
 * `glm-5.2`, `claude-4.5-sonnet` for `claude-sonnet-4-5`, and Azure's `gpt-35-turbo` for
 * `gpt-3.5-turbo`.
 */
export function vendorSpelling(name: string): string {
  return spelling(name)
    .replace(/(?<=\d)p(?=\d)/, '-')
    .replace(/^claude-(\d+(?:-\d{1,2})?)-(fable|haiku|mythos|opus|sonnet)(?![a-z])/, 'claude-$2-$1')
    .replace(/^gpt-35(?!\d)/, 'gpt-3-5');
}

export function isClaude(model: string | undefined): boolean {
  return model !== undefined && /^claude(?![a-z])/i.test(baseName(model));
}

export interface FamilyRow {
  /** How the bare names of its models begin. Case does not count, and a dot is a dash. */
  readonly family: string;
}

/** Rows of families that have the same facts. */
export function rows<const Facts extends object>(
  families: readonly string[],
  facts: Facts,
): (FamilyRow & Facts)[] {
  return families.map((family) => ({ family, ...facts }));
}

/** Claude's models, by what comes after the vendor's name. */
export function claude(models: readonly string[]): string[] {
  return models.map((model) => `claude-${model}`);
}

/** The row of a model. @param model its name, as it is sent; undefined: no row */
export function rowOfModel<Row extends FamilyRow>(
  model: string | undefined,
  rows: readonly Row[],
  accepts?: Accepts<Row>,
): Row | undefined {
  return model === undefined ? undefined : rowOf(baseName(model), rows, accepts);
}

/** Facts that minor versions after the first may not share. */
export interface FirstOnly {
  readonly isFirst?: boolean;
}

/** A minor version in the rest of a name, not a date. */
const MINOR_VERSION = /^-[1-9]\d?(?!\d)/;

/** Leaves out rows of first versions for minor ones. */
export function acceptsVersion({ isFirst }: FirstOnly, rest: string): boolean {
  return !isFirst || !MINOR_VERSION.test(rest);
}

/** Leaves rows out of a search. `rest` is what comes after the family, in the name's spelling. */
type Accepts<Row> = (row: Row, rest: string) => boolean;

/**
 * The row with the longest family of a model, by its name as it is and by its vendor's name for it;
 * of several rows of a family, the first one. A deployer's row may have either name: `claude-3-5`
 * includes `claude-3-5-sonnet`, and so does `claude-sonnet`. The row that leaves fewer words of the
 * name is meant, and of two such rows the one for the name as it is.
 *
 * @param name bare or base
 */
export function rowOf<Row extends FamilyRow>(
  name: string,
  rows: readonly Row[],
  accepts?: Accepts<Row>,
): Row | undefined {
  const spelled = spelling(name);
  const vendors = vendorSpelling(name);
  const found = longestMatch(spelled, rows, accepts);
  if (vendors === spelled) return found?.row;
  const other = longestMatch(vendors, rows, accepts);
  return (found && other && wordsIn(other.rest) < wordsIn(found.rest) ? other : (found ?? other))?.row;
}

/**
 * The same by the name as it is alone. For facts of a vendor that do not hold for a gateway with
 * names of its own, such as its prices in dollars.
 */
export function rowAsNamed<Row extends FamilyRow>(
  name: string,
  rows: readonly Row[],
  accepts?: Accepts<Row>,
): Row | undefined {
  return longestMatch(spelling(name), rows, accepts)?.row;
}

function longestMatch<Row extends FamilyRow>(
  spelled: string,
  rows: readonly Row[],
  accepts: Accepts<Row> = () => true,
) {
  const { byFamily, longest } = indexOf(rows);
  for (let length = Math.min(longest, spelled.length); length > 0; length--) {
    if (!isSeam(spelled[length - 1], spelled[length])) continue;
    const rest = spelled.slice(length);
    const row = byFamily.get(spelled.slice(0, length))?.find((candidate) => accepts(candidate, rest));
    if (row) return { row, rest };
  }
  return undefined;
}

/** Words and numbers: three in `-5p2`. */
function wordsIn(rest: string): number {
  return rest.match(/[a-z]+|\d+/g)?.length ?? 0;
}

/**
 * Whether a family may end between two characters of a name: at the end of a word or number, or
 * where a number follows a word. So `gpt-4` includes neither `gpt-4o` nor `gpt-41`, and `qwen`
 * includes `qwen3`.
 */
function isSeam(last = '', next = ''): boolean {
  if (!/[a-z\d]/.test(last) || !/[a-z\d]/.test(next)) return true;
  return /[a-z]/.test(last) && /\d/.test(next);
}

/** A table by family. */
interface TableIndex<Row> {
  readonly byFamily: ReadonlyMap<string, readonly Row[]>;
  /** The length of the longest family, in characters. */
  readonly longest: number;
}

/** Tables are constants and configuration, so each is indexed once. */
const INDEXES = new WeakMap<readonly FamilyRow[], TableIndex<FamilyRow>>();

function indexOf<Row extends FamilyRow>(rows: readonly Row[]): TableIndex<Row> {
  // The index of a table has the table's own rows.
  const known = INDEXES.get(rows) as TableIndex<Row> | undefined;
  if (known) return known;
  const byFamily = new Map<string, Row[]>();
  for (const row of rows) {
    const family = spelling(row.family);
    const others = byFamily.get(family);
    if (others) others.push(row);
    else byFamily.set(family, [row]);
  }
  const longest = Math.max(0, ...[...byFamily.keys()].map(({ length }) => length));
  const index = { byFamily, longest };
  INDEXES.set(rows, index);
  return index;
}

/** A model's base name, whether or not it has the date of its version. */
export function undatedName(model: string): string {
  return baseName(model).replace(/-(?:\d{4}-\d{2}-\d{2}|\d{8})$/, '');
}

/** What may follow a model's name: dates of versions, and words for the newest one. */
export const VERSION = /^(-(\d{4}-\d{2}-\d{2}|\d{8}|latest|preview|0))*$/;
