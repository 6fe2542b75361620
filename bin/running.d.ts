/** What programs in TypeScript use of `running.js`, where it is described. */
export function makeFolder(path: string): void;
export function isAlive(id: number): boolean;
export function digestOfAddresses(openai?: string, anthropic?: string): string;
export function isOwnAddress(url: string | undefined, port: string): boolean;
