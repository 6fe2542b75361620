/** A link to a rule. The Worker serves pages as Markdown, so the section is named in words. */
import type { RulePage } from '../read/rules.ts';

interface Props extends RulePage {
  /** What the link says. */
  readonly text?: string;
}

export function RuleLink({ page, section, text = 'The rule' }: Props) {
  return (
    <>
      <a href={page}>{text}</a> (under “{section}”)
    </>
  );
}
