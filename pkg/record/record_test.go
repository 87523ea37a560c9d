package record

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics/testutil"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/pkg/sequence"
	"example.com/podsequence/pkg/sequence/inventory"
)

var key = types.NamespacedName{Namespace: "shop", Name: "shop"}

const (
	patchPath        = "PATCH /apis/scheduling.example.com/v1alpha1/namespaces/shop/podsequences/shop/status?fieldManager=podsequence-passes"
	clusterPatchPath = "PATCH /apis/scheduling.example.com/v1alpha1/clusterpodsequences/base/status?fieldManager=podsequence-passes"
)

// passed is a sequence with a group that is ripe and counts workloads.
func passed(workloads ...inventory.WorkloadKey) *sequence.Ripe {
	return &sequence.Ripe{
		Key: key, UID: "u1", ResourceVersion: "7", Workloads: workloads,
		Passes: map[string]v1alpha1.GroupPass{"h1": {UID: "u1"}, "h2": {UID: "u1", TimedOut: true}},
	}
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: "5"},
	}
}

func deploymentKey(name string) inventory.WorkloadKey {
	return inventory.WorkloadKey{Kind: inventory.KindDeployment, Namespace: "shop", Name: name}
}

const deployments = "/apis/apps/v1/namespaces/shop/deployments"

func TestRecord(t *testing.T) {
	t.Run("what is ripe is recorded after a look at what it counts", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.objects[deployments+"/db"] = deployment("db")
			s.ripe = passed(deploymentKey("db"))
			s.ask(key)
			assert.Equal(t, []string{"GET " + deployments + "/db", patchPath}, s.requests)
			require.Len(t, s.patches, 1)
			kind, body, _ := strings.Cut(s.patches[0], " ")
			assert.Equal(t, string(types.MergePatchType), kind)
			assert.JSONEq(t, `{"metadata":{"uid":"u1","resourceVersion":"7"},"status":{"passes":{
				"h1":{"uid":"u1","at":"2000-01-01T00:00:00Z","timedOut":null},
				"h2":{"uid":"u1","at":"2000-01-01T00:00:00Z","timedOut":true}}}}`, body)
			require.Len(t, s.recorded, 1)
			assert.Equal(t, "8", s.recorded[0].GetResourceVersion())
			assert.Empty(t, s.Why(key))
		})
	})
	t.Run("its time is that of the record, however long the API server took until then", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.objects[deployments+"/db"] = deployment("db")
			s.ripe, s.slow = passed(deploymentKey("db")), 20*time.Second
			s.ask(key)
			s.later(time.Minute)
			require.Len(t, s.patches, 1)
			assert.Contains(t, s.patches[0], `"h1":{"at":"2000-01-01T00:00:20Z"`)
		})
	})
	t.Run("a ClusterPodSequence is recorded in its own resource", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ripe = passed()
			s.ripe.Key = types.NamespacedName{Name: "base"}
			s.ask(s.ripe.Key)
			assert.Equal(t, []string{clusterPatchPath}, s.requests)
			assert.Len(t, s.recorded, 1)
		})
	})
	t.Run("where nothing is ripe nothing is asked", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ask(key)
			s.later(time.Minute)
			assert.Empty(t, s.requests)
		})
	})
	t.Run("it is not recorded before the engine agrees, and the API server is asked again with back-off", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.objects[deployments+"/db"] = deployment("db")
			s.ripe, s.behind = passed(deploymentKey("db")), 3
			before := failures(t)
			s.ask(key)
			assert.Equal(t, []string{"GET " + deployments + "/db"}, s.requests)
			assert.Empty(t, s.Why(key))
			s.later(20 * time.Millisecond)
			assert.Len(t, s.requests, 2)
			s.later(39 * time.Millisecond)
			assert.Len(t, s.requests, 2)
			s.later(time.Second)
			assert.Len(t, s.requests, 5)
			assert.Len(t, s.recorded, 1)
			assert.Equal(t, before, failures(t))
		})
	})
	t.Run("it is recorded at once when the engine asks again because it agrees now", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ripe, s.behind = passed(), 1
			s.ask(key)
			require.Empty(t, s.patches)
			s.ask(key)
			assert.Len(t, s.recorded, 1)
		})
	})
	t.Run("a sequence that has changed is looked at again", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ripe = passed()
			s.refusals[http.MethodPatch] = []metav1.Status{status(http.StatusConflict, metav1.StatusReasonConflict, "it has changed")}
			before := failures(t)
			s.ask(key)
			assert.Empty(t, s.recorded)
			assert.Empty(t, s.Why(key))
			s.ripe.ResourceVersion = "8"
			s.later(time.Second)
			assert.Len(t, s.recorded, 1)
			assert.Contains(t, s.patches[0], `"resourceVersion":"8"`)
			assert.Equal(t, before, failures(t))
		})
	})
	t.Run("a sequence that is gone is forgotten once that is known", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ripe = passed()
			s.refusals[http.MethodPatch] = []metav1.Status{status(http.StatusNotFound, metav1.StatusReasonNotFound, "it is gone")}
			before := failures(t)
			s.ask(key)
			s.ripe = nil
			s.later(time.Hour)
			assert.Equal(t, []string{patchPath}, s.requests)
			assert.Empty(t, s.Why(key))
			assert.Equal(t, before, failures(t))
		})
	})
	t.Run("an API server that does not serve the kind for a moment is asked again", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ripe = passed()
			s.refusals[http.MethodPatch] = []metav1.Status{
				status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource"),
			}
			s.ask(key)
			s.later(time.Minute)
			assert.Len(t, s.recorded, 1)
		})
	})
	t.Run("events do not ask an API server that refuses before the back-off is over", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.ripe = passed(deploymentKey("db"))
			for range 2000 {
				s.refusals[http.MethodGet] = append(s.refusals[http.MethodGet],
					status(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you"))
			}
			for range 1000 {
				s.ask(key)
				s.later(10 * time.Millisecond)
			}
			assert.Len(t, s.requests, 9, "in ten seconds: at once, and after 20, 40, 80, ... ms")
		})
	})
	t.Run("what becomes ripe while another pass is being recorded is recorded next", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			s.slow, s.ripe = time.Second, passed(deploymentKey("db"))
			s.objects[deployments+"/db"] = deployment("db")
			s.ask(key)
			s.later(500 * time.Millisecond)
			s.next = passed()
			s.ask(key)
			s.later(time.Minute)
			assert.Len(t, s.patches, 2)
		})
	})
}

func TestRecordFails(t *testing.T) {
	forbidden := status(http.StatusForbidden, metav1.StatusReasonForbidden, "not for you")
	tooMany := status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "status.passes: must have at most 128 items")
	for name, tc := range map[string]struct {
		method  string
		refusal metav1.Status
		want    string
	}{
		"who may not look at workloads says so": {http.MethodGet, forbidden,
			"its pass cannot be recorded: look at what its groups count: get deployments shop/db: not for you"},
		"who may not write status says so": {http.MethodPatch, forbidden,
			"its pass cannot be recorded: write status.passes: not for you"},
		"that status has no room says so": {http.MethodPatch, tooMany,
			"its pass cannot be recorded: write status.passes: status.passes: must have at most 128 items"},
	} {
		t.Run(name+", until it works", func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, s *stage) {
				s.ripe = passed(deploymentKey("db"))
				s.refusals[tc.method] = []metav1.Status{tc.refusal, tc.refusal}
				before := failures(t)
				s.ask(key)
				assert.Equal(t, tc.want, s.Why(key))
				assert.Empty(t, s.Why(types.NamespacedName{Namespace: "shop", Name: "other"}))
				assert.Empty(t, s.recorded)
				s.later(time.Second)
				assert.Equal(t, before+2, failures(t))
				assert.Len(t, s.recorded, 1)
				assert.Empty(t, s.Why(key))
			})
		})
		t.Run(name+", until there is nothing to record", func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, s *stage) {
				s.ripe = passed(deploymentKey("db"))
				s.refusals[tc.method] = []metav1.Status{tc.refusal}
				s.ask(key)
				s.ripe = nil
				s.later(time.Second)
				assert.Empty(t, s.Why(key))
				assert.Empty(t, s.recorded)
			})
		})
	}
}

func TestAnEndedContextIsNoFailure(t *testing.T) {
	before := failures(t)
	play(t, Options{}, func(t *testing.T, s *stage) {
		s.slow, s.ripe = time.Second, passed(deploymentKey("db"))
		s.ask(key) // and the story is over
	})
	assert.Equal(t, before, failures(t))
}

func TestDelay(t *testing.T) {
	const delay = 2 * time.Second
	t.Run("it is recorded after the delay since it was first asked for", func(t *testing.T) {
		play(t, Options{Delay: delay}, func(t *testing.T, s *stage) {
			s.ripe = passed()
			s.ask(key)
			s.later(delay - 1)
			s.ask(key)
			assert.Empty(t, s.requests)
			s.later(1)
			assert.Equal(t, []string{patchPath}, s.requests)
			s.later(time.Hour)
			assert.Len(t, s.requests, 1)
		})
	})
	t.Run("what another program records meanwhile is left alone", func(t *testing.T) {
		play(t, Options{Delay: delay}, func(t *testing.T, s *stage) {
			s.ripe = passed()
			s.ask(key)
			s.ripe = nil
			s.later(time.Hour)
			assert.Empty(t, s.requests)
		})
	})
}

func TestLook(t *testing.T) {
	job := &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Name: "migrate"}}
	jobKey := inventory.WorkloadKey{Kind: inventory.KindJob, Namespace: "tools", Name: "migrate"}
	const migrate = "/apis/batch/v1/namespaces/tools/jobs/migrate"

	for name, tc := range map[string]struct {
		objects   map[string]any
		workloads []inventory.WorkloadKey
		requests  []string
		found     []string
	}{
		"each workload is got": {
			objects:   map[string]any{deployments + "/db": deployment("db"), deployments + "/cache": deployment("cache"), migrate: job},
			workloads: []inventory.WorkloadKey{deploymentKey("cache"), deploymentKey("db"), jobKey},
			requests:  []string{"GET " + deployments + "/cache", "GET " + deployments + "/db", "GET " + migrate},
			found:     []string{"*v1.Deployment cache", "*v1.Deployment db", "*v1.Job migrate"},
		},
		"one that is gone is not among what was seen": {
			objects:   map[string]any{deployments + "/db": deployment("db")},
			workloads: []inventory.WorkloadKey{deploymentKey("cache"), deploymentKey("db")},
			requests:  []string{"GET " + deployments + "/cache", "GET " + deployments + "/db"},
			found:     []string{"*v1.Deployment db"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, s *stage) {
				s.objects, s.ripe = tc.objects, passed(tc.workloads...)
				s.ask(key)
				slices.Sort(s.requests)
				assert.Equal(t, append(slices.Clone(tc.requests), patchPath), s.requests)
				require.Len(t, s.looked, 1)
				var found []string
				for _, workload := range s.looked[0].Workloads {
					found = append(found, fmt.Sprintf("%T %s", workload, workload.GetName()))
				}
				slices.Sort(found)
				assert.Equal(t, tc.found, found)
				assert.Empty(t, s.looked[0].Pods)
			})
		})
	}

	t.Run("at most 16 workloads are looked at at a time", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			var many []inventory.WorkloadKey
			for i := range 33 {
				many = append(many, deploymentKey(fmt.Sprintf("web-%02d", i)))
			}
			s.slow, s.ripe = time.Second, passed(many...)
			s.ask(key)
			s.later(2 * time.Second)
			assert.Len(t, s.requests, 32)
			s.later(time.Second)
			assert.Len(t, s.looked, 1)
		})
	})
	t.Run("a workload of any kind is looked at", func(t *testing.T) {
		for _, row := range inventory.WorkloadKinds {
			play(t, Options{}, func(t *testing.T, s *stage) {
				s.ripe = passed(inventory.WorkloadKey{Kind: row.Kind, Namespace: "shop", Name: "one"})
				path := "/apis/" + row.Resource.Group + "/v1/namespaces/shop/" + row.Resource.Resource + "/one"
				if row.Resource.Group == corev1.GroupName {
					path = "/api/v1/namespaces/shop/" + row.Resource.Resource + "/one"
				}
				s.objects[path] = map[string]any{
					"apiVersion": row.Resource.GroupVersion().String(), "kind": row.Kind, "metadata": map[string]any{"name": "one"},
				}
				s.ask(key)
				require.Len(t, s.looked, 1)
				require.Len(t, s.looked[0].Workloads, 1)
				assert.IsType(t, row.Object, s.looked[0].Workloads[0])
				assert.Contains(t, s.accepts[path], "application/vnd.kubernetes.protobuf")
			})
		}
	})
	t.Run("all pages of the metadata of pods are listed, after the workloads and only if asked for", func(t *testing.T) {
		play(t, Options{}, func(t *testing.T, s *stage) {
			const path = "/api/v1/namespaces/shop/pods"
			page := func(next, name string) metav1.PartialObjectMetadataList {
				return metav1.PartialObjectMetadataList{
					TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
					ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: next},
					Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}},
				}
			}
			s.objects[deployments+"/db"] = deployment("db")
			s.objects[path+"?limit=500"], s.objects[path+"?continue=more&limit=500"] = page("more", "db-0"), page("", "db-1")
			s.ripe = passed(deploymentKey("db"))
			s.ripe.PodNamespaces = []string{"shop"}
			s.ask(key)
			assert.Equal(t, []string{
				"GET " + deployments + "/db", "GET " + path + "?limit=500", "GET " + path + "?continue=more&limit=500", patchPath,
			}, s.requests)
			assert.Contains(t, s.accepts[path], "as=PartialObjectMetadataList")
			require.Len(t, s.looked, 1)
			require.Len(t, s.looked[0].Pods, 2)
			assert.Equal(t, "db-0", s.looked[0].Pods[0].Name)
			assert.Equal(t, "db-1", s.looked[0].Pods[1].Name)
		})
	})
}

// failures returns how many failures were counted.
func failures(t *testing.T) float64 {
	value, err := testutil.GetCounterMetricValue(recordErrors)
	require.NoError(t, err)
	return value
}
