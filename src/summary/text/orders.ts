/**
 * Orders to a model, which only the user may give. A summary that contains one would pass it on.
 */
import { once } from '../../lib/once.ts';

/**
 * Orders as injected texts phrase them: a verb of disregard with its object, or a demand for the
 * prompt, with few words in between.
 */
const ORDERS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\b(?:\s+\w+){0,4}?\s+(?:instructions?|prompts?|directives?|guidelines|rules|the\s+above|everything\s+above|system\s+messages?)\b/giu,
  /\b(?:ignore|disregard|forget)\s+(?:all\s+|everything\s+)?(?:of\s+)?(?:the\s+)?(?:above|previous|prior|preceding|foregoing)\b(?!\s+(?:error|warning|failure|result|attempt|output|version|test|commit))/giu,
  /\byou\s+(?:must|should|will|shall)\s+now\b/giu,
  /\byou\s+are\s+(?:now|no\s+longer)\s+(?:a|an|the|in|bound|chatgpt|dan)\b/giu,
  /\b(?:reveal|print|output|repeat|show|leak|disclose|exfiltrate)\b(?:\s+\w+){0,4}?\s+(?:system|hidden|developer|initial)\s+(?:prompt|message|instructions?)\b/giu,
  /\b(?:new|updated)\s+(?:system\s+)?instructions?\s*:/giu,
  /\b(?:ignoriere?|missachte|vergiss|vergesst)\b(?:\s+\p{L}+){0,4}?\s+(?:anweisung(?:en)?|instruktion(?:en)?|befehle|regeln)(?!\p{L})/giu,
  /\b(?:ignore[zr]?|oublie[zr]?)\b(?:\s+[\p{L}']+){0,4}?\s+(?:instructions|consignes|règles|directives)(?!\p{L})/giu,
  /\b(?:ignor[ae]|olvid[ae]|desconsider[ae]|esqueç?[ae])\b(?:\s+\p{L}+){0,4}?\s+(?:instrucciones|instruções|órdenes|ordens|reglas|regras)(?!\p{L})/giu,
  /(?:игнорируй(?:те)?|забудь(?:те)?)(?:\s+\p{L}+){0,4}?\s+(?:инструкци[ияй]|указани[яей]|правила)/giu,
  /(?:忽略|无视|無視|忘记|忘掉)[^\n。，]{0,12}(?:指令|指示|说明|說明|提示|规则)/gu,
  /(?:指示|命令|プロンプト|ルール)[^\n。、]{0,6}(?:無視|忘れ)/gu,
  /(?:지시|명령|프롬프트)[^\n.]{0,8}(?:무시|잊어)/gu,
];

/** Words that do not change the meaning of a phrase. */
const FILLER = /\b(?:all|any|of|the|my|your|our|these|those|this|that|please)\b/g;

/** Whether a text contains an order that is not the user's. */
export type HoldsOrder = (text: string) => boolean;

/** @param texts of the user, which are read once, on demand */
export function ordersBeside(texts: readonly string[]): HoldsOrder {
  const said = once(() => texts.map(plain).join('\n'));
  return (text) =>
    ORDERS.some((order) => text.match(order)?.some((phrase) => !said().includes(plain(phrase))));
}

function plain(phrase: string): string {
  return phrase.toLowerCase().replace(FILLER, ' ').replace(/\s+/g, ' ').trim();
}
