package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

// An etcd that goes back to a backup has versions that run backwards: what our programs know is from a future that never was.
func TestEtcdRestoredUnderRunningPrograms(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	options := controlplane.Options{AsDefaultScheduler: *asDefault}
	env := &environment{Cluster: cluster.Own(t, options), scheduler: ourScheduler}
	if *asDefault {
		env.scheduler = corev1.DefaultSchedulerName
	}
	s := newStoryIn(t, env)
	s.unjudged = true // there is no referee: the history that it reads goes back as well

	s.Create(s.threeTiers().Obj())
	s.createPods(s.pod("db"), s.pod("app"))
	s.awaitBound("db")
	s.expectHeld("app")
	backup := s.backUpEtcd()

	s.makeReady("db")
	s.awaitBound("app")
	s.makeReady("app")
	s.createPods(s.pod("web"))
	s.awaitBound("web")
	for i := range 500 { // so that versions do not catch up at once
		s.Create(&corev1.ConfigMap{ObjectMeta: s.Meta(fmt.Sprintf("write-%d", i))})
	}

	s.restoreEtcd(backup)
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		s.Await(program+" to end", func() bool {
			_, err := s.env.PID(program)
			return err != nil
		})
		log, err := os.ReadFile(s.env.Log(program))
		require.NoError(s, err)
		assert.Contains(s, string(log), "Resource versions went back", "the last words of %s", program)
		require.NoError(s, s.env.StartComponent(s.Ctx, program), "as the kubelet does")
	}

	s.createPods(s.pod("web"))
	s.expectHeld("app", "web")
	s.makeReady("db")
	s.awaitBound("app")
	s.expectHeld("web")
	s.makeReady("app")
	s.awaitBound("web")
	s.makeReady("web")
	s.awaitPhase("shop", v1alpha1.PhaseCompleted)
}

func (s *story) etcdData() string { return filepath.Join(s.env.Dir, "state", "etcd") }

// backUpEtcd copies the data of etcd while it does not run.
func (s *story) backUpEtcd() (backup string) {
	s.Helper()
	backup = filepath.Join(s.TempDir(), "etcd")
	s.WhileDown(controlplane.Etcd, func() {
		require.NoError(s, os.CopyFS(backup, os.DirFS(s.etcdData())))
	})
	return backup
}

// restoreEtcd starts etcd from a backup, as when a cluster is restored: no API server runs meanwhile, and Kubernetes' own
// programs, which do not notice, are restarted.
func (s *story) restoreEtcd(backup string) {
	s.Helper()
	var stopped []string
	for _, component := range controlplane.UpstreamComponents() { // etcd and the API server first, to be started again
		if _, err := s.env.PID(component); err == nil {
			stopped = append(stopped, component)
			require.NoError(s, s.env.Kill(s.Ctx, component))
		}
	}
	require.NoError(s, os.RemoveAll(s.etcdData()))
	require.NoError(s, os.CopyFS(s.etcdData(), os.DirFS(backup)))
	for _, component := range stopped {
		require.NoError(s, s.env.StartComponent(s.Ctx, component))
	}
}
