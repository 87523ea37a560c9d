package ordercheck

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/apis/scheduling/v1alpha1"
)

func TestJudgeLeavesHooksAloneThatAreNoPartOfTheStart(t *testing.T) {
	later := order("s", withLabel("tier", "db"), everythingElse)
	app := labelled("tier", "app")
	requires := requiring("shop", v1alpha1.RequireSequence)
	byJob := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{controlledBy("batch/v1", "Job", "cleanup")}
	}
	argo := func(hooks string) podEdit {
		return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "argocd.argoproj.io/hook", hooks) }
	}
	helm := func(hooks string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { metav1.SetMetaDataAnnotation(&j.ObjectMeta, "helm.sh/hook", hooks) }
	}
	checkAll(t, map[string]judgement{
		"a hook that deletes a release is no member of a last group that selects everything": {
			steps: []step{later, create("app", app, ofHook("pre-delete")), bind("app")},
		},
		"nor is one of Argo CD": {
			steps: []step{later, create("app", app, argo("PostDelete")), bind("app")},
		},
		"nor is a pod whose Job is one": {
			steps: []step{later, job("cleanup", "app", 1, 1, helm("post-delete")), create("app", app, byJob), bind("app")},
		},
		"a hook that installs a release is": {
			steps:     []step{later, create("app", app, ofHook("post-install")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a hook that also installs a release is": {
			steps:     []step{later, create("app", app, ofHook("post-install,test")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a pod whose Job is no hook any more is": {
			steps: []step{later, job("cleanup", "app", 1, 1, helm("post-delete")), create("app", app, byJob), job("cleanup", "app", 1, 1),
				bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a group that names a hook has it": {
			steps:     []step{order("s", withLabel("tier", "db"), named("app")), create("app", app, ofHook("test")), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a hook that is ready satisfies nobody": {
			steps: []step{order("s", withLabel("tier", "db"), withLabel("tier", "app")), create("test", labelled("tier", "db"), ofHook("test")),
				bind("test"), ready("test"), create("app", app), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"nor does the Job of one that is complete": {
			steps: []step{order("s", withLabel("tier", "db"), withLabel("tier", "app")), job("cleanup", "db", 1, 1, helm("test"), completeJob),
				create("app", app), bind("app")},
			wantEarly: []string{"shop/app"}, wantBindings: 1,
		},
		"a hook that fails holds nobody": {
			steps: []step{later, create("db", labelled("tier", "db")), bind("db"), ready("db"),
				create("test", labelled("tier", "db"), ofHook("test")), bind("test"), edit("test", failed), remove("test"), create("app", app), bind("app")},
			wantBindings: 2,
		},
		"a hook waits for no sequence that its namespace requires": {
			steps: []step{installed, requires, create("app", app, ofHook("post-delete")), bind("app")},
		},
		"nor for the one that its label names": {
			steps: []step{installed, job("cleanup", "app", 1, 1, helm("post-delete")), create("app", naming("s"), byJob), bind("app")},
		},
	})
}
