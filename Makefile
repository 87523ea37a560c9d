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

# Lists the targets of a file in 80 columns.
list = awk 'BEGIN { FS = ":.*\#\# " } \
	/^\#\#@ / { printf "\n%s\n", substr($$0, 5) } \
	/^[a-z-]+:.*\#\# / { n = split($$2, words, " "); line = sprintf("  %-16s", $$1); \
		for (i = 1; i <= n; i++) { \
			if (length(line) + length(words[i]) > 79) { print line; line = sprintf("%18s", "") } \
			line = line " " words[i] } \
		print line }'

.PHONY: help help-proof help-release
help: ## Show this text; help-proof and help-release list what else there is
	@$(list) Makefile
help-proof:
	@$(list) hack/proof.mk
help-release:
	@$(list) hack/release.mk

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

.PHONY: install-kubectl-podseq
install-kubectl-podseq: build-kubectl-podseq ## Install kubectl podseq, and its completion, into PREFIX (~/.local/bin)
	install -D $(BIN)/kubectl-podseq cmd/kubectl-podseq/kubectl_complete-podseq -t $(or $(PREFIX),$(HOME)/.local/bin)

.PHONY: generate
generate: ## Generate deepcopy methods and CRDs from apis/, pages of docs/ from the code, and templates of charts/ from manifests/
	$(TOOLS) controller-gen object paths=./apis/...
	$(TOOLS) controller-gen crd:generateEmbeddedObjectMeta=true paths=./apis/... output:crd:dir=manifests/crds
	$(GO) run ./hack/generate
	$(GO) -C hack/charts run .

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
	@# Nothing beside the stories, and no third package: they keep two processors busy, and API servers on a slow machine answer too late.
	@# Those that wait most begin first, or they would be alone at the end. The module of test/bench/schedulerperf has benchmarks only, and
	@# takes long to link.
	$(go_test) -p 2 -timeout 90m $$($(GO) list ./test/integration ./test/integration/deploymentcoordination ./test/prove ./test/...)

.PHONY: verify
verify: ## Check formatting, vet, lint, import directions, and that generated files are up to date; modules other than the product's only if they changed, or CI is set
	@hack/verify.sh

# What a change must pass everywhere: enough for two minutes on nodes that are up.
short_real := ^(TestThreeTiers|TestAFirstTierThatCrashes|TestANodeDriver|TestARebootHolds)
.PHONY: test-real
test-real: build build-real-nodes ## Run stories with real kubelets and containers on this machine; SHORT=1 runs the most important, RUN=TestX those that match
	@# RUN is . unless somebody gives it, see deflake. Verbose: each story takes long enough for people to wonder.
	PODSEQUENCE_BIN='$(CURDIR)/$(BIN)' $(GO) -C test/real test -vet=off -count=1 -v -timeout 60m -run '$(if $(SHORT),$(short_real),$(RUN))' -p 1 $(if $(SHORT)$(filter-out .,$(RUN)),.,./...)

include hack/release.mk hack/proof.mk
