/** A made-up agent's conversation, for people who have none at hand. */

/** Enough for a budget to pay: shorter ones cost more with Precis than without it. */
const STEPS = 28;

const FILES = ['orders', 'invoices', 'shipping', 'refunds', 'stock', 'prices', 'users'];
const PARTS = ['store', 'balance', 'ledger', 'audit'];

/** An array of chat messages: a user asks, and an agent reads files, one a step, to find out. */
export function exampleConversation(steps = STEPS): object[] {
  const messages: object[] = [
    { role: 'system', content: 'You are a careful engineer. Read the code before you change it.' },
    { role: 'user', content: 'Orders with two refunds have a wrong balance. Find out why, and mend it.' },
  ];
  for (let step = 0; step < steps; step++) {
    const path = `src/${FILES[step % FILES.length]}/${PARTS[Math.floor(step / FILES.length)]}.ts`;
    const id = `call_${step + 1}`;
    const called = { name: 'read_file', arguments: JSON.stringify({ path }) };
    messages.push({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: called }],
    });
    messages.push({ role: 'tool', tool_call_id: id, content: fileOf(path, step) });
    if (step !== FILES.length - 1) continue;
    messages.push({ role: 'assistant', content: 'The stores are sound. The balances are next.' });
    messages.push({ role: 'user', content: 'Go on, and keep the order of the refunds.' });
  }
  messages.push({ role: 'assistant', content: 'src/refunds/balance.ts subtracts each refund twice.' });
  messages.push({ role: 'user', content: 'Which line is it?' });
  return messages;
}

function fileOf(path: string, step: number): string {
  const lines = Array.from({ length: 60 + 25 * (step % 4) }, (_, line) => {
    const amount = (line * 37 + step * 113) % 997;
    return `export const entry${step}_${line} = { id: 'ord_${1000 * step + line}', cents: ${amount}, open: ${line % 3 === 0} };`;
  });
  return [`// ${path}`, ...lines].join('\n');
}
