# Control: decides, and serves operators. Built from a part of the tree, so that no ingress code is inside:
#
#     docker build --file deploy/control.Dockerfile --tag tenure-control .

FROM python:3.13.9-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv /build && python -m venv --without-pip /opt/tenure
COPY deploy/requirements/build.txt deploy/requirements/control.txt ./
RUN /build/bin/pip install --require-hashes --requirement build.txt \
    && /build/bin/pip --python /opt/tenure/bin/python install --require-hashes --requirement control.txt
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY shared/src shared/src
COPY control/src control/src
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /build/bin/pip --python /opt/tenure/bin/python install --no-deps /dist/*.whl

FROM python:3.13.9-slim-bookworm
LABEL org.opencontainers.image.title="tenure-control" \
      org.opencontainers.image.licenses="Apache-2.0"
# Nothing is written inside, so a read-only root does; output is JSON lines and must not wait in a buffer.
ENV PATH=/opt/tenure/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/tenure /opt/tenure
USER 65532:65532
STOPSIGNAL SIGTERM
# Liveness is that somebody accepts: the listener may speak TLS, and a slow database must not restart anything.
HEALTHCHECK --interval=10s --timeout=3s --start-period=90s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 7400), 2)"]
ENTRYPOINT ["tenure", "control"]
CMD ["serve"]
