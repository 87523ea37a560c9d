package real

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	appsapi "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/test/rolloutcheck"
	"example.com/podsequence/tools/sandbox/containerlogs"
)

// registryAddress is where each node pulls images without TLS: container runtimes do that from 127.0.0.1 only.
const registryAddress = "127.0.0.1:5000"

func TestRolloutsWithImagesThatArePulledHappenOneAtATime(t *testing.T) {
	const replicas = 2
	s := newStory(t)
	etcd, err := shared.EtcdConfig()
	require.NoError(t, err)
	watcher, err := rolloutcheck.Start(t.Context(), etcd)
	require.NoError(t, err)
	t.Cleanup(watcher.Stop)

	s.Create(s.registry())
	s.awaitSaid(len(nodes), containerlogs.Of("registry"), containerlogs.Saying(containerlogs.Started))
	coordination := &appsapi.DeploymentCoordination{ObjectMeta: s.Meta("one-at-a-time")}
	coordination.Spec.LabelSelector = &appsapi.LabelSelector{MatchLabels: map[string]appsapi.LabelValue{"rollouts": "in-turn"}}
	s.Create(coordination)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		d := s.deployment(name, replicas, probed(workload("-say", "v1", "-ready-after", "1s", "serve")))
		d.Labels = map[string]string{"rollouts": "in-turn"}
		s.Create(d)
	}
	for _, name := range names {
		s.awaitRolledOut(name)
	}

	for _, name := range names {
		s.kubectl("patch", "deployment", name, "--type=json", "--patch", fmt.Sprintf(
			`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "%s/workload:%s-v2"},
			  {"op": "replace", "path": "/spec/template/spec/containers/0/args/1", "value": "v2"}]`, registryAddress, name))
	}
	for _, name := range names {
		s.awaitRolledOut(name)
	}
	verdict, err := watcher.VerdictFor(s.Ctx, s.Namespace)
	require.NoError(t, err)
	assert.Empty(t, verdict.Overlaps, "the watcher %s", verdict)
	assert.GreaterOrEqual(t, len(s.said().Where(containerlogs.Of("registry"), containerlogs.Saying("SENT"))), len(names), "pulls of layers")
	s.expectSpansApart(names)
}

// span is the time from the first start of a new container of a Deployment until the last of them was ready.
type span struct {
	name     string
	from, to time.Time
}

// expectSpansApart says that no new container of a Deployment started while those of another one were starting.
func (s *story) expectSpansApart(names []string) {
	s.Helper()
	var spans []span
	for _, name := range names {
		v2 := map[string]bool{} // pods
		started := s.said().Where(containerlogs.Of(name+"-"), func(l containerlogs.Line) bool { return l.Text == "STARTED serve v2" })
		for _, l := range started {
			v2[l.Pod] = true
		}
		ready := s.said().Where(containerlogs.Saying(containerlogs.Ready), func(l containerlogs.Line) bool { return v2[l.Pod] })
		require.NotEmpty(s, ready, name)
		spans = append(spans, span{name, started[0].Time, ready[len(ready)-1].Time})
	}
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			assert.True(s, a.to.Before(b.from) || b.to.Before(a.from), "%s and %s started new containers at the same time", a.name, b.name)
		}
	}
}

// registry is one on each node, which takes 2 s for each image.
func (s *story) registry() *appsv1.DaemonSet {
	d := s.daemonSet("registry", workload("-listen", registryAddress, "-ready-after", "2s", "registry"))
	d.Spec.Template.Spec.HostNetwork = true
	return d
}

// awaitRolledOut waits until all pods of a Deployment are of its present template and available.
func (s *story) awaitRolledOut(name string) {
	s.Helper()
	s.Await(name+" to be rolled out", func() bool {
		d := &appsv1.Deployment{}
		require.NoError(s, s.API.Get(s.Ctx, s.Key(name), d))
		return d.Status.ObservedGeneration == d.Generation && !d.Spec.Paused && d.Status.Replicas == *d.Spec.Replicas &&
			d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas
	})
}
