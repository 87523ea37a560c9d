package controlplane

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ourNamespace holds the service accounts of our programs, which are named as the programs are.
const ourNamespace = "podsequence-system"

// tokenLifetime is longer than a sandbox is kept: its tokens are not renewed.
const tokenLifetime = 365 * 24 * time.Hour

// writeUserKubeconfigs gives the administrator and the upstream components the identities they have in any cluster.
func (p *plan) writeUserKubeconfigs(ca *authority) error {
	type user struct {
		name       string
		groups     []string
		kubeconfig string
	}
	users := []user{
		{name: "podsequence-sandbox-admin", groups: []string{"system:masters"}, kubeconfig: p.kubeconfig()},
		{name: "system:kube-controller-manager", kubeconfig: p.componentKubeconfig(ControllerManager)},
		{name: "system:kube-scheduler", kubeconfig: p.componentKubeconfig(Scheduler)},
		// KWOK plays all kubelets and has no role of its own in a cluster.
		{name: "kwok", groups: []string{"system:masters"}, kubeconfig: p.componentKubeconfig(Kwok)},
	}
	if p.AsDefaultScheduler {
		users = append(users, user{name: "system:kube-scheduler", kubeconfig: p.componentKubeconfig(PodSequenceScheduler)})
	}
	for _, user := range users {
		pair, err := ca.client(user.name, user.groups...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(user.kubeconfig, p.url("https", APIServer), ca.certPEM(), pair.authInfo()); err != nil {
			return err
		}
	}
	return nil
}

// writeServiceAccountKubeconfig lets one of our programs run with exactly the permissions that our manifests grant it.
func (b *bringUp) writeServiceAccountKubeconfig(ctx context.Context, client kubernetes.Interface, name string) error {
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}
	response, err := client.CoreV1().ServiceAccounts(ourNamespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request token of %s: %w", name, err)
	}
	user := &clientcmdapi.AuthInfo{Token: response.Status.Token}
	return writeKubeconfig(b.plan.componentKubeconfig(name), b.plan.url("https", APIServer), b.caCert, user)
}
