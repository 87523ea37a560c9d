package podseqctl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"example.com/podsequence/tools/podseqctl/lint"
	"example.com/podsequence/tools/podseqctl/snapshot"
)

// clusterLinter checks what is in the cluster.
type clusterLinter lintCommand

// check checks one sequence, or all that the namespace has.
func (t clusterLinter) check(ctx context.Context, args []string) (linted, error) {
	definitions, err := lint.NewDefinitions()
	if err != nil {
		return linted{}, err
	}
	namespace, err := t.namespace()
	if err != nil {
		return linted{}, err
	}
	var world *snapshot.Snapshot
	only := ""
	if len(args) == 1 {
		s, err := t.find(ctx, args[0])
		if err != nil {
			return linted{}, err
		}
		if world, err = t.snapshotOf(ctx, s, namespace); err != nil {
			return linted{}, err
		}
		only = s.String()
		if !s.IsCluster() {
			namespace = s.Key().Namespace
		}
	} else if world, err = t.snapshotToLint(ctx, namespace); err != nil {
		return linted{}, err
	}
	found, kinds := linted{}, map[string]int{}
	for _, s := range world.Sequences {
		if only == "" || s.String() == only {
			findings, _ := definitions.CheckAll(ctx, "", s.Object)
			found.findings = append(found.findings, findings...)
			kinds[s.Object.GetKind()]++
		}
	}
	t.readQuotas(ctx, world)
	t.tellUnread(world.Unread)
	options := lint.Options{Only: only, Namespace: namespace, Kubernetes: t.kubernetesVersion(ctx)}
	found.findings = append(found.findings, lint.World(world, options)...)
	found.checked = "checked " + lint.Contents(world, kinds)
	if len(kinds) == 0 {
		found.incomplete = fmt.Sprintf("no sequence orders pods of namespace %s; --namespace checks another one", namespace)
	}
	return found, nil
}

// snapshotToLint reads what has to do with a namespace. It is an error if the sequences there cannot be read: lint would find nothing
// wrong with them.
func (t clusterLinter) snapshotToLint(ctx context.Context, namespace string) (*snapshot.Snapshot, error) {
	source, err := t.connect()
	if err != nil {
		return nil, err
	}
	if _, _, err := source.List(ctx, namespace); err != nil {
		return nil, err
	}
	return t.snapshot(ctx, namespace)
}

// quotaSource is a source that reads quotas.
type quotaSource interface {
	// Quotas returns the quotas of a namespace.
	Quotas(ctx context.Context, namespace string) ([]*corev1.ResourceQuota, error)
}

var _ quotaSource = &apiSource{}

// readQuotas adds the quotas of all namespaces that were read. Lint does without those that may not be read.
func (t clusterLinter) readQuotas(ctx context.Context, world *snapshot.Snapshot) {
	source, ok := t.source.(quotaSource)
	if !ok {
		return
	}
	for _, namespace := range slices.Sorted(maps.Keys(world.Complete)) {
		quotas, err := source.Quotas(ctx, namespace)
		if err != nil {
			world.Unread = append(world.Unread, fmt.Sprintf("lint does not know the ResourceQuotas of namespace %s: %v", namespace, err))
			continue
		}
		world.Quotas = append(world.Quotas, quotas...)
	}
}

// versioned is a source that knows the version of the cluster.
type versioned interface {
	// KubernetesVersion returns the version of the API server, such as v1.37.1.
	KubernetesVersion(ctx context.Context) (string, error)
}

// kubernetesVersion returns the version of the cluster; nil if it is not known, which lint can do without.
func (t clusterLinter) kubernetesVersion(ctx context.Context) *version.Version {
	source, ok := t.source.(versioned)
	if !ok {
		return nil
	}
	found, err := source.KubernetesVersion(ctx)
	if err != nil {
		return nil
	}
	parsed, err := version.ParseGeneric(found)
	if err != nil {
		return nil
	}
	return parsed
}
