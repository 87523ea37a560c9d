package deployment

import (
	"testing"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestOurRequestsDoNotWaitForThoseOfOtherServiceAccounts(t *testing.T) {
	for schema, level := range map[string]string{"podsequence": "workload-high", "podsequence-leader-election": "leader-election"} {
		t.Run(schema, func(t *testing.T) {
			s := newSite(t)
			dispatched := `apiserver_flowcontrol_dispatched_requests_total{flow_schema="` + schema + `",priority_level="` + level + `"}`
			cluster.Await(s, "requests that the API server takes for ours", func() bool {
				return s.cluster.Metric(s, controlplane.APIServer, dispatched) > 0
			})
		})
	}
}
