package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence/order"
)

// kubectl get shows no conditions: whoever looks there must not take a suspended sequence or a dry run for one that runs.
func TestStateSaysWhatIsSpecialAboutASequence(t *testing.T) {
	suspends, skips := order.Override{Suspend: true}, order.Override{Skip: []string{"One"}}
	passed := Group{Title: "One", Expected: 1, Ready: 1, Released: true, Passed: true, Satisfied: true, Members: []string{"a"}}
	failed := Group{
		Title: "One", Expected: 1, Current: true, Released: true, Members: []string{"a"}, Failure: &order.Problem{Reason: v1alpha1.ReasonPodFailed},
	}

	for name, test := range map[string]struct {
		report    Report
		want      string
		wantPhase v1alpha1.Phase // empty: Pending, as without pods
	}{
		"nothing is":                        {want: "Active"},
		"the spec skips a group":            {report: Report{Groups: []Group{{Title: "One", Skipped: true}}}, want: "Active"},
		"suspended":                         {report: Report{Suspended: true}, want: "Suspended"},
		"suspended by annotation":           {report: Report{Suspended: true, Override: suspends}, want: "Suspended,Overridden"},
		"a group is skipped by annotation":  {report: Report{Override: skips}, want: "Overridden"},
		"an annotation that cannot be read": {report: Report{Override: order.Override{Problems: []order.Problem{{}}}}, want: "Active"},
		"an override that is over":          {report: Report{Override: order.Override{Until: time.Unix(1, 0)}}, want: "Active"},
		"a dry run":                         {report: Report{DryRun: &DryRun{}}, want: "DryRun"},
		"a dry run of a suspended sequence": {report: Report{Suspended: true, DryRun: &DryRun{}}, want: "Suspended,DryRun"},
		"pods started out of order":         {report: Report{OutOfOrder: &OutOfOrder{Pods: []string{"web"}}}, want: "StartedOutOfOrder"},
		"all of that":                       {report: Report{Suspended: true, DryRun: &DryRun{}, Override: suspends}, want: "Suspended,DryRun,Overridden"},
		"the phase of a suspended sequence": {
			report: Report{Suspended: true, Current: 1, Groups: []Group{passed}}, want: "Suspended", wantPhase: "Completed",
		},
		"the phase of a dry run":                 {report: Report{DryRun: &DryRun{}, Groups: []Group{failed}}, want: "DryRun", wantPhase: "Failed"},
		"a namespace does not allow it":          {report: refused(Report{}), want: "NamespaceNotAllowed"},
		"not allowed either, but also suspended": {report: refused(Report{Suspended: true}), want: "NamespaceNotAllowed,Suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.report.Groups == nil {
				test.report.Groups = []Group{{Title: "One"}}
			}
			status := test.report.Status(&v1alpha1.PodSequence{}, time.Unix(1000, 0))
			assert.Equal(t, test.want, status.State)
			if test.wantPhase == "" {
				test.wantPhase = v1alpha1.PhasePending
			}
			assert.Equal(t, test.wantPhase, status.Phase)

			said := strings.Split(status.State, ",")
			for _, kind := range []string{v1alpha1.ConditionSuspended, v1alpha1.ConditionDryRun, v1alpha1.ConditionOverridden} {
				assert.Equal(t, meta.IsStatusConditionTrue(status.Conditions, kind), slices.Contains(said, kind), "condition %s", kind)
			}
		})
	}
}

func TestStatusSaysTheModeInForce(t *testing.T) {
	for name, test := range map[string]struct {
		report Report
		want   v1alpha1.EnforcementMode
	}{
		"once passed, a group counts":               {want: v1alpha1.BootstrapOnly},
		"a group counts only while it is satisfied": {report: Report{Continuous: true}, want: v1alpha1.Continuous},
		"on each node": {report: Report{Continuous: true, PerNode: true}, want: v1alpha1.Continuous},
	} {
		t.Run(name, func(t *testing.T) {
			test.report.Groups = []Group{{Title: "One"}}
			assert.Equal(t, test.want, test.report.Status(&v1alpha1.PodSequence{}, time.Unix(1000, 0)).EnforcementMode)
		})
	}
}

func refused(r Report) Report {
	r.Refused, r.Problems = true, []order.Problem{{Reason: v1alpha1.ReasonNamespaceNotAllowed, Message: "grant it"}}
	return r
}
