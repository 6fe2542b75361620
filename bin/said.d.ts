/** What programs in TypeScript use of `said.js`, where it is described. */
export function addressOf(url: string): string;
export function printable<Value>(value: Value): Value;
export function takesKeys(status: number, json: unknown): boolean;
