package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hostileAccount is who attacks: a ServiceAccount that is the administrator of its namespaces, and of nothing else. The
// API server's priority and fairness counts it among the same kind of users as our programs.
const hostileAccount = "system:serviceaccount:hostile:default"

// tally is what the hostile tenant did.
type tally struct {
	requests, refused int
	sent              int64
	// stored is what his objects take now, peak the most that they took.
	stored, peak int64
	// refusal is what the API server said to the first request that it refused.
	refusal string
}

// hostile writes for the hostile tenant. A decoy makes the same requests, but for decoys of our kinds, and without the labels and
// scheduler names that make pods our business: what is slow then is the cluster that we run on.
type hostile struct {
	*testbed
	rest  rest.Interface
	decoy bool
	// namespace is where it writes.
	namespace string
	// limiter bounds its requests. nil while it prepares.
	limiter *rate.Limiter

	*books
}

// books are shared by those who write for the same tenant.
type books struct {
	lock  sync.Mutex
	sizes map[string]int64 // by path
	tally tally
}

func newHostile(t *testbed, decoy bool) (*hostile, error) {
	config := t.cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: hostileAccount,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:hostile", "system:authenticated"},
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of the hostile tenant: %w", err)
	}
	return &hostile{
		testbed: t, rest: clients.CoreV1().RESTClient(), decoy: decoy,
		books: &books{sizes: map[string]int64{}},
	}, nil
}

// in is the same tenant in another of his namespaces.
func (h *hostile) in(namespace string) *hostile {
	other := *h
	other.namespace = namespace
	return &other
}

// limited is the same tenant, bound to a rate.
func (h *hostile) limited(limiter *rate.Limiter) *hostile {
	other := *h
	other.limiter = limiter
	return &other
}

// create creates an object.
func (h *hostile) create(ctx context.Context, k kind, object client.Object) error {
	if h.decoy {
		k = k.decoy()
		if version := object.GetObjectKind().GroupVersionKind(); k.group() == decoyPrefix+version.Group {
			version.Group = k.group()
			object.GetObjectKind().SetGroupVersionKind(version)
		}
	}
	path := h.path(k)
	request := h.rest.Post().AbsPath(path).SetHeader("Content-Type", "application/json")
	return h.write(ctx, request, encode(object), path+"/"+object.GetName())
}

// patch sets a field of an object.
func (h *hostile) patch(ctx context.Context, k kind, name, field string, value any) error {
	if h.decoy {
		k = k.decoy()
	}
	path := h.path(k) + "/" + name
	body := encode([]map[string]any{{"op": "add", "path": field, "value": value}})
	return h.write(ctx, h.rest.Patch(types.JSONPatchType).AbsPath(path), body, path)
}

// remove deletes an object.
func (h *hostile) remove(ctx context.Context, k kind, name string) error {
	if h.decoy {
		k = k.decoy()
	}
	path := h.path(k) + "/" + name
	return h.write(ctx, h.rest.Delete().AbsPath(path), nil, path)
}

func (h *hostile) path(k kind) string {
	return strings.Join([]string{k.api, "namespaces", h.namespace, k.plural}, "/")
}

// names are those of the objects of a kind that he has in the namespace, sorted.
func (h *hostile) names(k kind) []string {
	if h.decoy {
		k = k.decoy()
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	var names []string
	for path := range h.sizes {
		if name, ok := strings.CutPrefix(path, h.path(k)+"/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// write makes a request and keeps the books of what is stored at the path; a request without body deletes it. What the
// API server refuses is no error: it is what a hostile tenant may expect. What comes after the end of the phase is none
// either.
func (h *hostile) write(ctx context.Context, request *rest.Request, body []byte, path string) error {
	if h.limiter != nil && h.limiter.Wait(ctx) != nil {
		return nil
	}
	if body != nil {
		request = request.Body(body)
	}
	answer, err := request.Do(ctx).Raw()
	if ctx.Err() != nil {
		return nil
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.tally.requests++
	h.tally.sent += int64(len(body))
	if refusal := apierrors.APIStatus(nil); errors.As(err, &refusal) {
		if h.tally.refused++; h.tally.refusal == "" {
			h.tally.refusal = refusal.Status().Message
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("write for the hostile tenant: %w", err)
	}
	if body == nil {
		answer = nil
	}
	h.keep(path, int64(len(answer)))
	return nil
}

// keep notes how many bytes an object takes.
func (b *books) keep(path string, size int64) {
	b.tally.stored += size - b.sizes[path]
	b.sizes[path] = size
	b.tally.peak = max(b.tally.peak, b.tally.stored)
}

func (b *books) sum() tally {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.tally
}

// encode is the JSON of what is known to have one.
func encode(object any) []byte {
	content, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return content
}
