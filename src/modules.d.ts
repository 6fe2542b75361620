/** A module of data (https://developers.cloudflare.com/workers/wrangler/bundling/). */
declare module '*.bin' {
  const data: ArrayBuffer;
  export default data;
}
