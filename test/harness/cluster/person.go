package cluster

import (
	"bytes"
	"os/exec"
	"path/filepath"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"example.com/podsequence/tools/sandbox/controlplane"
)

// Person is somebody who has one role in the namespace of a story, no right elsewhere, and kubectl podseq.
type Person struct {
	*Story
	// User is the name that the API server knows.
	User string
	// Kubeconfig is the path of the person's own.
	Kubeconfig string
}

// Person makes somebody who has the role. A story has one.
func (s *Story) Person(role string) *Person {
	s.Helper()
	p := &Person{Story: s, User: "system:serviceaccount:" + s.Namespace + ":person", Kubeconfig: filepath.Join(s.TempDir(), "kubeconfig")}
	account := &corev1.ServiceAccount{ObjectMeta: s.Meta("person")}
	s.Create(account, &rbacv1.RoleBinding{
		ObjectMeta: s.Meta("person"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: account.Name}},
	})
	request := &authenticationv1.TokenRequest{}
	require.NoError(s, s.API.SubResource("token").Create(s.Ctx, account, request))
	config := s.Cluster.Config()
	require.NoError(s, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: request.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: s.Namespace}},
		CurrentContext: "x",
	}, p.Kubeconfig))
	return p
}

// Podseq runs kubectl podseq, and returns what it prints and how it ends.
func (p *Person) Podseq(args ...string) (stdout, stderr string, err error) {
	p.Helper()
	bin, err := controlplane.FindBin()
	require.NoError(p, err)
	var out, errOut bytes.Buffer
	command := exec.CommandContext(p.Ctx, filepath.Join(bin, "kubectl-podseq"), append([]string{"--kubeconfig", p.Kubeconfig}, args...)...)
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	return out.String(), errOut.String(), err
}

// Says runs what must succeed.
func (p *Person) Says(args ...string) (stdout, stderr string) {
	p.Helper()
	stdout, stderr, err := p.Podseq(args...)
	require.NoError(p, err, "%v\n%s%s", args, stdout, stderr)
	return stdout, stderr
}
