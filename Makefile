# PodSequence. `make help` lists what can be made; Go and make are all it takes.

GO ?= go
# Kubernetes release that go.mod stands on: the sandbox's control plane and our scheduler report it as their version.
KUBERNETES_VERSION := $(shell sed -n 's|^\tk8s.io/kubernetes v||p' go.mod)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

BIN := bin
TOOLS := $(GO) tool -modfile=hack/tools/go.mod

version_pkg := k8s.io/component-base/version
kubernetes_minor := $(word 2,$(subst ., ,$(KUBERNETES_VERSION)))
LDFLAGS := -s -w \
	-X $(version_pkg).gitVersion=v$(KUBERNETES_VERSION) \
	-X $(version_pkg).gitMajor=1 -X $(version_pkg).gitMinor=$(kubernetes_minor) \
	-X example.com/podsequence/internal/version.version=$(VERSION) \
	-X example.com/podsequence/internal/version.commit=$(COMMIT)

.PHONY: generate
generate: ## Generate deepcopy methods and CRDs from apis/
	$(TOOLS) controller-gen object paths=./apis/...
	$(TOOLS) controller-gen crd paths=./apis/... output:crd:dir=manifests/crds
