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

	"example.com/podsequence/test/harness/cluster"
	"example.com/podsequence/tools/sandbox/controlplane"
)

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	s := newSite(t)
	ns := newNamespace(s)
	stranger := newToken(s, ns, "stranger")
	monitor := newMonitor(s, ns)
	for _, program := range []string{controlplane.PodSequenceScheduler, controlplane.PodSequenceController} {
		s.Run(program, func(t *testing.T) {
			s := s.in(t)
			url, err := s.cluster.URL(program)
			require.NoError(s, err)
			url += "/metrics"

			code, _ := fetch(s, url, "")
			assert.Contains(s, []int{http.StatusUnauthorized, http.StatusForbidden}, code, "nobody in particular")
			code, _ = fetch(s, url, "no-such-token")
			// Controller-runtime makes no difference between a token that is no good and one that it could not ask about.
			assert.Contains(s, []int{http.StatusUnauthorized, http.StatusInternalServerError}, code, "somebody unknown")
			code, _ = fetch(s, url, stranger)
			assert.Equal(s, http.StatusForbidden, code, "somebody without permission")

			var text string
			cluster.Await(s, "the engine to be synced", func() bool { // once it leads
				code, text = fetch(s, url, monitor)
				require.Equal(s, http.StatusOK, code, "somebody with permission")
				return strings.Contains(text, "\npodsequence_engine_synced 1\n")
			})
			assert.Contains(s, text, "\npodsequence_pod_hold_duration_seconds_count ")
			assert.Contains(s, text, "\npodsequence_build_info{program=")
			assert.Contains(s, text, "\ngo_goroutines ", "what every program tells")
		})
	}
}

// newMonitor returns the token of somebody who may read metrics, by the role that every cluster has for that.
func newMonitor(s *site, namespace string) string {
	s.Helper()
	token := newToken(s, namespace, "monitor")
	create(s, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-monitor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "monitor"}},
	})
	awaitAllowed(s, "system:serviceaccount:"+namespace+":monitor", "/metrics")
	return token
}

// awaitAllowed waits until somebody's permission to get a URL counts. A refusal would be remembered for a while by whom we
// ask.
func awaitAllowed(s *site, user, path string) {
	s.Helper()
	cluster.Await(s, "the permission to count", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
		}}
		require.NoError(s, s.cluster.API.Create(s.Context(), review))
		return review.Status.Allowed
	})
}

// newToken makes a ServiceAccount and returns a token of it.
func newToken(s *site, namespace, name string) string {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(s, account)
	request := &authenticationv1.TokenRequest{}
	require.NoError(s, s.cluster.API.SubResource("token").Create(s.Context(), account, request))
	return request.Status.Token
}

// fetch gets a URL, whose certificate the server may have signed itself.
func fetch(s *site, url, token string) (code int, body string) {
	s.Helper()
	code, body, err := tryFetch(s, url, token)
	require.NoError(s, err)
	return code, body
}

// tryFetch is fetch from a server that may not listen yet.
func tryFetch(s *site, url, token string) (code int, body string, err error) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, url, nil)
	require.NoError(s, err)
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
