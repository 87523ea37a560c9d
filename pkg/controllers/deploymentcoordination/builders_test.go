package deploymentcoordination

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	v1 "example.com/podsequence/apis/apps/v1"
	"example.com/podsequence/pkg/sequence"
)

// noon is when all of these tests take place.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }

const replicas = 2

// plenty is more writes of status a second than there are.
const plenty = 1_000_000

// deployment is one of namespace shop that has rolled out its first template.
func deployment(name string, edits ...func(*Member)) Member {
	m := Member{Deployment: &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 1, Labels: map[string]string{"app": "shop"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType},
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: replicas, UpdatedReplicas: replicas, AvailableReplicas: replicas,
		},
	}}
	setTemplate(m.Deployment, "first")
	m.ReplicaSets = []*appsv1.ReplicaSet{replicaSet(m.Deployment, "first", replicas)}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func setTemplate(d *appsv1.Deployment, image string) {
	d.Spec.Template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
}

func replicaSet(d *appsv1.Deployment, image string, size int32) *appsv1.ReplicaSet {
	owner := metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + image, UID: types.UID("uid-" + d.Name + "-" + image),
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Spec:   appsv1.ReplicaSetSpec{Replicas: &size, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.Name}}},
		Status: appsv1.ReplicaSetStatus{Replicas: size},
	}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	return rs
}

// changed gives the Deployment a second template that nothing has been done about.
func changed(m *Member) {
	m.Deployment.Generation++
	setTemplate(m.Deployment, "second")
}

// rolling is halfway through the rollout of its second template.
func rolling(m *Member) {
	changed(m)
	m.Deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: m.Deployment.Generation, Replicas: replicas, UpdatedReplicas: 1, AvailableReplicas: 1,
	}
	m.ReplicaSets = []*appsv1.ReplicaSet{replicaSet(m.Deployment, "first", 1), replicaSet(m.Deployment, "second", 1)}
}

// rolled makes the Deployment have rolled out its second template.
func rolled(m *Member) {
	changed(m)
	m.Deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: m.Deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas, AvailableReplicas: replicas,
	}
	m.ReplicaSets = []*appsv1.ReplicaSet{replicaSet(m.Deployment, "first", 0), replicaSet(m.Deployment, "second", replicas)}
}

// failing makes one pod fewer available than the Deployment wants.
func failing(m *Member) { m.Deployment.Status.AvailableReplicas = replicas - 1 }

// held is paused by the coordination.
func held(m *Member) {
	m.Deployment.Spec.Paused = true
	m.Deployment.Annotations = map[string]string{v1.PausedByAnnotation: "shop", v1.PauseReasonAnnotation: v1.PauseReason}
}

// bySequence makes a PodSequence hold the Deployment's new pods; its group needs these paused Deployments.
func bySequence(needs ...string) func(*Member) {
	return func(m *Member) {
		m.Hold = sequence.Hold{Sequence: types.NamespacedName{Namespace: "shop", Name: "order"}, Group: `group 1/2 "Database"`}
		for _, name := range needs {
			m.Hold.Paused = append(m.Hold.Paused, types.NamespacedName{Namespace: "shop", Name: name})
		}
	}
}

// markLeft carries the mark of a pause that is no more.
func markLeft(m *Member) {
	held(m)
	m.Deployment.Spec.Paused = false
}

// heldAsSkipped is paused by the coordination because it failed to roll out.
func heldAsSkipped(m *Member) {
	held(m)
	m.Deployment.Annotations[v1.PauseReasonAnnotation] = v1.SkipReason
}

// takenOut was unpaused by its owner, who removed the mark.
func takenOut(m *Member) {
	m.Deployment.Spec.Paused = false
	m.Deployment.Annotations = map[string]string{v1.PauseReasonAnnotation: v1.PauseReason}
}

func pausedByItsOwner(m *Member) { m.Deployment.Spec.Paused = true }
func elsewhere(m *Member)        { m.Elsewhere = true }

// anew was deleted and made again.
func anew(m *Member) { m.Deployment.UID += "-2" }

// progress sets the condition Progressing.
func progress(reason string, updated time.Duration) func(*Member) {
	return func(m *Member) {
		m.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Reason: reason, LastUpdateTime: *at(updated),
		}}
	}
}

// deadlineOf gives the Deployment a deadline of its own.
func deadlineOf(seconds int32) func(*Member) {
	return func(m *Member) { m.Deployment.Spec.ProgressDeadlineSeconds = &seconds }
}

const deadlineExceeded = deploymentutil.TimedOutReason

// record is the state of a Deployment in status. It speaks of the template that the Deployment has.
func record(m Member, edits ...func(*v1.DeploymentState)) v1.DeploymentState {
	state := v1.DeploymentState{Name: m.name(), UID: m.Deployment.UID, TemplateHash: m.templateHash()}
	for _, edit := range edits {
		edit(&state)
	}
	return state
}

// pending makes the Deployment's changes pending since then.
func pending(since time.Duration) func(*v1.DeploymentState) {
	return func(s *v1.DeploymentState) {
		s.HasPendingChanges, s.PendingSince = true, &metav1.MicroTime{Time: noon.Add(since)}
	}
}

// heldByOrder is on record as held by a PodSequence.
func heldByOrder(s *v1.DeploymentState) { s.HeldBy = "shop/order" }

func onHold(s *v1.DeploymentState) { s.Paused = true }

func started(d time.Duration) func(*v1.DeploymentState) {
	return func(s *v1.DeploymentState) { s.LastRolloutStarted = at(d) }
}

func finished(d time.Duration) func(*v1.DeploymentState) {
	return func(s *v1.DeploymentState) { s.LastRolloutFinished = at(d) }
}

func skipped(s *v1.DeploymentState) { s.Skipped = v1.ReasonRolloutTimedOut }

func resumed(s *v1.DeploymentState) { s.Resumed = true }

// coordination selects all Deployments with the label app=shop. The active one has had its turn since its rollout started.
func coordination(active string, states ...v1.DeploymentState) *v1.DeploymentCoordination {
	c := &v1.DeploymentCoordination{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", UID: "uid-shop", Generation: 1},
		Spec: v1.DeploymentCoordinationSpec{
			LabelSelector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"app": "shop"}}, OnTimeout: v1.TimeoutHalt,
		},
		Status: v1.DeploymentCoordinationStatus{DeploymentStates: states},
	}
	if active != "" {
		c.Status.ActiveDeployment = "shop/" + active
		for i := range states {
			if states[i].Name == c.Status.ActiveDeployment {
				c.Status.ActiveSince = states[i].LastRolloutStarted
			}
		}
	}
	return c
}
