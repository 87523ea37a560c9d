package autoscaler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/tools/sandbox/retrywatch"
)

// poolLabel is on each node that Karpenter makes.
const poolLabel = "karpenter.sh/nodepool"

// pool says what a NodePool makes its nodes of.
type pool struct {
	name, instanceType string
	// bootTime is how long a node takes to join the cluster.
	bootTime string
	// startupTaint, if it is not empty, is on each node until somebody removes it.
	startupTaint string
	// consolidateAfter is how long a node without pods is kept, but for those of DaemonSets; Never if it is empty.
	consolidateAfter string
	// neverReady reports that the nodes join the cluster, but their kubelets report nothing.
	neverReady bool
}

// manifest is the NodePool and the class of its nodes.
func (p pool) manifest() string {
	taints, consolidate, labels := "[]", "Never", "{}"
	if p.neverReady {
		labels = `{example.com/never-ready: "true"}`
	}
	if p.startupTaint != "" {
		taints = fmt.Sprintf("[{key: %s, effect: NoSchedule}]", p.startupTaint)
	}
	if p.consolidateAfter != "" {
		consolidate = p.consolidateAfter
	}
	return fmt.Sprintf(`
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata:
  name: %[1]s
spec:
  nodeRegistrationDelay: %[3]s
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: %[1]s
spec:
  template:
    metadata:
      labels: %[6]s
    spec:
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [%[2]s]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: example.com/fence, operator: Exists}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: %[1]s}
      startupTaints: %[4]s
      expireAfter: Never
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: %[5]s
`, p.name, p.instanceType, p.bootTime, taints, consolidate, labels)
}

// claims are the NodeClaims that Karpenter ever made, by NodePool.
type claims struct {
	mu   sync.Mutex
	made map[string]map[types.UID]string
}

// follow notes each NodeClaim until the context ends.
func (c *claims) follow(ctx context.Context, api client.WithWatch) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("karpenter.sh/v1")
	list.SetKind("NodeClaimList")
	changes, err := retrywatch.Start(ctx, api, list)
	if err != nil {
		return fmt.Errorf("watch NodeClaims: %w", err)
	}
	for i := range list.Items {
		c.note(&list.Items[i])
	}
	go func() {
		for change := range changes.ResultChan() {
			if claim, is := change.Object.(client.Object); is {
				c.note(claim)
			}
		}
	}()
	return nil
}

func (c *claims) note(claim client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := claim.GetLabels()[poolLabel]
	if c.made[in] == nil {
		c.made[in] = map[types.UID]string{}
	}
	c.made[in][claim.GetUID()] = claim.GetName()
}

// of returns the names of the NodeClaims that a NodePool ever had.
func (c *claims) of(pool string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, name := range c.made[pool] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nodesOf returns the nodes that a NodePool has now.
func (s *story) nodesOf(pool string) []corev1.Node {
	s.Helper()
	var nodes corev1.NodeList
	if err := s.API.List(s.Ctx, &nodes, client.MatchingLabels{poolLabel: pool}); err != nil {
		s.Fatalf("list nodes: %v", err)
	}
	return nodes.Items
}
