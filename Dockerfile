# Precis on workerd with its own storage: docs/deploying.md has what it can and what it can't.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm run build && npm pack ./dist/package --pack-destination dist

FROM node:24-bookworm-slim
# workerd checks the certificates of upstreams.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=build /app/dist/*.tgz ./
RUN npm install ./*.tgz && rm *.tgz && mkdir /data && chown node:node /data
USER node
# What is done to requests without a strategy is the deployer's choice.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 DATA_DIR=/data DEFAULT_MEMORY_STRATEGY=none
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "node_modules/precis/bin/precis.js", "start"]
