package bench

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	watchtools "k8s.io/client-go/tools/watch"

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
	"example.com/podsequence/tools/sandbox/realnode"
)

// Init containers that run `kubectl wait` before the application of their pod starts. The nodes are simulated, so that no container runs:
// one process does for all of them what each would do, with a connection and a cache of discovery for each. Finding the object is
// kubectl's own code, from k8s.io/cli-runtime; waiting for it is client-go's, which kubectl calls in the same way.

const (
	waitingAgent = "kubectl-wait"
	// waitingAccount is the ServiceAccount of the init containers.
	waitingAccount = "waiting"
)

// runWaits waits as init containers do. An order is the name of a pod, and the arguments of its kubectl wait: a condition, and either
// TYPE/NAME, or TYPE with a label selector and a field selector. It reports "waiting POD" when it has found what it waits for, and
// "done POD" when the condition is true.
func runWaits(ctx context.Context, _ *rest.Config, orders <-chan string, report func(string)) error {
	caches, err := os.MkdirTemp("", "podsequence-bench-")
	if err != nil {
		return fmt.Errorf("make directory for caches: %w", err)
	}
	defer func() { _ = os.RemoveAll(caches) }()
	failed := make(chan error, 1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case order := <-orders:
			go func() {
				pod, wait, _ := strings.Cut(order, " ")
				err := waitAsKubectl(ctx, filepath.Join(caches, pod), strings.Fields(wait), func() { report("waiting " + pod) })
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					select {
					case failed <- fmt.Errorf("wait in the name of %s: %w", pod, err):
					default:
					}
					return
				}
				report("done " + pod)
			}()
		}
	}
}

// waitAsKubectl makes the requests of one kubectl wait.
func waitAsKubectl(ctx context.Context, cacheDir string, arguments []string, found func()) error {
	kubeconfig := os.Getenv("KUBECONFIG")
	flags := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	flags.KubeConfig, flags.CacheDir, flags.Namespace = &kubeconfig, &cacheDir, new(namespace)
	plain, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	transport, err := ownTransport(plain)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.Transport, config.TLSClientConfig, config.UserAgent = transport, rest.TLSClientConfig{}, waitingAgent
		return config
	})
	config, err := flags.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("make configuration: %w", err)
	}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	builder := resource.NewBuilder(flags).Unstructured().NamespaceParam(namespace).DefaultNamespace().Latest().Flatten()
	if len(arguments) == 4 {
		builder = builder.LabelSelectorParam(arguments[2]).FieldSelectorParam(arguments[3])
	}
	infos, err := builder.ResourceTypeOrNameArgs(true, arguments[1]).ContinueOnError().Do().Infos()
	if err != nil {
		return fmt.Errorf("find what to wait for: %w", err)
	}
	if len(infos) == 0 {
		return fmt.Errorf("no matching resources found")
	}
	found()
	for _, info := range infos {
		if err := untilCondition(ctx, api, info, arguments[0]); err != nil {
			return err
		}
	}
	return nil
}

// ownTransport returns a transport that shares its connection with nobody.
func ownTransport(config *rest.Config) (*http.Transport, error) {
	secured, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure TLS: %w", err)
	}
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: secured}), nil
}

// untilCondition watches one object until it has the condition.
func untilCondition(ctx context.Context, api dynamic.Interface, info *resource.Info, condition string) error {
	of := api.Resource(info.Mapping.Resource).Namespace(info.Namespace)
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, info.Name).String()
	objects := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return of.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return of.Watch(ctx, options)
		},
	}, api)
	_, err := watchtools.UntilWithSync(ctx, objects, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		object, sent := event.Object.(*unstructured.Unstructured)
		return sent && event.Type != watch.Deleted && hasCondition(object, condition), nil
	})
	return err
}

// hasCondition reports whether the object's controller has seen its spec, and its status says that a condition is true.
func hasCondition(object *unstructured.Unstructured, condition string) bool {
	observed, tells, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if tells && observed < object.GetGeneration() {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == condition && fields["status"] == string(metav1.ConditionTrue)
	})
}

// waitingKubeconfig makes the account of the init containers, with the rights that kubectl wait needs, and returns its kubeconfig.
func (s *site) waitingKubeconfig() string {
	s.b.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: waitingAccount}}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: waitingAccount}
	read := []string{"get", "list", "watch"}
	s.create(account,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: read},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: read},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: waitingAccount},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: waitingAccount}},
		})
	s.await("the permission to wait", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":" + waitingAccount,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "watch", Group: "apps", Resource: "deployments"},
		}}
		require.NoError(s.b, s.API.Create(s.ctx, review))
		return review.Status.Allowed
	})
	token := &authenticationv1.TokenRequest{}
	require.NoError(s.b, s.API.SubResource("token").Create(s.ctx, account, token))
	config := s.Config()
	file := filepath.Join(s.b.TempDir(), "kubeconfig")
	require.NoError(s.b, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {
			Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: namespace}},
		CurrentContext: "x",
	}, file))
	return file
}

// initContainer is what waits in a pod.
func initContainer(arguments ...string) corev1.Container {
	return corev1.Container{
		Name: "wait", Image: "registry.k8s.io/kubectl", Command: append([]string{"kubectl", "wait", "--timeout=1h"}, arguments...),
	}
}

const (
	oneMemory    = "one kubectl wait, anonymous MiB"
	oneResident  = "one kubectl wait, resident MiB"
	allMemory    = "all kubectl waits, anonymous MiB"
	oneProcessor = "processor of one kubectl wait s"
)

// measureKubectl runs kubectl wait as a process of its own, once and in vain, and adds what it takes to the figures: that of one, and of
// so many. The process asks for the same as the goroutines do, or the benchmark would measure something else.
func (s *site) measureKubectl(m measurement, count int) {
	s.b.Helper()
	const name = "never-ready"
	s.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "app", Image: "example.com/app"}}},
	})
	bin, err := controlplane.FindBin()
	require.NoError(s.b, err)
	kubectl := filepath.Join(bin, realnode.Dir, "kubectl")
	require.FileExists(s.b, kubectl, "run make bin/real-nodes/kubectl")
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	command := exec.CommandContext(ctx, kubectl, "wait", "--for=condition=Ready", "--timeout=1h", "pod/"+name)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig(), "KUBECACHEDIR="+s.b.TempDir())
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	require.NoError(s.b, command.Start())
	goroutine := s.runAgent(waitingAgent, s.Kubeconfig(), func(string) {})
	require.NoError(s.b, goroutine.tell(name, "Ready", "pod/"+name))
	s.await("a goroutine to ask for the same as kubectl", func() bool {
		asked := s.askedAbout(name, "kubectl/")
		return slices.Contains(asked, "watch pods") && slices.Equal(asked, s.askedAbout(name, waitingAgent))
	})
	status := fmt.Sprintf("/proc/%d/status", command.Process.Pid)
	m.figures[oneMemory], m.figures[oneResident] = s.mebibytes(status, "RssAnon"), s.mebibytes(status, "VmRSS")
	m.figures[allMemory] = m.figures[oneMemory] * float64(count)
	stop()
	require.Error(s.b, command.Wait(), "a pod is ready that nobody makes ready")
	m.figures[oneProcessor] = processorOf(command).Seconds()
	goroutine.end()
}

// mebibytes reads a line of /proc/PID/status.
func (s *site) mebibytes(file, line string) float64 {
	s.b.Helper()
	kibibytes, err := strconv.Atoi(strings.TrimSuffix(lineOf(file, line), " kB"))
	require.NoError(s.b, err)
	return float64(kibibytes) / 1024
}

// askedAbout lists the requests about one pod, in their order.
func (s *site) askedAbout(pod, agent string) (asked []string) {
	s.b.Helper()
	require.NoError(s.b, s.ReadAudit(pod, func(r *cluster.Request) {
		if strings.HasPrefix(r.UserAgent, agent) && hasBegun(r) {
			asked = append(asked, r.Verb+" "+r.Resource())
		}
	}))
	return asked
}

func TestKubectlWaitsForAConditionOfWhatWasObserved(t *testing.T) {
	object := func(generation, observed int64, status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": generation},
			"status": map[string]any{
				"observedGeneration": observed, "conditions": []any{map[string]any{"type": "Available", "status": status}},
			},
		}}
	}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"a true condition counts":                     {object(2, 2, "True"), true},
		"a false condition does not":                  {object(2, 2, "False"), false},
		"a condition of an earlier spec does not":     {object(2, 1, "True"), false},
		"an object without a status has no condition": {&unstructured.Unstructured{Object: map[string]any{}}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, hasCondition(tc.object, "Available")) })
	}
}
