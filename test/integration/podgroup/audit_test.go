package podgroup

import (
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// request is what the API server's audit log says was asked.
type request struct {
	namespace, verb, group, resource, name string
	stage                                  auditv1.Stage
}

// controllerRequests are those of the cluster's controller so far.
func (s *story) controllerRequests() []request {
	s.Helper()
	var requests []request
	s.Audited(func(r *cluster.Request) {
		if ref := r.ObjectRef; ref != nil && r.Program == controlplane.PodSequenceController {
			requests = append(requests, request{ref.Namespace, r.Verb, ref.APIGroup, r.Resource(), ref.Name, r.Stage})
		}
	})
	require.NotEmpty(s, requests, "the audit log has nothing of the controller")
	return requests
}

// watchesOf counts how often the controller has begun to watch the PodGroups of an API group.
func (s *story) watchesOf(group string) int {
	s.Helper()
	count := 0
	for _, r := range s.controllerRequests() {
		if r.verb == "watch" && r.group == group && r.resource == "podgroups" && r.stage == auditv1.StageResponseStarted {
			count++
		}
	}
	return count
}
