// Package passes records the passes of groups for tests that have an engine and neither an API server nor pkg/record.
package passes

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/order"
	"example.com/podsequence/pkg/sequence/report"
)

// Record records what is ripe of a sequence, as if all that its groups count had been looked at, and returns what the record changed. It
// changes nothing if nothing is ripe.
func Record(engine *sequence.Engine, key types.NamespacedName) sequence.Changes {
	ripe, ok := engine.Ripe(key)
	if !ok {
		return sequence.Changes{}
	}
	known, _ := engine.Report(key)
	stored := order.Stored{PodSequence: known.Object.DeepCopy()}
	stored.ResourceVersion = Next(ripe.ResourceVersion)
	if stored.Status.Passes == nil {
		stored.Status.Passes = map[string]v1alpha1.GroupPass{}
	}
	for i, g := range known.Groups {
		if pass, is := ripe.Passes[g.Hash]; is {
			pass.At = metav1.NewTime(earliest(g, stored.Spec.PodGroups[i].WaitDuration))
			stored.Status.Passes[g.Hash] = pass
		}
	}
	if known.Cluster != nil {
		stored.Cluster = known.Cluster.DeepCopy()
		stored.Cluster.ResourceVersion, stored.Cluster.Status.Passes = stored.ResourceVersion, stored.Status.Passes
	}
	return engine.Recorded(stored)
}

// earliest returns when a group that is ripe could have been recorded at the earliest, so that a test that knows only the end need not play
// what was before; zero, which counts as the present, for one that has timed out.
func earliest(g report.Group, wait v1alpha1.Duration) time.Time {
	duration, err := wait.Parse()
	if err != nil || duration == 0 || g.SatisfiedAt.IsZero() {
		return g.SatisfiedAt.Truncate(time.Second)
	}
	return g.SatisfiedAt.Truncate(time.Second).Add(time.Second + duration)
}

// RecordAll records what an event made ripe, and what becomes ripe by that, of tests that do not look at what the records change.
func RecordAll(engine *sequence.Engine, changes sequence.Changes) {
	for _, key := range changes.Ripe {
		RecordAll(engine, Record(engine, key))
	}
}

// Next returns the resource version that an object gets when it is written. One that a test made may have none.
func Next(version string) string {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil && version != "" {
		panic(err) // only a test makes such a version
	}
	return strconv.FormatUint(number+1, 10)
}
