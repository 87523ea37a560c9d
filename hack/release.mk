# What makes a release. `make help-release` lists it.

##@ Release

REPOSITORY ?=
.PHONY: site
site: ## Build the book, docs/, as a static site into dist/site; links to sources begin with REPOSITORY=https://...
	@rm -rf dist/site
	@HUGO_PARAMS_REPOSITORY='$(or $(REPOSITORY),https://example.com/podsequence)' HUGO_PARAMS_VERSION='$(VERSION)' CGO_ENABLED=0 \
		$(GO) -C hack/site tool hugo --source . --destination '$(CURDIR)/dist/site' --noBuildLock --quiet --panicOnWarning

.PHONY: dist
dist: ## Write dist/install.yaml and dist/install-lite.yaml, each also for Kubernetes before 1.36, with images of the name IMG
	@mkdir -p dist
	$(RENDER) -image '$(strip $(IMG))' manifests/default >dist/install.yaml
	$(RENDER) -image '$(strip $(IMG))' manifests/lite >dist/install-lite.yaml
	$(RENDER) -image '$(strip $(IMG))' $(before_1_36) manifests/default >dist/install-before-1.36.yaml
	$(RENDER) -image '$(strip $(IMG))' $(before_1_36) manifests/lite >dist/install-lite-before-1.36.yaml

# The time of images: that of the commit, so that two builds of it are the same.
CREATED ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
PLATFORMS ?= linux/amd64 linux/arm64
images := $(GO) -C hack/images run . -source '$(CURDIR)' -ldflags '$(ldflags)' \
	-version '$(VERSION)' -commit '$(COMMIT)' -created '$(CREATED)'

.PHONY: images
images: ## Build images of both programs and the kubectl plugin into dist/images, without Docker; PUSH=1 pushes them
	@$(images) -platforms '$(PLATFORMS)' -image '$(IMG)' -out '$(CURDIR)/dist/images' $(if $(PUSH),-push)

# For the Dockerfile: writes what the image of one PROGRAM has to the directory FILES.
.PHONY: image-files
image-files:
	@$(images) -platforms '$(PLATFORMS)' -only '$(PROGRAM)' -files '$(FILES)'

.PHONY: charts
charts: ## Package the Helm charts into dist/charts, with images of the name IMG
	@SOURCE_DATE_EPOCH='$(CREATED)' hack/charts.sh '$(VERSION)' '$(image_repository)' dist/charts

# The kubectl plugin runs where people are. To try a release in minutes: PLATFORMS=linux/amd64 PLUGIN_PLATFORMS=linux/amd64
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
# Where the files of the release will be, for krew; by default below REPOSITORY, as on GitHub.
DOWNLOADS ?=

.PHONY: release
release: ## Build the release of the current tag into dist/: images, charts, manifests, the kubectl plugin, notes and checksums; KEY=file REPOSITORY=https://... signs it
	@KEY='$(KEY)' REPOSITORY='$(REPOSITORY)' DOWNLOADS='$(DOWNLOADS)' CREATED='$(CREATED)' PLUGIN_PLATFORMS='$(PLUGIN_PLATFORMS)' VERSION='$(VERSION)' IMG='$(IMG)' GO='$(GO)' LDFLAGS='$(ldflags)' hack/release.sh

# The private key of the releaser, outside of the clone; release.pub is the public one, which a commit has before it is released.
KEY ?=
PUBLIC_KEY ?= release.pub
DIR ?= dist
# The URL of what ran the build, for the provenance; without it that is whoever has the key.
BUILDER ?=
signing := $(GO) -C hack/release run .

.PHONY: release-key
release-key: ## Make a key to sign releases with: KEY=file for the private one, encrypted with a password; release.pub becomes the public one
	@$(signing) keys -key '$(abspath $(KEY))' -public '$(abspath $(PUBLIC_KEY))'

.PHONY: sign-release
sign-release: ## Sign the release in dist/, or DIR=..., with KEY=file: its checksums, and its provenance from REPOSITORY=https://...
	@$(signing) sign -key '$(abspath $(KEY))' -public '$(abspath $(PUBLIC_KEY))' -dir '$(abspath $(DIR))' \
		-repository '$(REPOSITORY)' -version '$(VERSION)' -commit '$(COMMIT)' -image '$(IMG)' -builder '$(BUILDER)'

.PHONY: verify-release
verify-release: ## Verify the signatures and files of the release in dist/, or DIR=..., against release.pub, or PUBLIC_KEY=file
	@$(signing) verify -public '$(abspath $(PUBLIC_KEY))' -dir '$(abspath $(DIR))'

.PHONY: docker-build
docker-build: ## Build the images of both programs with Docker, of the name IMG; they contain the same files as those of `make images`
	$(DOCKER) build --target scheduler --build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' -t '$(call image,scheduler)' .
	$(DOCKER) build --target controller --build-arg VERSION='$(VERSION)' --build-arg COMMIT='$(COMMIT)' -t '$(call image,controller)' .

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in the code that the programs call; needs the Go vulnerability database, or a copy of it in GOVULNDB
	@hack/vulncheck.sh
