package sequence

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// parseWorkload makes a workload. All of them take
//
//	template=(k=v) image=I node-selector=(k=v) tolerates=KEY scheduler=S gates=(G,...)   what the pod template has
//	generation=N observed=N uid=U owner=KIND/NAME terminating deleted=D  observed is the generation unless it is given
//
// and further
//
//	deployment, replicaset, replicationcontroller  replicas=N [quota=(WORD,...)]    what its condition ReplicaFailure says
//	statefulset    replicas=N start=N update=REVISION partition=N on-delete parallel
//	daemonset      desired=N updated=N template-generation=N on-delete  its controller counts all that it wants as ready
//	job            parallelism=N completions=N complete failed hook=(H,H) argocd-hook=(H,H)
func (s *scenario) parseWorkload(t *testing.T, d *datadriven.TestData, name string) metav1.Object {
	w := map[string]metav1.Object{
		"deployment": &appsv1.Deployment{}, "replicaset": &appsv1.ReplicaSet{}, "statefulset": &appsv1.StatefulSet{},
		"daemonset": &appsv1.DaemonSet{}, "job": &batchv1.Job{},
		"replicationcontroller": &corev1.ReplicationController{Spec: corev1.ReplicationControllerSpec{Template: &corev1.PodTemplateSpec{}}},
	}[d.Cmd]
	if w == nil {
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	w.SetNamespace(oracleNamespace)
	w.SetName(name)
	w.SetUID(types.UID("uid-of-" + d.Cmd + "-" + name))
	w.SetResourceVersion(strconv.Itoa(s.version))
	w.SetGeneration(1)
	w.SetCreationTimestamp(s.now())
	if old := s.workloads[d.Cmd+"/"+name]; old != nil {
		w.SetCreationTimestamp(old.GetCreationTimestamp())
	}
	observed := int64(-1)
	template := templateOf(w)
	template.Labels = map[string]string{}
	for _, arg := range d.CmdArgs[1:] {
		switch value := strings.Join(arg.Vals, ""); arg.Key {
		case "in":
			w.SetNamespace(value)
		case "template":
			addLabels(template.Labels, arg.Vals)
		case "hook":
			w.SetAnnotations(map[string]string{"helm.sh/hook": strings.Join(arg.Vals, ",")})
		case "argocd-hook":
			w.SetAnnotations(map[string]string{"argocd.argoproj.io/hook": strings.Join(arg.Vals, ",")})
		case "gates":
			for _, gate := range arg.Vals {
				template.Spec.SchedulingGates = append(template.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
			}
		case "scheduler":
			template.Spec.SchedulerName = value
		case "image":
			template.Spec.Containers = []corev1.Container{{Name: "main", Image: value}}
		case "node-selector":
			template.Spec.NodeSelector = map[string]string{}
			addLabels(template.Spec.NodeSelector, arg.Vals)
		case "tolerates":
			template.Spec.Tolerations = []corev1.Toleration{{Key: value, Operator: corev1.TolerationOpExists}}
		case "generation":
			w.SetGeneration(int64(number(t, d, value)))
		case "observed":
			observed = int64(number(t, d, value))
		case "uid":
			w.SetUID(types.UID(value))
		case "owner":
			kind, owner, _ := strings.Cut(value, "/")
			w.SetOwnerReferences([]metav1.OwnerReference{s.ownerReference(kind, owner)})
		case "terminating":
			w.SetDeletionTimestamp(ptr.To(s.now()))
		case "deleted":
			w.SetDeletionTimestamp(ptr.To(timeArgument(t, d, value)))
		default:
			s.setWorkload(t, d, w, arg.Key, value)
		}
	}
	if observed < 0 {
		observed = w.GetGeneration()
	}
	switch w := w.(type) {
	case *appsv1.Deployment:
		w.Status.ObservedGeneration = observed
	case *appsv1.ReplicaSet:
		w.Status.ObservedGeneration = observed
	case *appsv1.StatefulSet:
		w.Status.ObservedGeneration = observed
	case *appsv1.DaemonSet:
		w.Status.ObservedGeneration = observed
	case *corev1.ReplicationController:
		w.Status.ObservedGeneration = observed
	}
	return w
}

// setWorkload sets what only some kinds have.
func (s *scenario) setWorkload(t *testing.T, d *datadriven.TestData, w metav1.Object, key, value string) {
	size := func() *int32 { return ptr.To(int32(number(t, d, value))) }
	set := map[string]func(){}
	switch w := w.(type) {
	case *appsv1.Deployment:
		set["replicas"] = func() { w.Spec.Replicas = size() }
		set["quota"] = func() {
			w.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: refusal(value)}}
		}
	case *appsv1.ReplicaSet:
		set["replicas"] = func() { w.Spec.Replicas = size() }
		set["quota"] = func() {
			w.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Message: refusal(value)}}
		}
	case *corev1.ReplicationController:
		set["replicas"] = func() { w.Spec.Replicas = size() }
		set["quota"] = func() {
			w.Status.Conditions = []corev1.ReplicationControllerCondition{{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Message: refusal(value)}}
		}
	case *appsv1.StatefulSet:
		strategy := &w.Spec.UpdateStrategy
		set["replicas"] = func() { w.Spec.Replicas = size() }
		set["start"] = func() { w.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: *size()} }
		set["update"] = func() { w.Status.UpdateRevision = value }
		set["parallel"] = func() { w.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }
		set["partition"] = func() {
			strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: size()}
		}
		set["on-delete"] = func() { strategy.Type = appsv1.OnDeleteStatefulSetStrategyType }
	case *appsv1.DaemonSet:
		set["desired"] = func() { w.Status.DesiredNumberScheduled, w.Status.NumberReady = *size(), *size() }
		set["updated"] = func() { w.Status.UpdatedNumberScheduled = *size() }
		set["template-generation"] = func() {
			w.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: value}
		}
		set["on-delete"] = func() { w.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }
	case *batchv1.Job:
		set["parallelism"] = func() { w.Spec.Parallelism = size() }
		set["completions"] = func() { w.Spec.Completions = size() }
		set["complete"] = func() {
			w.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			w.Status.CompletionTime = ptr.To(s.now())
		}
		set["failed"] = func() {
			w.Status.Conditions = []batchv1.JobCondition{{
				Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "too often", LastTransitionTime: s.now(),
			}}
		}
	}
	if set[key] == nil {
		d.Fatalf(t, "unknown argument %s", key)
	}
	set[key]()
}

// refusal is what the API server says of a pod that exceeds a quota.
func refusal(quota string) string {
	return `pods "db-1" is forbidden: exceeded quota: ` + quota + ", requested: pods=1, used: pods=3, limited: pods=3"
}
