package cluster

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// monitor is somebody who may read metrics, by the role that every cluster has for that.
type monitor struct {
	lock  sync.Mutex
	known string // the token, once there is one
}

// token returns the token of the monitor.
func (m *monitor) token(t testing.TB, api client.Client) string {
	t.Helper()
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.known != "" {
		return m.known
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "monitor-"}}
	require.NoError(t, api.Create(t.Context(), account))
	require.NoError(t, api.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	// A refusal would be remembered for a while by whom we ask.
	Await(t, "the permission to count", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  "system:serviceaccount:" + account.Namespace + ":" + account.Name,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		require.NoError(t, api.Create(t.Context(), review))
		return review.Status.Allowed
	})
	request := &authenticationv1.TokenRequest{}
	require.NoError(t, api.SubResource("token").Create(t.Context(), account, request))
	m.known = request.Status.Token
	return m.known
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(request)
}
