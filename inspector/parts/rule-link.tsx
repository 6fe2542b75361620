/** A link to a rule: the section of the documentation that has it, in a new tab. */
import { anchorOf } from '../../src/reference/docs/sections.ts';
import type { RulePage } from '../read/rules.ts';

interface Props extends RulePage {
  readonly text?: string;
}

export function RuleLink({ page, section, text = 'The rule' }: Props) {
  return (
    <a href={`docs/${page}#${anchorOf(section)}`} target="_blank" rel="noreferrer" title={section}>
      {text}
    </a>
  );
}
