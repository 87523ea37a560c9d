# One image a program: docker build --target scheduler . and docker build --target controller .
# `make docker-build IMG=...` builds both. `make images` builds the same without Docker, for several platforms at once, and so
# that two builds have the same digest.

# The release that go.mod names. It only builds: nothing of it is in the images, whose files depend on the Go release alone. So it is
# named by tag and not by digest. Where a policy asks for a digest, take that of this tag from the registry that you trust:
# docker buildx imagetools inspect golang:1.26.8
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS modules
WORKDIR /src
COPY go.mod go.sum ./
COPY hack/images/go.mod hack/images/go.sum hack/images/
RUN go mod download && go -C hack/images mod download

FROM modules AS build
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=unknown COMMIT=unknown

FROM build AS build-scheduler
RUN make image-files PROGRAM=podsequence-scheduler PLATFORMS=$TARGETOS/$TARGETARCH FILES=/out

FROM build AS build-controller
RUN make image-files PROGRAM=podsequence-controller PLATFORMS=$TARGETOS/$TARGETARCH FILES=/out

# From nothing at all: a static program, certificates, the names of users, and the licences of what the program is made from.
FROM scratch AS scheduler
COPY --from=build-scheduler /out/ /
USER 65532:65532
ENTRYPOINT ["/podsequence-scheduler"]

FROM scratch AS controller
COPY --from=build-controller /out/ /
USER 65532:65532
ENTRYPOINT ["/podsequence-controller"]
