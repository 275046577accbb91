# The service in a container. Chromium keeps its own sandbox on: the runtime has to allow user namespaces (podman does;
# Docker needs a seccomp profile that does), and a shared-memory mount of 512 MB:
#
#   podman build -t parley --build-arg PARLEY_VERSION=$(git describe --tags --always) .
#   podman run --shm-size 512m -v parley:/data -p 127.0.0.1:7360:7360 parley
#
# The speech models are fetched into the volume once: podman run --rm -v parley:/data parley models fetch

FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates git make gcc libc6-dev python3 python3-pip unzip && rm -rf /var/lib/apt/lists/*
COPY . /src
WORKDIR /src
ARG PARLEY_VERSION=unknown
RUN scripts/setup golang programs

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates chromium chromium-sandbox xvfb pulseaudio pulseaudio-utils ffmpeg espeak-ng python3 python3-pip \
      fonts-dejavu-core fonts-noto-color-emoji && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --home-dir /home/parley --shell /usr/sbin/nologin parley \
    && mkdir /data && chown parley:parley /data && chmod 700 /data
COPY --from=build /src/bin/parley /src/bin/parley-speech /usr/local/bin/
COPY LICENSE /usr/share/doc/parley/LICENSE
USER parley
ENV PARLEY_DATA=/data PARLEY_LISTEN=0.0.0.0:7360
VOLUME /data
EXPOSE 7360
ENTRYPOINT ["parley"]
CMD ["serve"]
