# The digests name exactly one image for each platform. Dependabot proposes newer ones, for FROM lines alone.
FROM node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS node24
FROM node24 AS node-amd64
FROM node24 AS node-arm64
# Node 24 has no official image for 32-bit ARM (older Raspberry Pis).
FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS node-arm

# Nothing that is built or installed here depends on the processor, so it is done on the builder's own.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY scripts scripts
COPY src src
RUN npm run build && npm run sbom dist/sbom.cdx.json

# Older versions of Buildah say nothing of the processor.
FROM node-${TARGETARCH:-amd64} AS program
# A release says them: the version in package.json, and where it comes from.
ARG VERSION=
ARG SOURCE=
LABEL org.opencontainers.image.title=sonic2mqtt \
  org.opencontainers.image.description="Control and monitor Sonic water valves by Watergate from Home Assistant, over MQTT" \
  org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.version=$VERSION \
  org.opencontainers.image.source=$SOURCE \
  io.hass.type=app \
  io.hass.arch="aarch64|amd64" \
  io.hass.version=$VERSION
# Any user may run the bridge and keep its data; what it writes there only that user can read.
RUN install -d -m 1777 /data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/dist dist
COPY LICENSE config.example.yaml ./
# config.yaml is looked for in /data, and nothing is written outside it.
WORKDIR /data
VOLUME /data
ENV NODE_ENV=production SONIC2MQTT_DATA_DIR=/data SONIC2MQTT_SETUP=0.0.0.0:8099 HEARTBEAT_FILE=/dev/shm/sonic2mqtt
# The bridge writes this file every ten seconds. It is in memory, where it needs no volume, also with a read-only root. Where
# nothing can be written there (`--ipc none`), nothing is known, and the container counts as healthy.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["sh", "-c", "test ! -w /dev/shm || test -n \"$(find /dev/shm/sonic2mqtt -mmin -1)\""]
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["run"]

# Home Assistant keeps the options and the data of its apps for root alone; all else is the same.
FROM program AS home-assistant-app

FROM program
USER node
