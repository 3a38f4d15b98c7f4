# One image for the API, the workers and the beat; compose.yaml says what each of them runs.
FROM python:3.11-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium-headless-shell fonts-dejavu-core \
    && rm -rf /var/lib/apt/lists/*

# What Corral runs on changes rarely: a layer of its own, from pinned files with hashes only.
WORKDIR /opt/corral
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock

# Built with what is installed already: nothing is fetched that is not in the lock.
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --no-deps --no-build-isolation .

RUN useradd --system --uid 10001 --home-dir /var/lib/corral --create-home corral
USER corral
WORKDIR /var/lib/corral
VOLUME /var/lib/corral
ENV APP_DATA_DIR=/var/lib/corral PYTHONUNBUFFERED=1

EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 CMD ["corral", "alive", "api", "--port", "8000"]
CMD ["corral", "serve", "--host", "0.0.0.0", "--port", "8000"]
