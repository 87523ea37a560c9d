package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/test/ordercheck"
)

const (
	// podsPerApplication are those of podsOfTiers.
	podsPerApplication = 100
	// rolloutEvery is how often an application gets a new template in all tiers, if the one before it has rolled out: else a slow machine
	// would have ever more to do.
	rolloutEvery = time.Minute
	// rebootEvery is how often a node boots.
	rebootEvery = 30 * time.Second
	// shortRebootEvery is that of a trial.
	shortRebootEvery = 5 * time.Second
	// storageNodes are those with a driver that pods there wait for. Only they boot.
	storageNodes = 100
	// storageLabel is on these nodes.
	storageLabel = "soak.example.com/storage"
	// storageNamespace has the drivers and what waits for them.
	storageNamespace = "storage"
	// roundAnnotation counts rollouts, in templates.
	roundAnnotation = "bench.podsequence.example.com/round"
	// probeNamespace holds the pods of probes.
	probeNamespace = "probe"
	// leaderChanges are made before what is measured, and again after it.
	leaderChanges = 3
	// ourNamespace has the leases of our programs.
	ourNamespace = "podsequence-system"
)

// tiersOfApplication are in the order of their sequence, and so are the numbers of their pods.
var (
	tiersOfApplication = []string{"db", "app", "web"}
	podsOfTiers        = []int{10, 45, 45}
)

// moveIn creates all applications and drivers, and returns when they are up.
func (s *soak) moveIn() {
	s.b.Helper()
	began := time.Now()
	s.applications = names("shop", max(1, *soakPods/podsPerApplication))
	s.atOnce(len(s.applications), func(i int) error {
		for _, object := range application(s.applications[i], i%2 == 0) {
			if err := s.API.Create(s.ctx, object); err != nil {
				return fmt.Errorf("create application: %w", err)
			}
		}
		return nil
	})
	s.createStorage()
	progress("soak: waiting for %d applications of %d pods", len(s.applications), podsPerApplication)
	for _, name := range s.applications {
		s.awaitCompleted(name, "shop")
	}
	s.awaitCompleted(storageNamespace, "storage")
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: probeNamespace}})
	s.await("the account that pods of probes need", func() bool {
		return s.API.Get(s.ctx, types.NamespacedName{Namespace: probeNamespace, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	s.watchProbes()
	progress("soak: all is up after %.0f s", time.Since(began).Seconds())
}

// application returns a namespace with a sequence and what is in it. The sequence may order rollouts as well.
func application(namespace string, rollouts bool) []client.Object {
	sequence := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	if rollouts {
		sequence.Spec.EnforcementMode = v1alpha1.Continuous
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, sequence}
	for i, name := range tiersOfApplication {
		sequence.Spec.PodGroups = append(sequence.Spec.PodGroups, v1alpha1.PodGroup{Name: name, PodSelector: tier(name)})
		objects = append(objects, deployment(namespace, name, podsOfTiers[i]))
	}
	return objects
}

// awaitCompleted waits for one sequence: to list them all again and again would keep the API server busy.
func (s *soak) awaitCompleted(namespace, name string) {
	s.b.Helper()
	s.await("the pods of "+namespace+" to be up", func() bool {
		s.unlessInterrupted()
		sequence := &v1alpha1.PodSequence{}
		require.NoError(s.b, s.API.Get(s.ctx, types.NamespacedName{Namespace: namespace, Name: name}, sequence))
		return sequence.Status.Phase == v1alpha1.PhaseCompleted
	})
}

// createStorage creates a driver on some nodes, and a pod there that waits for it.
func (s *soak) createStorage() {
	s.b.Helper()
	s.storageNodes = names("node", min(storageNodes, *soakNodes))
	s.atOnce(len(s.storageNodes), func(i int) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:""}}}`, storageLabel)
		_, err := s.core.CoreV1().Nodes().Patch(s.ctx, s.storageNodes[i], types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: storageNamespace}})
	s.create(&v1alpha1.PodSequence{
		ObjectMeta: metav1.ObjectMeta{Namespace: storageNamespace, Name: "storage"},
		Spec: v1alpha1.PodSequenceSpec{Scope: v1alpha1.ScopeNode, PodGroups: []v1alpha1.PodGroup{
			{Name: "driver", PodSelector: tier("driver")}, {Name: "reader", PodSelector: tier("reader")},
		}},
	})
	for _, tier := range []string{"driver", "reader"} {
		template := deployment(storageNamespace, tier, 0).Spec.Template
		template.Spec.NodeSelector = map[string]string{storageLabel: ""}
		s.create(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: storageNamespace, Name: tier}, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		}})
	}
}

func deployment(namespace, tier string, replicas int) *appsv1.Deployment {
	labels := map[string]string{tierLabel: tier}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tier}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: new(int32(0)),
		// Each rollout changes the annotation. It is there from the start, so that pods do not take more memory after the first one.
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{roundAnnotation: "0"}}, Spec: corev1.PodSpec{
			SchedulerName: ourScheduler, TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}},
		}},
	}}
}

// rollOut changes the next application, unless the one before it is still under way.
func (s *soak) rollOut(ctx context.Context, _ int) error {
	if s.rollouts > 0 {
		done, err := s.hasRolledOut(ctx, s.applications[(s.rollouts-1)%len(s.applications)])
		if err != nil {
			return err
		}
		if !done {
			if time.Since(s.rolledOut) > patience {
				return fmt.Errorf("rollout %d does not end", s.rollouts)
			}
			return nil
		}
	}
	namespace := s.applications[s.rollouts%len(s.applications)]
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:"%d"}}}}}`, roundAnnotation, s.rollouts+1)
	for _, tier := range tiersOfApplication {
		if _, err := s.core.AppsV1().Deployments(namespace).Patch(ctx, tier, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("roll out: %w", err)
		}
	}
	s.rolledOut = time.Now()
	s.rollouts++
	return nil
}

func (s *soak) hasRolledOut(ctx context.Context, namespace string) (bool, error) {
	for _, tier := range tiersOfApplication {
		d, err := s.core.AppsV1().Deployments(namespace).Get(ctx, tier, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("follow rollout: %w", err)
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas != *d.Spec.Replicas ||
			d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.Replicas != *d.Spec.Replicas {
			return false, nil
		}
	}
	return true, nil
}

// reboot reboots the next node, and replaces the pod there that waits for the driver, which PodSequence must hold until the driver is
// ready anew.
func (s *soak) reboot(ctx context.Context, number int) error {
	node := s.storageNodes[number%len(s.storageNodes)]
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return cluster.RebootSimulated(ctx, s.API, node, fmt.Sprintf("boot %d", number))
	})
	if err != nil {
		return err
	}
	before, err := s.readerOn(ctx, node)
	if err != nil {
		return err
	}
	if before == nil {
		return fmt.Errorf("%s has no pod that waits for its driver", node)
	}
	if err := s.API.Delete(ctx, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replace pod: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, time.Second, patience, false, func(ctx context.Context) (bool, error) {
		after, err := s.readerOn(ctx, node)
		return after != nil && after.UID != before.UID && isReady(after), err
	})
	if err != nil {
		return fmt.Errorf("wait for the pod that is replaced on %s after its boot: %w", node, err)
	}
	s.reboots++
	return nil
}

// readerOn returns the pod on a node that waits for the driver there, or nil.
func (s *soak) readerOn(ctx context.Context, node string) (*corev1.Pod, error) {
	var pods corev1.PodList
	err := s.API.List(ctx, &pods, client.InNamespace(storageNamespace), client.MatchingLabels{tierLabel: "reader"},
		client.MatchingFields{"spec.nodeName": node})
	if err != nil {
		return nil, fmt.Errorf("find pod: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			return &pods.Items[i], nil
		}
	}
	return nil, nil
}

// pair is a leader of one of our programs, and its standby.
type pair struct {
	program         string
	leader, standby *instance
	// holder is who holds the lease.
	holder string
}

// instance is one process of a program.
type instance struct {
	*cluster.Program
	// pprof is the address of its profiles, if it serves them.
	pprof string
}

// run runs another instance of one of our programs. The controller serves its profiles, if somebody wants them.
func (s *soak) run(program string) *instance {
	s.b.Helper()
	i := &instance{}
	if *profiles != "" && program == ourProgram {
		_, i.pprof = cluster.FreeAddress(s.b)
	}
	i.Program = s.RunInstance(s.b, program, func(args []string) []string {
		if i.pprof == "" {
			return args
		}
		return append(args, "--pprof-bind-address="+i.pprof)
	})
	return i
}

// startPairs replaces the cluster's own instances of our programs by two of each.
func (s *soak) startPairs() {
	s.b.Helper()
	for _, program := range []string{ourScheduler, ourProgram} {
		p := &pair{program: program, holder: s.holder(program)}
		require.NoError(s.b, s.Kill(s.ctx, program))
		p.leader = s.run(program)
		s.programs = append(s.programs, p)
	}
	for _, p := range s.programs {
		s.awaitLeader(p)
		p.standby = s.run(p.program)
	}
}

// holder is who holds the lease of a program, or nobody.
func (s *soak) holder(program string) string {
	s.b.Helper()
	lease := &coordinationv1.Lease{}
	err := s.API.Get(s.ctx, types.NamespacedName{Namespace: ourNamespace, Name: program}, lease)
	require.True(s.b, err == nil || apierrors.IsNotFound(err), "read lease: %v", err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// awaitLeader waits until the lease has another holder than before.
func (s *soak) awaitLeader(p *pair) {
	s.b.Helper()
	s.await("another leader of "+p.program, func() bool {
		s.unlessInterrupted()
		holder := s.holder(p.program)
		if holder == "" || holder == p.holder {
			return false
		}
		p.holder = holder
		return true
	})
}

// changeLeaders kills the leaders several times, and starts new standbys.
func (s *soak) changeLeaders() {
	s.b.Helper()
	for range inFull(leaderChanges, 1) {
		for _, p := range s.programs {
			s.changeLeader(p)
			s.pause(inDuration(10*time.Second, 2*time.Second)) // the standby must have seen the lease: it counts from then
		}
	}
}

// changeLeader kills the leader, and returns when its standby leads. Of the scheduler it measures for how long nothing is scheduled.
func (s *soak) changeLeader(p *pair) {
	s.b.Helper()
	killed := time.Now()
	require.NoError(s.b, p.leader.Process.Kill())
	_ = p.leader.Wait() // it was killed
	if p.program == ourScheduler {
		s.leaders++
		name := numbered("leader", s.leaders)
		bound, err := s.bind(s.ctx, name)
		require.NoError(s.b, err)
		s.changes = append(s.changes, bound.Sub(killed).Seconds())
		progress("soak: after the kill of the leading scheduler nothing is scheduled for %.1f s", bound.Sub(killed).Seconds())
	}
	s.awaitLeader(p)
	p.leader, p.standby = p.standby, s.run(p.program)
}

// pause lets events go on.
func (s *soak) pause(long time.Duration) {
	s.b.Helper()
	select {
	case <-time.After(long):
	case <-s.failed:
		s.endEvents()
	}
}

// order is what referees have found.
type order struct {
	bindings int
	// violations are pods bound before their turn, and records of what never was.
	violations int
	// incomplete says what could not be judged.
	incomplete []string
}

const (
	// judgeEvery is how often a new referee begins. One for all the time would remember all the time.
	judgeEvery = 10 * time.Minute
	// overlap is for how long two referees watch, so that each binding is in the middle of what one of them sees.
	overlap = 30 * time.Second
)

// judge has referees judge all bindings until the context ends.
func (s *soak) judge(ctx context.Context) error {
	referee, err := s.startReferee(ctx)
	if err != nil {
		return err
	}
	defer func() { referee.Stop() }()
	for sleep(ctx, judgeEvery) {
		next, err := s.startReferee(ctx)
		if err != nil {
			s.note(referee)
			return unlessOver(ctx, err)
		}
		sleep(ctx, overlap)
		s.note(referee)
		s.order.bindings -= next.Verdict(s.ctx).Bindings // it will have them in its own verdict
		referee.Stop()
		referee = next
	}
	s.note(referee)
	return nil
}

func (s *soak) startReferee(ctx context.Context) (*ordercheck.Referee, error) {
	config, err := s.EtcdConfig()
	if err != nil {
		return nil, err
	}
	return ordercheck.Start(ctx, config, ordercheck.Options{})
}

func (s *soak) note(referee *ordercheck.Referee) {
	began := time.Now()
	verdict := referee.Verdict(s.ctx)
	progress("soak: %s (took %.1f s)", verdict, time.Since(began).Seconds())
	s.order.bindings += verdict.Bindings
	s.order.violations += len(verdict.Violations) + len(verdict.FalseRecords)
	s.order.incomplete = append(s.order.incomplete, verdict.Incomplete...)
}

// sleep returns whether the time is over, and not the context.
func sleep(ctx context.Context, long time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(long):
		return true
	}
}
