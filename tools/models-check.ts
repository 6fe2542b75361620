/**
 * `npm run models:check`: compares the published prices and windows of `memory/models/` with the
 * dataset @pydantic/genai-prices. Prints what differs, what is missing, and what was read more than
 * 60 days ago. Vendors' pages decide: a difference is a reason to read the page.
 */
import { calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices';
import { utcTimeOf } from '../src/lib/utc-time.ts';
import { windowOf } from '../src/memory/models/facts.ts';
import { PUBLISHED_PRICES } from '../src/memory/models/published-prices.ts';
import { scheduleOf } from '../src/memory/models/schedules.ts';

/** Vendors with rows in the tables, by the dataset's names. */
const VENDORS = ['openai', 'anthropic', 'google', 'x-ai', 'moonshotai', 'zai', 'deepseek'];
const OLD_MS = 60 * 24 * 3_600_000;
/** Shares by which two numbers may differ: the dataset rounds windows. */
const SAME_PRICE = 1e-6;
const SAME_WINDOW = 0.05;

/** Models that answer no request of Precis. */
const OTHER_KINDS =
  /audio|realtime|image|tts|transcribe|whisper|embed|moderation|search|live|computer-use|robotics|veo|imagen|sora|dall-e|vision/;

/** What a row says, and what the dataset says, in dollars per million tokens. */
type Compared = readonly [name: string, ours: number | undefined, theirs: number | undefined];

const now = new Date();

/** A million tokens cost so much at the lowest tier. */
function dollars(model: ModelInfo, vendor: string, key: string): number | undefined {
  const price = calcPrice({}, model.id, { providerId: vendor, timestamp: now })?.model_price[key];
  return typeof price === 'object' ? price.base : price;
}

function comparisonOf(model: ModelInfo, vendor: string): readonly Compared[] | undefined {
  const ours = scheduleOf(model.id, utcTimeOf(now));
  const fresh = dollars(model, vendor, 'input_mtok');
  if (fresh === undefined) return [];
  if (!ours) return undefined;
  return [
    ['fresh', ours.fresh, fresh],
    ['cached', ours.cached, dollars(model, vendor, 'cache_read_mtok')],
    ['written', ours.written, dollars(model, vendor, 'cache_write_mtok')],
    ['output', ours.output, dollars(model, vendor, 'output_mtok')],
    ['window', windowOf(model.id), model.context_window],
  ];
}

function differ(name: string, ours: number, theirs: number): boolean {
  return Math.abs(ours - theirs) > theirs * (name === 'window' ? SAME_WINDOW : SAME_PRICE);
}

const lines: string[] = [];
for (const vendor of VENDORS) {
  const models = findProvider({ providerId: vendor })?.models ?? [];
  if (models.length === 0) lines.push(`unknown vendor   ${vendor}`);
  for (const model of models) {
    if (model.deprecated || OTHER_KINDS.test(model.id)) continue;
    const compared = comparisonOf(model, vendor);
    if (!compared) lines.push(`missing          ${vendor} ${model.id}`);
    for (const [name, ours, theirs] of compared ?? [])
      if (ours !== undefined && theirs !== undefined && differ(name, ours, theirs))
        lines.push(`differs          ${vendor} ${model.id}: ${name} is ${ours} here, ${theirs} there`);
  }
}
for (const { family, asOf, until } of PUBLISHED_PRICES) {
  if (now.getTime() - Date.parse(asOf) > OLD_MS) lines.push(`read on ${asOf}  ${family}`);
  if (until !== undefined && until < utcTimeOf(now).day) lines.push(`ended ${until} ${family}`);
}
console.log(lines.join('\n'));
console.log(`models: ${PUBLISHED_PRICES.length} rows, ${lines.length} to look at`);
