package integration

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/manifests"
	"example.com/podsequence/test/harness/slow"
	"example.com/podsequence/tools/sandbox/controlplane"
)

var earlierRelease = flag.String("earlier-release", "",
	"`DIRECTORY` with bin/ and manifests/ of an earlier release to upgrade from and to roll back to, as hack/upgrade.sh makes it; without it the test only replaces this one by itself")

// release is what there is of one release of ours.
type release struct {
	bin       string
	manifests fs.FS
}

func thisRelease(t *testing.T) release {
	bin, err := controlplane.FindBin()
	require.NoError(t, err)
	return release{bin, manifests.FS}
}

func anEarlierRelease(t *testing.T) release {
	if *earlierRelease == "" {
		return thisRelease(t)
	}
	return release{filepath.Join(*earlierRelease, "bin"), os.DirFS(filepath.Join(*earlierRelease, "manifests"))}
}

// Pods of twenty sequences are held while our programs, our kinds and all else that we install are replaced. None is released early,
// none is forgotten, and what was passed before stays passed, though the pods that passed it are gone. `make upgrade-test` does so
// from a real earlier release, and back to it, with a thousand pods.
func TestUpgradeAndRollBackWhilePodsAreHeld(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	changes, podsOfShop := map[string][2]release{"upgrade": {anEarlierRelease(t), thisRelease(t)}}, int32(10)
	if *earlierRelease != "" {
		podsOfShop = 50
		changes["roll-back"] = [2]release{thisRelease(t), anEarlierRelease(t)}
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			from, to := change[0], change[1]
			env := startCluster(t, controlplane.Options{
				Bin: from.bin, Manifests: from.manifests, UnprobedReadySeconds: new(int32(5)), // an earlier release knows no such argument
			})
			s := newStoryIn(t, env)
			shops := s.holdShops(podsOfShop)

			for _, program := range []string{controlplane.PodSequenceController, controlplane.PodSequenceScheduler} {
				require.NoError(t, env.ApplyOf(s.Ctx, to.manifests, "sandbox"))
				require.NoError(t, env.Replace(s.Ctx, program, to.bin))
				s.fence()
				for _, shop := range shops {
					assert.Empty(t, s.boundPods(shop), "pods of %s are bound after another %s was started", shop, program)
				}
			}
			// The first group is passed as status says, and no pod of it is there.
			for _, shop := range shops {
				s.createPods(s.pod(shop + "-late"))
				s.awaitBound(shop + "-late")
			}
			for _, shop := range shops {
				s.makeReady(shop+"-db", shop+"-late")
			}
			for _, shop := range shops {
				s.Await("all pods of "+shop+" to be bound", func() bool { return len(s.boundPods(shop)) == int(podsOfShop) })
			}
		})
	}
}

// holdShops makes twenty sequences whose first group is passed and gone, and whose second is not ready. The third has so many pods, in
// every fourth sequence gated ones of another scheduler.
func (s *story) holdShops(podsOfShop int32) (shops []string) {
	s.Helper()
	for i := range 20 {
		shop := fmt.Sprintf("shop-%d", i)
		shops = append(shops, shop)
		s.Create(s.sequence(shop).Pods("Init", shop+"-init").Pods("Database", shop+"-db", shop+"-late").Group(tier(shop)).Obj())
		s.createPods(s.pod(shop+"-init"), s.pod(shop+"-db"))
		deployment := s.deployment(shop, podsOfShop)
		if i%4 == 0 {
			deployment.Spec.Template.Spec.SchedulerName = stockScheduler
			deployment.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
		}
		s.Create(deployment)
	}
	for _, shop := range shops {
		s.awaitBound(shop + "-init")
		s.makeReady(shop + "-init")
		s.awaitBound(shop + "-db")
		s.Await("the pass of "+shop+" to be recorded", func() bool { return s.getSequence(shop).Status.Groups[0].PassedAt != nil })
		s.Delete(s.Pod(shop + "-init"))
	}
	for _, shop := range shops {
		s.AwaitGone(s.Pod(shop + "-init"))
		s.Await("the pods of "+shop, func() bool {
			return len(s.podsOf(shop, func(*corev1.Pod) bool { return true })) == int(podsOfShop)
		})
	}
	return shops
}
