/** A module of data (https://developers.cloudflare.com/workers/wrangler/bundling/). */
declare module '*.bin' {
  const data: ArrayBuffer;
  export default data;
}

/** A page of the documentation, as text. */
declare module '*.md' {
  const text: string;
  export default text;
}

/** `docs/llms.txt`, as text. */
declare module '*.txt' {
  const text: string;
  export default text;
}
