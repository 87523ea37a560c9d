# What proves and measures, by hand: some of it takes hours. `make help-proof` lists it.

##@ Prove

# Programs of others for test/ecosystem. Each has a module of its own, with the versions that it was released with, in test/ecosystem/programs/NAME.
ecosystem := $(patsubst test/ecosystem/programs/%/go.mod,%,$(wildcard test/ecosystem/programs/*/go.mod))
.PHONY: build-ecosystem $(ecosystem:%=build-ecosystem-%)
build-ecosystem: $(ecosystem:%=build-ecosystem-%)
build-ecosystem-kueue: main := sigs.k8s.io/kueue/cmd/kueue
build-ecosystem-argo-rollouts: main := github.com/argoproj/argo-rollouts/cmd/rollouts-controller
$(ecosystem:%=build-ecosystem-%): build-ecosystem-%:
	@mkdir -p $(BIN)/ecosystem
	@hack/with-progress.sh "building $*" $(GO) -C test/ecosystem/programs/$* build -v -ldflags='-s -w' -o '$(CURDIR)/$(BIN)/ecosystem/$*' $(or $(main),.)

STEPS ?= 2000000

# A third of the time would go into collecting garbage.
oracle: export GOGC ?= 1600
.PHONY: oracle
oracle: ## Compare the engine with the oracle over STEPS random events; two million take two processors about seven minutes
	PODSEQUENCE_ORACLE_STEPS=$(STEPS) $(GO) test -timeout 24h -run 'TestEngineAgreesWithOracle|TestLate|TestARestart' -v ./pkg/sequence

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
prove_args = -sites $(SITES) $(if $(PAGE),-page docs/proof/long-runs.md) -dir '$(PROVE_DIR)' -commit '$(COMMIT)'
.PHONY: prove
prove: build $(if $(REAL),build-real-nodes) ## Play random worlds under random faults, and judge them: SEEDS=n of them, SITES=2 at a time, or SEED=n; REAL=1 adds a real node that reboots, SHRINK=30m shortens what failed, PAGE=1 writes docs/proof/long-runs.md
	$(if $(FRESH),rm -rf '$(PROVE_DIR)')
	$(GO) run ./test/prove $(if $(SEED),-seed $(SEED),-seeds $(SEEDS)) $(prove_args) $(if $(REAL),-real-nodes $(REAL)) $(if $(SHRINK),-shrink $(SHRINK)) $(ARGS)

.PHONY: prove-writes
prove-writes: build ## Kill the programs just before and just after each kind of write, 20 times each; SITES=2 at a time, PAGE=1 writes docs/proof/long-runs.md
	$(GO) run ./test/prove -writes $(prove_args) $(ARGS)

.PHONY: mutants
mutants: ## Make small wrong changes in the code, one at a time, and report which the tests notice; ARGS="-only pkg/record" selects some, FRESH=1 forgets earlier results, PAGE=1 writes docs/proof/long-runs.md
	$(if $(FRESH),rm -rf .mutants)
	$(GO) run ./test/mutants -commit '$(COMMIT)' $(if $(PAGE),-page docs/proof/long-runs.md) $(ARGS)

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
bench: build $(if $(WORK),,build-bench build-helm $(node_bin)/kubectl) ## Measure what order costs, compared with what people use instead, and write docs/proof/benchmarks.md; ROW=5 measures one row, WORK=1 only counts instructions, SHORT=1 is a quick trial that fails if a count has grown by 5%
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
