/** When vendors switch models off, as their pages say it. */
import { type FamilyRow, rowAsNamed, rows, VERSION, variantOf } from './families.ts';

interface Retirement {
  /** The first day without the model (YYYY-MM-DD). */
  readonly on: string;
  /** The model that the vendor recommends in its place; absent if none is named. */
  readonly replacement?: string;
}

type RetirementRow = Retirement & FamilyRow;

/** https://developers.openai.com/api/docs/deprecations (read 2026-11). */
const ROWS: readonly RetirementRow[] = [
  ...rows(['gpt-5', 'o3'], { on: '2026-12-11', replacement: 'gpt-6.1-sol' }),
  ...rows(['gpt-5-mini'], { on: '2026-12-11', replacement: 'gpt-6.1-terra' }),
  ...rows(['gpt-5-nano'], { on: '2026-12-11', replacement: 'gpt-6-luna' }),
  ...rows(['gpt-5-pro', 'o3-pro'], { on: '2026-12-11' }),
  ...rows(['gpt-4.1', 'gpt-4.1-mini', 'gpt-4o', 'gpt-4o-mini'], {
    on: '2027-01-14',
    replacement: 'gpt-6-luna',
  }),
  ...rows(['gpt-5.1'], { on: '2027-04-01' }),
  ...rows(
    ['gpt-3.5-turbo', 'gpt-4', 'gpt-4-turbo', 'gpt-4.1-nano', 'gpt-4o-2024-05-13', 'o1', 'o1-pro', 'o3-mini'],
    { on: '2026-10-23' },
  ),
  ...rows(['o4-mini'], { on: '2026-10-23', replacement: 'gpt-5.6-terra' }),
];

/**
 * When a model is switched off; undefined if that is not known. A row holds for the model and its
 * dated versions, not where a gateway has names of its own, and thus its own days. OpenAI's names
 * have dots, so Azure's `gpt-4-1-mini` is such a name.
 */
export function retirementOf(model: string): Retirement | undefined {
  const name = variantOf(model).toLowerCase();
  const isMeant = ({ family }: RetirementRow, rest: string) => name === family + rest && VERSION.test(rest);
  const row = rowAsNamed(name, ROWS, isMeant);
  if (!row) return undefined;
  const { on, replacement } = row;
  return { on, ...(replacement === undefined ? {} : { replacement }) };
}
