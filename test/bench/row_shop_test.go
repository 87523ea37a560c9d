package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/podsequence/apis/scheduling/v1alpha1"
	"example.com/podsequence/tools/sandbox/controlplane"
)

const (
	// shopNumber is the row that the picture in README shows.
	shopNumber = 12
	// ourWay is the variant that the picture highlights.
	ourWay = "PodSequence"
	// rivalsFile is the picture for README, from the page.
	rivalsFile = "../images/rivals.svg"
	// rivalTurns are few: a turn of all ways takes minutes, and they differ by much.
	rivalTurns = 3
	// helmAgent begins the user agent of Helm.
	helmAgent = "Helm/"
)

// shopTiers is how many tiers the shop has, and perTier how many pods each of them.
func shopTiers() int { return inFull(5, 2) }
func perTier() int   { return inFull(200, 10) }

func shopRow() row {
	const none, ours, lite, argo = "no order at all", ourWay, "PodSequence, lite mode", "Argo-like sync waves"
	const waits, helm, legacy = "init containers: kubectl wait", "helm --wait, tier by tier", "helm --wait=legacy, tier by tier"
	shop := func(way shopWay) func(b *testing.B) func(int) measurement {
		return measureAnew(func(b *testing.B, _ int) measurement { return measureShop(b, way) })
	}
	stock := shopWay{programs: []string{controlplane.Scheduler}, scheduler: controlplane.AnotherScheduler, deploy: deployAtOnce}
	byWaves, byWaits, byHelm, byLegacyHelm := stock, stock, stock, stock
	byWaves.deploy, byWaits.waits = deployByWaves, true
	byHelm.deploy, byLegacyHelm.deploy = deployByHelm("--wait"), deployByHelm("--wait=legacy")
	r := row{
		number: shopNumber, name: "shop", turns: rivalTurns,
		question: "What does it take to start a shop of 5 tiers of 200 pods each in order, by what people use?",
		variants: []variant{
			{none, shop(stock)},
			{ours, shop(shopWay{programs: []string{ourScheduler, ourProgram}, scheduler: ourScheduler, sequence: true, deploy: deployAtOnce})},
			{lite, shop(shopWay{
				programs: []string{controlplane.Scheduler, ourProgram}, scheduler: controlplane.AnotherScheduler, sequence: true, gated: true,
				deploy: deployAtOnce,
			})},
			{argo, shop(byWaves)}, {waits, shop(byWaits)}, {helm, shop(byHelm)}, {legacy, shop(byLegacyHelm)},
		},
		axes: axes{X: "seconds since the start", Y: "pods ready"},
		notes: []string{
			"Each tier is a Deployment that is available when all of its pods are ready (maxUnavailable 0). A pod is ready as soon as it is " +
				"bound, or its init container is done: the times are those of the order alone. API requests are those of schedulers and of " +
				"what makes the order, among them a binding and an event for each pod; not those of who creates pods, nor of kubelets. " +
				"Everything else is etcd, the controllers of Deployments and ReplicaSets, the scheduler, and what makes the order; the benchmark, " +
				"which plays the kubelets, is not part of it.",
			"The waves are a small program that does what Argo CD documents: it applies a tier, pauses for 2 s, and applies the next one " +
				"when its watch shows that the one before is healthy. Argo CD watches more and compares more. Helm is Helm 4 itself; its " +
				"legacy way to wait is that of Helm 3, which looks every 2 s.",
			"All init containers run in one process here, each with a connection of its own, and compete with the API server for the same two " +
				"processors, which they would not do on nodes: their time is pessimistic, their requests are exact. Their memory is that of one " +
				"process of kubectl that waits, times 800, without the pages of its executable, which pods of a node share. The processor time " +
				"of such a process, most of which is its start, is not part of everything else, which has that of the goroutines.",
			quietNote,
		},
	}
	rivals := []string{argo, waits, helm, legacy}
	for _, rival := range rivals {
		r.claims = append(r.claims, claim{
			text: "time until all pods are ready, PodSequence / " + rival, of: ours, to: rival, figure: untilReady, atMost: new(1.0),
		})
	}
	for _, rival := range rivals {
		r.claims = append(r.claims, claim{text: "API requests, PodSequence / " + rival, of: ours, to: rival, figure: apiRequests})
	}
	return r
}

// drawRivals draws the picture for README.
func (r result) drawRivals(out io.Writer) {
	drawBars(out, r.Figures, "Starting a shop of 5 tiers of 200 pods in order", ourWay,
		[]facet{{"seconds until all pods are ready", untilReady}, {"API requests", apiRequests}})
}

// shopWay is a way to start the shop.
type shopWay struct {
	// programs of the cluster besides etcd, the API server and the controllers of Deployments.
	programs  []string
	scheduler string
	// sequence makes our programs hold pods, by the gate if gated.
	sequence, gated bool
	// waits gives each pod an init container that waits for the tier before.
	waits bool
	// deploy prepares to deploy the tiers. start does it, and finish returns the processor time of what did.
	deploy func(s *site, tiers []*appsv1.Deployment) (start func(), finish func() time.Duration)
}

// measureShop measures one way to start the shop.
func measureShop(b *testing.B, way shopWay) measurement {
	b.Helper()
	programs := append([]string{controlplane.Etcd, controlplane.ControllerManager}, way.programs...)
	s := newSite(b, releaseNodes, controlplane.Options{
		AuditLog: true,
		ExtraArgs: map[string][]string{
			// No other controller has anything to do with order.
			controlplane.ControllerManager: {"--controllers=deployment-controller,replicaset-controller,serviceaccount-controller"},
		},
	}, programs[1:]...)
	defer s.close()
	var tiers []*appsv1.Deployment
	for i := range shopTiers() {
		tiers = append(tiers, shopTier(way, i))
	}
	start, finish := way.deploy(s, tiers)
	var waiting *agent
	var k *kubelets
	if way.waits {
		waiting = s.runAgent(waitingAgent, s.waitingKubeconfig(), func(line string) { k.hear(line) })
	}
	k = s.playKubelets(func(*corev1.Pod) bool { return true }, func(pod *corev1.Pod) (waits bool, err error) {
		if len(pod.Spec.InitContainers) == 0 {
			return false, nil
		}
		command := pod.Spec.InitContainers[0].Command
		return true, waiting.tell(pod.Name, "Available", command[len(command)-1])
	})
	if way.sequence {
		s.create(shopSequence())
	}
	m := s.startMeter(programs)
	start()
	ready := k.awaitReady(shopTiers() * perTier())
	others := finish()
	if waiting != nil {
		others += waiting.end()
	}
	measured := m.stop(others)
	measured.figures[untilReady], measured.curve = startedBy(m.began, ready)
	var order []string
	for _, tier := range tiers {
		order = append(order, tier.Name)
	}
	measured.figures[early] = float64(outOfTurn(order, ready))
	if way.waits {
		s.measureKubectl(measured, (shopTiers()-1)*perTier())
	}
	return measured
}

func tierName(i int) string { return numbered("tier", i) }

func shopSequence() *v1alpha1.PodSequence {
	sequence := &v1alpha1.PodSequence{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	for i := range shopTiers() {
		sequence.Spec.PodGroups = append(sequence.Spec.PodGroups, v1alpha1.PodGroup{Name: tierName(i), PodSelector: tier(tierName(i))})
	}
	return sequence
}

func shopTier(way shopWay, i int) *appsv1.Deployment {
	d := deployment(namespace, tierName(i), perTier())
	d.TypeMeta = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"}
	d.Spec.Strategy = appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0))},
	}
	pods := &d.Spec.Template.Spec
	pods.SchedulerName = way.scheduler
	probe := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	pods.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: probe}
	if way.gated {
		pods.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.DefaultSchedulingGateName}}
	}
	if way.waits && i > 0 {
		pods.InitContainers = []corev1.Container{initContainer("--for=condition=Available", "deployment/"+tierName(i-1))}
	}
	return d
}

// deployAtOnce creates all tiers.
func deployAtOnce(s *site, tiers []*appsv1.Deployment) (start func(), finish func() time.Duration) {
	start = func() {
		for _, tier := range tiers {
			_, err := s.core.AppsV1().Deployments(namespace).Create(s.ctx, tier, metav1.CreateOptions{})
			require.NoError(s.b, err)
		}
	}
	return start, func() time.Duration { return 0 }
}

// deployByWaves has waves applied.
func deployByWaves(s *site, tiers []*appsv1.Deployment) (start func(), finish func() time.Duration) {
	var ready atomic.Bool
	a := s.runAgent(argoAgent, s.Kubeconfig(), func(string) { ready.Store(true) })
	s.await("the program that applies waves", ready.Load)
	start = func() {
		for _, tier := range tiers {
			manifest, err := json.Marshal(tier)
			require.NoError(s.b, err)
			require.NoError(s.b, a.tell(string(manifest)))
		}
		require.NoError(s.b, a.tell(endOfWaves))
	}
	return start, a.end
}

// deployByHelm installs a release for each tier.
func deployByHelm(wait string) func(s *site, tiers []*appsv1.Deployment) (start func(), finish func() time.Duration) {
	return func(s *site, tiers []*appsv1.Deployment) (start func(), finish func() time.Duration) {
		s.b.Helper()
		bin, err := controlplane.FindBin()
		require.NoError(s.b, err)
		helm, home := filepath.Join(bin, "helm"), s.b.TempDir()
		require.FileExists(s.b, helm, "run make build-helm")
		for _, tier := range tiers {
			chart := filepath.Join(home, tier.Name)
			require.NoError(s.b, os.MkdirAll(filepath.Join(chart, "templates"), 0o700))
			manifest, err := json.Marshal(tier)
			require.NoError(s.b, err)
			require.NoError(s.b, os.WriteFile(filepath.Join(chart, "templates", "tier.yaml"), manifest, 0o600))
			about := fmt.Sprintf("{apiVersion: v2, name: %s, version: 1.0.0}", tier.Name)
			require.NoError(s.b, os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte(about), 0o600))
		}
		var used time.Duration
		start = func() {
			for _, tier := range tiers {
				command := exec.CommandContext(s.ctx, helm, "install", tier.Name, filepath.Join(home, tier.Name),
					"--namespace", namespace, "--timeout", patience.String(), wait)
				command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(),
					"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECACHEDIR="+home)
				output, err := command.CombinedOutput()
				require.NoError(s.b, err, "%s", output)
				used += processorOf(command)
			}
		}
		return start, func() time.Duration { return used }
	}
}
