# PodSequence. `make help` lists what can be made; Go and make are all it takes.

SHELL := /usr/bin/env bash -o pipefail
.DEFAULT_GOAL := help

GO ?= go
# The Kubernetes release that go.mod stands on: the sandbox's control plane and our scheduler report it as theirs.
KUBERNETES_VERSION := $(shell sed -n 's|^\tk8s.io/kubernetes v||p' go.mod)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

BIN := bin
PROGRAMS := podsequence-scheduler podsequence-controller sandbox kubectl-podseq
TOOLS := $(GO) tool -modfile=hack/tools/go.mod

version_pkg := k8s.io/component-base/version
ldflags := -s -w \
	-X $(version_pkg).gitVersion=v$(KUBERNETES_VERSION) \
	-X $(version_pkg).gitMajor=1 -X $(version_pkg).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION))) \
	-X example.com/podsequence/internal/version.version=$(VERSION) \
	-X example.com/podsequence/internal/version.commit=$(COMMIT)

##@ Try it

.PHONY: help
help: ## Show this text
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build $(if $(REAL),build-real-nodes) ## Start a shop, a storage driver on each node and pods in several namespaces in order, on a sandbox cluster; KEEP=1 leaves it running, REAL=1 runs the shop in containers
	@$(BIN)/sandbox demo $(if $(KEEP),--keep) $(if $(REAL),--real-nodes $(REAL))

.PHONY: demo-rollout
demo-rollout: build ## Roll out three Deployments one at a time on a sandbox cluster
	@$(BIN)/sandbox demo-rollout

.PHONY: demo-gang
demo-gang: build ## Run four gangs of pods where there is room for two; DEADLOCK=1 shows the deadlock without gang scheduling, and the way out
	@$(BIN)/sandbox demo-gang $(if $(DEADLOCK),--deadlock)

.PHONY: sandbox
sandbox: build ## Start a sandbox cluster in .sandbox; Ctrl-C stops it
	@$(BIN)/sandbox up

.PHONY: run
run: build-podsequence-scheduler build-podsequence-controller ## Run both programs on this machine, against the cluster of $KUBECONFIG; run `make install` first
	@hack/run.sh

##@ Install

# For the sandbox's cluster without a kubectl on PATH: KUBECTL="bin/sandbox kubectl --"
KUBECTL ?= kubectl
# The images are named after it: of team/podsequence:v1 team/podsequence-scheduler:v1, team/podsequence-controller:v1 and
# team/podsequence-kubectl:v1. What installs also takes the references of both programs instead, which may have digests:
# IMG="$(cat dist/images/digests.txt)".
IMG ?= podsequence:$(VERSION)
# default, or lite for the controller alone.
VARIANT ?= default
DOCKER ?= docker

RENDER := $(GO) run ./hack/render
before_1_36 := -without MutatingAdmissionPolicy,MutatingAdmissionPolicyBinding
image_tag = $(lastword $(subst :, ,$(IMG)))
image_repository = $(IMG:%:$(image_tag)=%)
image = $(if $(findstring /,$(image_tag))$(findstring @,$(IMG)),$(error IMG must be REPOSITORY:TAG, is $(IMG)))$(image_repository)-$1:$(image_tag)

.PHONY: install
install: ## Install only the kinds (CRDs) into the cluster of $KUBECONFIG
	$(RENDER) manifests/crds | $(KUBECTL) apply --server-side --force-conflicts -f -

.PHONY: uninstall
uninstall: build-podsequence-controller ## Remove the kinds and all their objects; run `make undeploy` first
	$(call remove,uninstall,crds)

.PHONY: deploy
deploy: ## Install everything, with images of the name IMG; VARIANT=lite installs only the controller
	@served=$$($(KUBECTL) api-resources --no-headers --api-group=admissionregistration.k8s.io) || exit 1; without=; \
	if ! grep -Eq ' admissionregistration.k8s.io/v1 +false +MutatingAdmissionPolicy$$' <<<"$$served"; then \
		echo "this cluster serves no MutatingAdmissionPolicies (Kubernetes 1.36): they are left out, see docs/versions.md" >&2; \
		without='$(before_1_36)'; \
	fi; \
	$(RENDER) -image '$(strip $(IMG))' $$without manifests/$(VARIANT) | $(KUBECTL) apply --server-side --force-conflicts -f -

.PHONY: undeploy
undeploy: build-podsequence-controller ## Remove what deploy installed, except the kinds and their objects, and release what it holds
	$(call remove,undeploy,default lite as-default-scheduler)

# Removes by our own program, in the cluster that KUBECTL stands for.
remove = $(BIN)/podsequence-controller $1 --kubeconfig <($(KUBECTL) config view --raw --flatten --minify) \
	$(foreach variant,$2,-f <($(RENDER) manifests/$(variant)))

.PHONY: deploy-example
deploy-example: ## Create the three-tier shop of manifests/samples
	$(KUBECTL) apply -k manifests/samples/three-tier-shop

##@ Build

REPOSITORY ?=
.PHONY: site
site: ## Build the book, docs/, as a static site into dist/site; links to sources begin with REPOSITORY=https://...
	@rm -rf dist/site
	@HUGO_PARAMS_REPOSITORY='$(or $(REPOSITORY),https://example.com/podsequence)' HUGO_PARAMS_VERSION='$(VERSION)' CGO_ENABLED=0 \
		$(GO) -C hack/site tool hugo --source . --destination '$(CURDIR)/dist/site' --noBuildLock --quiet --panicOnWarning

.PHONY: build
build: ## Build all programs into bin/
	@hack/compile.sh . ./cmd/...
	@$(MAKE) --no-print-directory -j 2 $(PROGRAMS:%=build-%)

.PHONY: $(PROGRAMS:%=build-%)
# The sandbox has a module of its own: what etcd, the API server and KWOK need is not what the programs need.
build-sandbox: module := cmd/sandbox
build-podsequence-scheduler: main := ./cmd/scheduler
build-podsequence-controller: main := ./cmd/controller
build-kubectl-podseq: main := ./cmd/kubectl-podseq
$(PROGRAMS:%=build-%): build-%:
	@hack/with-progress.sh "building $*" $(GO) -C $(or $(module),.) build -v -ldflags '$(ldflags)' -o '$(CURDIR)/$(BIN)/$*' $(or $(main),.)

# What real nodes run, see docs/contributing/sandbox.md. kubelet and kubectl are of the release that everything else is of, and built as the sandbox is, so
# that most of their packages are compiled already; containerd, runc and CNI plugins have a module of their own. These use the libraries of the
# machine, which a node sees. Our own are static: containers have no libraries.
node_bin := $(BIN)/real-nodes
node_sources = $(wildcard $(1:%=%/*.go)) cmd/sandbox/go.mod
node_images := $(node_bin)/pause.tar $(node_bin)/workload.tar
go_node = $(GO) -C cmd/sandbox build -v -ldflags '$(ldflags)' -o '$(CURDIR)/$@'
go_static = CGO_ENABLED=0 $(go_node)

.PHONY: build-real-nodes
build-real-nodes: $(addprefix $(node_bin)/,real-nodes noseccomp containerd kubelet kubectl) $(node_images) ## Build the programs of real nodes into bin/real-nodes/; needs a C compiler

$(node_bin)/kubelet $(node_bin)/kubectl: $(node_bin)/%: cmd/sandbox/go.mod
	@hack/with-progress.sh "building $*" env $(go_node) k8s.io/kubernetes/cmd/$* && touch $@

# One call builds all of the module's tools.
$(node_bin)/containerd: tools/sandbox/containerd/go.mod tools/sandbox/containerd/go.sum
	@mkdir -p $(node_bin)
	@hack/with-progress.sh "building containerd, runc and CNI plugins" env CGO_ENABLED=1 $(GO) -C tools/sandbox/containerd build -v -ldflags '-s -w' -o '$(CURDIR)/$(node_bin)/' tool && touch $@

$(node_bin)/real-nodes: $(call node_sources,cmd/sandbox/realnodes tools/sandbox/realnode tools/sandbox/childprocess)
	@hack/with-progress.sh "building real-nodes" env $(go_static) ./realnodes && touch $@

$(node_bin)/noseccomp $(node_bin)/pause $(node_bin)/mkimage: $(node_bin)/%: cmd/sandbox/realnodes/%/main.go cmd/sandbox/go.mod
	@hack/with-progress.sh "building $*" env $(go_static) ./realnodes/$* && touch $@

$(node_bin)/workload: $(call node_sources,cmd/sandbox/workload cmd/sandbox/internal/*)
	@hack/with-progress.sh "building workload" env $(go_static) ./workload && touch $@

$(node_images): %.tar: % $(node_bin)/mkimage
	@$(node_bin)/mkimage localhost/podsequence/$(notdir $*):1 $* $@

# For test/deployment, which installs the charts with it, for test/integration/installs and book, which install applications, and for
# test/bench.
.PHONY: build-helm
build-helm:
	@hack/with-progress.sh "building helm" $(GO) -C hack/charts build -v -o '$(CURDIR)/$(BIN)/helm' helm.sh/helm/v4/cmd/helm

# For test/integration/kubectl and book, which apply with it as Flux and Argo CD do.
.PHONY: build-gitops
build-gitops:
	@hack/with-progress.sh "building gitops" $(GO) -C test/gitops build -v -ldflags='-s -w' -o '$(CURDIR)/$(BIN)/gitops' .

# Programs of others for test/ecosystem. Each has a module of its own, with the versions that it was released with, in test/ecosystem/programs/NAME.
ecosystem := $(patsubst test/ecosystem/programs/%/go.mod,%,$(wildcard test/ecosystem/programs/*/go.mod))
.PHONY: build-ecosystem $(ecosystem:%=build-ecosystem-%)
build-ecosystem: $(ecosystem:%=build-ecosystem-%)
build-ecosystem-kueue: main := sigs.k8s.io/kueue/cmd/kueue
build-ecosystem-argo-rollouts: main := github.com/argoproj/argo-rollouts/cmd/rollouts-controller
$(ecosystem:%=build-ecosystem-%): build-ecosystem-%:
	@mkdir -p $(BIN)/ecosystem
	@hack/with-progress.sh "building $*" $(GO) -C test/ecosystem/programs/$* build -v -ldflags='-s -w' -o '$(CURDIR)/$(BIN)/ecosystem/$*' $(or $(main),.)

.PHONY: install-kubectl-podseq
install-kubectl-podseq: build-kubectl-podseq ## Install kubectl podseq, and its completion, into PREFIX (~/.local/bin)
	install -D $(BIN)/kubectl-podseq cmd/kubectl-podseq/kubectl_complete-podseq -t $(or $(PREFIX),$(HOME)/.local/bin)

.PHONY: generate
generate: ## Generate deepcopy methods and CRDs from apis/, pages of docs/ from the code, and templates of charts/ from manifests/
	$(TOOLS) controller-gen object paths=./apis/...
	$(TOOLS) controller-gen crd:generateEmbeddedObjectMeta=true paths=./apis/... output:crd:dir=manifests/crds
	$(GO) run ./hack/generate
	$(GO) -C hack/charts run .

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

##@ Check

.PHONY: check
check: ## Check what changed, before each commit: formatting, lint, and the short tests of changed packages and of those that import them; BASE=commit
	@$(GO) run ./hack/check $(if $(BASE),-base '$(BASE)')

# Tests import a loader of Go plugins, Kustomize's, so that by default the C compiler's linker takes part: twice the work.
# `make verify` has go vet look at everything.
go_test := $(GO) test -vet=off -ldflags=-linkmode=internal

# The tests of the product, of which none needs a control plane, and those that read all files: an edit anywhere can break them.
unit_packages := ./apis/... ./cmd/... ./internal/... ./pkg/... ./test/docs ./test/mutants \
	./tools/holds/... ./tools/podseqctl/... ./tools/programflags/... ./tools/removal/...

# Those whose packages have locks, atomics or goroutines.
concurrent = $(shell hack/concurrent.sh)

# The race detector needs a C compiler.
race := $(if $(shell command -v $$($(GO) env CC)),-race)

# Compilers and tests have memory enough, and too few processors, to collect garbage often.
check test test-product test-all test-unit test-race: export GOGC ?= 400

.PHONY: test
test: test-product ## Run the tests of the product, and the most important stories on a real control plane
	$(go_test) -short -timeout 30m ./test/integration

# Everything but the stories, which need all programs.
.PHONY: test-product test-unit
test-product:
	@hack/compile.sh . $(unit_packages) ./test/integration
	@# One compiles for long, the other waits now and then.
	@$(MAKE) --no-print-directory -j 2 build-sandbox test-unit
	@$(MAKE) --no-print-directory -j 2 $(PROGRAMS:%=build-%)
test-unit:
	$(go_test) $(unit_packages)

# Fuzz targets, golden outputs, and random histories that are told to an engine or a reconciler have one goroutine. What a pod costs in
# memory is more under the detector.
one_goroutine := Fuzz|TestGolden$$|TestEngineAgreesWithOracle|TestLateEvents|TestARestart|TestAdversity$$|TestAtMostOneRolls$$
race_test = $(go_test) -race -short -skip '^($(one_goroutine)|TestWhatAPodCosts$$)' -timeout 30m

.PHONY: test-race
test-race: ## Run the short tests of all packages with locks, atomics or goroutines under the race detector
ifdef race
	@FLAGS=-race hack/compile.sh . $(concurrent)
	@$(MAKE) --no-print-directory -j 2 test-race-fake test-race-real
else
	@echo '*** The race detector was NOT used: it needs a C compiler ***'
endif

.PHONY: test-race-fake test-race-real
test-race-fake: # Go 1.26.8 crashes now and then when it looks for races on several processors in a test with a fake clock.
	$(race_test) -cpu 1 $(shell hack/concurrent.sh fake)
test-race-real:
	$(race_test) $(shell hack/concurrent.sh real)

.PHONY: test-all
test-all: test-product test-race ## Run all tests, those that take long and those of the installation, the charts and the images included
	@$(MAKE) --no-print-directory -j 2 build-helm build-gitops
	@hack/compile.sh . ./...
	$(go_test) ./hack/... ./tools/...
	for module in images charts release; do $(GO) -C hack/$$module test -vet=off ./... || exit 1; done
	@hack/compile.sh cmd/sandbox ./...
	$(GO) -C cmd/sandbox test -vet=off -ldflags=-linkmode=internal ./...
	# With three packages at a time, API servers on a slow machine answer too late. Those that wait most begin first, or they would be alone
	# at the end. The module of test/bench/schedulerperf has benchmarks only, and takes long to link.
	$(go_test) -p 2 -timeout 90m $$($(GO) list ./test/integration ./test/integration/deploymentcoordination ./test/prove ./test/...)

STEPS ?= 2000000

# A third of the time would go into collecting garbage.
oracle: export GOGC ?= 1600
.PHONY: oracle
oracle: ## Compare the engine with the oracle over STEPS random events; two million take two processors about seven minutes
	PODSEQUENCE_ORACLE_STEPS=$(STEPS) $(GO) test -timeout 24h -run 'TestEngineAgreesWithOracle|TestLate|TestARestart' -v ./pkg/sequence

.PHONY: verify
verify: ## Check formatting, vet, lint, import directions, and that generated files are up to date; modules other than the product's only if they changed, or CI is set
	@hack/verify.sh

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in the code that the programs call; needs the Go vulnerability database, or a copy of it in GOVULNDB
	@hack/vulncheck.sh

# What a change must pass everywhere: enough for two minutes on nodes that are up.
short_real := ^(TestThreeTiers|TestAFirstTierThatCrashes|TestANodeDriver|TestAReboot)
.PHONY: test-real
test-real: build build-real-nodes ## Run stories with real kubelets and containers on this machine; SHORT=1 runs the most important, RUN=TestX those that match
	@# RUN is . unless somebody gives it, see deflake. Verbose: each story takes long enough for people to wonder.
	PODSEQUENCE_BIN='$(CURDIR)/$(BIN)' $(GO) -C test/real test -vet=off -count=1 -v -timeout 60m -run '$(if $(SHORT),$(short_real),$(RUN))' -p 1 $(if $(SHORT)$(filter-out .,$(RUN)),.,./...)

.PHONY: test-ecosystem
test-ecosystem: build build-ecosystem ## Run stories beside other projects, such as Karpenter; RUN=TestX runs those that match. The first build takes minutes
	PODSEQUENCE_BIN='$(CURDIR)/$(BIN)' $(GO) -C test/ecosystem test -vet=off -count=1 -v -timeout 60m -run '$(RUN)' -p 1 ./...

.PHONY: test-as-default-scheduler
test-as-default-scheduler: build ## Run the stories of test/integration with podsequence-scheduler in place of kube-scheduler
	# Left out: what there is only beside a kube-scheduler.
	$(GO) test -count=1 -timeout 90m -skip '^(TestANamespaceOptsIn|TestGatedPodsOfTheDefaultSchedulerAreRouted|TestPodsWithTheLabelAreRouted|TestSampleLabelledChart)$$' ./test/integration -as-default-scheduler

FROM ?= HEAD~1
.PHONY: upgrade-test
upgrade-test: build ## Upgrade from the commit FROM, and roll back to it, while a thousand pods are held
	hack/upgrade.sh $(FROM) $(BIN)/earlier
	$(GO) test -count=1 -timeout 60m -run '^TestUpgradeAndRollBack' ./test/integration -earlier-release $(CURDIR)/$(BIN)/earlier

K8S ?= 1.34
compat_release = $(shell sed -n 's|^[^=]*k8s.io/kubernetes v\([0-9.]*\).*|\1|p' test/compat/$(K8S)/go.mod)
compat_ldflags = -s -w -X $(version_pkg).gitVersion=v$(compat_release) \
	-X $(version_pkg).gitMajor=1 -X $(version_pkg).gitMinor=$(word 2,$(subst ., ,$(K8S)))

# The sandbox has the release of go.mod.
ifeq ($(K8S),$(basename $(KUBERNETES_VERSION)))
compat: build
	$(GO) run ./test/compat -commit '$(COMMIT)' $(ARGS) v$(KUBERNETES_VERSION)
else
compat: build build-control-plane
	$(GO) run ./test/compat -commit '$(COMMIT)' -control-plane $(BIN)/compat/$(K8S) $(ARGS) v$(compat_release)
endif
.PHONY: compat
compat: ## Run the stories on a control plane of Kubernetes K8S (1.34 or later), and write docs/versions.md; ARGS="-features lite" selects some

.PHONY: build-control-plane
build-control-plane: ## Build API server, controller-manager and scheduler of Kubernetes K8S into bin/compat/, for `sandbox up --control-plane`
	@test -f test/compat/$(K8S)/go.mod || { echo "error: no module for Kubernetes $(K8S): make one by test/compat/update.sh" >&2; exit 1; }
	@mkdir -p $(BIN)/compat/$(K8S)
	@cd test/compat/$(K8S) && $(CURDIR)/hack/with-progress.sh "building the control plane of Kubernetes $(compat_release)" \
		$(GO) build -v -ldflags '$(compat_ldflags)' -o $(CURDIR)/$(BIN)/compat/$(K8S)/ tool

PKG ?= ./test/integration/...
RUN ?= .
.PHONY: deflake
deflake: build ## Repeat the tests of PKG, or those that match RUN, until one fails or you press Ctrl-C
	@n=0; while $(GO) test $(race) $(if $(shell grep -ls testing/synctest $(PKG)/*_test.go),-cpu 1) -count=1 -failfast -run '$(RUN)' $(PKG) >.deflake.log 2>&1; do \
		n=$$((n + 1)); echo "passed $$n times"; \
	done; cat .deflake.log; echo "failed after passing $$n times"; exit 1

# One SEED, or SEEDS from 1 on; those that were played of this commit are not played again. FRESH=1 plays all. SITES of them side by
# side: four keep two processors busy.
SEEDS ?= 3
SITES ?= 1
PROVE_DIR ?= .prove$(if $(REAL),/real)
prove_args = -sites $(SITES) $(if $(PAGE),-page docs/contributing/proof.md) -dir '$(PROVE_DIR)' -commit '$(COMMIT)'
.PHONY: prove
prove: build $(if $(REAL),build-real-nodes) ## Play random worlds under random faults, and judge them: SEEDS=n of them, SITES=2 at a time, or SEED=n; REAL=1 adds a real node that reboots, SHRINK=30m shortens what failed, PAGE=1 writes docs/contributing/proof.md
	$(if $(FRESH),rm -rf '$(PROVE_DIR)')
	$(GO) run ./test/prove $(if $(SEED),-seed $(SEED),-seeds $(SEEDS)) $(prove_args) $(if $(REAL),-real-nodes $(REAL)) $(if $(SHRINK),-shrink $(SHRINK)) $(ARGS)

.PHONY: prove-writes
prove-writes: build ## Kill the programs just before and just after each kind of write, 20 times each; SITES=2 at a time, PAGE=1 writes docs/contributing/proof.md
	$(GO) run ./test/prove -writes $(prove_args) $(ARGS)

.PHONY: mutants
mutants: ## Make small wrong changes in the code, one at a time, and report which the tests notice; ARGS="-only verdict.go" selects some, FRESH=1 forgets earlier results, PAGE=1 writes docs/contributing/proof.md
	$(if $(FRESH),rm -rf .mutants)
	$(GO) run ./test/mutants -commit '$(COMMIT)' $(if $(PAGE),-page docs/contributing/proof.md) $(ARGS)

# An input that reaches new code is not made shorter: that took nearly all the time, and what fails in the engine is shortened by its
# own tests.
.PHONY: fuzz
fuzz: FOR ?= 1h
fuzz: ## Fuzz the engine and everything that reads stored objects, each for an hour, or FOR=10m; inputs that fail go to testdata/fuzz
	@grep -rHoE '^func Fuzz[A-Za-z]+' --include='*_test.go' pkg tools | sort | while IFS=': ' read -r file _ name; do \
		echo "$$name:" && $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime '$(FOR)' -fuzzminimizetime 1x "./$${file%/*}" </dev/null || exit 1; \
	done

##@ Measure

# Benchmarks of rows 1 to 4, see test/bench.
.PHONY: build-bench
build-bench:
	@hack/with-progress.sh "building scheduler_perf" $(GO) -C test/bench/schedulerperf test -c -o '$(CURDIR)/$(BIN)/schedulerperf.test' .

.PHONY: bench
bench: build $(if $(WORK),,build-bench build-helm $(node_bin)/kubectl) ## Measure what order costs, compared with what people use instead, and write docs/contributing/benchmarks.md; ROW=5 measures one row, WORK=1 only counts instructions, SHORT=1 is a quick trial that fails if a count has grown by 5%
	$(GO) test -run '^$$' -bench '^BenchmarkRows$$' -benchtime 1x -timeout 24h $(if $(SHORT),-short) ./test/bench -rows '$(ROW)' $(if $(WORK),-only-work) $(if $(BASELINE),-write-baseline)

.PHONY: soak
soak: FOR ?= $(if $(SHORT),1m,6h)
soak: build ## Roll out 5,000 pods and reboot nodes, at half the load of the machine for 6 hours, or FOR=1h, and measure memory and latency; SHORT=1 tries it in 3 minutes
	$(GO) test -run '^$$' -bench '^BenchmarkSoak$$' -benchtime 1x -timeout 48h $(if $(SHORT),-short) ./test/bench -soak '$(FOR)' $(if $(PROFILES),-profiles '$(PROFILES)') \
		$(if $(SHORT),-soak-nodes 50 -soak-pods 500)

.PHONY: bench-engine
bench-engine: ## Measure the cost of one event in the engine
	$(GO) test -run '^$$' -bench . -skip '^BenchmarkGrowth' -benchmem ./pkg/sequence/

.PHONY: bench-growth
bench-growth: ## Measure what a cluster of 15,000 nodes and 150,000 pods costs the engine, and a tenth and a hundredth of it; SHORT=1 leaves the largest out
	$(GO) test -run '^$$' -bench '^BenchmarkGrowth' -benchtime 0.1s -timeout 30m $(if $(SHORT),-short) ./pkg/sequence/

.PHONY: bench-tenants
bench-tenants: build ## Measure what a hostile tenant costs another one; ARGS="-attacks huge-job" selects some attacks, ARGS=-h lists all flags
	$(GO) run ./test/tenants $(ARGS)
