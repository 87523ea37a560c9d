package kubectl

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"example.com/podsequence/internal/controlplane"
	"example.com/podsequence/internal/testing/cluster"
)

const ourScheduler = "podsequence-scheduler"

// story is one test: a namespace, and somebody in it who has one role there.
type story struct {
	*cluster.Story
	user       string
	kubeconfig string
}

// newStory begins a story of a ServiceAccount that has the role in its namespace, and no right elsewhere.
func newStory(t *testing.T, role string) *story {
	t.Helper()
	s := &story{Story: cluster.NewStory(t, shared), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	account := &corev1.ServiceAccount{ObjectMeta: s.Meta("person")}
	s.user = "system:serviceaccount:" + s.Namespace + ":person"
	s.Create(account, &rbacv1.RoleBinding{
		ObjectMeta: s.Meta("person"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: account.Name}},
	})
	request := &authenticationv1.TokenRequest{}
	require.NoError(t, s.API.SubResource("token").Create(s.Ctx, account, request))
	config := s.Cluster.Config()
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: request.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: s.Namespace}},
		CurrentContext: "x",
	}, s.kubeconfig))
	return s
}

// podseq runs the program, and returns what it prints and how it ends.
func (s *story) podseq(args ...string) (stdout, stderr string, err error) {
	s.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(s, err)
	var out, errOut bytes.Buffer
	command := exec.CommandContext(s.Ctx, filepath.Join(bin, "kubectl-podseq"), append([]string{"--kubeconfig", s.kubeconfig}, args...)...)
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	return out.String(), errOut.String(), err
}

// says runs what must succeed.
func (s *story) says(args ...string) (stdout, stderr string) {
	s.Helper()
	stdout, stderr, err := s.podseq(args...)
	require.NoError(s, err, "%v\n%s%s", args, stdout, stderr)
	return stdout, stderr
}

// pod makes a pod of a tier that our scheduler places.
func (s *story) pod(name, tier string) *corev1.Pod {
	return st.MakePod().Namespace(s.Namespace).Name(name).Label("tier", tier).Container("work").SchedulerName(ourScheduler).Obj()
}

// unready makes a pod run and never turn ready.
func unready(pod *corev1.Pod) *corev1.Pod {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, cluster.ReadyAfter, "never")
	return pod
}

func (s *story) awaitHeld(name string) {
	s.Helper()
	s.Await(name+" to be held", func() bool { return cluster.IsHeld(cluster.Get(s.Story, &corev1.Pod{}, name)) })
}

func (s *story) awaitReady(name string) {
	s.Helper()
	s.Await(name+" to be ready", func() bool { return cluster.IsReady(cluster.Get(s.Story, &corev1.Pod{}, name)) })
}
