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
	namespace, verb, resource, name string
}

// controllerRequests are those of the controller so far.
func (s *story) controllerRequests() []request {
	s.Helper()
	log, err := os.Open(cluster.AuditLog())
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
		requests = append(requests, request{ref.Namespace, event.Verb, resource, ref.Name})
	}
	require.NoError(s, lines.Err())
	require.NotEmpty(s, requests, "the audit log has nothing of the controller")
	return requests
}
