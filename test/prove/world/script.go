package world

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/test/prove/plan"
)

// script is a plan in the making.
type script struct{ plan *plan.Plan }

func (s *script) add(at time.Duration, verb plan.Verb, body any, args ...string) {
	step := plan.Step{At: at, Verb: verb, Args: args}
	if body != nil {
		step.Body = encode(body)
	}
	s.plan.Steps = append(s.plan.Steps, step)
}

// create adds a step that creates an object.
func (s *script) create(at time.Duration, kind string, object metav1.Object) {
	s.add(at, plan.Create, object, kind, nameOf(object.GetNamespace(), object.GetName()))
}

// patch adds a step that patches one.
func (s *script) patch(at time.Duration, kind, namespace, name string, body any) {
	s.add(at, plan.Patch, body, kind, nameOf(namespace, name))
}

func (s *script) remove(at time.Duration, kind, namespace, name string) {
	s.add(at, plan.Delete, nil, kind, nameOf(namespace, name))
}

// removeAs makes the garbage collector delete what an object owns before it, after it, or not at all.
func (s *script) removeAs(at time.Duration, policy metav1.DeletionPropagation, kind, namespace, name string) {
	s.add(at, plan.DeleteAs, nil, string(policy), kind, nameOf(namespace, name))
}

// annotatePods tells the pods that an app has at that moment what becomes of them.
func (s *script) annotatePods(at time.Duration, a *app, key, value string) {
	s.add(at, plan.PatchPods, object{"metadata": object{"annotations": object{key: value}}}, a.namespace, appLabel+"="+a.name)
}

func (s *script) deletePods(at time.Duration, a *app) {
	s.add(at, plan.DeletePods, nil, a.namespace, appLabel+"="+a.name)
}

// fault begins something and ends it after some time.
func (s *script) fault(at time.Duration, begin, end plan.Verb, lasts time.Duration, process string) {
	s.add(at, begin, nil, process)
	s.add(at+lasts, end, nil, process)
}

// recreate updates the step that creates an app, so that it creates the app as it is now.
func (s *script) recreate(a *app) {
	for i, step := range s.plan.Steps {
		if step.Verb == plan.Create && step.Args[0] == a.kind && step.Args[1] == nameOf(a.namespace, a.name) {
			s.plan.Steps[i].Body = encode(a.object())
			return
		}
	}
	panic(fmt.Sprintf("%s %s/%s is never created", a.kind, a.namespace, a.name))
}

func nameOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// object is a part of a patch.
type object = map[string]any

func encode(body any) string {
	content, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", body, err)) // all that is encoded was made here
	}
	return string(content)
}
