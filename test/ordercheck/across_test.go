package ordercheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeLooksAcrossNamespaces(t *testing.T) {
	const late = 4 * time.Second
	apps := []string{"one", "two"}
	list := func(fixes ...acrossFix) step {
		return across("s", append(fixes, in(tier("csi"), "kube-system"), in(tier("app"), apps...))...)
	}
	labelledApps := func(fixes ...acrossFix) step {
		return across("s", append(fixes, in(tier("csi"), "kube-system"), inLabelled(tier("app"), "csi", "yes"))...)
	}
	csi := inside("kube-system", create("csi", labelled("tier", "csi"), onNode))
	csiIsReady := ready("csi")
	appIn := func(namespace string) step {
		return inside(namespace, create("app-"+namespace, labelled("tier", "app")), bind("app-"+namespace))
	}
	for mode, fix := range map[string]sequenceFix{"once": byDefault, "continuously": continuously, "on a node": perNode} {
		t.Run(mode, func(t *testing.T) {
			n := node("node-1")
			checkAll(t, map[string]judgement{
				"applications of all namespaces wait for the driver in another": {
					steps:     []step{n, list(with(fix)), csi, passing(late), appIn("one"), appIn("two")},
					wantEarly: []string{"one/app-one", "two/app-two"}, wantBindings: 3,
				},
				"and start when it is ready": {
					steps: []step{n, list(with(fix)), csi, csiIsReady, appIn("one"), appIn("two")}, wantBindings: 3,
				},
				"a driver in a namespace that is not listed is none": {
					steps: []step{n, list(with(fix)), inside("other", create("csi", labelled("tier", "csi"), onNode), ready("csi")),
						passing(late), appIn("one")},
					wantEarly: []string{"one/app-one"}, wantBindings: 1,
				},
				"an application elsewhere waits for nothing": {
					steps: []step{n, list(with(fix)), passing(late), appIn("three")},
				},
				"a group is ready when its members of all its namespaces are": {
					steps: []step{n, across("s", with(fix), in(tier("csi"), "kube-system", "storage"), in(tier("app"), apps...)), csi,
						inside("storage", create("csi-2", labelled("tier", "csi"), onNode)), csiIsReady, passing(late), appIn("one")},
					wantEarly: []string{"one/app-one"}, wantBindings: 3,
				},
				"namespaces by label": {
					steps:     []step{n, namespaceWith("one", "csi", "yes"), namespaceWith("two"), labelledApps(with(fix)), passing(late), appIn("one"), appIn("two")},
					wantEarly: []string{"one/app-one"}, wantBindings: 1,
				},
				"every namespace": {
					steps: []step{n, across("s", with(fix), in(tier("csi"), "kube-system"), everywhere(tier("app"))), passing(late), appIn("one"),
						inside("kube-system", create("app", labelled("tier", "app")), bind("app")),
						inside("podsequence-system", create("app", labelled("tier", "app")), bind("app"))},
					wantEarly: []string{"one/app-one"}, wantBindings: 1,
				},
				"system namespaces that are listed": {
					steps: []step{n, across("s", with(fix), in(tier("csi"), "kube-system"), in(tier("app"), "kube-system", "podsequence-system")), passing(late),
						inside("kube-system", create("app", labelled("tier", "app")), bind("app")),
						inside("podsequence-system", create("app", labelled("tier", "app")), bind("app"))},
					wantEarly: []string{"kube-system/app", "podsequence-system/app"}, wantBindings: 2,
				},
				"pods of PodSequence itself wait for nothing": {
					steps: []step{n, across("s", with(fix), in(tier("csi"), "kube-system"), in(everythingElse, "podsequence-system", "one")), passing(late),
						inside("podsequence-system", create("us", labelled("app.kubernetes.io/name", "podsequence")), bind("us")),
						inside("one", create("us", labelled("app.kubernetes.io/name", "podsequence")), bind("us"))},
					wantEarly: []string{"one/us"}, wantBindings: 1,
				},
				"nor is anything ready by them": {
					steps: []step{n, across("s", with(fix), in(everythingElse, "podsequence-system"), in(tier("app"), apps...)),
						inside("podsequence-system", create("us", labelled("app.kubernetes.io/name", "podsequence"), onNode)), ready("us"),
						passing(late), appIn("one")},
					wantEarly: []string{"one/app-one"}, wantBindings: 1,
				},
				"a namespace that appears counts at once": {
					steps:     []step{n, labelledApps(with(fix)), passing(late), namespaceWith("one", "csi", "yes"), appIn("one")},
					wantEarly: []string{"one/app-one"}, wantBindings: 1,
				},
				"a namespace that gets the label counts for pods that come later": {
					steps: []step{n, namespaceWith("one"), labelledApps(with(fix)), appIn("one"), namespaceWith("one", "csi", "yes"),
						inside("one", create("late", labelled("tier", "app")), bind("late"))},
					wantEarly: []string{"one/late"}, wantBindings: 1,
				},
				"a pod that is older than the label may be on its way": {
					steps: []step{n, namespaceWith("one"), labelledApps(with(fix)),
						inside("one", create("app", labelled("tier", "app")), namespaceWith("one", "csi", "yes"), bind("app"))},
					wantBindings: 1, wantExcused: 1,
				},
				"but not for long": {
					steps: []step{n, namespaceWith("one"), labelledApps(with(fix)),
						inside("one", create("app", labelled("tier", "app")), namespaceWith("one", "csi", "yes"), passing(late), bind("app"))},
					wantEarly: []string{"one/app"}, wantBindings: 1,
				},
				"a namespace that loses the label is left alone": {
					steps: []step{n, namespaceWith("one", "csi", "yes"), labelledApps(with(fix)), namespaceWith("one"), passing(late), appIn("one")},
				},
				"a namespace that comes again goes by its new labels": {
					steps: []step{n, namespaceWith("one", "csi", "yes"), labelledApps(with(fix)), abolish("one"), namespaceWith("one"),
						passing(late), appIn("one")},
				},
				"other labels of a namespace change nothing": {
					steps: []step{n, namespaceWith("one", "csi", "yes"), labelledApps(with(fix)),
						inside("one", create("app", labelled("tier", "app")), namespaceWith("one", "csi", "yes", "more", "yes"), bind("app"))},
					wantEarly: []string{"one/app"}, wantBindings: 1,
				},
				"a pod needs the leave of both kinds": {
					steps: []step{n, list(with(fix)), csi, csiIsReady,
						inside("one", order("own", fix, named("db"), tier("app"))), passing(late), appIn("one"), appIn("two")},
					wantEarly: []string{"one/app-one"}, wantBindings: 3,
				},
				"a suspension releases nothing more anywhere": {
					steps:     []step{n, list(with(func(s *v1alpha1.PodSequence) { fix(s); suspended(s) })), csi, csiIsReady, passing(late), appIn("one")},
					wantEarly: []string{"kube-system/csi", "one/app-one"}, wantBindings: 2,
				},
				"a dry run holds nothing anywhere": {
					steps: []step{n, list(with(func(s *v1alpha1.PodSequence) { fix(s); dryRunning(s) })), passing(late), appIn("one")},
				},
			})
		})
	}
	checkAll(t, map[string]judgement{
		"each workload counts where it lives": {
			steps: []step{across("s", in(tier("db"), "one", "two"), in(tier("app"), "shop")),
				inside("two", statefulSet("db2", "db", 2), up("db", "db2", "db2-0")),
				inside("one", statefulSet("db", "db", 1), up("db", "db", "db-0", "db-1")), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"and is enough where it is": {
			steps: []step{across("s", in(tier("db"), "one", "two"), in(tier("app"), "shop")),
				inside("one", statefulSet("db", "db", 1), up("db", "db", "db-0")),
				inside("two", statefulSet("db2", "db", 2), up("db", "db2", "db2-0", "db2-1")), appIsBound},
			wantBindings: 1,
		},
		"a workload outside is not waited for": {
			steps: []step{across("s", in(tier("db"), "one"), in(tier("app"), "shop")),
				inside("one", statefulSet("db", "db", 1), up("db", "db", "db-0")),
				inside("two", statefulSet("db2", "db", 2)), appIsBound},
			wantBindings: 1,
		},
		"names are those of one namespace": {
			steps: []step{across("s", in(named("db"), "one"), in(tier("app"), "shop")),
				inside("two", create("db", isReadyNow)), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an ordinal that another namespace names is waited for": {
			steps: []step{across("s", in(named("db-0"), "two"), in(tier("db"), "one"), in(tier("app"), "shop")),
				inside("two", create("db-0", isReadyNow)), inside("one", statefulSet("db", "db", 2), up("db", "db", "db-1")), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"what was passed stays passed when a namespace joins": {
			steps: []step{namespaceWith("one", "db", "yes"), across("s", inLabelled(tier("db"), "db", "yes"), in(tier("app"), "shop")),
				inside("one", create("db", labelled("tier", "db"), isReadyNow)), passing(late),
				namespaceWith("two", "db", "yes"), inside("two", create("db2", labelled("tier", "db"))), passing(late), appIsBound},
			wantBindings: 1,
		},
		"enforced continuously a namespace that joins is waited for": {
			steps: []step{namespaceWith("one", "db", "yes"), namespaceWith("two"), inside("two", create("db2", labelled("tier", "db"))),
				across("s", with(continuously), inLabelled(tier("db"), "db", "yes"), in(tier("app"), "shop")),
				inside("one", create("db", labelled("tier", "db"), isReadyNow)), passing(late), namespaceWith("two", "db", "yes"), passing(late),
				appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a wait begins when the namespace leaves that kept the group from being ready": {
			steps: []step{namespaceWith("one", "db", "yes"), namespaceWith("two", "db", "yes"),
				across("s", inLabelled(tier("db", waiting("10s")), "db", "yes"), in(tier("app"), "shop")),
				inside("one", create("db", labelled("tier", "db")), ready("db")), inside("two", create("db2", labelled("tier", "db"))),
				passing(20 * time.Second), namespaceWith("two"), passing(late), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"an edit of the namespaces of a group voids its pass": {
			steps: []step{across("s", in(tier("db"), "one"), in(tier("app"), "shop")),
				inside("one", create("db", labelled("tier", "db"), isReadyNow)), passing(late),
				reacross("s", in(tier("db"), "two"), in(tier("app"), "shop")), passing(late), appIsBound},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
	})
}

// The verdict on one namespace follows what its pods wait for in others.
func TestJudgeOfOneNamespaceFollowsWhatItsPodsWaitFor(t *testing.T) {
	sequence := across("s", inLabelled(tier("csi"), "drivers", "yes"), in(tier("app"), "one", "two"))
	driver := inside("storage", create("csi", labelled("tier", "csi")), bind("csi"))
	tests := map[string]struct {
		steps []step
		early int
	}{
		"the driver is ready":     {steps: []step{driver, ready("csi")}},
		"the driver is not ready": {steps: []step{driver}, early: 1},
		"the namespace of the driver has the label no more": {
			steps: []step{driver, namespaceWith("storage"), passing(4 * time.Second), ready("csi")}, early: 1,
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			steps := append([]step{namespaceWith("storage", "drivers", "yes"), sequence}, test.steps...)
			steps = append(steps, passing(4*time.Second))
			for _, namespace := range []string{"one", "two", "three"} {
				steps = append(steps, inside(namespace, create("app-"+namespace, labelled("tier", "app")), bind("app-"+namespace)))
			}
			verdict := Judge(tell(steps...), JudgeOptions{Namespace: "one"})
			assert.Len(t, verdict.Violations, test.early)
			assert.Equal(t, 1, verdict.Bindings)
			assert.Equal(t, 1, verdict.Sequences)
			elsewhere := Judge(tell(steps...), JudgeOptions{Namespace: "three"})
			assert.Zero(t, elsewhere.Bindings+elsewhere.Sequences)
		})
	}
}

func TestViolationOfAClusterPodSequenceNamesNamespaces(t *testing.T) {
	verdict := Judge(tell(across("s", in(named("csi"), "kube-system"), in(tier("app"), "shop")),
		inside("kube-system", create("csi")), appIsBound), JudgeOptions{})
	require.Len(t, verdict.Violations, 1)
	assert.Contains(t, verdict.Violations[0].String(), `is in group 2/2 "Group 2" of ClusterPodSequence s, and group 1/2 "Group 1" `+
		`had not been ready: 0 of 1 pods ready at best; kube-system/csi had never been ready`)

	verdict = Judge(tell(across("s", in(tier("db"), "one"), in(tier("app"), "shop")),
		inside("one", statefulSet("db", "db", 2), up("db", "db", "db-0")), appIsBound), JudgeOptions{})
	require.Len(t, verdict.Violations, 1)
	assert.Contains(t, verdict.Violations[0].String(), "StatefulSet one/db had 1 of 2 pods ready")
}

func TestTimelineOfAClusterPodSequence(t *testing.T) {
	timeline, err := NewTimeline(tell(across("s", in(named("csi"), "kube-system"), inLabelled(tier("app"), "a", "b")),
		namespaceWith("shop", "a", "b"), inside("kube-system", create("csi")), appIsBound), types.NamespacedName{Name: "s"})
	require.NoError(t, err)
	assert.Regexp(t, `(?s)^ClusterPodSequence s: .*1 Group 1 +kube-system/csi.*2 Group 2 +shop/app`, timeline.String())
	_, err = NewTimeline(tell(), types.NamespacedName{Name: "s"})
	assert.EqualError(t, err, "lay out ClusterPodSequence s: it was never seen")
}
