package podgroup

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"example.com/podsequence/internal/controlplane"
)

// request is what the API server's audit log says was asked.
type request struct {
	namespace, verb, group, resource, name string
	stage                                  auditv1.Stage
}

// controllerRequests are those of the shared cluster's controller so far.
func (s *story) controllerRequests() []request {
	s.Helper()
	requests := s.requestsIn(cluster.AuditLog())
	require.NotEmpty(s, requests, "the audit log has nothing of the controller")
	return requests
}

// watchesOf counts how often the controller has begun to watch the PodGroups of an API group.
func (s *story) watchesOf(group string, of *controlplane.Cluster) int {
	s.Helper()
	count := 0
	for _, r := range s.requestsIn(of.AuditLog()) {
		if r.verb == "watch" && r.group == group && r.resource == "podgroups" && r.stage == auditv1.StageResponseStarted {
			count++
		}
	}
	return count
}

func (s *story) requestsIn(path string) []request {
	s.Helper()
	log, err := os.Open(path)
	require.NoError(s, err)
	defer func() { _ = log.Close() }()
	var requests []request
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line may be half written
		}
		ref := event.ObjectRef
		if ref == nil || event.User.Username != "system:serviceaccount:podsequence-system:"+controlplane.PodSequenceController {
			continue
		}
		resource := ref.Resource
		if ref.Subresource != "" {
			resource += "/" + ref.Subresource
		}
		requests = append(requests, request{ref.Namespace, event.Verb, ref.APIGroup, resource, ref.Name, event.Stage})
	}
	require.NoError(s, lines.Err())
	return requests
}
