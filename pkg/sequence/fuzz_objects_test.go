package sequence

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"example.com/podsequence/pkg/sequence/inventory"
	"example.com/podsequence/pkg/sequence/order"
	. "example.com/podsequence/test/harness/builders"
)

// The API server may have stored anything that some earlier definition, or another client's mistake, allowed. None of it ends the
// engine, makes it forget to hold a pod that a sequence which can be read holds, or makes it disagree with itself.

var fuzzNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// storedMeta is what the API server itself sees to, whatever the definition of a kind says.
func storedMeta(name string) map[string]any {
	return map[string]any{
		"namespace": oracleNamespace, "name": name, "uid": "uid-" + name, "resourceVersion": "7", "generation": int64(2),
		"creationTimestamp": "2026-01-01T11:00:00Z",
	}
}

func FuzzStoredSequences(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"podGroups":[{"name":"One","pods":["one"]},{"podSelector":{"matchLabels":{"tier":"a"}},"waitDuration":"3s","dependsOn":["One"]}]}}`,
		`{"spec":{"scope":"Node","podGroups":[{"podSelector":{},"nodeSelector":{"pool":"a"},"timeout":"1m","onTimeout":"Continue"},{"pods":["two"]}]}}`,
		`{"spec":{"podGroups":[{"pods":["one",5]},7,{"podSelector":{"matchExpressions":[{"key":"tier","operator":"Odd","values":["a"]}]}}]}}`,
		`{"spec":{"scope":["Cluster"],"namespace":{},"schedulingGateName":7,"podGroups":{"pods":["one"]}},"status":"done"}`,
		`{"spec":{"podGroups":[{"namespaces":["operations"],"pods":["one"]},{"namespaceSelector":{},"podSelector":{},"minAvailable":"150%","expectedPods":-1}]}}`,
		`{"spec":{"suspend":true,"dryRun":true,"podGroups":[{"pods":["one"],"skip":true,"requiredStatus":"Complete","minAvailable":-3,"dependsOn":["One","One"]}]}}`,
		`{"spec":{"podGroups":[{"pods":["one"]},{"pods":["two"]}]},"status":{"currentIndex":9,"groups":[{"hash":"x","passedAt":"2026-01-01T11:00:00Z"},null],` +
			`"nodeStatus":[{"nodeName":"node-0","currentIndex":-5,"timedOut":[99]},"odd"],` +
			`"memory":{"groups":[{"hash":"x"}],"nodes":[{"timedOut":[99,-1],"nodes":"AAAAAAAAAAAA"}]},"dryRun":{"heldTotal":-1,"longestSeconds":9223372036854775807,"pods":["one"]}}}`,
		`{"spec":"shop"}`, `{}`, `[]`, `null`,
	} {
		f.Add(false, []byte(seed))
		f.Add(true, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, cluster bool, text []byte) {
		stored := map[string]any{}
		if utiljson.Unmarshal(text, &stored) != nil || stored == nil {
			return
		}
		stored["metadata"] = storedMeta("fuzzed")
		read := order.Read
		if cluster {
			read = order.ReadCluster
			delete(stored["metadata"].(map[string]any), "namespace")
		}
		e := fuzzEngine()
		e.ApplySequences([]order.Stored{read(stored)})
		askEverything(t, e)
	})
}

// fuzzEngine is an engine with a namespace, a node, pods, and sequences of both scopes.
func fuzzEngine() recording {
	e := newEngine()
	e.Tick(fuzzNow)
	namespace := &corev1.Namespace{}
	namespace.Name, namespace.ResourceVersion = oracleNamespace, "1"
	e.ApplyNamespace(namespace)
	e.ApplyNode(fleetNode(0, "1"))
	e.ApplyPod(makePod("one", "2").Label("tier", "a").Node("node-0").Condition(corev1.PodReady, corev1.ConditionTrue, "").Obj())
	e.ApplyPod(makePod("two", "3").Label("tier", "a").Obj())
	e.ApplySequence(MakeSequence(oracleNamespace, "sound").UID("sound").Pods("Never", "never").Pods("Held", "held").Obj())
	e.ApplySequence(MakeSequence(oracleNamespace, "nodes").UID("nodes").Label("Driver", "tier", "a").Label("App", "tier", "b").NodeScope().Obj())
	return e
}

// askEverything asks the engine all that can be asked, and checks that it agrees with itself.
func askEverything(t *testing.T, e recording) {
	t.Helper()
	for _, pod := range []*corev1.Pod{
		makePod("held", "8").Obj(), makePod("two", "3").Label("tier", "a").Obj(), makePod("three", "9").Label("tier", "b").Obj(),
	} {
		if decision := e.Decide(pod); decision.Held && decision.Message() == "" {
			t.Errorf("pod %s is held without a reason", pod.Name)
		} else if !decision.Held && pod.Name == "held" {
			t.Errorf("pod %s is not held by the sequence that can be read", pod.Name)
		}
		e.Verdict(pod)
		e.Places(pod)
	}
	for key := range e.sequences {
		report, _ := e.Report(key)
		status := report.Status(report.Object, fuzzNow)
		if _, err := json.Marshal(status); err != nil {
			t.Errorf("the status of %s: %v", key, err)
		}
	}
	e.Tick(fuzzNow.Add(time.Hour))
	for _, check := range []func(*Engine) error{checkPublished, checkSums} {
		if err := check(e.Engine); err != nil {
			t.Error(err)
		}
	}
	e.Everything()
}

// fuzzKinds are objects of the kinds that the engine is told of.
var fuzzKinds = func() []func() metav1.Object {
	kinds := []func() metav1.Object{
		func() metav1.Object { return &corev1.Pod{} },
		func() metav1.Object { return &corev1.Node{} },
		func() metav1.Object { return &corev1.Namespace{} },
	}
	for _, kind := range inventory.WorkloadKinds {
		kinds = append(kinds, func() metav1.Object { return kind.Object.(runtime.Object).DeepCopyObject().(metav1.Object) })
	}
	return kinds
}()

func FuzzStoredObjects(f *testing.F) {
	for i, seed := range []string{
		`{"metadata":{"name":"two","labels":{"tier":"b"}},` +
			`"spec":{"schedulerName":"podsequence-scheduler","schedulingGates":[{"name":"podsequence.example.com/sequence-gate"}],` +
			`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-0"]}]},{}]}}}},` +
			`"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T11:00:00Z"}]}}`,
		`{"metadata":{"name":"node-0","labels":{"pool":"a"}},"spec":{"unschedulable":true,"taints":[{"key":"a","effect":"NoExecute"}]}}`,
		`{"metadata":{"name":"shop","labels":{"team":"a"},"annotations":{"podsequence.example.com/allow-sequences-from":"a,,*"}}}`,
		`{"metadata":{"generation":2},"spec":{"template":{"metadata":{"labels":{"tier":"a"}},"spec":{"nodeSelector":{"pool":"a"}}}},"status":{"desiredNumberScheduled":-4,"observedGeneration":2}}`,
		`{"spec":{"replicas":-7,"paused":true,"template":{"metadata":{"labels":{"tier":"a"}}}}}`,
		`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"d","controller":true}]},"spec":{"template":{"metadata":{"labels":{"tier":"a"}}}}}`,
		`{"spec":{"replicas":3,"ordinals":{"start":-1},"updateStrategy":{"rollingUpdate":{"partition":-2}},"template":{"metadata":{"labels":{"tier":"a"}}}},"status":{"updateRevision":"r"}}`,
		`{"spec":{"parallelism":-1,"completions":5,"template":{"metadata":{"labels":{"tier":"a"}}}},"status":{"conditions":[{"type":"Complete","status":"True"},{"type":"Failed","status":"True"}]}}`,
		`{"spec":{"replicas":2,"template":null}}`,
	} {
		f.Add(uint8(i), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		object := fuzzKinds[int(kind)%len(fuzzKinds)]()
		if json.Unmarshal(text, object) != nil {
			return
		}
		switch object.(type) {
		case *corev1.Node:
		case *corev1.Namespace:
			object.SetName(oracleNamespace)
		default:
			object.SetNamespace(oracleNamespace)
		}
		if object.GetName() == "" || object.GetName() == "held" {
			object.SetName("fuzzed")
		}
		object.SetUID(types.UID("uid-" + object.GetName()))
		object.SetResourceVersion("7")
		e := fuzzEngine()
		switch o := object.(type) {
		case *corev1.Pod:
			e.Verdict(o)
			e.ApplyPod(o)
			if patch := LiftPatch(e.Lift(types.NamespacedName{Namespace: o.Namespace, Name: o.Name})); !json.Valid(patch) {
				t.Errorf("the patch is no JSON: %s", patch)
			}
		case *corev1.Node:
			e.ApplyNode(o)
		case *corev1.Namespace:
			e.ApplyNamespace(o)
		default:
			e.ApplyWorkload(object)
		}
		askEverything(t, e)
	})
}
