package deployment

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/podsequence/internal/controlplane"
)

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	ns := newNamespace(t)
	stranger := newToken(t, ns, "stranger")
	monitor := newMonitor(t, ns)
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		t.Run(program, func(t *testing.T) {
			url, err := cluster.URL(program)
			require.NoError(t, err)
			url += "/metrics"

			code, _ := fetch(t, url, "")
			assert.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, code, "nobody in particular")
			code, _ = fetch(t, url, "no-such-token")
			// Controller-runtime makes no difference between a token that is no good and one that it could not ask about.
			assert.Contains(t, []int{http.StatusUnauthorized, http.StatusInternalServerError}, code, "somebody unknown")
			code, _ = fetch(t, url, stranger)
			assert.Equal(t, http.StatusForbidden, code, "somebody without permission")

			var text string
			await(t, "the engine to be synced", func() bool { // once it leads
				code, text = fetch(t, url, monitor)
				require.Equal(t, http.StatusOK, code, "somebody with permission")
				return strings.Contains(text, "\npodsequence_engine_synced 1\n")
			})
			assert.Contains(t, text, "\npodsequence_pods_released_total ")
			assert.Contains(t, text, "\npodsequence_pod_write_errors_total ")
			assert.Contains(t, text, "\ngo_goroutines ", "what every program tells")
		})
	}
}

// newMonitor returns the token of somebody who may read metrics, by the role that every cluster has for that.
func newMonitor(t *testing.T, namespace string) string {
	t.Helper()
	token := newToken(t, namespace, "monitor")
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-monitor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "monitor"}},
	})
	awaitAllowed(t, "system:serviceaccount:"+namespace+":monitor", "/metrics")
	return token
}

// awaitAllowed waits until somebody's permission to get a URL counts. A refusal would be remembered for a while by whom we
// ask.
func awaitAllowed(t *testing.T, user, path string) {
	t.Helper()
	await(t, "the permission to count", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
		}}
		require.NoError(t, api.Create(t.Context(), review))
		return review.Status.Allowed
	})
}

// newToken makes a ServiceAccount and returns a token of it.
func newToken(t *testing.T, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(t, account)
	request := &authenticationv1.TokenRequest{}
	require.NoError(t, api.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

// fetch gets a URL, whose certificate the server may have signed itself.
func fetch(t *testing.T, url, token string) (code int, body string) {
	t.Helper()
	code, body, err := tryFetch(t, url, token)
	require.NoError(t, err)
	return code, body
}

// tryFetch is fetch from a server that may not listen yet.
func tryFetch(t *testing.T, url, token string) (code int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
