# One image a program: docker build --target scheduler . and docker build --target controller .
# `make docker-build IMG=...` builds both.

FROM --platform=$BUILDPLATFORM golang:1.26 AS modules
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download

FROM modules AS build
COPY . .
# Static, for whatever platform the image is meant for: nothing here needs cgo, so Go crosses by itself.
ARG TARGETOS TARGETARCH
ARG VERSION=unknown COMMIT=unknown
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH

FROM build AS build-scheduler
RUN make build-podsequence-scheduler BIN=/out

FROM build AS build-controller
RUN make build-podsequence-controller BIN=/out

# From nothing at all: the programs talk to the API server alone, whose certificate authority comes with their
# ServiceAccount's token, and write no files.
FROM scratch AS scheduler
COPY --from=build-scheduler /out/podsequence-scheduler /podsequence-scheduler
USER 65532:65532
ENTRYPOINT ["/podsequence-scheduler"]

FROM scratch AS controller
COPY --from=build-controller /out/podsequence-controller /podsequence-controller
USER 65532:65532
ENTRYPOINT ["/podsequence-controller"]
