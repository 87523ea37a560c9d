package deploymentcoordination

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/podsequence/apis/apps/v1"
)

// What happens to people in production while a has the turn, halfway, and b and c wait. After every step no more than one rolls out, and
// at the end all that are left have rolled out and are unpaused.
func TestAdversity(t *testing.T) {
	for name, happens := range map[string]func(w *world){
		"nothing":                            func(*world) {},
		"the active Deployment is deleted":   func(w *world) { w.remove("a") },
		"a Deployment that waits is deleted": func(w *world) { w.remove("b") },
		"the active Deployment is deleted, and made again": func(w *world) {
			w.remove("a")
			w.recreate("a", "second")
		},
		"the active Deployment is deleted and made again before anybody looks": func(w *world) {
			require.NoError(w, w.client.Delete(w.ctx, w.deployment("a")))
			w.recreate("a", "second")
		},
		"the active Deployment is deleted in the foreground, and stays for long": func(w *world) {
			a := w.deployment("a")
			a.Finalizers = []string{metav1.FinalizerDeleteDependents}
			require.NoError(w, w.client.Update(w.ctx, a))
			w.remove("a")
		},
		"the active Deployment loses its label": func(w *world) {
			w.edit("a", func(d *appsv1.Deployment) { d.Labels = nil })
			w.rolledOut["a"] = "second" // it is not coordinated any more
		},
		"the active Deployment is scaled to nothing": func(w *world) {
			w.edit("a", func(d *appsv1.Deployment) { *d.Spec.Replicas = 0 })
		},
		"an autoscaler scales what rolls out and what waits": func(w *world) {
			for i, name := range []string{"a", "b", "c"} {
				w.edit(name, func(d *appsv1.Deployment) { *d.Spec.Replicas = int32(3 + i) })
			}
		},
		"a GitOps tool replaces all of them, again and again": func(w *world) {
			for range 5 {
				for _, name := range []string{"a", "b", "c"} {
					w.edit(name, func(d *appsv1.Deployment) {
						if d.Spec.Paused { // without the policy: else nothing could be seen
							d.Spec.Paused, d.Annotations = false, nil
						}
					})
					w.reconcileAll()
					w.check("a replacement")
				}
			}
		},
		"the controller is down for an hour, in which all change": func(w *world) {
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.change(true, "b", "c", "d")
			w.restart()
		},
		"etcd is restored from before the turn": func(w *world) {
			c := w.coordination()
			c.Status = v1.DeploymentCoordinationStatus{}
			require.NoError(w, w.client.Status().Update(w.ctx, c))
			w.restart()
		},
		"the coordination is restored in another namespace, with its status": func(w *world) {
			c := w.coordination()
			c.Status.ActiveDeployment = "elsewhere/a"
			for i := range c.Status.DeploymentStates {
				s := &c.Status.DeploymentStates[i]
				s.Name, s.UID = "elsewhere/"+s.Name, "of-another-cluster-"+s.UID
			}
			require.NoError(w, w.client.Status().Update(w.ctx, c))
			w.restart()
		},
		"the clock goes back by an hour": func(w *world) { w.clock.SetTime(w.clock.Now().Add(-time.Hour)) },
		"the clock goes on by a year":    func(w *world) { w.clock.SetTime(w.clock.Now().Add(365 * 24 * time.Hour)) },
		"the coordination is replaced": func(w *world) {
			w.reconcileAll()
			w.deleteCoordination()
			w.pass(3 * time.Second)
			w.succeed("shop")
		},
		"the coordination is replaced while the controller is down": func(w *world) {
			c := w.coordination()
			c.Finalizers = nil
			require.NoError(w, w.client.Update(w.ctx, c))
			require.NoError(w, w.client.Delete(w.ctx, c))
			c = coordination("")
			c.UID = "uid-2"
			require.NoError(w, w.client.Create(w.ctx, c))
			w.restart()
		},
		"another coordination with the same selector appears": func(w *world) { w.succeed("other") },
		"the selector is changed to nothing, and back": func(w *world) {
			for _, label := range []string{"nobody", "shop"} {
				c := w.coordination()
				c.Spec.LabelSelector.MatchLabels["app"] = v1.LabelValue(label)
				c.Generation++
				require.NoError(w, w.client.Update(w.ctx, c))
				if label == "shop" {
					w.reconcileAll()
				}
			}
		},
		"the status is wiped again and again": func(w *world) {
			for range 3 {
				c := w.coordination()
				c.Status = v1.DeploymentCoordinationStatus{}
				require.NoError(w, w.client.Status().Update(w.ctx, c))
				w.reconcileAll()
				w.check("a status that was wiped")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.quiet = true
			w.reconcileAll()
			w.change(true, "a", "b", "c")
			w.reconcileAll()
			w.pass(2 * time.Second)
			require.Equal(t, "shop/a", w.status().ActiveDeployment)
			w.sync(w.deployment("a"), false)
			w.sync(w.deployment("a"), false)
			happens(w)
			w.check("it happened")
			for range 10 {
				w.reconcileAll()
				w.check("a reconcile")
				w.pass(2 * time.Second)
				w.check("two seconds")
				w.deploymentController(true)
			}
			for name, image := range w.rolledOut {
				d := w.deployment(name)
				assert.False(t, d.Spec.Paused, name)
				assert.NotContains(t, d.Annotations, v1.PausedByAnnotation, name)
				assert.Equal(t, d.Spec.Template.Spec.Containers[0].Image, image, name)
			}
		})
	}
}

func (w *world) coordination() *v1.DeploymentCoordination {
	c := &v1.DeploymentCoordination{}
	require.NoError(w, w.client.Get(w.ctx, ofShop, c))
	return c
}

func (w *world) edit(name string, edit func(*appsv1.Deployment)) {
	d := w.deployment(name)
	edit(d)
	d.Generation++
	require.NoError(w, w.client.Update(w.ctx, d))
}

// remove deletes a Deployment, of which nothing is expected any more.
func (w *world) remove(name string) {
	require.NoError(w, w.client.Delete(w.ctx, w.deployment(name)))
	delete(w.rolledOut, name)
	w.reconcileAll()
}

// recreate creates a Deployment of the name of one that is gone, as the policy leaves it.
func (w *world) recreate(name, image string) {
	m := deployment(name, held)
	setTemplate(m.Deployment, image)
	m.Deployment.UID = types.UID("uid-" + name + "-anew")
	m.Deployment.Status = appsv1.DeploymentStatus{}
	for _, of := range []string{"first", "second"} {
		require.NoError(w, client.IgnoreNotFound(w.client.Delete(w.ctx, replicaSet(m.Deployment, of, 0))))
	}
	require.NoError(w, w.client.Create(w.ctx, m.Deployment))
	w.rolledOut[name] = ""
}
