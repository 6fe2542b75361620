declare namespace Cloudflare {
  interface Env {
    readonly REFS: R2Bucket;
    readonly PRECIS_SECRET: string;
    readonly UPSTREAM_BASE_URL: string;
  }
}
